/* Runs the collector on spools that a test makes by hand: a folder of spools, the collector on it
 * and a sink that remembers the rows. The test's own process is the live one; a dead process has a
 * pid that the kernel never assigns. Suites run `setup` and `teardown` around each test. */
#ifndef GPUPROF_TESTS_COLLECT_SPOOLS_H
#define GPUPROF_TESTS_COLLECT_SPOOLS_H

#include "tests/unit/test.h"
#include "analyzer/collector/collect.h"
#include "tests/unit/memory_sink.h"
#include "tests/unit/write_spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* START: CLOCK_MONOTONIC ns of time 0 in the profile. */
enum { DEAD = 2147483000, START = 1000000 };
static const int64_t epoch = 1700000000000000000; /* CUPTI's clock at CLOCK_MONOTONIC 0 */

static char dir[64];
static struct memory *m;
static struct collector *c;

static inline void setup(void)
{
    struct sink out;
    struct err e = ERR_INIT;
    strcpy(dir, "/tmp/gpuprof-collect-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    m = memory_new(&out);
    ck_assert_ptr_nonnull(c = collect_open(dir, START, out, &e));
}

static inline void teardown(void)
{
    collect_close(c);
    memory_free(m);
    ck_assert_int_eq(rmdir(dir), 0); /* all spools are gone */
}

static inline struct spool_writer writer(const char *name, int pid, uint64_t ticks)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.spool", dir, name);
    struct spool_writer w = spool_begin(path, pid, ticks);
    spool_anchor(&w, START, epoch + START);
    spool_add_name(&w, 0x1000, "_Z4gemmv");
    return w;
}

/* A spool of a live process, with this name in the folder. */
static inline struct spool_writer live(const char *name)
{
    struct spool_writer w = writer(name, getpid(), spool_ticks(getpid()));
    spool_ready(&w);
    return w;
}

static inline struct spool_writer dead(const char *name)
{
    struct spool_writer w = writer(name, DEAD, 1);
    spool_ready(&w);
    return w;
}

static inline int64_t drain(void)
{
    struct err e = ERR_INIT;
    int64_t n = collect_drain(c, &e);
    ck_assert_msg(n >= 0, "%s", e.text);
    return n;
}

static inline void finish(void)
{
    struct err e = ERR_INIT;
    ck_assert_msg(collect_finish(c, &e) == 0, "%s", e.text);
}

/* CUPTI's time stamp for a time in the profile. */
static inline int64_t stamp(int64_t ns)
{
    return epoch + START + ns;
}

#define KERNEL(i) MEMORY_ROW(m, kernel, ROW_KERNEL, i)
#define KERNELS   m->count[ROW_KERNEL]

#endif
