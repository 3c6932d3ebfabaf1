/* The streaming JSON reader: tokens, chunk borders, hostile input. */
#include "tests/unit/test.h"
#include "base/json_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
    const char *text;
    size_t length, at, step;
};

static ssize_t fill(void *ctx, void *buf, size_t n)
{
    struct source *s = ctx;
    size_t left = s->length - s->at;
    n = n < s->step ? n : s->step;
    n = n < left ? n : left;
    memcpy(buf, s->text + s->at, n);
    s->at += n;
    return (ssize_t)n;
}

/* Tokens of `text` as letters, read `step` bytes at a time; texts of keys and values in <>. */
static const char *tokens(const char *text, size_t step)
{
    static char out[4096];
    struct source s = {text, strlen(text), 0, step};
    struct json_reader r;
    size_t n = 0;
    ck_assert_int_eq(json_read_open(&r, fill, &s, 1 << 20), 0);
    enum json_token t;
    while ((t = json_next(&r)) > JSON_END) {
        out[n++] = "?{}[]KSNtf0"[t];
        if (t == JSON_KEY || t == JSON_STRING || t == JSON_NUMBER)
            n += (size_t)snprintf(out + n, sizeof out - n, "<%.*s>", (int)r.length, r.text);
    }
    strcpy(out + n, t == JSON_END ? "." : "!");
    json_read_close(&r);
    return out;
}

TEST(every_chunk_size_gives_the_same_tokens)
{
    const char *text =
        " { \"a\" : [1, -2.5e3, \"x\\\"y\", true,false , null, {}], \"key with \\\\\" :"
        " {\"b\":[]} } ";
    const char *want = "{K<a>[N<1>N<-2.5e3>S<x\\\"y>tf0{}]K<key with \\\\>{K<b>[]}}.";
    for (size_t step = 1; step < 40; step++)
        ck_assert_str_eq(tokens(text, step), want);
}

/* Keys of the outermost object that were asked for, and their values. */
static const char *members_of(const char *text, size_t length, size_t step)
{
    static const char a[16] = "a", key[16] = "key"; /* with NULs behind them */
    static const struct word wanted[] = {{a, 1, 0}, {key, 3, 0}};
    struct words keys;
    static char out[4096];
    struct source s = {text, length, 0, step};
    struct json_reader r;
    size_t n = 0;
    enum json_token t;
    ck_assert_int_eq(json_read_open(&r, fill, &s, 1 << 20), 0);
    words_index(&keys, wanted, 2);
    ck_assert_int_eq(json_next(&r), JSON_OBJECT);
    while ((t = json_next_of(&r, &keys)) == JSON_KEY) {
        n += (size_t)snprintf(out + n, sizeof out - n, "%.*s=", (int)r.length, r.text);
        t = json_next(&r);
        if (t == JSON_ARRAY)
            ck_assert_int_eq(json_skip_rest(&r), 0);
        n += (size_t)snprintf(out + n, sizeof out - n, t == JSON_ARRAY ? "[]" : "%.*s",
                              (int)r.length, r.text);
    }
    strcpy(out + n, t == JSON_OBJECT_END && json_next(&r) == JSON_END ? "." : "!");
    json_read_close(&r);
    return out;
}

static const char *members(const char *text, size_t step)
{
    return members_of(text, strlen(text), step);
}

/* Whatever stands behind the NUL; a wanted key is compared to its end and no further. */
TEST(a_key_with_a_nul_is_another_key)
{
    static const char raw[] = "{\"a\0bcdefgh\": 1, \"key\0\": 2, \"a\": 3}";
    ck_assert_str_eq(members_of(raw, sizeof raw - 1, 7), "a=3.");
    ck_assert_str_eq(members("{\"a\\u0000bcdefgh\": 1, \"a\": 3}", 7), "a=3.");
}

TEST(members_are_found_among_others)
{
    const char *text = "{ \"x\": {\"a\": 1, \"key\": [\"a\"]}, \"a\" : 2, \"b\": \"a\","
                       " \"c\": [\"key\", {\"a\": 3}], \"ke\": 4, \"keys\": 5, \"key\":[1, [2]],"
                       " \"a\": \"key\", \"d\": 6 }";
    for (size_t step = 1; step < 40; step++)
        ck_assert_str_eq(members(text, step), "a=2key=[]a=key.");
    ck_assert_str_eq(members("{}", 3), ".");
    ck_assert_str_eq(members("{\"a\": 1", 3), "a=1!");
    ck_assert_str_eq(members("{\"b\": [1}", 3), "!");
    ck_assert_str_eq(members("{\"b\": \"open", 3), "!");
}

TEST(broken_documents_are_refused)
{
    static const char *const broken[] = {"{\"a\":1",   "[1,2",  "[1 2]", "{\"a\" 1}",
                                         "{1:2}",      "[1]]",  "{]",    "\"open",
                                         "{\"a\":\"x", "[1] x", "@",     ""};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        const char *t = tokens(broken[i], 3);
        ck_assert_msg(t[strlen(t) - 1] == '!', "%s -> %s", broken[i], t);
    }
}

TEST(deep_nesting_is_refused_not_followed)
{
    char *text = malloc(100001);
    memset(text, '[', 100000);
    text[100000] = 0;
    struct source s = {text, 100000, 0, 4096};
    struct json_reader r;
    ck_assert_int_eq(json_read_open(&r, fill, &s, 1 << 20), 0);
    ck_assert_int_eq(json_skip(&r), -1);
    ck_assert_ptr_nonnull(r.error);
    ck_assert_int_le(r.depth, JSON_MAX_DEPTH);
    json_read_close(&r);
    free(text);
}

TEST(a_string_beyond_the_limit_is_refused)
{
    size_t n = 3 << 20;
    char *text = malloc(n + 1);
    memset(text, 'x', n);
    text[0] = '"';
    text[n] = 0;
    struct source s = {text, n, 0, 65536};
    struct json_reader r;
    ck_assert_int_eq(json_read_open(&r, fill, &s, 1 << 20), 0);
    ck_assert_int_eq(json_next(&r), JSON_ERROR);
    ck_assert_uint_le(r.cap, 2 << 20);
    json_read_close(&r);
    free(text);
}

TEST(skip_lands_behind_the_value)
{
    const char *text = "[{\"a\":[1,\"}]\\\"\",{\"b\":2}]},7]";
    for (size_t step = 1; step < 12; step++) {
        struct source s = {text, strlen(text), 0, step};
        struct json_reader r;
        ck_assert_int_eq(json_read_open(&r, fill, &s, 1 << 20), 0);
        ck_assert_int_eq(json_next(&r), JSON_ARRAY);
        ck_assert_int_eq(json_skip(&r), 0);
        ck_assert_int_eq(json_next(&r), JSON_NUMBER);
        ck_assert_int_eq(r.text[0], '7');
        ck_assert_int_eq(json_next(&r), JSON_ARRAY_END);
        ck_assert_int_eq(json_next(&r), JSON_END);
        json_read_close(&r);
    }
}

TEST(numbers_are_exact_to_the_nanosecond)
{
    int64_t v;
    ck_assert(json_thousandths("1623142623460111", 16, &v) && v == 1623142623460111000);
    ck_assert(json_thousandths("3743411230047.485", 17, &v) && v == 3743411230047485);
    ck_assert(json_thousandths("-0.5", 4, &v) && v == -500);
    ck_assert(json_thousandths("1.2345", 6, &v) && v == 1234);
    ck_assert(json_thousandths("1e3", 3, &v) && v == 1000000);
    ck_assert(!json_thousandths("NaN", 3, &v));
    ck_assert(!json_thousandths("Infinity", 8, &v));
    ck_assert(!json_thousandths("99999999999999999999", 20, &v));
    ck_assert(!json_int64("9223372036854775808", 19, &v));
    ck_assert(json_int64("9223372036854775807", 19, &v) && v == INT64_MAX);
    ck_assert(!json_int64("", 0, &v));
}

TEST(escapes_become_utf8)
{
    const char *in = "a\\n\\u00e9\\ud83d\\ude00\\u12\\ud800x\\/";
    char out[64];
    size_t n = json_unescape(in, strlen(in), out);
    ck_assert_mem_eq(out, "a\n\xc3\xa9\xf0\x9f\x98\x80u12\xef\xbf\xbdx/", n);
}
