/* JSON documents built as a tree: numbers are exact, no text contains control characters that a
 * terminal obeys, and what was written can be read again. */
#include "tests/unit/test.h"
#include "report/json/json_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is printed, malloc'ed. */
static char *printed(struct json_tree *j)
{
    char *out;
    size_t n;
    FILE *f = open_memstream(&out, &n);
    ck_assert_int_eq(tree_print(j, f), 0);
    fclose(f);
    return out;
}

TEST(nests)
{
    struct json_tree j;
    tree_start(&j, '{');
    tree_int(&j, "a", -7);
    tree_begin(&j, "b", '[');
    tree_bool(&j, NULL, true);
    tree_null(&j, NULL);
    tree_begin(&j, NULL, '{');
    tree_end(&j);
    tree_end(&j);
    tree_str(&j, "c", NULL);
    j.one_line = true;
    char *out = printed(&j);
    ck_assert_str_eq(out, "{\"a\":-7,\"b\":[true,null,{}],\"c\":null}\n");
    free(out);
}

TEST(lines_and_blanks_as_the_streaming_writer)
{
    struct json_tree j;
    tree_start(&j, '{');
    tree_str(&j, "a\tb", ":\t");
    tree_begin(&j, "c", '{');
    tree_int(&j, "d", 1);
    tree_end(&j);
    char *out = printed(&j);
    ck_assert_str_eq(out, "{\n  \"a\\tb\": \":\\t\",\n  \"c\": {\n    \"d\": 1\n  }\n}\n");
    free(out);
}

TEST(numbers_to_the_digit)
{
    struct json_tree j;
    tree_start(&j, '[');
    tree_int(&j, NULL, INT64_MAX);
    tree_int(&j, NULL, INT64_MIN);
    tree_ms(&j, NULL, -1);
    tree_ms(&j, NULL, INT64_MAX);
    tree_num(&j, NULL, 0.12345, 3);
    tree_num(&j, NULL, INFINITY, 3);
    j.one_line = true;
    char *out = printed(&j);
    ck_assert_str_eq(out, "[9223372036854775807,-9223372036854775808,-0.000001,"
                          "9223372036854.775807,0.123,null]\n");
    free(out);
}

TEST(nothing_that_acts)
{
    static const char hostile[] = "\x1b[31m\x7f \xc2\x9b \xe2\x80\xae \xff ##[error] \"\\\n";
    struct json_tree j;
    tree_start(&j, '{');
    tree_str(&j, hostile, hostile);
    char *out = printed(&j);
    for (const unsigned char *p = (const unsigned char *)out; *p; p++)
        ck_assert_msg((*p >= 0x20 && *p != 0x7f) || *p == '\n', "byte %02x", *p);
    ck_assert_ptr_null(strstr(out, "##["));
    ck_assert_ptr_null(strstr(out, "\xc2\x9b"));
    ck_assert_ptr_null(strstr(out, "\xe2\x80\xae"));
    cJSON *read = cJSON_Parse(out);
    ck_assert_ptr_nonnull(read);
    ck_assert_str_eq(cJSON_GetStringValue(read->child),
                     "\x1b[31m\x7f \xc2\x9b \xe2\x80\xae \xef\xbf\xbd ##[error] \"\\\n");
    cJSON_Delete(read);
    free(out);
}

TEST(what_stays_open_is_an_error)
{
    struct json_tree j;
    tree_start(&j, '{');
    tree_begin(&j, "a", '[');
    ck_assert_int_eq(tree_print(&j, stderr), -1);
    tree_start(&j, '[');
    tree_end(&j);
    ck_assert_int_eq(tree_print(&j, stderr), -1);
    tree_start(&j, '[');
    for (int i = 0; i < TREE_DEPTH; i++)
        tree_begin(&j, NULL, '[');
    for (int i = 0; i < TREE_DEPTH - 1; i++)
        tree_end(&j);
    ck_assert_int_eq(tree_print(&j, stderr), -1);
}
