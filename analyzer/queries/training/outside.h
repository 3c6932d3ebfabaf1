/* Work of a training loop that no module of its model does: of the optimizer, of zeros for the
 * gradients, and of the loss. torch.compile(model) and make_graphed_callables leave it outside.
 * Cost: O((operations + ranges) * depth of the ranges); a name is looked at once. */
#ifndef GPUPROF_QUERIES_TRAINING_OUTSIDE_H
#define GPUPROF_QUERIES_TRAINING_OUTSIDE_H

#include "analyzer/facts/facts.h"

/* By op, of the arena; NULL without memory. */
const bool *query_outside_model(const struct facts *f, struct arena *arena);

#endif
