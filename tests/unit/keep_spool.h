/* One spool of the test's process, made by hand, and the collector that reads it. */
#ifndef GPUPROF_TESTS_KEEP_SPOOL_H
#define GPUPROF_TESTS_KEEP_SPOOL_H

#include "tests/unit/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/collector/collect.h"
#include "tests/unit/memory_sink.h"
#include "tests/unit/write_spool.h"

enum { START = 1000000, KERNEL_NS = 100 };
static const int64_t epoch = 1700000000000000000; /* CUPTI's clock at CLOCK_MONOTONIC 0 */

static char dir[64];
static struct memory *m;
static struct collector *c;
static struct spool_writer w;

static inline void setup(void)
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

static inline void teardown(void)
{
    spool_end(&w);
    collect_close(c);
    memory_free(m);
    ck_assert_int_eq(rmdir(dir), 0);
}

static inline void drain(void)
{
    struct err e = ERR_INIT;
    ck_assert_msg(collect_drain(c, &e) >= 0, "%s", e.text);
}

static inline void finish(void)
{
    struct err e = ERR_INIT;
    atomic_store(&w.h->sealed, 1);
    ck_assert_msg(collect_finish(c, &e) == 0, "%s", e.text);
}

/* Adds kernels; kernel i runs in [i, i + 1) * KERNEL_NS. */
static inline void kernels(int from, int n)
{
    uint64_t at = 0;
    for (int i = from; i < from + n; i++)
        spool_kernel(&w, 0, &at, epoch + START + (int64_t)i * KERNEL_NS,
                     epoch + START + (int64_t)(i + 1) * KERNEL_NS, (uint32_t)i + 1, 0x1000);
    spool_state(&w, 0, SPOOL_READY, at);
    drain();
}

#endif
