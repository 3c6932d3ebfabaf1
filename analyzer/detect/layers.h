/* Repetition that is the layers of a deep network, or the parameters of one update: within one call
 * of a module or one step of an optimizer, or such by what it computes. For detect.c. Cost: a pass
 * over the ranges. */
#ifndef GPUPROF_DETECT_LAYERS_H
#define GPUPROF_DETECT_LAYERS_H

#include "analyzer/detect/cut.h"
#include "base/vec.h"

/* Without an update or a copy from or to the host, segments may as well be layers as passes. */
bool layers_alike(const struct cut *c);
/* A few repeats in which nothing comes from the host or goes to it, beside much that comes once:
 * the layers of a model that ran once. */
bool layers_once(const struct cut *c);
/* Of the cuts those that no single call of a module or update holds, in their order. Returns how
 * many, -1: out of memory. */
int layers_left_out(struct cut *cuts, int n, const struct sequence *s, const struct timeline *t,
                    uint32_t process);
/* Passes that hold the layers of `c` and more: the best such cut; NULL: none. */
const struct cut *layers_pass(const struct cut *cuts, size_t n, const struct cut *c);
/* The segments of `c` look like layers, and none of the cuts shows layers within them. */
bool layers_perhaps(const struct cut *cuts, size_t n, const struct cut *c);

#endif
