/* Streaming JSON reader: reads one token at a time from a source of bytes. Its memory is bounded by
 * the longest single string, not by the document. It is strict about structure (nesting, commas,
 * colons) and lenient about bytes inside strings: bad UTF-8 and raw control characters pass
 * through; NaN and Infinity are numbers. Cost: about 2 ns per byte of skipped text, 15 ns per
 * token.
 *
 *   json_read_open(&r, fill, ctx, max_string);
 *   while ((t = json_next(&r)) > JSON_END) ...      // or json_skip(&r) in place of a value
 *   if (t == JSON_ERROR) ... r.error ...
 *
 * `text` and `length` of KEY, STRING and NUMBER are valid until the next call; `escaped` means that
 * a string still holds backslashes (json_unescape). */
#ifndef GPUPROF_BASE_JSON_READ_H
#define GPUPROF_BASE_JSON_READ_H

#include "base/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum json_token {
    JSON_ERROR = -1,
    JSON_END, /* end of the document */
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL
};

enum { JSON_MAX_DEPTH = 512 };

/* Reads up to n bytes into buf. Returns the bytes read, 0 at the end, -1 on failure. */
typedef ssize_t json_fill(void *ctx, void *buf, size_t n);

struct json_reader {
    const char *text;
    size_t length;
    bool escaped;
    int depth;         /* number of open objects and arrays */
    const char *error; /* one phrase, set with JSON_ERROR */
    uint64_t offset;   /* bytes before buf[0]: an error lies at byte offset + pos */

    json_fill *fill;
    void *ctx;
    char *buf;
    size_t cap, pos, end, max_string;
    bool eof;
    uint8_t state;
    uint8_t is_object[JSON_MAX_DEPTH / 8];
};

int json_read_open(struct json_reader *r, json_fill *fill, void *ctx, size_t max_string);
void json_read_close(struct json_reader *r);
enum json_token json_next(struct json_reader *r);
/* json_skip skips the next value as a whole; call it where json_next would return a value, such as
 * after JSON_KEY. json_skip_rest skips the rest of the object or array that json_next has just
 * opened. Return 0, or -1 on error. */
int json_skip(struct json_reader *r);
int json_skip_rest(struct json_reader *r);
/* Inside an object: returns its next key that is one of `keys`, as json_next does, or the end of
 * the object. Skips all other keys with their values. */
enum json_token json_next_of(struct json_reader *r, const struct words *keys);
/* Undoes the backslashes of text[0..n) in `out`, which needs at most n bytes. Returns the
 * length. */
size_t json_unescape(const char *text, size_t n, char *out);

/* The number in a text, rounded towards zero. False: it does not fit, or is not a number. */
bool json_int64(const char *text, size_t n, int64_t *out);
/* The decimal number in a text times 1000 (microseconds to nanoseconds), exact to the digit. False:
 * see json_int64. */
bool json_thousandths(const char *text, size_t n, int64_t *out);

#endif
