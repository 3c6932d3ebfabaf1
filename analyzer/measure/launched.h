/* When each operation was launched, as far as that can be told. Cost: two passes over them. */
#ifndef GPUPROF_MEASURE_LAUNCHED_H
#define GPUPROF_MEASURE_LAUNCHED_H

#include "analyzer/timeline/timeline.h"

#define LAUNCHED_BEFORE INT64_MIN /* the recording */

/* `launch`, by operation. Where no call is known to have done it: when it started, but no later
 * than what follows it in its stream; and LAUNCHED_BEFORE, where no launch into its stream had been
 * recorded until then, and most were later. -1: out of memory. */
int launched_find(const struct timeline *t, int64_t *launch);

#endif
