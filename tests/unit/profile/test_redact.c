/* The sink that removes secrets, and what --redact removes in addition. */
#include "tests/unit/test.h"
#include "analyzer/profile/redact.h"
#include "base/identity.h"
#include "tests/unit/memory_sink.h"

#include <stdlib.h>
#include <unistd.h>

TEST(folders_and_names_go)
{
    static const char *const cases[][2] = {
        {"/home/janedoe/work/train.py:12", ".../train.py:12"},
        {"used at /data/acme/x.py(3)", "used at .../x.py(3)"},
        {"--out=/mnt/acme/run/ a", "--out=.../ a"},
        {"~/x.py '/a/b'", ".../x.py '.../b'"},
        {"file:///home/janedoe/t.py", "file://.../t.py"},
        {"by janedoe, janedoes, xjanedoe", "by ***, janedoes, xjanedoe"},
        {"/tmp a/b/c https://host/a/b 1/2/3", "/tmp a/b/c https://host/a/b 1/2/3"},
        {"/a/b:/home/x/y", ".../b:.../y"},
        {"void f<a/b>(char*)", "void f<a/b>(char*)"},
        {"/", "/"},
        {"", ""},
    };
    setenv("USER", "janedoe", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *out = NULL;
        size_t n = 0;
        int found = identity_hide(cases[i][0], strlen(cases[i][0]), &out, &n);
        ck_assert_str_eq(found ? out : cases[i][0], cases[i][1]);
        free(out);
    }
}

/* What arrives behind the sink of the rows that `fill` puts into it. */
static struct memory *through(bool all, void (*fill)(struct sink *))
{
    struct err e = ERR_INIT;
    struct sink inner;
    struct memory *m = memory_new(&inner);
    struct redact *r = redact_open(inner, all, &e);
    ck_assert_ptr_nonnull(r);
    struct sink out = redact_sink(r);
    fill(&out);
    redact_close(r);
    return m;
}

static uint32_t text(struct sink *s, const char *t)
{
    return s->intern(s->self, t, strlen(t));
}

static void put_meta(struct sink *s, int64_t id, const char *key, const char *value)
{
    struct err e = ERR_INIT;
    struct row_meta m = {id, 0, text(s, key), text(s, value)};
    ck_assert_int_eq(s->put(s->self, ROW_META, &m, &e), 0);
}

static const char secret_name[] = "load hf_"
                                  "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH";

static void fill(struct sink *s)
{
    struct err e = ERR_INIT;
    text(s, "token=never-named");
    put_meta(s, 1, "command", "/usr/bin/python3 /home/me/t.py --token abc");
    put_meta(s, 2, "env.MY_KEY", "abc");
    put_meta(s, 3, "env.OMP_NUM_THREADS", "4");
    put_meta(s, 4, "exe", "/usr/bin/python3");
    struct row_process p = {.id = 1, .command = text(s, "t --token abc"), .host = text(s, "node7")};
    ck_assert_int_eq(s->put(s->self, ROW_PROCESS, &p, &e), 0);
    struct row_device d = {.id = 1, .name = text(s, "NVIDIA H200"), .uuid = text(s, "GPU-12")};
    ck_assert_int_eq(s->put(s->self, ROW_DEVICE, &d, &e), 0);
    struct row_range r = {.id = 1,
                          .name = text(s, secret_name),
                          .domain = text(s, "key=a b"),
                          .shapes = text(s, "8 x 4 float")};
    ck_assert_int_eq(s->put(s->self, ROW_RANGE, &r, &e), 0);
    struct row_stack k = {.id = 1, .source = text(s, "api_key = \"abc\"; login(token='abc', n=3)")};
    ck_assert_int_eq(s->put(s->self, ROW_STACK, &k, &e), 0);
    struct row_copy c = {.id = 1, .bytes = 7}; /* without texts */
    ck_assert_int_eq(s->put(s->self, ROW_COPY, &c, &e), 0);
    struct row_thread t = {.id = 1, .name = 999999}; /* no text */
    ck_assert_int_eq(s->put(s->self, ROW_THREAD, &t, &e), 0);
}

static void check_meta(const struct memory *m, int i, const char *value)
{
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, meta, ROW_META, i)->value), value);
}

static bool has_text(const struct memory *m, const char *part)
{
    for (uint32_t i = 0; i < m->strings.n; i++)
        if (strstr(m->strings.text[i], part))
            return true;
    return false;
}

TEST(secrets_do_not_pass)
{
    struct memory *m = through(false, fill);
    check_meta(m, 0, "/usr/bin/python3 /home/me/t.py --token ***");
    check_meta(m, 1, "***");
    check_meta(m, 2, "4");
    check_meta(m, 3, "/usr/bin/python3");
    const struct row_process *p = MEMORY_ROW(m, process, ROW_PROCESS, 0);
    ck_assert_str_eq(memory_text(m, p->command), "t --token ***");
    ck_assert_str_eq(memory_text(m, p->host), "node7");
    const struct row_range *r = MEMORY_ROW(m, range, ROW_RANGE, 0);
    ck_assert_str_eq(memory_text(m, r->name), "load ***");
    ck_assert_str_eq(memory_text(m, r->domain), "key=a b"); /* the program's own words */
    ck_assert_str_eq(memory_text(m, r->shapes), "8 x 4 float");
    const struct row_stack *k = MEMORY_ROW(m, stack, ROW_STACK, 0);
    ck_assert_msg(!strstr(memory_text(m, k->source), "abc"), "%s", memory_text(m, k->source));
    ck_assert_int_eq(MEMORY_ROW(m, copy, ROW_COPY, 0)->bytes, 7);
    ck_assert_uint_eq(MEMORY_ROW(m, thread, ROW_THREAD, 0)->name, 0);
    ck_assert(!has_text(m, "abc") && !has_text(m, "hf_") && !has_text(m, "never-named"));
    memory_free(m);
}

TEST(with_all_nobody_is_named)
{
    struct memory *m = through(true, fill);
    check_meta(m, 0, "python3 (arguments hidden)");
    check_meta(m, 2, "4");
    check_meta(m, 3, ".../python3");
    const struct row_process *p = MEMORY_ROW(m, process, ROW_PROCESS, 0);
    ck_assert_str_eq(memory_text(m, p->command), "t (arguments hidden)");
    ck_assert_str_eq(memory_text(m, p->host), "***");
    const struct row_device *d = MEMORY_ROW(m, device, ROW_DEVICE, 0);
    ck_assert_str_eq(memory_text(m, d->name), "NVIDIA H200");
    ck_assert_str_eq(memory_text(m, d->uuid), "***");
    ck_assert_str_eq(memory_text(m, MEMORY_ROW(m, stack, ROW_STACK, 0)->source), "***");
    ck_assert(!has_text(m, "node7") && !has_text(m, "GPU-12") && !has_text(m, "t.py"));
    memory_free(m);
}
