/* Adds samples of the GPU's clock and memory to the cases of rules that read them. */
#ifndef GPUPROF_TESTS_RULES_GAUGES_H
#define GPUPROF_TESTS_RULES_GAUGES_H

#include "tests/unit/rule_case.h"

static inline void sample(struct builder *b, int64_t at, int64_t mhz, int64_t reasons,
                          int64_t memory)
{
    struct row_gpu_sample r = {.id = ++b->next_id,
                               .device = 1,
                               .time_ns = at,
                               .util_pct = 90,
                               .memory_used_bytes = memory,
                               .sm_clock_mhz = mhz,
                               .memory_clock_mhz = 1500,
                               .power_mw = 400000,
                               .temperature_c = 84,
                               .throttle_reasons = reasons,
                               .pcie_tx_bytes_per_s = -1,
                               .pcie_rx_bytes_per_s = -1};
    build_put(b, ROW_GPU_SAMPLE, &r);
}

/* Analyses a loop with a sample of these values in each step; mhz 0: without samples. */
static inline const struct advice *gauged(struct builder *b, case_fill *fill, int64_t mhz,
                                          int64_t reasons, int64_t memory)
{
    *b = build_start();
    case_loop(b, fill);
    for (int i = 0; mhz && i < CASE_STEPS; i++)
        sample(b, MS(105) + MS(10) * i, mhz, reasons, memory);
    return build_analyze(b);
}

#endif
