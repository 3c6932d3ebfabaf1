/* Builds a JSON document with cJSON, and prints it without harmful characters (json_tree.h). */
#include "report/json/json_tree.h"

#include "report/chars.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add(struct json_tree *j, const char *key, cJSON *item)
{
    cJSON *in = j->depth > 0 ? j->open[j->depth - 1] : NULL;
    if (item && in && (key ? cJSON_AddItemToObject(in, key, item) : cJSON_AddItemToArray(in, item)))
        return;
    cJSON_Delete(item);
    j->failed = true;
}

void tree_start(struct json_tree *j, char open)
{
    *j = (struct json_tree){.depth = 1};
    j->open[0] = open == '{' ? cJSON_CreateObject() : cJSON_CreateArray();
    j->failed = !j->open[0];
}

void tree_begin(struct json_tree *j, const char *key, char open)
{
    cJSON *item = open == '{' ? cJSON_CreateObject() : cJSON_CreateArray();
    bool before = j->failed;
    j->failed = false;
    add(j, key, item);
    if (j->depth < TREE_DEPTH)
        j->open[j->depth++] = j->failed ? NULL : item;
    else
        j->failed = true;
    j->failed |= before;
}

void tree_end(struct json_tree *j)
{
    if (j->depth > 1)
        j->depth--;
    else
        j->failed = true;
}

void tree_str(struct json_tree *j, const char *key, const char *value)
{
    add(j, key, value ? cJSON_CreateString(value) : cJSON_CreateNull());
}

void tree_words(struct json_tree *j, const char *key, const char *text, const char *behind)
{
    size_t size = strlen(text) + 1 + strlen(behind) + 1;
    char *both = malloc(size);
    if (both)
        snprintf(both, size, "%s%s%s", text, *behind ? " " : "", behind);
    add(j, key, both ? cJSON_CreateString(both) : NULL);
    free(both);
}

/* A number as text, exact to the digit: cJSON's own numbers are doubles. */
static void add_number(struct json_tree *j, const char *key, const char *text)
{
    add(j, key, cJSON_CreateRaw(text));
}

void tree_int(struct json_tree *j, const char *key, int64_t v)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, v);
    add_number(j, key, text);
}

void tree_num(struct json_tree *j, const char *key, double v, int decimals)
{
    char text[352];
    if (!isfinite(v)) {
        tree_null(j, key);
        return;
    }
    snprintf(text, sizeof text, "%.*f", decimals, v);
    add_number(j, key, text);
}

void tree_ms(struct json_tree *j, const char *key, int64_t ns)
{
    char text[40];
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    snprintf(text, sizeof text, "%s%" PRIu64 ".%06" PRIu64, ns < 0 ? "-" : "", u / 1000000,
             u % 1000000);
    add_number(j, key, text);
}

void tree_bool(struct json_tree *j, const char *key, bool v)
{
    add(j, key, cJSON_CreateBool(v));
}

void tree_null(struct json_tree *j, const char *key)
{
    add(j, key, cJSON_CreateNull());
}

static void put_escape(FILE *f, uint32_t code)
{
    if (code > 0xffff) { /* as a surrogate pair */
        fprintf(f, "\\u%04x", (unsigned)(0xd800 + ((code - 0x10000) >> 10)));
        code = 0xdc00 + (code & 0x3ff);
    }
    fprintf(f, "\\u%04x", (unsigned)code);
}

/* Prints what cJSON has printed. It has already escaped quotes, backslashes and controls in texts,
 * so line breaks and tabs here are its own. Its tabs become the spaces that json_write.h would put
 * there. */
static void put_safe(FILE *f, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t code;
        size_t length = utf8_next(s + i, n - i, &code);
        if (code == 0xfffd)
            fputs("\xef\xbf\xbd", f);
        else if ((code >= 0x7f && char_acts(code)) || (code == '#' && text_commands(s + i, n - i)))
            put_escape(f, code);
        else if (code == '\t')
            fputs(s[i - 1] == ':' ? " " : "  ", f);
        else
            fwrite(s + i, 1, length, f);
        i += length;
    }
}

int tree_print(struct json_tree *j, FILE *f)
{
    char *(*print)(const cJSON *) = j->one_line ? cJSON_PrintUnformatted : cJSON_Print;
    char *text = j->failed || j->depth != 1 ? NULL : print(j->open[0]);
    cJSON_Delete(j->open[0]);
    j->open[0] = NULL;
    if (!text)
        return -1;
    put_safe(f, text, strlen(text));
    cJSON_free(text);
    putc('\n', f);
    return fflush(f) || ferror(f) ? -1 : 0;
}
