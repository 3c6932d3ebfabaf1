/* Room in the streams' queues for plans that drop operations: the remaining operations fill a queue
 * later than recorded. Plans that drop none use the recorded links (struct task, queue). Cost: one
 * more pass over the tasks. */
#ifndef GPUPROF_REPLAY_REPLAY_QUEUE_H
#define GPUPROF_REPLAY_REPLAY_QUEUE_H

#include "analyzer/replay/replay.h"

/* Numbers the remaining operations of each stream. Returns false, without numbering, if the plan
 * drops none: then the caller must not use the functions below. */
bool replay_queue_begin(struct replay *r, const struct graph *g, const struct plan *p);
/* Kernels, copies, memsets and collectives take a place in a queue; events do not. */
static inline bool replay_takes_room(const struct task *t)
{
    return task_on_gpu(t) && t->kind < TASK_EV_REC;
}

/* Call this after the replay of task `i`, which the plan keeps. */
static inline void replay_queue_put(struct replay *r, const struct task *t, uint32_t i)
{
    if (replay_takes_room(t))
        r->queue[t->lane * QUEUE_DEPTH + r->queued[t->lane]++ % QUEUE_DEPTH] = i;
}

/* Returns the operation that must end before `call` can launch its work, or TASK_NONE if the queue
 * has room. `call` must have a recorded link (queue). */
static inline uint32_t replay_queue_room(const struct replay *r, const struct graph *g,
                                         uint32_t call)
{
    uint32_t lane = g->tasks[g->tasks[call].queue].lane, n = r->number[call];
    if (n < QUEUE_DEPTH || n - QUEUE_DEPTH >= r->queued[lane])
        return TASK_NONE;
    return r->queue[lane * QUEUE_DEPTH + n % QUEUE_DEPTH];
}

#endif
