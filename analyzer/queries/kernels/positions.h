/* Positions of a batch of sequences (rows times columns) of which nothing uses the result: padding,
 * and labels that the loss ignores. The hook looks at what the program copies to the GPU; library
 * calls with one of these sizes work on them. */
#ifndef GPUPROF_QUERIES_KERNELS_POSITIONS_H
#define GPUPROF_QUERIES_KERNELS_POSITIONS_H

#include "analyzer/queries/query.h"

struct query_positions {
    double share; /* of all positions that nothing uses */
    int64_t rows, columns;
    const char *place; /* line that copies them; NULL: not known */
};

/* Reads the fact of this key. Returns false if it was not recorded. */
bool query_positions(const struct facts *f, const char *key, struct query_positions *p);

struct query_positions_work {
    const bool *marks; /* by op; NULL: there is none, or no memory */
    struct query_ops ops;
    const bool *gone; /* as many of them as columns that nothing uses launch; NULL: each kernel
                         works on all columns */
};
/* The kernels of the step, if most of its matrix products work on all positions, or most of its time
 * is in kernels that run once and more for each column (recurrent layers); without the update
 * of the weights and products of other sizes. */
struct query_positions_work query_positions_all(const struct facts *f, struct arena *arena,
                                                const struct query_positions *p);
/* The product that computes far more numbers for each position than any other does, as a layer over
 * a vocabulary, its backward pass, and what lies between them: the loss. */
struct query_positions_work query_positions_head(const struct facts *f, struct arena *arena,
                                                 const struct query_positions *p);

#endif
