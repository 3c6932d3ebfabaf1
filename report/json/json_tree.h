/* A JSON document that is built whole, with cJSON, and printed at its end: everything but traces
 * and the data of the page, which json_write.h writes as they come. What cJSON would print as it is
 * and a terminal would obey leaves as \uXXXX, bad UTF-8 as U+FFFD, as json_write.h does it.
 *
 *   struct json_tree j;
 *   tree_start(&j, '{');
 *   tree_str(&j, "key", value);
 *   return tree_print(&j, f);
 *
 * Cost: a node of 64 bytes and copies of its key and value for each item. Out of memory: what is
 * added later is left out, and tree_print fails. */
#ifndef GPUPROF_REPORT_JSON_JSON_TREE_H
#define GPUPROF_REPORT_JSON_JSON_TREE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TREE_DEPTH = 16 };

struct json_tree {
    cJSON *open[TREE_DEPTH]; /* what is open, the document first */
    int depth;               /* so many */
    bool failed;
    bool one_line;
};

void tree_start(struct json_tree *j, char open);
/* open: { or [; key NULL in an array, here and below */
void tree_begin(struct json_tree *j, const char *key, char open);
void tree_end(struct json_tree *j);
void tree_str(struct json_tree *j, const char *key, const char *value); /* NULL value -> null */
void tree_words(struct json_tree *j, const char *key, const char *text,
                const char *behind); /* a text, a space and the rest; "": the text alone */
void tree_int(struct json_tree *j, const char *key, int64_t v);
void tree_num(struct json_tree *j, const char *key, double v, int decimals); /* not finite: null */
void tree_ms(struct json_tree *j, const char *key, int64_t ns); /* milliseconds, 6 decimals */
void tree_bool(struct json_tree *j, const char *key, bool v);
void tree_null(struct json_tree *j, const char *key);
/* Prints and frees the document, on a line of its own at the end. 0, or -1: the stream failed, no
 * memory, or something is still open. */
int tree_print(struct json_tree *j, FILE *f);

#endif
