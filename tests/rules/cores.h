/* Fills the steps of cases about processor cores: how much of the time a thread ran, waited for a
 * core or for storage. */
#ifndef GPUPROF_TESTS_RULES_CORES_H
#define GPUPROF_TESTS_RULES_CORES_H

#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

struct share { /* shares of a thread's time; below 0: not recorded */
    double cpu, queue, io;
    int64_t read, storage; /* bytes per step */
};

static inline int64_t part(double share, int64_t ns)
{
    return share < 0 ? -1 : (int64_t)(share * (double)ns);
}

/* Samples of a thread over the whole loop. */
static inline void clocks(struct builder *b, int64_t thread, struct share s)
{
    for (int i = 0; i <= CASE_STEPS; i++) {
        int64_t ns = MS(10) * i;
        struct row_host_sample r = {.id = ++b->next_id,
                                    .process = 1,
                                    .thread = thread,
                                    .time_ns = MS(100) + ns,
                                    .cpu_ns = part(s.cpu, ns),
                                    .run_queue_ns = part(s.queue, ns),
                                    .io_wait_ns = part(s.io, ns),
                                    .major_faults = 0,
                                    .read_bytes = s.read < 0 ? -1 : s.read * i,
                                    .storage_bytes = s.storage < 0 ? -1 : s.storage * i};
        build_put(b, ROW_HOST_SAMPLE, &r);
    }
}

static inline struct builder start(const char *cores)
{
    struct builder b = build_start();
    build_thread(&b, 2, "loader");
    build_meta(&b, "usable_cores", cores);
    return b;
}

/* A worker that makes batches all the time; the GPU waits for it 4 ms of 10. */
static inline void fill_waits(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(4));
    b->thread = 2;
    build_range_at(b, "data.decode", 0, at, at + MS(10));
    b->thread = 1;
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

/* Samples of the training thread, which waits for a core during this share of the time. */
static inline void starve(struct builder *b, double share)
{
    for (int i = 0; i < 4; i++) {
        struct row_host_sample r = {.id = ++b->next_id,
                                    .process = 1,
                                    .thread = 1,
                                    .time_ns = MS(100) + MS(40) * i,
                                    .cpu_ns = MS(10) * i,
                                    .run_queue_ns = (int64_t)(share * (double)MS(40)) * i};
        build_put(b, ROW_HOST_SAMPLE, &r);
    }
}

#endif
