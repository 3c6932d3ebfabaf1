/* Replays one task of any kind: collects what it waits for, and sets its start and end. */
#include "analyzer/replay/replay_legacy.h"
#include "analyzer/replay/replay_pass.h"
#include "analyzer/replay/replay_queue.h"

/* The task may not start before `ns`, when `task` releases it. */
static void after(struct pass *x, int64_t ns, uint32_t task)
{
    if (ns > x->ready) {
        x->ready = ns;
        x->bind = task;
    }
}

static void after_legacy(struct pass *x, const struct task *t)
{
    const struct stream *all = x->g->a->tl->streams;
    if (!x->r->legacy[t->lane] || t->flags & TASK_NO_LEGACY)
        return;
    for (uint32_t s = 0; s < x->g->streams; s++)
        if (x->r->tail[replay_at(x->r, s)] != INT64_MIN && legacy_pair(&all[t->lane], &all[s]))
            after(x, x->r->tail[replay_at(x->r, s)], x->r->tail_task[s]);
}

static void after_tails(struct pass *x, const struct task *t, uint32_t i)
{
    uint32_t target = x->g->tails[i];
    if (target == WAIT_NOTHING)
        return;
    for (uint32_t s = target == TASK_NONE ? 0 : target;
         s < (target == TASK_NONE ? x->g->streams : target + 1); s++)
        if (x->r->tail[replay_at(x->r, s)] != INT64_MIN)
            after(x, x->r->tail[replay_at(x->r, s)] + lag(x, t->issue_lag_ns), x->r->tail_task[s]);
}

/* Returns when the pool has made batch `number`. The worker that is free first makes it, in the
 * time `cost` of the recorded load. */
static int64_t pool_make(struct pass *x, uint32_t number, int64_t cost)
{
    const struct pool *pool = &x->p->pool;
    int w = 0;
    for (int k = 1; k < pool->workers && k < POOL_MAX; k++)
        if (x->free_at[k] < x->free_at[w])
            w = k;
    int64_t start = x->free_at[w];
    if (number >= (uint32_t)pool->credits) {
        int64_t room = x->r->got[replay_at(x->r, number - (uint32_t)pool->credits)];
        start = room > start ? room : start;
    }
    x->free_at[w] = start + (int64_t)(((double)cost + pool->send_ns) * pool->stretch);
    return x->free_at[w];
}

/* The training thread begins its next step: notes when, and whether the GPU still has work. */
static void begin_step(struct pass *x, const struct task *t)
{
    int64_t done = INT64_MIN;
    for (size_t s = 0; s < x->g->streams; s++)
        done = x->r->tail[replay_at(x->r, s)] > done ? x->r->tail[replay_at(x->r, s)] : done;
    if (assumes(x, ASSUME_END_WAIT))
        for (size_t s = 0; s < x->g->streams; s++)
            if (x->r->tail[replay_at(x->r, s)] != INT64_MIN)
                after(x, x->r->tail[replay_at(x->r, s)], x->r->tail_task[s]);
    x->behind += done > x->ready;
    while (x->begun <= t->step)
        x->r->step_begin[replay_at(x->r, x->begun++)] = x->ready;
}

static bool pooled(const struct pass *x, const struct task *t)
{
    return x->p->pool.workers > 0 &&
           (t->kind == TASK_GET || (t->kind == TASK_LOAD && t->flags & TASK_INLINE));
}

/* The training thread takes a batch from the plan's pool of workers. */
static void take_batch(struct pass *x, const struct task *t, uint32_t i)
{
    int64_t cost = x->p->dur[i];
    if (t->kind == TASK_GET) {
        uint32_t load = x->g->load_of[t->source];
        cost = load == TASK_NONE ? 0 : x->p->dur[load];
    }
    int64_t way = x->g->way_ns - (int64_t)x->p->pool.get_ns;
    after(x, pool_make(x, t->source, cost) + (way > 0 ? way : 0), i);
    x->r->start[replay_at(x->r, i)] = x->ready;
    x->r->end[replay_at(x->r, i)] = x->r->order[replay_at(x->r, t->lane)] =
        x->ready + REPLAY_TAKE_BATCH_NS + (int64_t)x->p->pool.get_ns;
}

/* For ASSUME_ORDER: kernels of one device that did not run at the same time keep their recorded
 * order. */
static void after_latest(struct pass *x, const struct task *t, uint32_t i)
{
    const struct timeline *tl = x->g->a->tl;
    if (t->kind != TASK_KERNEL || tl->streams[t->lane].device != x->g->a->steps.device)
        return;
    const struct task *last = x->latest == TASK_NONE ? NULL : &x->g->tasks[x->latest];
    if (last && task_end(last) <= t->at_ns)
        after(x, x->r->end[replay_at(x->r, x->latest)], x->latest);
    x->latest = last && task_end(last) > task_end(t) ? x->latest : i;
}

static bool taken_ready(const struct pass *x, const struct task *t)
{
    return assumes(x, ASSUME_READY) && t->kind == TASK_GET && t->prev != TASK_NONE;
}

/* Collects when the dependencies of task i allow it to start (x->ready) and which of them comes
 * last (x->bind). */
static void gather(struct pass *x, const struct task *t, uint32_t i)
{
    const struct replay *r = x->r;
    bool gpu = task_on_gpu(t), detached = x->p->mark[i] & PLAN_DETACH;
    bool dropped = x->p->mark[i] & PLAN_DROP;
    if (t->prev != TASK_NONE && !detached) {
        int64_t after_prev = lag(x, prev_lag(x, t, i));
        /* A dropped task must not delay its successor by a lag, because the two may have overlapped
         * in the recording. */
        after(x, r->order[replay_at(r, t->lane)] + (dropped && after_prev > 0 ? 0 : after_prev),
              t->prev);
    }
    if (dropped)
        return;
    if (t->issue != TASK_NONE)
        after(x, r->start[replay_at(r, t->issue)] + lag(x, t->issue_lag_ns), t->issue);
    unsigned left = assumes(x, ASSUME_NO_EVENTS) ? t->guessed : 0;
    if (pooled(x, t) || taken_ready(x, t)) /* the pool replaces the recorded worker */
        left = t->edges;
    for (uint32_t e = t->edge; e < t->edge + t->edges - left; e++)
        after(x, r->end[replay_at(r, x->g->edges[e].from)] + lag(x, x->g->edges[e].lag_ns),
              x->g->edges[e].from);
    if (t->kind == TASK_WAIT)
        after_tails(x, t, i);
    if (assumes(x, ASSUME_ORDER))
        after_latest(x, t, i);
    if (detached)
        after(x, x->engine, i);
    else if (gpu)
        after_legacy(x, t);
    if (t->kind == TASK_KERNEL && x->await != INT64_MIN) {
        after(x, x->await, x->await_task);
        x->await = INT64_MIN;
    }
}

/* Sets the start and end of task i, and what its lane's next task waits for. */
static void finish(struct pass *x, const struct task *t, uint32_t i)
{
    struct replay *r = x->r;
    bool dropped = x->p->mark[i] & PLAN_DROP, gpu = task_on_gpu(t);
    int64_t rest = t->wait_ns;
    if (x->p->mean_jitter && !(t->flags & (TASK_STALL | TASK_ROOT | TASK_BEHIND)))
        rest = r->jitter_ns[t->kind];
    if (assumes(x, ASSUME_NO_EVENTS) && x->g->loose_ns)
        rest = x->g->loose_ns[i];
    if (assumes(x, ASSUME_STALLS_DATED) && t->flags & TASK_STALL && t->step < x->begun) {
        const struct replay *was = x->p->dated;
        int64_t date = r->step_begin[replay_at(r, t->step)] + was->start[replay_at(was, i)] -
                       was->step_begin[replay_at(was, t->step)];
        x->ready = date > x->ready ? date : x->ready;
        rest = 0;
    }
    if (taken_ready(x, t))
        rest = t->at_ns - task_end(&x->g->tasks[t->prev]);
    if (x->p->mark[i] & PLAN_NODE && !(t->flags & TASK_STALL && in_call(x, t)))
        rest = rest * x->p->node_lag_permille / 1000;
    r->start[replay_at(r, i)] = x->ready + (dropped ? 0 : lag(x, rest));
    r->end[replay_at(r, i)] = r->start[replay_at(r, i)] + (dropped ? 0 : x->p->dur[i]);
    uint32_t room = t->queue;
    if (room != TASK_NONE && x->thinner)
        room = replay_queue_room(r, x->g, i);
    if (room != TASK_NONE && !dropped && r->end[replay_at(r, room)] > r->end[replay_at(r, i)]) {
        r->end[replay_at(r, i)] = r->end[replay_at(r, room)];
        x->bind = room;
    }
    if (x->thinner && !dropped)
        replay_queue_put(r, t, i);
    if (gpu && x->p->mark[i] & PLAN_DETACH) { /* its stream does not wait for it */
        x->engine = r->end[replay_at(r, i)];
        x->await = r->end[replay_at(r, i)];
        x->await_task = i;
    } else {
        r->order[replay_at(r, t->lane)] = r->end[replay_at(r, i)];
    }
}

void replay_any_task(struct pass *x, const struct task *t, uint32_t i)
{
    struct replay *r = x->r;
    x->ready = t->prev == TASK_NONE && t->issue == TASK_NONE ? 0 : INT64_MIN;
    x->bind = TASK_NONE;
    gather(x, t, i);
    if (t->lane == x->main && t->step >= x->begun)
        begin_step(x, t);
    if (x->ready == INT64_MIN)
        x->ready = t->issue != TASK_NONE ? r->start[replay_at(r, t->issue)] : 0;
    if (pooled(x, t))
        take_batch(x, t, i);
    else
        finish(x, t, i);
    if ((t->kind == TASK_GET || t->kind == TASK_LOAD) && !(t->flags & TASK_BEHIND))
        r->got[replay_at(r, t->source)] = r->end[replay_at(r, i)];
    if (task_on_gpu(t)) {
        r->tail[replay_at(r, t->lane)] = r->order[replay_at(r, t->lane)];
        r->tail_task[t->lane] = i;
    }
}
