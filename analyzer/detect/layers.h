/* Recognises repetition that comes from the layers of a deep network, or from the parameters of one
 * update: it lies within one call of a module or one step of an optimizer, or its operations are
 * those of layers. For detect.c. Cost: one pass over the ranges. */
#ifndef GPUPROF_DETECT_LAYERS_H
#define GPUPROF_DETECT_LAYERS_H

#include "analyzer/detect/cut.h"
#include "base/vec.h"

/* True if the segments look like layers and contain neither an update nor a copy from or to the
 * host: they may be layers or passes. */
bool layers_alike(const struct cut *c);
/* True for a few repeats without copies from or to the host, beside much work that occurs once: the
 * layers of a model that ran once. */
bool layers_once(const struct cut *c);
/* Removes the cuts whose segments all lie within a single call of a module, or several within one
 * update or one backward pass, and keeps the order. Returns how many cuts are left, or -1 without
 * memory. */
int drop_cuts_in_calls(struct cut *cuts, int n, const struct sequence *s, const struct timeline *t,
                       uint32_t process);
/* Returns the best cut whose segments contain the layers of `c` and more, or NULL. */
const struct cut *layers_pass(const struct cut *cuts, size_t n, const struct cut *c);
/* True if the segments of `c` look like layers, and no other cut shows layers within them. */
bool layers_perhaps(const struct cut *cuts, size_t n, const struct cut *c);

#endif
