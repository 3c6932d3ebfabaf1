/* Computes for every task the residual: the part of its observed start that its dependencies do not
 * explain. */
#include "analyzer/replay/graph.h"
#include "analyzer/replay/limits.h"
#include "base/order.h"

#include <stdlib.h>

static int64_t quarter(int64_t *v, size_t n)
{
    if (n)
        qsort(v, n, sizeof *v, order_int64);
    return n ? v[n / 4] : 0;
}

/* Measures the usual delays of a start: *launch, from a call to its kernel when the stream is idle,
 * and *follow, from the end of one operation to the start of the next that was already queued. Each
 * is the lower quartile of what was observed. Work behind a cudaStreamWaitEvent is left out,
 * because it also waits for the event. */
static void usual_lags(const struct graph *g, int64_t *launch, int64_t *follow)
{
    int64_t *l = malloc((g->count + 1) * sizeof *l), *f = malloc((g->count + 1) * sizeof *f);
    /* by stream: its latest work, or TASK_NONE */
    uint32_t *last = malloc((g->streams + 1) * sizeof *last);
    size_t ln = 0, fn = 0;
    for (size_t s = 0; last && s < g->streams; s++)
        last[s] = TASK_NONE;
    for (uint32_t i = 0; l && f && last && i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (!task_on_gpu(t) || t->kind == TASK_EV_REC)
            continue;
        uint32_t before = last[t->lane];
        last[t->lane] = t->kind == TASK_EV_WAIT ? TASK_NONE : i;
        if (before == TASK_NONE || t->kind == TASK_EV_WAIT || t->issue == TASK_NONE)
            continue;
        int64_t issued = g->tasks[t->issue].at_ns, free_at = task_end(&g->tasks[before]);
        if (free_at <= issued && t->at_ns >= issued && t->kind == TASK_KERNEL)
            l[ln++] = t->at_ns - issued;
        else if (free_at > issued + 20000 && t->at_ns >= free_at)
            f[fn++] = t->at_ns - free_at;
    }
    *launch = l ? quarter(l, ln) : 0;
    *follow = f ? quarter(f, fn) : 0;
    free(l);
    free(f);
    free(last);
}

/* Shortens a lag so that the dependency (`from` + lag) is met at `at_ns`, as observed. Counts a
 * violation if the task started more than 1 us before `from`. */
static int64_t limit_lag(struct graph *g, int64_t from, int64_t lag_ns, int64_t at_ns, int32_t *out)
{
    if (from + lag_ns > at_ns) {
        g->violations += from > at_ns + 1000;
        lag_ns = at_ns - from;
    }
    *out = (int32_t)(lag_ns < INT32_MIN ? INT32_MIN : lag_ns > INT32_MAX ? INT32_MAX : lag_ns);
    return from + *out;
}

static int64_t tails_end(const struct graph *g, const int64_t *tail, uint32_t target)
{
    int64_t end = INT64_MIN;
    for (uint32_t s = 0; s < g->streams; s++)
        if ((target == TASK_NONE || target == s) && tail[s] > end)
            end = tail[s];
    return end;
}

/* The legacy default stream and the blocking streams of its context wait for each other. Returns
 * when the streams that task t waits for in this way have ended; INT64_MIN if there are none. */
static int64_t legacy_end(const struct graph *g, const int64_t *tail, const struct task *t)
{
    const struct stream *all = g->a->tl->streams;
    int64_t flags = all[t->lane].row.flags, end = INT64_MIN;
    if (flags < 0 || flags & STREAM_NON_BLOCKING)
        return end;
    for (uint32_t s = 0; s < g->streams; s++)
        if (s != t->lane && all[s].row.context == all[t->lane].row.context &&
            all[s].device == all[t->lane].device && all[s].row.flags >= 0 &&
            !(all[s].row.flags & STREAM_NON_BLOCKING) &&
            ((flags | all[s].row.flags) & STREAM_LEGACY_DEFAULT) && tail[s] > end)
            end = tail[s];
    return end;
}

#define LATER(a, b) ((a) > (b) ? (a) : (b))

/* Computes the residual of task i. `ready` is when its dependencies allow it to start; a lag that
 * would make it later than observed is shortened. Events have no recorded time of their own: they
 * happen at `ready`. tail: by stream, the end of its latest work. */
static void explain(struct graph *g, uint32_t i, int64_t *tail, int64_t launch, int64_t follow)
{
    struct task *t = &g->tasks[i];
    bool event = t->kind == TASK_EV_REC || t->kind == TASK_EV_WAIT, gpu = task_on_gpu(t);
    int64_t at = event ? INT64_MAX / 2 : t->at_ns, ready = INT64_MIN;
    if (t->prev == TASK_NONE && t->issue == TASK_NONE)
        ready = 0;
    if (t->prev != TASK_NONE) {
        const struct task *p = &g->tasks[t->prev];
        bool spaced = gpu && !event && p->kind < TASK_EV_REC;
        ready = LATER(ready, limit_lag(g, task_end(p), spaced ? follow : 0, at, &t->prev_lag_ns));
    }
    if (t->issue != TASK_NONE)
        ready = LATER(ready, limit_lag(g, g->tasks[t->issue].at_ns, event ? 0 : launch, at,
                                       &t->issue_lag_ns));
    int64_t guessed = INT64_MIN;
    for (uint32_t e = t->edge; e < t->edge + t->edges; e++) {
        int64_t *to = e < t->edge + t->edges - t->guessed ? &ready : &guessed;
        *to = LATER(*to, limit_lag(g, task_end(&g->tasks[g->edges[e].from]), g->edges[e].lag_ns, at,
                                   &g->edges[e].lag_ns));
    }
    if (t->kind == TASK_WAIT && g->tails[i] != WAIT_NOTHING) {
        int64_t end = tails_end(g, tail, g->tails[i]);
        if (end != INT64_MIN)
            ready = LATER(ready, limit_lag(g, end, 0, at, &t->issue_lag_ns));
    }
    if (gpu) {
        int64_t end = legacy_end(g, tail, t);
        if (end > at)
            t->flags |= TASK_NO_LEGACY;
        else
            ready = LATER(ready, end);
    }
    if (event)
        t->at_ns = ready;
    if (g->loose_ns)
        g->loose_ns[i] = t->at_ns - ready;
    ready = LATER(ready, guessed);
    t->wait_ns = t->at_ns - ready;
    if (t->wait_ns > REPLAY_STALL_NS && !(t->flags & (TASK_ROOT | TASK_BEHIND)))
        t->flags |= TASK_STALL;
    if (gpu)
        tail[t->lane] = task_end(t);
}

void graph_residuals(struct graph *g)
{
    int64_t launch, follow, *tail = malloc((g->streams + 1) * sizeof *tail);
    usual_lags(g, &launch, &follow);
    for (size_t i = 0; i < g->count && !g->loose_ns; i++)
        if (g->tasks[i].guessed)
            g->loose_ns = calloc(g->count + 1, sizeof *g->loose_ns);
    for (size_t s = 0; tail && s < g->streams; s++)
        tail[s] = INT64_MIN;
    for (uint32_t i = 0; tail && i < g->count; i++)
        explain(g, i, tail, launch, follow);
    for (size_t i = 0; i < g->count;
         /* Removes links to operations that ended after the call had returned: the queue had room
          * without them. */
         i++) {
        struct task *t = &g->tasks[i];
        if (t->queue != TASK_NONE && task_end(&g->tasks[t->queue]) > task_end(t))
            t->queue = TASK_NONE;
    }
    free(tail);
}
