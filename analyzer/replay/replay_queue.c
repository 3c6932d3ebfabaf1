/* Numbers the operations that a plan keeps in each stream's queue; see replay_queue.h. */
#include "analyzer/replay/replay_queue.h"

#include <string.h>

bool replay_queue_begin(struct replay *r, const struct graph *g, const struct plan *p)
{
    bool thinner = false;
    for (size_t k = 0; k < r->roomy_count && !thinner; k++)
        thinner = p->mark[r->roomy[k]] & PLAN_DROP;
    if (!thinner)
        return false;
    memset(r->queued, 0, (g->streams + 1) * sizeof *r->queued);
    memset(r->number, 0, g->count * sizeof *r->number);
    for (size_t k = 0; k < r->roomy_count; k++) {
        if (p->mark[r->roomy[k]] & PLAN_DROP)
            continue;
        const struct task *t = &g->tasks[r->roomy[k]];
        uint32_t n = r->queued[t->lane]++;
        if (t->issue != TASK_NONE)
            r->number[t->issue] = n;
    }
    memset(r->queued, 0, (g->streams + 1) * sizeof *r->queued);
    return true;
}
