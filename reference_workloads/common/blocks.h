/* What recording costs within one process: blocks of steps in turn with and without a profiler that
 * obeys cudaProfilerStart and cudaProfilerStop. The same algorithms and clocks serve both. */
#ifndef WORKLOAD_BLOCKS_H
#define WORKLOAD_BLOCKS_H

#include <stdint.h>

/* At the beginning of each step. every: steps of a block; 0: nothing is done. */
void blocks_step(int every, int step);

/* Prints, without the warm-up and the beginning of each block (four steps, and 0.15 s: make blocks
 * longer than that):
 *   unrecorded_step_ms, recorded_step_ms    the median block of each kind: its median step
 *   recorded_pct                            how much longer a recorded block's step is than those
 * of its two neighbours, median; and recorded_least_pct, recorded_most_pct switch_on_ms,
 * switch_off_ms             what a border of blocks costs: the call, and how much longer than
 * others the four steps behind it take */
void blocks_print(int every, const int64_t *step_ns, int steps, int warmup);

#endif
