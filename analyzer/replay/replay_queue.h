/* Room in the streams' queues where a plan drops operations: those that stay fill a queue later
 * than as recorded. Without any, the recorded links hold (struct task, queue). Cost: one more pass
 * over the tasks. */
#ifndef GPUPROF_REPLAY_REPLAY_QUEUE_H
#define GPUPROF_REPLAY_REPLAY_QUEUE_H

#include "analyzer/replay/replay.h"

/* Numbers the operations of each stream that stay. false: all do, and no more is to be asked. */
bool replay_queue_begin(struct replay *r, const struct graph *g, const struct plan *p);
/* Task `i`, which stays, was replayed. */
void replay_queue_put(struct replay *r, const struct task *t, uint32_t i);
/* The operation that must end for there to be room for what `call` launches, a call with such a
 * link; TASK_NONE: there is room. */
uint32_t replay_queue_room(const struct replay *r, const struct graph *g, uint32_t call);

#endif
