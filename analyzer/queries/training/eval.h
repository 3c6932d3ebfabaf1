/* Evaluations during the training: parts of the program inside a range whose name has a word for it
 * (eval, validation). Cost: one pass over calls and ranges. */
#ifndef GPUPROF_QUERIES_TRAINING_EVAL_H
#define GPUPROF_QUERIES_TRAINING_EVAL_H

#include "analyzer/facts/facts.h"

/* By call: it is made during an evaluation. *ranges: number of such ranges. From the
 * arena; NULL: out of memory. */
const bool *query_evaluating(const struct facts *f, struct arena *arena, int64_t *ranges);

/* True if operators were recorded, and none of them belongs to a backward pass or an optimizer: the
 * program only infers. Cost: one pass over the strings. */
bool query_only_infers(const struct facts *f);

#endif
