/* Builds loops with rows of a data loader (a framework's hook records them), for the rules about
 * loading. */
#ifndef GPUPROF_TESTS_RULES_LOADING_H
#define GPUPROF_TESTS_RULES_LOADING_H

#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

static int64_t rows;

static inline void loader(struct builder *b, int what, int worker, int64_t start, int64_t length,
                          int64_t cpu_ns)
{
    struct row_loader r = {.id = ++rows,
                           .process = 1,
                           .thread = 1,
                           .start_ns = start,
                           .end_ns = start + length,
                           .what = what,
                           .worker = worker,
                           .batch = -1,
                           .cpu_ns = cpu_ns};
    build_put(b, ROW_LOADER, &r);
}

/* Steps of 10 ms from one optimizer step to the next, of which `wait` is for data. */
static inline struct builder loading_loop(int worker, int64_t wait, int64_t fetch, int64_t cpu_ns)
{
    struct builder b = build_start();
    rows = 0;
    build_meta(&b, "usable_cores", "4");
    build_meta(&b, "torch.loader", "DataLoader(num_workers=0)");
    build_meta(&b, "torch.loader.where", "train.py:42");
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_range_at(&b, "gpuprof.step", 0, at, at + MS(10));
        build_range_at(&b, "read .item() train.py:50", 1, at + MS(9), at + MS(9) + US(3));
        loader(&b, SPOOL_LOADER_WAIT, -1, at + US(10), wait, -1);
        loader(&b, SPOOL_LOADER_FETCH, worker, at + US(10), fetch, cpu_ns);
    }
    return b;
}

#endif
