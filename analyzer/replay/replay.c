/* Replays a graph with the changes of a plan: one pass over its tasks in order.
 *
 * A prediction replays the graph some thirty times. Nine of ten tasks are calls, pauses and GPU work
 * that wait only for their predecessor, their launch and edges: usual_tasks() replays these, in some
 * 60 instructions each, and any_task() all others. */
#include "analyzer/replay/replay_legacy.h"
#include "analyzer/replay/replay_pace.h"
#include "analyzer/replay/replay_queue.h"
#include "analyzer/replay/limits.h"

#include <stdlib.h>
#include <string.h>

static void mean_jitter(struct replay *r, const struct graph *g)
{
    int64_t sum[TASK_KINDS] = {0}, n[TASK_KINDS] = {0};
    for (size_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->flags & (TASK_STALL | TASK_ROOT | TASK_BEHIND))
            continue;
        sum[t->kind] += t->wait_ns;
        n[t->kind]++;
    }
    for (int k = 0; k < TASK_KINDS; k++)
        r->jitter_ns[k] = n[k] ? sum[k] / n[k] : 0;
}

/* How the passes go over a task: bits of r->way. */
enum way {
    WAY_ODD = 1, /* only any_task() knows it */
    WAY_GPU = 2,
    WAY_KERNEL = 4,
    WAY_STALL = 8,
    WAY_ROOM = 16,  /* the call may wait for room in a queue */
    WAY_SILENT = 32 /* a pause of another thread; it may last for several steps, and ends none */
};

static uint8_t way_of(const struct replay *r, const struct task *t, uint32_t main)
{
    bool gpu = task_on_gpu(t), host = task_is_host(t) && !t->edges && t->issue == TASK_NONE;
    unsigned way = gpu && t->issue != TASK_NONE && !r->legacy[t->lane] ? WAY_GPU
                   : host                                              ? 0
                                                                       : WAY_ODD;
    way |= t->prev == TASK_NONE || t->flags & TASK_BEHIND ? WAY_ODD : 0;
    way |= t->kind == TASK_KERNEL ? WAY_KERNEL : 0;
    way |= t->flags & TASK_STALL ? WAY_STALL : 0;
    way |= t->queue != TASK_NONE ? WAY_ROOM : 0;
    way |= t->kind == TASK_HOST_GAP && t->lane != main ? WAY_SILENT : 0;
    return (uint8_t)way;
}

/* Looks up once what each pass would ask for each task. */
static void look_up(struct replay *r, const struct graph *g)
{
    uint32_t main = (uint32_t)g->streams + g->a->steps.main_thread;
    size_t begun = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        r->rooms |= t->queue != TASK_NONE;
        r->way[i] = way_of(r, t, main);
        if (t->lane == main && t->step >= begun) { /* begins a step */
            r->way[i] |= WAY_ODD;
            begun = (size_t)t->step + 1;
        }
    }
}

int replay_init(struct replay *r, const struct graph *g)
{
    memset(r, 0, sizeof *r);
    size_t n = g->count + 1;
    r->start = malloc(n * sizeof *r->start);
    r->end = malloc(n * sizeof *r->end);
    r->order = malloc((g->lanes + 1) * sizeof *r->order);
    r->bind = malloc(n * sizeof *r->bind);
    r->tail = malloc((g->streams + 1) * sizeof *r->tail);
    r->tail_task = malloc((g->streams + 1) * sizeof *r->tail_task);
    r->step_end = malloc((g->steps + 1) * sizeof *r->step_end);
    r->step_begin = malloc((g->steps + 1) * sizeof *r->step_begin);
    r->row = malloc((g->steps + 1) * sizeof *r->row);
    r->got = malloc((g->gets + 1) * sizeof *r->got);
    r->number = malloc(n * sizeof *r->number);
    r->queue = malloc((g->streams + 1) * QUEUE_DEPTH * sizeof *r->queue);
    r->queued = malloc((g->streams + 1) * sizeof *r->queued);
    r->legacy = malloc((g->streams + 1) * sizeof *r->legacy);
    r->way = malloc(n * sizeof *r->way);
    if (!r->start || !r->end || !r->order || !r->bind || !r->tail || !r->tail_task ||
        !r->step_end || !r->step_begin || !r->got || !r->row || !r->number || !r->queue ||
        !r->queued || !r->legacy || !r->way || replay_find_legacy(r, g) < 0) {
        replay_release(r);
        return -1;
    }
    mean_jitter(r, g);
    look_up(r, g);
    return 0;
}

void replay_release(struct replay *r)
{
    free(r->start);
    free(r->end);
    free(r->order);
    free(r->bind);
    free(r->tail);
    free(r->tail_task);
    free(r->step_end);
    free(r->step_begin);
    free(r->got);
    free(r->row);
    free(r->number);
    free(r->queue);
    free(r->queued);
    free(r->legacy);
    free(r->way);
    memset(r, 0, sizeof *r);
}

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

static bool assumes(const struct pass *x, unsigned what)
{
    return x->p->assume & what;
}

static int64_t lag(const struct pass *x, int64_t ns)
{
    return x->p->scale_lags_permille == 1000 ? ns : ns * x->p->scale_lags_permille / 1000;
}

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
        if (x->r->tail[s] != INT64_MIN && legacy_pair(&all[t->lane], &all[s]))
            after(x, x->r->tail[s], x->r->tail_task[s]);
}

static void after_tails(struct pass *x, const struct task *t, uint32_t i)
{
    uint32_t target = x->g->tails[i];
    if (target == WAIT_NOTHING)
        return;
    for (uint32_t s = target == TASK_NONE ? 0 : target;
         s < (target == TASK_NONE ? x->g->streams : target + 1); s++)
        if (x->r->tail[s] != INT64_MIN)
            after(x, x->r->tail[s] + lag(x, t->issue_lag_ns), x->r->tail_task[s]);
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
        int64_t room = x->r->got[number - (uint32_t)pool->credits];
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
        done = x->r->tail[s] > done ? x->r->tail[s] : done;
    if (assumes(x, ASSUME_END_WAIT))
        for (size_t s = 0; s < x->g->streams; s++)
            if (x->r->tail[s] != INT64_MIN)
                after(x, x->r->tail[s], x->r->tail_task[s]);
    x->behind += done > x->ready;
    while (x->begun <= t->step)
        x->r->step_begin[x->begun++] = x->ready;
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
    x->r->start[i] = x->ready;
    x->r->end[i] = x->r->order[t->lane] =
        x->ready + REPLAY_TAKE_BATCH_NS + (int64_t)x->p->pool.get_ns;
}

static int64_t prev_lag(const struct pass *x, const struct task *t, uint32_t i)
{
    return x->p->mark[i] & PLAN_NODE ? t->prev_lag_ns * x->p->node_lag_permille / 1000
                                     : t->prev_lag_ns;
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
        after(x, x->r->end[x->latest], x->latest);
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
        after(x, r->order[t->lane] + (dropped && after_prev > 0 ? 0 : after_prev), t->prev);
    }
    if (dropped)
        return;
    if (t->issue != TASK_NONE)
        after(x, r->start[t->issue] + lag(x, t->issue_lag_ns), t->issue);
    unsigned left = assumes(x, ASSUME_NO_EVENTS) ? t->guessed : 0;
    if (pooled(x, t) || taken_ready(x, t)) /* the pool replaces the recorded worker */
        left = t->edges;
    for (uint32_t e = t->edge; e < t->edge + t->edges - left; e++)
        after(x, r->end[x->g->edges[e].from] + lag(x, x->g->edges[e].lag_ns), x->g->edges[e].from);
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

/* Returns true if the stall before a kernel lies in the launching call, as it does while code is
 * loaded, and not on the way to the GPU. A graph needs that way only once for all of its nodes (60
 * to 180 us per launch on an RTX 5080, in published traces), so PLAN_NODE shortens the other stalls
 * only. */
static bool in_call(const struct pass *x, const struct task *t)
{
    return t->issue != TASK_NONE && t->at_ns - task_end(&x->g->tasks[t->issue]) <= REPLAY_STALL_NS;
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
        int64_t date = r->step_begin[t->step] + was->start[i] - was->step_begin[t->step];
        x->ready = date > x->ready ? date : x->ready;
        rest = 0;
    }
    if (taken_ready(x, t))
        rest = t->at_ns - task_end(&x->g->tasks[t->prev]);
    if (x->p->mark[i] & PLAN_NODE && !(t->flags & TASK_STALL && in_call(x, t)))
        rest = rest * x->p->node_lag_permille / 1000;
    r->start[i] = x->ready + (dropped ? 0 : lag(x, rest));
    r->end[i] = r->start[i] + (dropped ? 0 : x->p->dur[i]);
    uint32_t room = t->queue;
    if (room != TASK_NONE && x->thinner)
        room = replay_queue_room(r, x->g, i);
    if (room != TASK_NONE && !dropped && r->end[room] > r->end[i]) {
        r->end[i] = r->end[room];
        x->bind = room;
    }
    if (x->thinner && !dropped)
        replay_queue_put(r, t, i);
    if (gpu && x->p->mark[i] & PLAN_DETACH) { /* its stream does not wait for it */
        x->engine = r->end[i];
        x->await = r->end[i];
        x->await_task = i;
    } else {
        r->order[t->lane] = r->end[i];
    }
}

static void any_task(struct pass *x, const struct task *t, uint32_t i)
{
    struct replay *r = x->r;
    x->ready = t->prev == TASK_NONE && t->issue == TASK_NONE ? 0 : INT64_MIN;
    x->bind = TASK_NONE;
    gather(x, t, i);
    if (t->lane == x->main && t->step >= x->begun)
        begin_step(x, t);
    if (x->ready == INT64_MIN)
        x->ready = t->issue != TASK_NONE ? r->start[t->issue] : 0;
    if (pooled(x, t))
        take_batch(x, t, i);
    else
        finish(x, t, i);
    if ((t->kind == TASK_GET || t->kind == TASK_LOAD) && !(t->flags & TASK_BEHIND))
        r->got[t->source] = r->end[i];
    if (task_on_gpu(t)) {
        r->tail[t->lane] = r->order[t->lane];
        r->tail_task[t->lane] = i;
    }
}

/* When GPU work may start: also its launch and its edges are done. */
static inline int64_t after_launch(const struct pass *x, const struct task *t, int64_t ready,
                                   uint32_t *bind)
{
    const struct replay *r = x->r;
    int64_t issued = r->start[t->issue] + t->issue_lag_ns;
    const struct edge *edges = x->g->edges; /* NULL where no task has one */
    uint32_t end = t->edge + t->edges - (assumes(x, ASSUME_NO_EVENTS) ? t->guessed : 0);
    if (issued > ready) {
        ready = issued;
        *bind = t->issue;
    }
    for (uint32_t i = t->edge; i < end; i++)
        if (r->end[edges[i].from] + edges[i].lag_ns > ready) {
            ready = r->end[edges[i].from] + edges[i].lag_ns;
            *bind = edges[i].from;
        }
    return ready;
}

/* Replays task i and those behind it up to the first odd one, and returns that one: one that waits in
 * another way, or that the plan or an assumption treats specially. */
static __attribute__((noinline)) uint32_t usual_tasks(const struct pass *x, uint32_t i)
{
    struct replay *r = x->r;
    const uint8_t *way = r->way, *mark = x->p->mark;
    const uint32_t count = (uint32_t)x->g->count;
    uint32_t *binds = r->bind;
    const int64_t *dur = x->p->dur, *loose = assumes(x, ASSUME_NO_EVENTS) ? x->g->loose_ns : NULL;
    int64_t *start = r->start, *end = r->end, *order = r->order, *step_end = r->step_end;
    unsigned odd = WAY_ODD | (assumes(x, ASSUME_STALLS_DATED) ? WAY_STALL : 0) |
                   (assumes(x, ASSUME_ORDER) || x->await != INT64_MIN ? WAY_KERNEL : 0);
    for (; i < count && !(way[i] & odd) && !(mark[i] & ~PLAN_NODE); i++) {
        const struct task *t = &x->g->tasks[i];
        uint32_t bind = t->prev;
        if (!(way[i] | mark[i]) && !loose) { /* the host goes on */
            start[i] = order[t->lane] + t->prev_lag_ns + t->wait_ns;
            end[i] = order[t->lane] = start[i] + dur[i];
            binds[i] = bind;
            if (end[i] > step_end[t->step])
                step_end[t->step] = end[i];
            continue;
        }
        int64_t ready = order[t->lane] + (mark[i] ? prev_lag(x, t, i) : t->prev_lag_ns);
        int64_t rest = loose ? loose[i] : t->wait_ns;
        if (way[i] & WAY_GPU)
            ready = after_launch(x, t, ready, &bind);
        if (mark[i] && !(t->flags & TASK_STALL && in_call(x, t)))
            rest = rest * x->p->node_lag_permille / 1000;
        int64_t begin = ready + rest, done = begin + dur[i];
        start[i] = begin;
        if (way[i] & WAY_ROOM) {
            uint32_t room = x->thinner ? replay_queue_room(r, x->g, i) : t->queue;
            if (room != TASK_NONE && end[room] > done) {
                done = end[room];
                bind = room;
            }
        }
        end[i] = order[t->lane] = done;
        binds[i] = bind;
        if (way[i] & WAY_GPU) {
            r->tail[t->lane] = done;
            r->tail_task[t->lane] = i;
            if (x->thinner)
                replay_queue_put(r, t, i);
        }
        if (done > step_end[t->step] && !(way[i] & WAY_SILENT))
            step_end[t->step] = done;
    }
    return i;
}

static void pass_over(struct pass *x, struct replay *r, const struct graph *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        if (x->usual && (i = usual_tasks(x, i)) == g->count)
            break;
        const struct task *t = &g->tasks[i];
        any_task(x, t, i);
        r->bind[i] = x->bind;
        if (!(r->way[i] & WAY_SILENT) && !(t->flags & TASK_BEHIND) &&
            r->end[i] > r->step_end[t->step])
            r->step_end[t->step] = r->end[i];
    }
}

int64_t replay_run(struct replay *r, const struct graph *g, const struct plan *p)
{
    struct pass x = {
        .r = r, .g = g, .p = p, .engine = INT64_MIN, .await = INT64_MIN, .latest = TASK_NONE};
    x.main = (uint32_t)g->streams + g->a->steps.main_thread;
    x.usual = p->scale_lags_permille == 1000 && !p->mean_jitter;
    if (g->count == 0)
        return r->step_ns = 0;
    x.thinner = replay_queue_begin(r, g, p);
    for (size_t s = 0; s < g->streams; s++)
        r->tail[s] = INT64_MIN;
    memset(r->order, 0, (g->lanes + 1) * sizeof *r->order);
    memset(r->step_end, 0, (g->steps + 1) * sizeof *r->step_end);
    memset(r->got, 0, (g->gets + 1) * sizeof *r->got);
    pass_over(&x, r, g);
    r->ran_dry = x.behind * REPLAY_DRY <= x.begun;
    replay_pace(r, g);
    return r->step_ns;
}
