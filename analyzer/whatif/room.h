/* The room that kernels take on their GPU: what fills it runs alone, whatever stream it is in. */
#ifndef GPUPROF_WHATIF_ROOM_H
#define GPUPROF_WHATIF_ROOM_H

#include "analyzer/replay/replay.h"

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
/* What the recorded steps take of the GPU at least under the plan: the work that stays on the
 * fullest stream runs one after the other, and so do kernels that fill the GPU, in whatever
 * streams. Collectives do not count, their times hold waiting. Nor does what began behind the
 * window: as much, of the steps before, ran in it. */
double room_left_ns(const struct room *r, const struct graph *g, const struct plan *p);

#endif
