/* What the GPU's gauges say: memory in use, clocks, reasons for reduced clocks. If steps are known,
 * samples outside the used steps are left out. Cost: one pass over the samples. */
#ifndef GPUPROF_QUERIES_GPU_H
#define GPUPROF_QUERIES_GPU_H

#include "analyzer/queries/query.h"

struct query_gpu {
    int64_t samples;   /* samples with a clock */
    int64_t slowed;    /* samples with a reason in QUERY_SLOWED */
    int64_t reasons;   /* the reasons in QUERY_SLOWED of all these samples, as bits */
    double slowed_mhz; /* mean SM clock in these samples */
    double slowed_pct; /* slowed in per cent of samples */
    int64_t hottest_c, most_mw;
    /* Largest memory in use, bytes: what tensors hold and what other libraries and programs do, where the
     * allocator's numbers are known; else with what an allocator keeps free. -1 = not recorded, or only
     * before the used steps */
    int64_t memory_peak;
    const char *memory_sql; /* the rows behind it */
};
struct query_gpu query_gpu(const struct facts *f);

/* Bits of NVML's throttle reasons: power cap, hardware slowdown, thermal (driver, hardware), power
 * brake. An idle GPU, and clocks that the user set, are no slowdowns. */
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
