/* Synthetic timelines for tests: one process, one device, as many threads and streams as a test
 * asks for.
 *
 *   struct builder b = build_start();
 *   build_range(&b, "step", MS(0), MS(10));
 *   build_kernel(&b, "volta_sgemm_128x64_nn", US(10), US(20), MS(1)); // call at, kernel at, length
 *   struct advice *a = build_analyze(&b);
 *
 * What is built lives until the test's process ends. A call takes CALL_NS unless a length is given.
 * `thread` and `stream` are ids: 1 exists from the start, build_thread and build_stream make
 * others. A failure aborts the test. */
#ifndef GPUPROF_TESTS_BUILD_TIMELINE_H
#define GPUPROF_TESTS_BUILD_TIMELINE_H

#include "analyzer/advice/advice.h"
#include "analyzer/timeline/timeline.h"
#include "tests/unit/test.h"
#include "wire/spool_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US(x) ((int64_t)((x)*1000.0))
#define MS(x) ((int64_t)((x)*1000000.0))
enum { CALL_NS = 4000 };

struct built {
    struct timeline *t;
    struct advice *a;
};

struct builder {
    struct timeline *t;
    struct built *kept; /* freed at the end */
    struct sink sink;
    struct advice *a;
    int64_t thread, stream; /* where new rows go; tests set them */
    int64_t next_id, correlation;
};

static inline void build_free(void *kept)
{
    struct built *k = kept;
    advice_free(k->a);
    timeline_free(k->t);
    free(k);
}

static inline void build_put(struct builder *b, enum row_kind kind, const void *row)
{
    struct err e = ERR_INIT;
    if (b->sink.put(b->sink.self, kind, row, &e) < 0) {
        fprintf(stderr, "builder: %s\n", e.text);
        abort();
    }
}

static inline uint32_t build_text(struct builder *b, const char *s)
{
    return b->sink.intern(b->sink.self, s, strlen(s));
}

static inline void build_meta(struct builder *b, const char *key, const char *value)
{
    struct row_meta r = {.id = ++b->next_id, .key = build_text(b, key)};
    r.value = build_text(b, value);
    build_put(b, ROW_META, &r);
}

static inline void build_thread(struct builder *b, int64_t id, const char *name)
{
    struct row_thread r = {.id = id, .process = 1, .tid = 100 + id, .name = build_text(b, name)};
    build_put(b, ROW_THREAD, &r);
}

static inline void build_stream(struct builder *b, int64_t id, int64_t device)
{
    struct row_stream r = {
        .id = id, .process = 1, .device = device, .context = 1, .stream = 6 + id};
    build_put(b, ROW_STREAM, &r);
}

/* A row as made by build_device's caller: build_start gives an A100 unless a device was given. */
static inline struct row_device build_a100(struct builder *b)
{
    return (struct row_device){.id = 1,
                               .process = 1,
                               .name = build_text(b, "NVIDIA A100-SXM4-80GB"),
                               .cc_major = 8,
                               .cc_minor = 0,
                               .sm_count = 108,
                               .clock_khz = 1410000,
                               .memory_bytes = (int64_t)80 << 30,
                               .memory_bytes_per_s = 2039000000000,
                               .l2_bytes = 40 << 20,
                               .copy_engines = 3};
}

/* `device`: NULL for an A100; otherwise its name. It is a virtual one if the name says so. */
static inline struct builder build_start_on(const char *device, int cc_major, int cc_minor)
{
    struct err e = ERR_INIT;
    struct builder b = {.t = timeline_new(&e), .thread = 1, .stream = 1, .next_id = 100};
    b.kept = calloc(1, sizeof *b.kept);
    if (!b.t || !b.kept)
        abort();
    b.kept->t = b.t;
    test_later(build_free, b.kept);
    b.sink = timeline_sink(b.t);
    struct row_process p = {
        .id = 1, .pid = 42, .rank = -1, .local_rank = -1, .world_size = -1, .sealed = 1};
    p.end_ns = MS(10000);
    build_put(&b, ROW_PROCESS, &p);
    struct row_device d = build_a100(&b);
    if (device) {
        d.name = build_text(&b, device);
        d.cc_major = cc_major;
        d.cc_minor = cc_minor;
        d.is_virtual = strncmp(device, "Virtual ", 8) == 0;
    }
    build_put(&b, ROW_DEVICE, &d);
    build_thread(&b, 1, "main");
    build_stream(&b, 1, 1);
    return b;
}

static inline struct builder build_start(void)
{
    return build_start_on(NULL, 0, 0);
}

/* A call on the current thread; returns its correlation. */
static inline int64_t build_api_of(struct builder *b, const char *name, int64_t start,
                                   int64_t length, int error)
{
    struct row_api r = {.id = ++b->next_id,
                        .process = 1,
                        .thread = b->thread,
                        .start_ns = start,
                        .end_ns = start + length,
                        .name = build_text(b, name),
                        .correlation = ++b->correlation,
                        .result = error};
    build_put(b, ROW_API, &r);
    return b->correlation;
}

static inline int64_t build_api(struct builder *b, const char *name, int64_t start, int64_t length)
{
    return build_api_of(b, name, start, length, 0);
}

/* A kernel without its call; correlation 0: its launch is unknown. */
static inline void build_kernel_of(struct builder *b, const char *name, int64_t correlation,
                                   int64_t start, int64_t length, int64_t grid)
{
    struct row_kernel r = {.id = ++b->next_id,
                           .process = 1,
                           .stream = b->stream,
                           .start_ns = start,
                           .end_ns = start + length,
                           .name = build_text(b, name),
                           .correlation = correlation,
                           .grid_x = grid,
                           .grid_y = 1,
                           .grid_z = 1,
                           .block_x = 256,
                           .block_y = 1,
                           .block_z = 1};
    build_put(b, ROW_KERNEL, &r);
}

/* cudaLaunchKernel at `call`; the kernel runs in [start, start + length). */
static inline void build_kernel(struct builder *b, const char *name, int64_t call, int64_t start,
                                int64_t length)
{
    int64_t correlation = build_api(b, "cudaLaunchKernel", call, CALL_NS);
    build_kernel_of(b, name, correlation, start, length, 64);
}

/* cudaMemcpy or cudaMemcpyAsync in [call, call + call_length); the copy moves `bytes` from `start`
 * on. */
static inline void build_copy(struct builder *b, int64_t kind, int64_t src, int64_t dst, bool async,
                              int64_t bytes, int64_t call, int64_t call_length, int64_t start,
                              int64_t length)
{
    int64_t correlation = build_api(b, async ? "cudaMemcpyAsync" : "cudaMemcpy", call, call_length);
    struct row_copy r = {.id = ++b->next_id,
                         .process = 1,
                         .stream = b->stream,
                         .start_ns = start,
                         .end_ns = start + length,
                         .correlation = correlation,
                         .kind = kind,
                         .src_kind = src,
                         .dst_kind = dst,
                         .bytes = bytes,
                         .is_async = async,
                         .peer_device = -1};
    build_put(b, ROW_COPY, &r);
}

static inline void build_memset(struct builder *b, int64_t bytes, int64_t call, int64_t start,
                                int64_t length)
{
    int64_t correlation = build_api(b, "cudaMemsetAsync", call, CALL_NS);
    struct row_memset r = {.id = ++b->next_id,
                           .process = 1,
                           .stream = b->stream,
                           .start_ns = start,
                           .end_ns = start + length,
                           .correlation = correlation,
                           .bytes = bytes};
    build_put(b, ROW_MEMSET, &r);
}

/* A call of cudaStreamSynchronize and its synchronisation record. */
static inline void build_sync(struct builder *b, int64_t start, int64_t length)
{
    int64_t correlation = build_api(b, "cudaStreamSynchronize", start, length);
    struct row_sync r = {.id = ++b->next_id,
                         .process = 1,
                         .start_ns = start,
                         .end_ns = start + length,
                         .type = SYNC_STREAM,
                         .stream = b->stream,
                         .event = -1,
                         .event_sync = -1,
                         .correlation = correlation};
    build_put(b, ROW_SYNC, &r);
}

/* A range in the domain `domain`; NULL: in the program's own NVTX. */
static inline void build_range_in(struct builder *b, const char *domain, const char *name,
                                  int64_t depth, int64_t start, int64_t end)
{
    struct row_range r = {.id = ++b->next_id,
                          .process = 1,
                          .thread = b->thread,
                          .start_ns = start,
                          .end_ns = end,
                          .name = build_text(b, name),
                          .domain = domain ? build_text(b, domain) : 0,
                          .depth = depth};
    build_put(b, ROW_RANGE, &r);
}

static inline void build_range_at(struct builder *b, const char *name, int64_t depth, int64_t start,
                                  int64_t end)
{
    build_range_in(b, NULL, name, depth, start, end);
}

/* A range at depth 0 if its name is "step", otherwise at depth 1. */
static inline void build_range(struct builder *b, const char *name, int64_t start, int64_t end)
{
    build_range_at(b, name, strncmp(name, "step", 4) != 0, start, end);
}

static inline void build_call(struct builder *b, struct row_call row, const char *function)
{
    row.id = ++b->next_id;
    row.process = 1;
    row.thread = b->thread;
    row.function = build_text(b, function);
    build_put(b, ROW_CALL, &row);
}

static inline void build_health(struct builder *b, const char *code, const char *text,
                                int64_t severity, int64_t value)
{
    struct row_health r = {.id = ++b->next_id,
                           .process = 1,
                           .severity = severity,
                           .code = build_text(b, code),
                           .value = value};
    r.text = build_text(b, text);
    build_put(b, ROW_HEALTH, &r);
}

static inline struct timeline *build_finish(struct builder *b)
{
    struct err e = ERR_INIT;
    if (timeline_finish(b->t, &e) < 0) {
        fprintf(stderr, "builder: %s\n", e.text);
        abort();
    }
    return b->t;
}

/* Checks that the verdict and the "Next" line name the same change, and that the verdict is about
 * what fills most of the step. */
static inline void build_agrees(const struct advice *a)
{
    static const char *const without[] = {"not-enough-data", "start-up", "straggler", "contention",
                                          NULL};
    if (!a->ranked_count || !a->verdict || !a->next)
        return;
    for (int i = 0; without[i]; i++)
        if (strcmp(a->verdict_class, without[i]) == 0)
            return;
    const char *title = a->ranked[0]->title;
    const int64_t *part = a->facts->breakdown_ns;
    int64_t idle = 0;
    for (int p = PART_COMM; p < PART_COUNT; p++)
        idle += part[p];
    bool agrees = strstr(a->verdict, title) && strncmp(a->next, title, strlen(title)) == 0 &&
                  (part[PART_COMPUTE] <= idle || strstr(a->verdict, "kernels compute"));
    if (!agrees) {
        fprintf(stderr, "verdict and next disagree: '%s' '%s'\n", a->verdict, a->next);
        abort();
    }
}

static inline struct advice *build_analyze(struct builder *b)
{
    struct err e = ERR_INIT;
    b->a = b->kept->a = advise(build_finish(b), &e);
    if (!b->a) {
        fprintf(stderr, "builder: %s\n", e.text);
        abort();
    }
    build_agrees(b->a);
    return b->a;
}

/* Replaces the analysis by one with predictions. */
static inline struct advice *build_predict(struct builder *b)
{
    struct err e = ERR_INIT;
    struct timeline *t = b->a ? b->t : build_finish(b);
    advice_free(b->a);
    b->a = b->kept->a = advise_predicted(t, NULL, &e);
    if (!b->a) {
        fprintf(stderr, "builder: %s\n", e.text);
        abort();
    }
    return b->a;
}

/* Returns the next pseudo-random number; *x must not be 0 at the start. */
static inline int64_t build_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (int64_t)(*x >> 11);
}

#endif
