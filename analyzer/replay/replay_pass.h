/* One pass of a replay: its state, and what both ways of going over tasks ask (replay.c: the usual
 * tasks, replay_task.c: all others). Private to these two. */
#ifndef GPUPROF_REPLAY_REPLAY_PASS_H
#define GPUPROF_REPLAY_REPLAY_PASS_H

#include "analyzer/replay/limits.h"
#include "analyzer/replay/replay.h"

/* How the passes go over a task: bits of r->way. */
enum way {
    WAY_ODD = 1, /* only replay_any_task() knows it */
    WAY_GPU = 2,
    WAY_KERNEL = 4,
    WAY_STALL = 8,
    WAY_ROOM = 16,  /* the call may wait for room in a queue */
    WAY_SILENT = 32 /* a pause of another thread; it may last for several steps, and ends none */
};

/* The state of one pass. */
struct pass {
    bool usual; /* the plan has no scaled lag and keeps the residuals, so usual_tasks() knows it */
    struct replay *r;
    const struct graph *g;
    const struct plan *p;
    int64_t ready;
    uint32_t bind;
    int64_t engine;  /* when the copy engine has finished the last detached copy */
    int64_t await;   /* end of a detached copy that the next kernel needs; INT64_MIN: none */
    uint32_t latest; /* for ASSUME_ORDER: the kernel that ended last when recorded, or TASK_NONE */
    uint32_t await_task;
    bool thinner; /* the plan drops operations: see replay_queue.h */
    int64_t free_at[POOL_MAX];
    uint32_t main;          /* lane of the training thread */
    uint32_t begun, behind; /* steps begun; how many of these began while the GPU still had work */
};

static inline bool assumes(const struct pass *x, unsigned what)
{
    return x->p->assume & what;
}

static inline int64_t lag(const struct pass *x, int64_t ns)
{
    return x->p->scale_lags_permille == 1000 ? ns : ns * x->p->scale_lags_permille / 1000;
}

static inline int64_t prev_lag(const struct pass *x, const struct task *t, uint32_t i)
{
    return x->p->mark[i] & PLAN_NODE ? t->prev_lag_ns * x->p->node_lag_permille / 1000
                                     : t->prev_lag_ns;
}

/* Returns true if the stall before a kernel lies in the launching call, as it does while code is
 * loaded, and not on the way to the GPU. A graph needs that way only once for all of its nodes (60
 * to 180 us per launch on an RTX 5080, in published traces), so PLAN_NODE shortens the other stalls
 * only. */
static inline bool in_call(const struct pass *x, const struct task *t)
{
    return t->issue != TASK_NONE && t->at_ns - task_end(&x->g->tasks[t->issue]) <= REPLAY_STALL_NS;
}

/* Makes the pass of plan p ready, and what r holds from an earlier one. */
struct pass replay_begin(struct replay *r, const struct graph *g, const struct plan *p);
/* Computes what the pass leaves in x->r. */
void replay_end(const struct pass *x);

/* Returns the bits of enum way that make a task one for replay_any_task(), until that was called
 * again. */
static inline unsigned odd_ways(const struct pass *x)
{
    return WAY_ODD | (assumes(x, ASSUME_STALLS_DATED) ? WAY_STALL : 0) |
           (assumes(x, ASSUME_ORDER) || x->await != INT64_MIN ? WAY_KERNEL : 0);
}

/* Replays task i, whatever it waits for, and sets x->bind. */
void replay_any_task(struct pass *x, const struct task *t, uint32_t i);
/* The same, and notes whether its step ends later by it. */
static inline void replay_odd_task(struct pass *x, const struct task *t, uint32_t i)
{
    struct replay *r = x->r;
    replay_any_task(x, t, i);
    int64_t end = r->end[replay_at(r, i)], *step_end = &r->step_end[replay_at(r, t->step)];
    if (!(r->way[i] & WAY_SILENT) && !(t->flags & TASK_BEHIND) && end > *step_end)
        *step_end = end;
}

/* For replay.c and replay_wide.c: replay_make() fills r with arrays for times that lie `wide` apart;
 * replay_release() frees it also after a failure. */
int replay_make(struct replay *r, const struct graph *g, size_t wide);

#endif
