/* Whether the host waits for the GPU in each segment, as the loops of programs in C do, and the
 * layers of a deep network do not. For detect.c. Cost: a pass over the calls for each cut. */
#ifndef GPUPROF_DETECT_WAITS_H
#define GPUPROF_DETECT_WAITS_H

#include "analyzer/detect/cut.h"

/* Of the cuts those with a wait in nearly each segment, or with many segments that are longer than
 * any layer, in their order. Returns how many, -1: out of memory. */
int waits_left_out(struct cut *cuts, int n, const struct sequence *s, const struct timeline *t,
                   uint32_t process);

#endif
