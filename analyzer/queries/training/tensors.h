/* Work that a program does for each of its parameters by itself: it updates, zeroes, clips and
 * checks them one by one. Cost: one pass over operations, and a sort of those that are such. */
#ifndef GPUPROF_QUERIES_TRAINING_TENSORS_H
#define GPUPROF_QUERIES_TRAINING_TENSORS_H

#include "analyzer/queries/query.h"

/* Marks what such work no longer does when `gone` of the parameters, the smallest, do not exist: by
 * operation, and by call the waits for its answers. Marks nothing where the work is done for many
 * parameters at once, and without memory. */
void query_without_tensors(const struct facts *f, struct arena *arena, int64_t gone, bool *op_marks,
                           bool *call_marks);

#endif
