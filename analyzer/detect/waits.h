/* Finds out whether the host waits for the GPU in each segment. Loops of programs in C often do so
 * in each step; the layers of a deep network do not. For detect.c. Cost: one pass over the calls
 * for each cut. */
#ifndef GPUPROF_DETECT_WAITS_H
#define GPUPROF_DETECT_WAITS_H

#include "analyzer/detect/cut.h"

/* Keeps the cuts with a wait in nearly each segment, and those with many segments that are longer
 * than any layer, in their order. Returns how many are left, or -1 without memory. */
int keep_cuts_with_waits(struct cut *cuts, int n, const struct sequence *s,
                         const struct timeline *t, uint32_t process);
/* Returns the share of the segments in which the host waits for the whole GPU; -1 without
 * memory. */
double waits_for_device(const struct cut *c, const struct sequence *s, const struct timeline *t,
                        uint32_t process);
/* For programs that time each pass: these wait for the whole GPU in each pass, but not in most of
 * its layers. Replaces *c, a cut into layers, by the best cut into such passes. Returns -1 without
 * memory. */
int waits_pass(const struct cut **c, const struct cut *passes, int n, const struct sequence *s,
               const struct timeline *t, uint32_t process);

#endif
