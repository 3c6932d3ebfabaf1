/* Numbers the operations that a plan keeps in each stream's queue; see replay_queue.h. */
#include "analyzer/replay/replay_queue.h"

#include <string.h>

bool replay_queue_begin(struct replay *r, const struct graph *g, const struct plan *p)
{
    bool thinner = false;
    for (uint32_t i = 0; r->rooms && i < g->count && !thinner; i++)
        thinner = p->mark[i] & PLAN_DROP && replay_takes_room(&g->tasks[i]);
    if (!thinner)
        return false;
    memset(r->queued, 0, (g->streams + 1) * sizeof *r->queued);
    memset(r->number, 0, g->count * sizeof *r->number);
    for (uint32_t i = 0; i < g->count; i++) {
        uint8_t kind = g->classes[i].kind;
        if (kind >= TASK_KERNEL && kind < TASK_EV_REC && !(p->mark[i] & PLAN_DROP)) {
            const struct task *t = &g->tasks[i];
            uint32_t n = r->queued[t->lane]++;
            if (t->issue != TASK_NONE)
                r->number[t->issue] = n;
        }
    }
    memset(r->queued, 0, (g->streams + 1) * sizeof *r->queued);
    return true;
}
