/* When each operation was launched, as far as the recording shows it. Cost: two passes over the
 * operations. */
#ifndef GPUPROF_MEASURE_LAUNCHED_H
#define GPUPROF_MEASURE_LAUNCHED_H

#include "analyzer/timeline/timeline.h"

#define LAUNCHED_BEFORE INT64_MIN /* launched before the recording began */

/* Fills `launch`, by operation. If no call is known: the operation's start, but no later than the
 * launch of what follows in its stream; or LAUNCHED_BEFORE, if no launch into its stream was
 * recorded until then and most later ones were. Returns -1 without memory. */
int launched_find(const struct timeline *t, int64_t *launch);

/* Returns, by stream, whether it feeds the program from aside, as loaders do that copy batches to
 * the GPU: it contains only copies, from threads that launch nothing else and wait for most of
 * these copies themselves, and no other stream waits for its events. Such a thread hands its data
 * over on the host, so its copies do not end a step. NULL without memory; the caller frees the
 * array. */
bool *launched_aside(const struct timeline *t);

#endif
