/* Which rows the collector keeps of a long run: up to the largest size. Spools made by hand, of
 * this process. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/size.h"
#include "analyzer/import/collect.h"
#include "tests/unit/memory_sink.h"
#include "tests/unit/write_spool.h"

enum { START = 1000000, KERNEL_NS = 100 };
static const int64_t epoch = 1700000000000000000; /* CUPTI's clock at monotonic 0 */

static char dir[64];
static struct memory *m;
static struct collector *c;
static struct spool_writer w;

static void setup(void)
{
    struct sink out;
    struct err e = ERR_INIT;
    char path[128];
    strcpy(dir, "/tmp/gpuprof-keep-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    m = memory_new(&out);
    ck_assert_ptr_nonnull(c = collect_open(dir, START, out, &e));
    snprintf(path, sizeof path, "%s/a.spool", dir);
    w = spool_begin_sized(path, getpid(), spool_ticks(getpid()), 1 << 20);
    spool_anchor(&w, START, epoch + START);
    spool_ready(&w);
}

static void teardown(void)
{
    spool_end(&w);
    collect_close(c);
    memory_free(m);
    ck_assert_int_eq(rmdir(dir), 0);
}

static void drain(void)
{
    struct err e = ERR_INIT;
    ck_assert_msg(collect_drain(c, &e) >= 0, "%s", e.text);
}

static void finish(void)
{
    struct err e = ERR_INIT;
    atomic_store(&w.h->sealed, 1);
    ck_assert_msg(collect_finish(c, &e) == 0, "%s", e.text);
}

/* Kernel i runs in [i, i + 1) * KERNEL_NS. */
static void kernels(int from, int n)
{
    uint64_t at = 0;
    for (int i = from; i < from + n; i++)
        spool_kernel(&w, 0, &at, epoch + START + (int64_t)i * KERNEL_NS,
                     epoch + START + (int64_t)(i + 1) * KERNEL_NS, (uint32_t)i + 1, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    drain();
}

/* ---- up to a size */

static int64_t as_rows(void *self)
{
    return 100 * ((struct memory *)self)->count[ROW_KERNEL];
}

START_TEST(test_size_limit)
{
    collect_limit(c, 64 << 20, as_rows, m);
    kernels(0, 2000);
    collect_limit(c, 400000 + (64 << 20), as_rows, m); /* the spools take their part */
    kernels(2000, 4000);
    kernels(6000, 10);
    finish();
    ck_assert_int_ge(m->count[ROW_KERNEL], 2000);
    ck_assert_int_eq(memory_health(m, "size-limit"), -1);
}
END_TEST

START_TEST(test_size_limit_reached)
{
    collect_limit(c, 300000, as_rows, m); /* less than the spool takes: full at the first look */
    kernels(0, 4000);
    kernels(4000, 100);
    finish();
    int kept = m->count[ROW_KERNEL];
    ck_assert(kept > 0 && kept < 1200); /* it looks every 1024 rows */
    ck_assert_int_eq(memory_health(m, "size-limit"), 300000);
    ck_assert_int_eq(m->count[ROW_PROCESS], 1); /* rows without a time are always kept */
    ck_assert_int_eq(m->count[ROW_RECORDED], 1);
    const struct row_recorded *r = MEMORY_ROW(m, recorded, ROW_RECORDED, 0);
    ck_assert_int_eq(r->end_ns, (int64_t)kept * KERNEL_NS); /* up to the first that is missing */
    ck_assert_int_eq(r->gpu_end_ns, r->end_ns);
    ck_assert_int_eq(r->process, MEMORY_ROW(m, process, ROW_PROCESS, 0)->id);
}
END_TEST

static const struct {
    const char *text;
    int64_t bytes; /* -1: refused */
} sizes[] = {
    {"500M", 500LL << 20},
    {"4G", 4LL << 30},
    {"4GiB", 4LL << 30},
    {"64mb", 64LL << 20},
    {"1.5g", 3LL << 29},
    {"67108864", 64LL << 20},
    {"2T", 2LL << 40},
    {"0", 0},
    {"100K", 102400},
    {"1", 1},
    {"-1G", -1},
    {"", -1},
    {"G", -1},
    {"4X", -1},
    {"4G4", -1},
    {"nan", -1},
    {"1e30", -1},
};

START_TEST(test_sizes)
{
    struct err e = ERR_INIT;
    int64_t bytes = -2;
    int rc = size_parse(sizes[_i].text, &bytes, &e);
    ck_assert_msg(rc == (sizes[_i].bytes < 0 ? -1 : 0), "%s: %d", sizes[_i].text, rc);
    if (rc == 0)
        ck_assert_int_eq(bytes, sizes[_i].bytes);
    else
        ck_assert_msg(e.text[0] && !strchr(e.text, '\n'), "%s", sizes[_i].text);
}
END_TEST

Suite *test_keep_suite(void);

Suite *test_keep_suite(void)
{
    Suite *s = suite_create("keep");
    TCase *t = tcase_create("size");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_size_limit);
    tcase_add_test(t, test_size_limit_reached);
    suite_add_tcase(s, t);
    t = tcase_create("options");
    tcase_add_loop_test(t, test_sizes, 0, sizeof sizes / sizeof *sizes);
    suite_add_tcase(s, t);
    return s;
}
