/* Work that the program does piece by piece in its own loop: a thread launches many small
 * operations of a few kinds one after another, outside the optimizer, as in an average over all
 * parameters or a mask filled row by row. A run ends at a kernel that computes products or
 * exchanges data, or if it gets more than QUERY_PIECES_KINDS kinds. Numbers that the host reads in
 * between belong to it, with the waits for them: so Python's max(), sum() and `in` read a tensor's
 * elements. So does the backward pass of a line that launches hardly anything else. Where launches
 * carry lines and modules, what a loop's lines launch belongs to it as well, of any kind, with its
 * backward pass (loops.h). Cost: a few passes over the training thread's calls and the operations,
 * one over the gaps, and that of loops.h. */
#ifndef GPUPROF_QUERIES_KERNELS_PIECEWISE_H
#define GPUPROF_QUERIES_KERNELS_PIECEWISE_H

#include "analyzer/facts/lines/lines_within.h"
#include "analyzer/queries/query.h"

struct query_piecewise { /* sums over the used steps */
    struct query_ops ops;
    int64_t runs, longest_run; /* number of runs; operations in the longest one */
    bool fills;                /* nearly all of the operations write one value */
    int64_t answers;           /* operations that copy a number to the host */
    int64_t idle_ns;           /* idle time of the GPU before the operations, of any kind */
    int64_t visits;            /* most of the operations come from lines of a loop: how many times a
                                  step runs the one with most of them. 0: they do not */
    const bool *op_marks;      /* NULL: no run, or out of memory; without each run's last answer */
    const bool *call_marks;    /* waits for the answers in op_marks */
    struct line_found line;    /* the line of the program that makes these launches */
};
struct query_piecewise query_piecewise(const struct facts *f, struct arena *arena);

#endif
