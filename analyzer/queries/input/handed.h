/* The time in which the training thread takes tensors over from a loader's workers, one by one. */
#ifndef GPUPROF_QUERIES_INPUT_HANDED_H
#define GPUPROF_QUERIES_INPUT_HANDED_H

#include "analyzer/queries/query.h"

/* Per step, of the GPU's idle time (without a GPU: of the step), by samples of stacks. 0: none, or there
 * are no samples. */
int64_t query_handed_ns(const struct facts *f);
/* Of the first batch; 0: not known. */
int64_t query_batch_tensors(const struct facts *f);

#endif
