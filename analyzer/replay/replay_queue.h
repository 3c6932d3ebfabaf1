/* Room in the streams' queues where a plan drops operations: those that stay fill a queue later
 * than as recorded. Without any, the recorded links hold (struct task, queue). Cost: one more pass
 * over the tasks. */
#ifndef GPUPROF_REPLAY_REPLAY_QUEUE_H
#define GPUPROF_REPLAY_REPLAY_QUEUE_H

#include "analyzer/replay/replay.h"

/* Numbers the operations of each stream that stay. false: all do, and no more is to be asked. */
bool replay_queue_begin(struct replay *r, const struct graph *g, const struct plan *p);
static inline bool replay_takes_room(const struct task *t)
{
    return task_on_gpu(t) && t->kind < TASK_EV_REC;
}

/* Task `i`, which stays, was replayed. */
static inline void replay_queue_put(struct replay *r, const struct task *t, uint32_t i)
{
    if (replay_takes_room(t))
        r->queue[t->lane * QUEUE_DEPTH + r->queued[t->lane]++ % QUEUE_DEPTH] = i;
}

/* The operation that must end for there to be room for what `call` launches, a call with such a
 * link; TASK_NONE: there is room. */
static inline uint32_t replay_queue_room(const struct replay *r, const struct graph *g,
                                         uint32_t call)
{
    uint32_t lane = g->tasks[g->tasks[call].queue].lane, n = r->number[call];
    if (n < QUEUE_DEPTH || n - QUEUE_DEPTH >= r->queued[lane])
        return TASK_NONE;
    return r->queue[lane * QUEUE_DEPTH + n % QUEUE_DEPTH];
}

#endif
