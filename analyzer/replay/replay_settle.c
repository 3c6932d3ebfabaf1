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
            busy += p->pool.busy * (double)(r->end[replay_at(r, i)] - r->start[replay_at(r, i)]);
        else if (t->kind == TASK_GET || t->kind == TASK_LOAD)
            busy += (double)(r->end[replay_at(r, i)] - r->start[replay_at(r, i)]);
        else if (t->kind == TASK_WAIT && t->prev != TASK_NONE)
            busy +=
                p->pool.spin * (double)(r->end[replay_at(r, i)] - r->end[replay_at(r, t->prev)]);
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

/* The secant method on the logarithm of a ratio. */
struct search {
    double at, last, last_off;
    int passes;
    bool done;
};

enum { PASSES = 4 };

static struct search search_from(struct plan *p)
{
    p->pool.stretch = p->pool.slower;
    return (struct search){.at = log(fmax(p->pool.slower, 1e-3))};
}

/* Returns true if another pass is needed, with p->pool.stretch set for it. */
static bool search_on(struct search *s, const struct replay *r, const struct graph *g,
                      struct plan *p)
{
    s->done |= p->pool.workers == 0 || p->pool.cores == 0 || r->step_ns <= 0;
    if (s->done)
        return false;
    double off = log(crowded(r, g, p, r->step_ns)) - s->at,
           slope = s->passes ? (off - s->last_off) / (s->at - s->last) : -2;
    s->passes++;
    s->last = s->at;
    s->last_off = off;
    s->done = fabs(off) < 1e-3 || s->passes == PASSES;
    if (s->done)
        return false;
    s->at -= off / (slope < -1 ? slope : -1);
    p->pool.stretch = exp(s->at);
    return true;
}

/* Finds the stretch at which what the replay assumed and what crowded() then computes agree. If
 * workers are slower, the steps are longer and leave more cores, so the two values move in opposite
 * directions, and the more so the more cores the training process takes. Hence the secant method on
 * the logarithm of their ratio, four passes at most. */
int64_t replay_settle(struct replay *r, const struct graph *g, struct plan *p)
{
    struct search s = search_from(p);
    do
        replay_run(r, g, p);
    while (search_on(&s, r, g, p));
    return r->step_ns;
}

void replay_wide_settle(struct replay_wide *w, const struct graph *g, struct plan *const *p,
                        size_t n)
{
    struct search s[REPLAY_WIDE];
    bool more = true;
    for (size_t k = 0; k < n; k++)
        s[k] = search_from(p[k]);
    while (more) { /* a plan whose search has ended gets the same times again */
        replay_wide_run(w, g, p, n);
        more = false;
        for (size_t k = 0; k < n; k++)
            more |= search_on(&s[k], &w->lane[k], g, p[k]);
    }
}
