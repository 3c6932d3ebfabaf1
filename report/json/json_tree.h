/* A JSON document that is written into memory, and printed at its end if nothing failed: everything
 * but traces and the data of the page, which json_write.h writes as they come.
 *
 *   struct json_tree j;
 *   tree_start(&j, '{');
 *   tree_str(&j, "key", value);
 *   return tree_print(&j, f);
 *
 * Cost: the text. Out of memory: tree_print fails and prints nothing. */
#ifndef GPUPROF_REPORT_JSON_JSON_TREE_H
#define GPUPROF_REPORT_JSON_JSON_TREE_H

#include "report/json/json_write.h"

struct json_tree {
    struct json json;
    FILE *memory;
    char *text;
    size_t size;
};

void tree_start(struct json_tree *j, char open);
void tree_start_line(struct json_tree *j, char open); /* all on one line */
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
