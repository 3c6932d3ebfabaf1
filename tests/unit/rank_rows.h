/* Rows of several ranks of one job: the process, thread, device and stream of rank r have the id r
 * + 1. */
#ifndef GPUPROF_TESTS_RANK_ROWS_H
#define GPUPROF_TESTS_RANK_ROWS_H

#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

struct rank_rows {
    struct timeline *t;
    struct sink sink;
    int64_t id; /* of the latest row */
};

static inline struct rank_rows rank_rows_start(void)
{
    struct err e = ERR_INIT;
    struct rank_rows r = {.t = timeline_new(&e)};
    ck_assert_ptr_nonnull(r.t);
    r.sink = timeline_sink(r.t);
    return r;
}

static inline void rank_rows_put(struct rank_rows *r, enum row_kind kind, const void *row)
{
    struct err e = ERR_INIT;
    ck_assert_int_eq(r->sink.put(r->sink.self, kind, row, &e), 0);
}

static inline uint32_t rank_rows_text(struct rank_rows *r, const char *s)
{
    return r->sink.intern(r->sink.self, s, strlen(s));
}

static inline void rank_rows_fact(struct rank_rows *r, int64_t rank, const char *key,
                                  const char *value)
{
    struct row_meta m = {.id = ++r->id,
                         .process = rank + 1,
                         .key = rank_rows_text(r, key),
                         .value = rank_rows_text(r, value)};
    rank_rows_put(r, ROW_META, &m);
}

/* Adds a rank. `host`: NULL: not recorded. */
static inline void rank_rows_rank(struct rank_rows *r, int64_t rank, int64_t ranks,
                                  const char *host)
{
    struct row_process p = {.id = rank + 1, .pid = 10 + rank, .rank = rank, .world_size = ranks};
    struct row_thread th = {.id = rank + 1, .process = rank + 1, .tid = 10 + rank};
    struct row_device d = {.id = rank + 1, .process = rank + 1, .ordinal = rank};
    struct row_stream s = {
        .id = rank + 1, .process = rank + 1, .device = rank + 1, .context = 1, .stream = 7};
    if (host)
        p.host = rank_rows_text(r, host);
    rank_rows_put(r, ROW_PROCESS, &p);
    rank_rows_put(r, ROW_THREAD, &th);
    rank_rows_put(r, ROW_DEVICE, &d);
    rank_rows_put(r, ROW_STREAM, &s);
}

static inline void rank_rows_step(struct rank_rows *r, int64_t rank, int64_t from, int64_t to)
{
    struct row_range step = {.id = ++r->id,
                             .process = rank + 1,
                             .thread = rank + 1,
                             .start_ns = from,
                             .end_ns = to,
                             .name = rank_rows_text(r, "ProfilerStep#1")};
    rank_rows_put(r, ROW_RANGE, &step);
}

/* Adds a kernel that was launched `ahead_ns` earlier than necessary. */
static inline void rank_rows_kernel(struct rank_rows *r, int64_t rank, const char *name,
                                    int64_t from, int64_t to, int64_t ahead_ns)
{
    int64_t at = ++r->id, place = rank + 1;
    struct row_api call = {.id = at,
                           .process = place,
                           .thread = place,
                           .start_ns = from - US(20) - ahead_ns,
                           .end_ns = from - US(10) - ahead_ns,
                           .name = rank_rows_text(r, "cudaLaunchKernel"),
                           .correlation = at};
    struct row_kernel k = {.id = at,
                           .process = place,
                           .stream = place,
                           .start_ns = from,
                           .end_ns = to,
                           .name = rank_rows_text(r, name),
                           .correlation = at};
    rank_rows_put(r, ROW_API, &call);
    rank_rows_put(r, ROW_KERNEL, &k);
}

/* Adds an all-reduce of 4 KB, whose call and kernel begin at `start`. */
static inline void rank_rows_collective(struct rank_rows *r, int64_t rank, int64_t communicator,
                                        int64_t ranks, int64_t sequence, int64_t start)
{
    struct row_collective c = {.id = ++r->id,
                               .process = rank + 1,
                               .thread = rank + 1,
                               .start_ns = start - US(21),
                               .end_ns = start - US(9),
                               .name = rank_rows_text(r, "ncclAllReduce"),
                               .kernel = -1,
                               .communicator = communicator,
                               .sequence = sequence,
                               .bytes = 4096,
                               .ranks = ranks,
                               .rank = rank};
    rank_rows_put(r, ROW_COLLECTIVE, &c);
}

#define RANK_ROWS_ALLREDUCE "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"

#endif
