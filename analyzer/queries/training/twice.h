/* Gradients of gradients: torch.autograd.grad(create_graph=True), and the backward pass that goes through
 * its graph. Cost: one pass over ranges, one over operations. */
#ifndef GPUPROF_QUERIES_TRAINING_TWICE_H
#define GPUPROF_QUERIES_TRAINING_TWICE_H

#include "analyzer/queries/query.h"

#define QUERY_TWICE                                                                                \
    "autograd.grad(create_graph=True)" /* the hook's range, with a place behind it */

struct query_twice {
    size_t calls;      /* in used steps; 0: none */
    const char *place; /* "train.py:9", of the longest */
    /* By op: launched by such a call; in that or in the next backward pass. NULL: out of memory. */
    const bool *first_marks, *marks;
};
struct query_twice query_twice(const struct facts *f, struct arena *arena);
bool query_goes_twice(const struct facts *f); /* a range of this kind was recorded */

#endif
