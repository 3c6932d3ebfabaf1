/* What the GPU's own gauges say: memory in use, clocks, reasons for lower ones. Samples outside of
 * the used steps are left out, as far as steps are known.
 * Cost: one pass over the samples. */
#ifndef GPUPROF_QUERIES_GPU_H
#define GPUPROF_QUERIES_GPU_H

#include "analyzer/queries/query.h"

struct query_gpu {
    int64_t samples;   /* with a clock */
    int64_t slowed;    /* of them: with a reason in QUERY_SLOWED */
    int64_t reasons;   /* all bits seen in slowed ones */
    double slowed_mhz; /* mean SM clock of the slowed */
    double slowed_pct; /* share of the samples */
    int64_t hottest_c, most_mw;
    int64_t memory_peak; /* most in use, bytes; -1 = not recorded, or only before the used steps */
};
struct query_gpu query_gpu(const struct facts *f);

/* NVML's numbers: power cap, hardware slowdown, thermal (driver, hardware), power brake. Idle and
 * what the user has set are no slowdowns. */
enum {
    QUERY_POWER_CAP = 0x4,
    QUERY_HW_SLOWDOWN = 0x8,
    QUERY_SW_THERMAL = 0x20,
    QUERY_HW_THERMAL = 0x40,
    QUERY_POWER_BRAKE = 0x80,
    QUERY_SLOWED = QUERY_POWER_CAP | QUERY_HW_SLOWDOWN | QUERY_SW_THERMAL | QUERY_HW_THERMAL |
                   QUERY_POWER_BRAKE
};

#endif
