/* Backward passes of the training process, which the hook records as ranges, and whether those of a
 * step are micro-batches. */
#ifndef GPUPROF_QUERIES_TRAINING_PASSES_H
#define GPUPROF_QUERIES_TRAINING_PASSES_H

#include "analyzer/queries/query.h"

struct query_pass {
    int64_t start_ns, end_ns;
    uint32_t step;
    uint32_t number; /* in its step, from 0 */
};
struct query_passes {
    struct query_pass *at; /* in time */
    size_t n;
};
/* .at is NULL if memory ran out. */
struct query_passes query_passes(const struct facts *f, struct arena *arena);
/* How many passes a step takes on average, rounded; 0: none were seen. */
int64_t query_passes_each(const struct facts *f, struct arena *arena);
/* The last pass that began before this moment; NULL: none. */
const struct query_pass *query_pass_before(const struct query_passes *p, int64_t ns);
/* The pass in which the engine launches at this moment, from whichever thread; NULL: none. */
const struct query_pass *query_pass_at(const struct query_passes *p, int64_t ns);

/* How many forward and backward passes of the same products nearly every step makes before its one
 * update: gradients add up over micro-batches. 1: no such thing was seen. */
int64_t query_micro_batches(const struct facts *f, struct arena *arena);

/* The line that calls backward(), by work of which no forward call is known (sums of gradients):
 * "train.py:12". NULL: not known. */
const char *query_backward_line(const struct facts *f, struct arena *arena);

#endif
