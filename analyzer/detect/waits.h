/* Whether the host waits for the GPU in each segment, as the loops of programs in C do, and the
 * layers of a deep network do not. For detect.c. Cost: a pass over the calls for each cut. */
#ifndef GPUPROF_DETECT_WAITS_H
#define GPUPROF_DETECT_WAITS_H

#include "analyzer/detect/cut.h"

/* Of the cuts those with a wait in nearly each segment, or with many segments that are longer than
 * any layer, in their order. Returns how many, -1: out of memory. */
int waits_left_out(struct cut *cuts, int n, const struct sequence *s, const struct timeline *t,
                   uint32_t process);
/* The share of the segments in which the host waits for the whole GPU. -1: out of memory. */
double waits_for_device(const struct cut *c, const struct sequence *s, const struct timeline *t,
                        uint32_t process);
/* A program that times each pass waits for the whole GPU in each, and not in most of its layers:
 * puts the best of such passes in place of a cut into their layers. -1: out of memory. */
int waits_pass(const struct cut **c, const struct cut *passes, int n, const struct sequence *s,
               const struct timeline *t, uint32_t process);

#endif
