/* Replays plans in which loader workers replace the recorded loading. How long a worker takes for a
 * batch, and so the pace, depends on the cores that the training process leaves to the workers. */
#include "analyzer/replay/replay.h"
#include "analyzer/replay/limits.h"

#include <math.h>

/* Returns the number of ns per step during which the training process keeps a core busy in this
 * replay. */
static double host_busy(const struct replay *r, const struct graph *g, const struct plan *p)
{
    uint32_t lane = (uint32_t)g->streams + g->a->steps.main_thread;
    double busy = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->lane != lane || p->mark[i] & PLAN_DROP)
            continue;
        if (t->kind == TASK_HOST_API || t->kind == TASK_HOST_GAP)
            busy += p->pool.busy * (double)(r->end[i] - r->start[i]);
        else if (t->kind == TASK_GET || t->kind == TASK_LOAD)
            busy += (double)(r->end[i] - r->start[i]);
        else if (t->kind == TASK_WAIT && t->prev != TASK_NONE)
            busy += p->pool.spin * (double)(r->end[i] - r->end[t->prev]);
    }
    return busy / (double)g->steps;
}

/* Returns by which factor a batch takes longer on its worker than recorded, at `ns` per step: the
 * workers share the cores that the training process leaves them. */
static double crowded(const struct replay *r, const struct graph *g, const struct plan *p,
                      int64_t ns)
{
    const struct pool *pool = &p->pool;
    double left = pool->cores - host_busy(r, g, p) / (double)ns;
    double share = pool->workers / (left > REPLAY_CORES_LEFT ? left : REPLAY_CORES_LEFT);
    return pool->slower * (1 + pool->cpu * (share > 1 ? share - 1 : 0));
}

/* Finds the stretch at which what the replay assumed and what crowded() then computes agree. If
 * workers are slower, the steps are longer and leave more cores, so the two values move in opposite
 * directions, and the more so the more cores the training process takes. Hence the secant method on
 * the logarithm of their ratio, four passes at most. */
int64_t replay_settle(struct replay *r, const struct graph *g, struct plan *p)
{
    struct pool *pool = &p->pool;
    int64_t ns = 0;
    double at = log(fmax(pool->slower, 1e-3)), last = 0, last_off = 0;
    pool->stretch = pool->slower;
    for (int pass = 0; pass < (pool->workers > 0 ? 4 : 1); pass++) {
        ns = replay_run(r, g, p);
        if (pool->workers == 0 || pool->cores == 0 || ns <= 0)
            break;
        double off = log(crowded(r, g, p, ns)) - at,
               slope = pass ? (off - last_off) / (at - last) : -2;
        last = at;
        last_off = off;
        if (fabs(off) < 1e-3)
            break;
        at -= off / (slope < -1 ? slope : -1);
        pool->stretch = exp(at);
    }
    return ns;
}
