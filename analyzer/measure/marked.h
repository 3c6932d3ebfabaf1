/* The steps that a program marked while nothing else was recorded: the profile has them summed up
 * in blocks of neighbours (table step_block). */
#ifndef GPUPROF_MEASURE_MARKED_H
#define GPUPROF_MEASURE_MARKED_H

#include "analyzer/timeline/timeline.h"

struct marked {
    int64_t steps; /* 0: there are none */
    int64_t mean_ns, median_ns, p95_ns;
};

/* Of the first rank that marks steps, those whose block ends after from_ns. Of a block of several
 * steps each counts with their mean. False: out of memory. Cost: O(n log n) of its blocks. */
bool marked_steps(const struct timeline *t, int64_t from_ns, struct marked *out);

#endif
