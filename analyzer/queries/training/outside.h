/* Work of a training loop outside of the model's modules: the optimizer, zeroing gradients, and the
 * loss. torch.compile(model) and make_graphed_callables do not include it. Cost: O((operations +
 * ranges) * depth of the ranges); each name is examined once. */
#ifndef GPUPROF_QUERIES_TRAINING_OUTSIDE_H
#define GPUPROF_QUERIES_TRAINING_OUTSIDE_H

#include "analyzer/facts/facts.h"

/* By op, from the arena; NULL: out of memory. */
const bool *query_outside_model(const struct facts *f, struct arena *arena);

#endif
