/* Loops of the program's own, by their lines: from which lines a thread launches again and again in
 * one forward pass, between launches from other lines, as a loop over samples, pairs or boxes does.
 * A layer's line counts once for each module that it runs in. It needs launches that carry modules
 * (facts/lines.h). Cost: one pass over the training thread's calls, one over the operations. */
#ifndef GPUPROF_QUERIES_KERNELS_LOOPS_H
#define GPUPROF_QUERIES_KERNELS_LOOPS_H

#include "analyzer/queries/query.h"

struct query_loops { /* sums over the used steps */
    const bool
        *op_marks;  /* by op: launched from such a line, or by its backward pass; NULL: none */
    int64_t count;  /* marked operations */
    int64_t visits; /* how many times a step runs the line with most of them */
};
struct query_loops query_loops(const struct facts *f, struct arena *arena);

#endif
