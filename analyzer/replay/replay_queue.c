/* See replay_queue.h. */
#include "analyzer/replay/replay_queue.h"

#include <string.h>

static bool takes_room(const struct task *t)
{
    return task_on_gpu(t) && t->kind < TASK_EV_REC;
}

bool replay_queue_begin(struct replay *r, const struct graph *g, const struct plan *p)
{
    bool thinner = false;
    for (uint32_t i = 0; i < g->count && !thinner; i++)
        thinner = takes_room(&g->tasks[i]) && p->mark[i] & PLAN_DROP;
    if (!thinner)
        return false;
    memset(r->queued, 0, (g->streams + 1) * sizeof *r->queued);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        r->number[i] = 0;
        if (takes_room(t) && !(p->mark[i] & PLAN_DROP)) {
            uint32_t n = r->queued[t->lane]++;
            if (t->issue != TASK_NONE)
                r->number[t->issue] = n;
        }
    }
    memset(r->queued, 0, (g->streams + 1) * sizeof *r->queued);
    return true;
}

void replay_queue_put(struct replay *r, const struct task *t, uint32_t i)
{
    if (takes_room(t))
        r->queue[t->lane * QUEUE_DEPTH + r->queued[t->lane]++ % QUEUE_DEPTH] = i;
}

uint32_t replay_queue_room(const struct replay *r, const struct graph *g, uint32_t call)
{
    uint32_t lane = g->tasks[g->tasks[call].queue].lane, n = r->number[call];
    if (n < QUEUE_DEPTH || n - QUEUE_DEPTH >= r->queued[lane])
        return TASK_NONE;
    return r->queue[lane * QUEUE_DEPTH + n % QUEUE_DEPTH];
}
