/* A JSON document that is built as a whole, with cJSON, and then printed. All JSON is made so,
 * except traces and the page's data, which json_write.h streams. Characters that cJSON would print
 * unchanged and on which a terminal would act become \uXXXX, bad UTF-8 becomes U+FFFD, as in
 * json_write.h.
 *
 *   struct json_tree j;
 *   tree_start(&j, '{');
 *   tree_str(&j, "key", value);
 *   return tree_print(&j, f);
 *
 * Cost: a node of 64 bytes and copies of key and value for each item. Out of memory, later items
 * are left out, and tree_print fails. */
#ifndef GPUPROF_REPORT_JSON_JSON_TREE_H
#define GPUPROF_REPORT_JSON_JSON_TREE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TREE_DEPTH = 16 };

struct json_tree {
    cJSON *open[TREE_DEPTH]; /* open objects and arrays, the document first */
    int depth;               /* how many are open */
    bool failed;
    bool one_line;
};

void tree_start(struct json_tree *j, char open);
/* open: { or [. key is NULL in an array, here and below. */
void tree_begin(struct json_tree *j, const char *key, char open);
void tree_end(struct json_tree *j);
void tree_str(struct json_tree *j, const char *key, const char *value); /* NULL value -> null */
void tree_words(struct json_tree *j, const char *key, const char *text,
                const char *behind); /* writes text, a space and `behind`; "": the text alone */
void tree_int(struct json_tree *j, const char *key, int64_t v);
void tree_num(struct json_tree *j, const char *key, double v, int decimals); /* not finite: null */
void tree_ms(struct json_tree *j, const char *key, int64_t ns); /* milliseconds, 6 decimals */
void tree_bool(struct json_tree *j, const char *key, bool v);
void tree_null(struct json_tree *j, const char *key);
/* Prints the document on one line with a line break, and frees it. 0, or -1: the stream failed,
 * there was no memory, or an object is still open. */
int tree_print(struct json_tree *j, FILE *f);

#endif
