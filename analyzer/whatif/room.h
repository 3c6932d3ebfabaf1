/* How much of the GPU kernels occupy. Kernels that fill the GPU run one after the other, whatever
 * streams they are in. */
#ifndef GPUPROF_WHATIF_ROOM_H
#define GPUPROF_WHATIF_ROOM_H

#include "analyzer/replay/replay.h"

struct room {
    /* By recorded task: the share of its duration that no other work can use; 1 for a kernel that
     * fills the GPU. NULL: not measured yet. */
    float *share;
    bool apart; /* kernels are in several streams, but never two ran at the same time */
};

/* Fills *r. Returns -1 without memory. Cost: O(n log n), and for each kernel the number of kernels
 * that run beside it. The caller frees it by room_release(). */
int room_measure(struct room *r, const struct graph *g);
/* Returns the work of the busiest stream in the used steps, in ns per reported step. Collectives do
 * not count, because their times include waiting for other ranks. Returns -1 without memory. Cost:
 * one pass over the operations. */
int64_t room_busiest_ns(const struct facts *f);
void room_release(struct room *r);
/* Returns the least time in ns that the recorded steps need on the GPU under the plan: the larger
 * of the work on the busiest stream and of the kernels' work by the room that they fill in all
 * streams. Collectives do not count, because their times include waiting. Work that starts behind
 * the window does not count either: about as much work of earlier steps runs within the window
 * instead. If the host launches much more than the window has room for, all of that counts by its
 * share of the window. */
double room_left_ns(const struct room *r, const struct graph *g, const struct plan *p);

#endif
