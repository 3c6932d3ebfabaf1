/* What a step computes a second time in its backward pass, told without ranges: kernels that the
 * thread of the backward pass launches in the same order, with the same grids, as the training
 * thread did before in that step. Two in a row at least: single ones are common to both passes. Cost:
 * one pass over the calls, and a sort of the training thread's launches. */
#ifndef GPUPROF_QUERIES_TRAINING_AGAIN_H
#define GPUPROF_QUERIES_TRAINING_AGAIN_H

#include "analyzer/queries/query.h"

struct query_again {
    struct query_ops ops; /* over the used steps */
    const bool *op_marks; /* NULL: no memory */
};
struct query_again query_again(const struct facts *f, struct arena *arena);

#endif
