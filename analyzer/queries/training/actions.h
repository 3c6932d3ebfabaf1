/* Reads whose value the program needs before it can go on: the action of an agent, which the
 * environment asks for. Such a forward pass is fed by a copy to the GPU, and no backward pass
 * follows it: the next copy to the GPU does. What is read of a loss has a backward pass before or
 * behind it, and is a number or a flag of fewer than 8 bytes.
 *
 * Cost: O(n log n) over copies, optimizer kernels, and ranges of training. */
#ifndef GPUPROF_QUERIES_TRAINING_ACTIONS_H
#define GPUPROF_QUERIES_TRAINING_ACTIONS_H

#include "analyzer/queries/query.h"

struct query_actions { /* in steps; validation aside, unless nearly all steps have one */
    int64_t count, ns; /* reads of actions; how long the host waits for them */
    int64_t steps;     /* that contain any; 0 unless the policy is set to eval() in nearly all */
    int64_t all_ns;    /* for all reads */
};

/* All zero where nothing trains. */
struct query_actions query_actions(const struct facts *f);

#endif
