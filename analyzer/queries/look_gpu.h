/* What the GPU's own gauges say: memory in use, clocks, reasons for lower ones. Samples outside of
 * the used steps are left out, as far as steps are known.
 * Cost: one pass over the samples. */
#ifndef GPUPROF_QUERIES_LOOK_GPU_H
#define GPUPROF_QUERIES_LOOK_GPU_H

#include "analyzer/queries/look.h"

struct look_gpu {
    int64_t samples;   /* with a clock */
    int64_t slowed;    /* of them: with a reason in LOOK_SLOWED */
    int64_t reasons;   /* all bits seen in slowed ones */
    double slowed_mhz; /* mean SM clock of the slowed */
    double slowed_pct; /* share of the samples */
    int64_t hottest_c, most_mw;
    int64_t memory_peak; /* most in use, bytes; -1 = not recorded */
};
struct look_gpu look_gpu(const struct facts *f);

/* NVML's numbers: power cap, hardware slowdown, thermal (driver, hardware), power brake. Idle and
 * what the user has set are no slowdowns. */
enum {
    LOOK_POWER_CAP = 0x4,
    LOOK_HW_SLOWDOWN = 0x8,
    LOOK_SW_THERMAL = 0x20,
    LOOK_HW_THERMAL = 0x40,
    LOOK_POWER_BRAKE = 0x80,
    LOOK_SLOWED =
        LOOK_POWER_CAP | LOOK_HW_SLOWDOWN | LOOK_SW_THERMAL | LOOK_HW_THERMAL | LOOK_POWER_BRAKE
};

#endif
