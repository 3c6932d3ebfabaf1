/* Evaluations amid the training: parts of the program under a range that says so by a word of its
 * name (eval, validation). Cost: one pass over calls and ranges. */
#ifndef GPUPROF_QUERIES_TRAINING_EVAL_H
#define GPUPROF_QUERIES_TRAINING_EVAL_H

#include "analyzer/facts/facts.h"

/* By call: is it made during an evaluation? And how many of those there are. NULL without memory.
 */
const bool *query_evaluating(const struct facts *f, struct arena *arena, int64_t *ranges);

/* Are the operators known, and is none of them one of a backward pass or an optimizer? Then the
 * program infers. Cost: one pass over the strings. */
bool query_only_infers(const struct facts *f);

#endif
