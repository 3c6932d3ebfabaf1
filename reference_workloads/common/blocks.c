/* See blocks.h. */
#include "reference_workloads/common/blocks.h"

#include <cuda_profiler_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "reference_workloads/common/check.h"
#include "reference_workloads/common/clock.h"

enum { SETTLE = 4 }; /* steps: the host is up to two ahead of the GPU, and kinds are turned on */

void blocks_step(int every, int step)
{
    if (every <= 0 || step % every != 0)
        return;
    cudaCheck(step / every % 2 ? cudaProfilerStart() : cudaProfilerStop());
}

void blocks_print(int every, const int64_t *step_ns, int steps, int warmup)
{
    static const char *const names[] = {"unrecorded", "recorded"};
    if (every <= 0)
        return;
    int64_t *of_kind = check_alloc((size_t)steps * sizeof *of_kind);
    for (int kind = 0; kind < 2; kind++) {
        size_t n = 0;
        for (int step = warmup; step < steps; step++)
            if (step / every % 2 == kind && step % every >= SETTLE)
                of_kind[n++] = step_ns[step];
        printf("%s_step_ms=%.4f\n", names[kind], (double)median_ns(of_kind, n) / 1e6);
    }
    free(of_kind);
}
