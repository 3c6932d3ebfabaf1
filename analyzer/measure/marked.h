/* Steps that a program marked while nothing else was recorded. The profile contains them as blocks
 * of neighbouring steps (table step_block). */
#ifndef GPUPROF_MEASURE_MARKED_H
#define GPUPROF_MEASURE_MARKED_H

#include "analyzer/timeline/timeline.h"

struct marked {
    int64_t steps; /* 0: there are none */
    int64_t mean_ns, median_ns, p95_ns;
};

/* Measures the steps of the first rank that marks steps, in blocks that end after from_ns. Each
 * step of a block counts with the block's mean. Returns false without memory. Cost: O(n log n) of
 * its blocks. */
bool marked_steps(const struct timeline *t, int64_t from_ns, struct marked *out);

#endif
