/* Work that a program does separately for each parameter: it updates, zeroes, clips and checks them
 * one by one. Cost: one pass over operations, and a sort of those found. */
#ifndef GPUPROF_QUERIES_TRAINING_TENSORS_H
#define GPUPROF_QUERIES_TRAINING_TENSORS_H

#include "analyzer/queries/query.h"

/* Marks the work that disappears if the `gone` smallest parameters do not exist: op_marks by op;
 * call_marks by call, the waits for results. Marks nothing if the work is done for many parameters
 * at once, or if out of memory. */
void query_without_tensors(const struct facts *f, struct arena *arena, int64_t gone, bool *op_marks,
                           bool *call_marks);

#endif
