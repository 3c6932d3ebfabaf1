/* The JSON writer: escapes, numbers, nesting. */
#include "tests/unit/test.h"
#include "report/json/json_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What `body` writes as text, malloc'ed. */
#define WRITTEN(out, j, ...)                                                                       \
    do {                                                                                           \
        size_t written_n;                                                                          \
        FILE *written_f = open_memstream(&(out), &written_n);                                      \
        json_start(&(j), written_f);                                                               \
        __VA_ARGS__;                                                                               \
        ck_assert_int_eq(json_end_document(&(j)), 0);                                              \
        fclose(written_f);                                                                         \
    } while (0)

TEST(nests_and_separates)
{
    struct json j;
    char *out;
    WRITTEN(out, j, {
        json_begin(&j, NULL, '{');
        json_int(&j, "a", -7);
        json_begin(&j, "b", '[');
        json_bool(&j, NULL, true);
        json_null(&j, NULL);
        json_begin(&j, NULL, '{');
        json_end(&j, '}');
        json_end(&j, ']');
        json_str(&j, "c", NULL);
        json_end(&j, '}');
    });
    ck_assert_str_eq(out, "{\"a\": -7, \"b\": [true, null, {}], \"c\": null}\n");
    free(out);
}

TEST(indents)
{
    struct json j;
    char *out;
    WRITTEN(out, j, {
        j.indent = 2;
        json_begin(&j, NULL, '{');
        json_begin(&j, "a", '[');
        json_int(&j, NULL, 1);
        json_end(&j, ']');
        json_begin(&j, "b", '[');
        json_end(&j, ']');
        json_end(&j, '}');
    });
    ck_assert_str_eq(out, "{\n  \"a\": [\n    1\n  ],\n  \"b\": []\n}\n");
    free(out);
}

TEST(puts_items_on_lines)
{
    struct json j;
    char *out;
    WRITTEN(out, j, {
        json_begin(&j, NULL, '[');
        json_newline(&j);
        json_int(&j, NULL, 1);
        json_newline(&j);
        json_int(&j, NULL, 2);
        json_newline(&j);
        json_end(&j, ']');
    });
    ck_assert_str_eq(out, "[\n1,\n2\n]\n");
    free(out);
}

TEST(escapes)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"a\"b\\c", "\"a\\\"b\\\\c\"\n"},
        {"\n\t\r\x01", "\"\\n\\t\\r\\u0001\"\n"},
        {"</script>&", "\"</script>&\"\n"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"\n"},
        {"\xe2\x80\xa8", "\"\\u2028\"\n"},
        {"\xc2\x9b\xe2\x80\xae\xef\xbf\xbf", "\"\\u009b\\u202e\\uffff\"\n"},
        {"\xf3\xa0\x80\x81", "\"\\udb40\\udc01\"\n"},
        {"step#1 ##[error] a## b", "\"step#1 \\u0023#[error] a## b\"\n"},
        {"a\xff\x62", "\"a\xef\xbf\xbd\x62\"\n"},                       /* no such byte */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"\n"},                 /* overlong */
        {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"\n"},                 /* cut off */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n"}, /* surrogate */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json j;
        char *out;
        WRITTEN(out, j, json_str(&j, NULL, cases[i].in));
        ck_assert_str_eq(out, cases[i].out);
        free(out);
    }
}

TEST(is_harmless_inside_html)
{
    struct json j;
    char *out;
    WRITTEN(out, j, {
        j.html = true;
        json_str(&j, NULL, "</script><img onerror=x>&amp;");
    });
    ck_assert_ptr_null(strpbrk(out, "<>&"));
    ck_assert_str_eq(out, "\"\\u003c/script\\u003e\\u003cimg onerror=x\\u003e\\u0026amp;\"\n");
    free(out);
}

TEST(prints_times_exactly)
{
    static const struct {
        int64_t ns;
        const char *us, *ms;
    } cases[] = {
        {0, "0.000\n", "0.000000\n"},
        {1, "0.001\n", "0.000001\n"},
        {-1, "-0.001\n", "-0.000001\n"},
        {1234567, "1234.567\n", "1.234567\n"},
        {INT64_MAX, "9223372036854775.807\n", "9223372036854.775807\n"},
        {INT64_MIN, "-9223372036854775.808\n", "-9223372036854.775808\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json j;
        char *us, *ms;
        WRITTEN(us, j, json_us(&j, NULL, cases[i].ns));
        WRITTEN(ms, j, json_ms(&j, NULL, cases[i].ns));
        ck_assert_str_eq(us, cases[i].us);
        ck_assert_str_eq(ms, cases[i].ms);
        free(us);
        free(ms);
    }
}

TEST(has_no_infinities)
{
    struct json j;
    char *out;
    WRITTEN(out, j, {
        json_begin(&j, NULL, '[');
        json_num(&j, NULL, NAN, 2);
        json_num(&j, NULL, INFINITY, 2);
        json_num(&j, NULL, 1.005, 1);
        json_end(&j, ']');
    });
    ck_assert_str_eq(out, "[null, null, 1.0]\n");
    free(out);
}

TEST(tells_of_a_full_disk)
{
    struct json j;
    FILE *f = fopen("/dev/full", "w");
    ck_assert_ptr_nonnull(f);
    json_start(&j, f);
    json_begin(&j, NULL, '[');
    json_end(&j, ']');
    ck_assert_int_eq(json_end_document(&j), -1);
    fclose(f);
}

TEST(tells_of_bad_nesting)
{
    struct json j;
    FILE *f = fopen("/dev/null", "w");
    json_start(&j, f);
    json_begin(&j, NULL, '[');
    ck_assert_int_eq(json_end_document(&j), -1);
    json_start(&j, f);
    json_begin(&j, NULL, '[');
    json_end(&j, ']');
    json_end(&j, ']');
    json_begin(&j, NULL, '[');
    ck_assert_int_eq(json_end_document(&j), -1);
    fclose(f);
}
