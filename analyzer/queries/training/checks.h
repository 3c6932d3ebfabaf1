/* Checks for NaN and infinity: their kernels, the reading of their answers, and the waits for
 * these. A wait is a check's when it comes behind one with hardly a kernel between, before another
 * answer is read. Of PyTorch's anomaly detection those of the backward pass count, too. Cost: one pass over operations, calls and gaps; a name is looked at once. */
#ifndef GPUPROF_QUERIES_TRAINING_CHECKS_H
#define GPUPROF_QUERIES_TRAINING_CHECKS_H

#include "analyzer/queries/query.h"

struct query_checks {
    struct query_ops ops;   /* the kernels */
    int64_t read_ns;        /* idle time of the device after waits for answers, used steps */
    const bool *op_marks;   /* checks and the copies of their answers; NULL: no memory, or fewer
                               than QUERY_MANY_CHECKS */
    const bool *call_marks; /* waits for answers; NULL as above */
    bool anomaly;           /* PyTorch's anomaly detection is on, and most are its */
};
struct query_checks query_checks(const struct facts *f, struct arena *arena);

#endif
