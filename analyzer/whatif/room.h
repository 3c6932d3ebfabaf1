/* The room that kernels take on their GPU: what fills it runs alone, whatever stream it is in. */
#ifndef GPUPROF_WHATIF_ROOM_H
#define GPUPROF_WHATIF_ROOM_H

#include "analyzer/replay/graph.h"

struct room {
    float *share; /* by recorded task: of its length, so much that nothing else can use; of a kernel
                     that fills the GPU all. NULL: not known */
    bool apart;   /* kernels are in several streams, and none ran beside another */
};

/* -1: out of memory. Cost: O(n log n), and each kernel by those that run beside it. */
int room_measure(struct room *r, const struct graph *g);
/* Of the stream that is busiest in the used steps, per step as reported; collectives do not count,
 * their times hold waiting. -1: out of memory. Cost: one pass over the operations. */
int64_t room_busiest_ns(const struct facts *f);
void room_release(struct room *r);
/* What the kernels need at least of the GPU, with these lengths of the tasks, without those that
 * are marked so; over all recorded steps. */
double room_needed_ns(const struct room *r, const struct graph *g, const int64_t *dur,
                      const uint8_t *mark, uint8_t without);

#endif
