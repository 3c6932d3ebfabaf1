/* Replays a graph with the changes of a plan: one pass over its tasks in order.
 *
 * A prediction replays the graph some thirty times. Nine of ten tasks are calls, pauses and GPU work
 * that wait only for their predecessor, their launch and edges: usual_tasks() replays these, in some
 * 60 instructions each, and replay_any_task() all others. */
#include "analyzer/replay/replay_legacy.h"
#include "analyzer/replay/replay_pace.h"
#include "analyzer/replay/replay_pass.h"
#include "analyzer/replay/replay_queue.h"

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

/* Lists the work that takes room in the queues, if some call waits for room. Returns -1 without
 * memory. */
static int list_roomy(struct replay *r, const struct graph *g)
{
    bool rooms = false;
    for (size_t i = 0; i < g->count && !rooms; i++)
        rooms = g->tasks[i].queue != TASK_NONE;
    r->roomy = rooms ? malloc(g->count * sizeof *r->roomy) : NULL;
    for (uint32_t i = 0; r->roomy && i < g->count; i++)
        if (replay_takes_room(&g->tasks[i]))
            r->roomy[r->roomy_count++] = i;
    return rooms && !r->roomy ? -1 : 0;
}

/* Looks up once what each pass would ask for each task. */
static void look_up(struct replay *r, const struct graph *g)
{
    uint32_t main = (uint32_t)g->streams + g->a->steps.main_thread;
    size_t begun = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        r->way[i] = way_of(r, t, main);
        if (t->lane == main && t->step >= begun) { /* begins a step */
            r->way[i] |= WAY_ODD;
            begun = (size_t)t->step + 1;
        }
    }
}

/* Returns room for n times of `wide` replays, at the border of a line of the cache, or NULL. */
static int64_t *times(size_t n, size_t wide)
{
    enum { LINE = 64 };
    size_t bytes = ((n + 1) * wide * sizeof(int64_t) + LINE - 1) / LINE * LINE;
    int64_t *t = aligned_alloc(LINE, bytes);
    return t ? memset(t, 0, bytes) : NULL;
}

int replay_make(struct replay *r, const struct graph *g, size_t wide)
{
    memset(r, 0, sizeof *r);
    size_t n = g->count + 1;
    r->wide = wide;
    r->start = times(g->count, wide);
    r->end = times(g->count, wide);
    r->order = times(g->lanes, wide);
    r->tail = times(g->streams, wide);
    r->step_end = times(g->steps, wide);
    r->step_begin = times(g->steps, wide);
    r->got = times(g->gets, wide);
    r->tail_task = malloc((g->streams + 1) * sizeof *r->tail_task);
    r->row = malloc((g->steps + 1) * sizeof *r->row);
    r->number = malloc(n * sizeof *r->number);
    r->queue = malloc((g->streams + 1) * QUEUE_DEPTH * sizeof *r->queue);
    r->queued = malloc((g->streams + 1) * sizeof *r->queued);
    r->legacy = malloc((g->streams + 1) * sizeof *r->legacy);
    r->way = malloc(n * sizeof *r->way);
    if (!r->start || !r->end || !r->order || !r->tail || !r->step_end || !r->step_begin ||
        !r->got || !r->tail_task || !r->row || !r->number || !r->queue || !r->queued ||
        !r->legacy || !r->way || replay_find_legacy(r, g) < 0 || list_roomy(r, g) < 0)
        return -1;
    mean_jitter(r, g);
    look_up(r, g);
    return 0;
}

int replay_init(struct replay *r, const struct graph *g)
{
    int rc = replay_make(r, g, 1);
    r->bind = malloc((g->count + 1) * sizeof *r->bind);
    if (rc == 0 && r->bind)
        return 0;
    replay_release(r);
    return -1;
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
    free(r->roomy);
    memset(r, 0, sizeof *r);
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
    const unsigned odd = odd_ways(x);
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
        replay_odd_task(x, &g->tasks[i], i);
        r->bind[i] = x->bind;
    }
}

struct pass replay_begin(struct replay *r, const struct graph *g, const struct plan *p)
{
    struct pass x = {
        .r = r, .g = g, .p = p, .engine = INT64_MIN, .await = INT64_MIN, .latest = TASK_NONE};
    x.main = (uint32_t)g->streams + g->a->steps.main_thread;
    x.usual = p->scale_lags_permille == 1000 && !p->mean_jitter;
    x.thinner = replay_queue_begin(r, g, p);
    for (size_t i = 0; i < g->streams; i++)
        r->tail[replay_at(r, i)] = INT64_MIN;
    for (size_t i = 0; i <= g->lanes; i++)
        r->order[replay_at(r, i)] = 0;
    for (size_t i = 0; i <= g->steps; i++)
        r->step_end[replay_at(r, i)] = 0;
    for (size_t i = 0; i <= g->gets; i++)
        r->got[replay_at(r, i)] = 0;
    return x;
}

void replay_end(const struct pass *x)
{
    x->r->ran_dry = x->behind * REPLAY_DRY <= x->begun;
    replay_pace(x->r, x->g);
}

int64_t replay_run(struct replay *r, const struct graph *g, const struct plan *p)
{
    if (g->count == 0)
        return r->step_ns = 0;
    struct pass x = replay_begin(r, g, p);
    pass_over(&x, r, g);
    replay_end(&x);
    return r->step_ns;
}
