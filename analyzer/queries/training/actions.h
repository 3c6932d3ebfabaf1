/* Reads whose value the program needs before it can go on: the action of an agent, which its
 * environment asks for. A copy to the GPU feeds such a forward pass, and no backward pass follows:
 * the next event is another copy to the GPU. Reading a loss differs: a backward pass comes before
 * or after it, and the value is a number or a flag of fewer than 8 bytes.
 *
 * Cost: O(n log n) over copies, optimizer kernels, and ranges of training; one pass over the gaps. */
#ifndef GPUPROF_QUERIES_TRAINING_ACTIONS_H
#define GPUPROF_QUERIES_TRAINING_ACTIONS_H

#include "analyzer/queries/query.h"

struct query_actions { /* in used steps; reads in validations are left out unless
                          nearly all steps have one */
    int64_t count, ns; /* number of reads of actions; how long the host waits for them */
    int64_t steps;     /* number of steps with an action; 0 unless nearly all steps
                          set the policy to eval() */
    int64_t other;     /* forward passes for an action in the steps with other work, where the
                          program acts between its updates */
    int64_t all_ns;    /* how long the host waits for all reads */
    int64_t idle_ns;   /* how long the GPU idles from the data of an action to its read */
};

/* All zero if the program does not train. */
struct query_actions query_actions(const struct facts *f);

#endif
