/* Work done piece by piece in a loop of the program's own: runs of many small operations that one
 * thread launches one after another, of a few kinds only, outside the optimizer: an average of all
 * parameters, a mask filled row by row. A run ends where another kind of kernel comes, or one that
 * multiplies matrices or exchanges data. Cost: one pass over the training thread's calls. */
#ifndef GPUPROF_QUERIES_KERNELS_PIECEWISE_H
#define GPUPROF_QUERIES_KERNELS_PIECEWISE_H

#include "analyzer/facts/lines/lines_within.h"
#include "analyzer/queries/query.h"

struct query_piecewise { /* over the used steps */
    struct query_ops ops;
    int64_t runs, longest_run; /* operations in the longest */
    bool fills;                /* nearly all of them write one value */
    const bool *op_marks;      /* NULL: none, or no memory */
    struct line_found line;    /* of the program, where the thread is meanwhile */
};
struct query_piecewise query_piecewise(const struct facts *f, struct arena *arena);

#endif
