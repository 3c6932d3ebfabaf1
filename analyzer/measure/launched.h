/* When each operation was launched, as far as that can be told. Cost: two passes over them. */
#ifndef GPUPROF_MEASURE_LAUNCHED_H
#define GPUPROF_MEASURE_LAUNCHED_H

#include "analyzer/timeline/timeline.h"

#define LAUNCHED_BEFORE INT64_MIN /* the recording */

/* `launch`, by operation. Where no call is known to have done it: when it started, but no later
 * than what follows it in its stream; and LAUNCHED_BEFORE, where no launch into its stream had been
 * recorded until then, and most were later. -1: out of memory. */
int launched_find(const struct timeline *t, int64_t *launch);

/* Streams, by index, that feed the program from aside, as loaders do that copy batches to the GPU:
 * all that is in them are copies of threads that launch nothing else, and that wait for most of
 * these copies themselves; no other stream waits for their events. What they hold up is handed over
 * on the host, and ends no step. NULL: out of memory; the caller frees it. */
bool *launched_aside(const struct timeline *t);

#endif
