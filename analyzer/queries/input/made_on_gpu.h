/* Whether the training thread uses the GPU to make its batches, which a worker process cannot do. */
#ifndef GPUPROF_QUERIES_INPUT_MADE_ON_GPU_H
#define GPUPROF_QUERIES_INPUT_MADE_ON_GPU_H

#include "analyzer/queries/query.h"

/* Kernels, copies and fills that the training thread launches for a batch while its loader makes that,
 * on average over its batches; `computes`: kernels alone. 0: none, or no batch of its own was recorded.
 * Cost: a pass over loader rows, one over operations. */
double query_launches_of_batch(const struct facts *f, struct arena *arena, bool computes);

#endif
