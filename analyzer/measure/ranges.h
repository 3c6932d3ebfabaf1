/* Finds which range of a program a thread is in. */
#ifndef GPUPROF_MEASURE_RANGES_H
#define GPUPROF_MEASURE_RANGES_H

#include "analyzer/measure/spans.h"

/* Returns the thread's first range that begins at or after `ns`; if there is none, the index behind
 * its last range. */
uint32_t range_from(const struct timeline *t, const struct thread *th, int64_t ns);
/* Returns the innermost range of a thread at a time, or TL_NONE. Cost: O(log n) plus the depth of
 * ranges that have ended. */
uint32_t range_at(const struct timeline *t, uint32_t thread, int64_t at_ns);
/* The same, but skips ranges that do not show where in the program the thread is. */
uint32_t range_place_at(const struct timeline *t, uint32_t thread, int64_t at_ns);
/* Of these, returns the innermost one that covers at least half of the given time. */
uint32_t range_place_of(const struct timeline *t, uint32_t thread, struct span most_of);

#endif
