/* What recording costs within one process: blocks of steps in turn with and without a profiler that
 * obeys cudaProfilerStart and cudaProfilerStop. The same algorithms and clocks serve both. */
#ifndef WORKLOAD_BLOCKS_H
#define WORKLOAD_BLOCKS_H

#include <stdint.h>

/* At the beginning of each step. every: steps of a block; 0: nothing is done. */
void blocks_step(int every, int step);

/* Prints unrecorded_step_ms=... and recorded_step_ms=..., the medians of the step lengths in each
 * kind of block, without the first steps of each block and of the run. */
void blocks_print(int every, const int64_t *step_ns, int steps, int warmup);

#endif
