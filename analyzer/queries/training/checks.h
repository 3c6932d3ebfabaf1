/* Checks for NaN and infinity: their kernels, the copies of their results, and the waits for these.
 * A wait belongs to a check if it follows one with hardly a kernel between, before another result
 * is read. If PyTorch's anomaly detection is on, its checks in the backward pass count, too. Cost:
 * one pass over operations, calls and gaps; each name is examined once. */
#ifndef GPUPROF_QUERIES_TRAINING_CHECKS_H
#define GPUPROF_QUERIES_TRAINING_CHECKS_H

#include "analyzer/queries/query.h"

struct query_checks {
    struct query_ops ops; /* the checking kernels */
    int64_t read_ns;      /* idle time of the device after waits for results, in used steps */
    /* by op: checks and copies of their results; NULL: out of memory, or fewer
     * than QUERY_MANY_CHECKS */
    const bool *op_marks;
    const bool *call_marks; /* by call: waits for results; NULL as above */
    bool anomaly;           /* PyTorch's anomaly detection is on, and makes most of them */
};
struct query_checks query_checks(const struct facts *f, struct arena *arena);

#endif
