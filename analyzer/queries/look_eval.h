/* Evaluations amid the training: parts of the program under a range that says so by a word of its
 * name (eval, validation). Cost: one pass over calls and ranges. */
#ifndef GPUPROF_RULES_LOOK_EVAL_H
#define GPUPROF_RULES_LOOK_EVAL_H

#include "analyzer/advice/rule.h"

/* By call: is it made during an evaluation? And how many of those there are. NULL without memory.
 */
const bool *look_evaluating(struct analysis *a, int64_t *ranges);

#endif
