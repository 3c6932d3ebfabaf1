/* A JSON document that is written into memory, and printed at its end. */
#include "report/json/json_tree.h"

#include <stdlib.h>

static void start(struct json_tree *j, char open, int indent)
{
    *j = (struct json_tree){0};
    j->memory = open_memstream(&j->text, &j->size);
    json_start(&j->json, j->memory);
    j->json.indent = indent;
    j->json.tight = !indent;
    json_begin(&j->json, NULL, open);
}

void tree_start(struct json_tree *j, char open)
{
    start(j, open, 2);
}

void tree_start_line(struct json_tree *j, char open)
{
    start(j, open, 0);
}

void tree_begin(struct json_tree *j, const char *key, char open)
{
    json_begin(&j->json, key, open);
}

void tree_end(struct json_tree *j)
{
    j->json.misused |= j->json.depth < 2; /* tree_print ends the document */
    json_end(&j->json, json_in_array(&j->json) ? ']' : '}');
}

void tree_str(struct json_tree *j, const char *key, const char *value)
{
    json_str(&j->json, key, value);
}

void tree_words(struct json_tree *j, const char *key, const char *text, const char *behind)
{
    char *both = NULL;
    if (asprintf(&both, "%s%s%s", text, *behind ? " " : "", behind) < 0) {
        both = NULL;
        j->json.misused = true;
    }
    json_str(&j->json, key, both);
    free(both);
}

void tree_int(struct json_tree *j, const char *key, int64_t v)
{
    json_int(&j->json, key, v);
}

void tree_num(struct json_tree *j, const char *key, double v, int decimals)
{
    json_num(&j->json, key, v, decimals);
}

void tree_ms(struct json_tree *j, const char *key, int64_t ns)
{
    json_ms(&j->json, key, ns);
}

void tree_bool(struct json_tree *j, const char *key, bool v)
{
    json_bool(&j->json, key, v);
}

void tree_null(struct json_tree *j, const char *key)
{
    json_null(&j->json, key);
}

int tree_print(struct json_tree *j, FILE *f)
{
    bool whole = j->memory && j->json.depth == 1;
    if (whole) {
        json_end(&j->json, json_in_array(&j->json) ? ']' : '}');
        whole = json_end_document(&j->json) == 0;
    }
    if (j->memory)
        whole &= fclose(j->memory) == 0;
    if (whole)
        fwrite(j->text, 1, j->size, f);
    free(j->text);
    j->text = NULL;
    return !whole || fflush(f) || ferror(f) ? -1 : 0;
}
