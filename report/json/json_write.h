/* Streaming JSON writer, which handles commas, nesting and escapes. The output is strict JSON in
 * valid UTF-8: characters that act on a terminal (report/chars.h) become \uXXXX; with `html`, `<`
 * becomes \u003c (safe inside <script>); bad UTF-8 becomes U+FFFD; NaN and infinities become null.
 * Errors stay in the stream; json_end_document reports them and writes the last bytes. Until then
 * part of the text is held here, so the caller must not write to the stream in between. Cost: one
 * pass over the text, no memory. It cannot read JSON. */
#ifndef GPUPROF_REPORT_JSON_JSON_WRITE_H
#define GPUPROF_REPORT_JSON_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_HELD = 8192 };

struct json {
    FILE *f;
    size_t held; /* bytes in buf */
    int depth;
    bool comma;   /* another item precedes on this level */
    bool newline; /* the next item begins a new line */
    bool misused; /* closed more often than opened */
    bool html;    /* escape < > & too */
    bool shown;   /* for people, not for programs: characters that act become U+FFFD */
    bool tight;   /* no spaces behind commas and colons */
    int indent;   /* spaces per level; 0: one line with ", " and ": " */
    char buf[JSON_HELD];
};

void json_start(struct json *j, FILE *f);
/* open: { or [. key is NULL in an array. */
void json_begin(struct json *j, const char *key, char open);
void json_end(struct json *j, char close);
void json_str(struct json *j, const char *key, const char *value); /* NULL value -> null */
void json_int(struct json *j, const char *key, int64_t v);
void json_num(struct json *j, const char *key, double v, int decimals);
void json_us(struct json *j, const char *key, int64_t ns); /* microseconds, exactly 3 decimals */
void json_ms(struct json *j, const char *key, int64_t ns); /* milliseconds, exactly 6 decimals */
void json_bool(struct json *j, const char *key, bool v);
void json_null(struct json *j, const char *key);
void json_newline(struct json *j); /* line break before the next item */
/* 0, or -1 if the stream failed or an object is still open. */
int json_end_document(struct json *j);

#endif
