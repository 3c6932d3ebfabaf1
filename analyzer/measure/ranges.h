/* Which range a thread is in. */
#ifndef GPUPROF_MEASURE_RANGES_H
#define GPUPROF_MEASURE_RANGES_H

#include "analyzer/measure/spans.h"

/* Of the ranges of a thread, the first that begins then or later; behind the last: none does. */
uint32_t range_from(const struct timeline *t, const struct thread *th, int64_t ns);
/* The innermost range of a thread at a time, TL_NONE. O(log n), and the depth of what has ended. */
uint32_t range_at(const struct timeline *t, uint32_t thread, int64_t at_ns);
/* The same without those that do not say where in the program it is. */
uint32_t range_place_at(const struct timeline *t, uint32_t thread, int64_t at_ns);
/* And of these the innermost that holds at least half of that time. */
uint32_t range_place_of(const struct timeline *t, uint32_t thread, struct span most_of);

#endif
