/* Work that a step's backward pass computes a second time, found without ranges: kernels that the
 * backward thread launches in the same order and with the same grids as the training thread did
 * before in that step. At least two in a row must agree, since both passes share single kernels.
 * Cost: one pass over the calls, and a sort of the training thread's launches. */
#ifndef GPUPROF_QUERIES_TRAINING_AGAIN_H
#define GPUPROF_QUERIES_TRAINING_AGAIN_H

#include "analyzer/queries/query.h"

struct query_recomputed {
    struct query_ops ops; /* sums over the used steps */
    const bool *op_marks; /* by op: it is computed again; NULL: out of memory */
};
struct query_recomputed query_recomputed(const struct facts *f, struct arena *arena);

#endif
