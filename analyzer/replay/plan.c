/* A plan starts as a copy of the recorded task durations; edits change it before a replay. */
#include "analyzer/replay/replay.h"

#include <stdlib.h>
#include <string.h>

int plan_init(struct plan *p, const struct graph *g)
{
    memset(p, 0, sizeof *p);
    p->was = malloc((g->count + 1) * sizeof *p->was);
    p->dur = malloc((g->count + 1) * sizeof *p->dur);
    p->mark = malloc(g->count + 1);
    if (!p->was || !p->dur || !p->mark) {
        plan_release(p);
        return -1;
    }
    plan_rebase(p, g);
    return 0;
}

void plan_rebase(struct plan *p, const struct graph *g)
{
    for (size_t i = 0; i < g->count; i++)
        p->was[i] = g->tasks[i].dur_ns;
    plan_reset(p, g);
}

void plan_reset(struct plan *p, const struct graph *g)
{
    memcpy(p->dur, p->was, g->count * sizeof *p->dur);
    memset(p->mark, 0, g->count + 1);
    p->pool = (struct pool){0};
    p->work = 1;
    p->scale_lags_permille = p->node_lag_permille = 1000;
    p->mean_jitter = p->most = false;
    p->assume = 0;
}

void plan_release(struct plan *p)
{
    free(p->was);
    free(p->dur);
    free(p->mark);
    memset(p, 0, sizeof *p);
}
