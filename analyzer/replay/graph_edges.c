/* Connects the tasks: adds an edge for everything that a task waits for before it starts. */
#include "analyzer/replay/graph.h"

#include "analyzer/replay/limits.h"
#include "analyzer/timeline/idmap.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Many recordings do not show which event a cudaStreamWaitEvent waits for, nor in which stream it
 * stands. The builder then assumes the latest possible dependency: the next work of every stream
 * waits for all work that the other streams held when the wait was called, as far as that work had
 * ended in the recording before the waiting work started. */
struct guess {
    bool on;
    uint32_t waits, *seen; /* number of waits called; by stream, how many of these its work has
                              followed */
    uint32_t *held;        /* by stream: its latest work when the last wait was called */
};

struct joiner {
    struct graph *g;
    const struct timeline *t;
    uint32_t *api_task; /* by API call: its HOST_API task */
    uint32_t *api_end;  /* by API call: the task whose end is the call's return, HOST_API or WAIT */
    uint32_t *op_task;  /* by operation: its task */
    uint32_t *last;     /* by lane: its latest task */
    uint32_t *get_of;   /* by batch number: the GET that takes it */
    uint32_t *ring;     /* by stream: its last QUEUE_DEPTH tasks, as a ring */
    size_t *queued;     /* by stream: tasks queued so far */
    struct idmap marks; /* by event_sync: the task that records the event */
    /* For recordings without event_sync: by event, the task of its latest cudaEventRecord. */
    struct idmap latest;
    struct guess guess;
    bool pages_move; /* pages of managed memory move to the host */
    struct VEC(struct edge) edges;
};

/* In `latest`: two contexts use this event id. Ids are unique only within a context, and a wait
 * does not say which context it means. */
enum { OF_TWO_CONTEXTS = UINT32_MAX - 1 };

/* Returns the task that recorded the event that `s` waits for, or TASK_NONE. CUPTI numbers the
 * recordings of events (event_sync) from CUDA 12.8 on. Before that, a wait names only the event,
 * and refers to its latest recording so far (CUDA Runtime API, cudaEventRecord). */
static uint32_t find_mark(const struct joiner *j, const struct sync *s)
{
    if (s->event_sync >= 0)
        return idmap_get(&j->marks, s->event_sync);
    uint32_t last = s->event < 0 ? TASK_NONE : idmap_get(&j->latest, s->event);
    return last == OF_TWO_CONTEXTS ? TASK_NONE : last;
}

static int edge_from(struct joiner *j, uint32_t to, uint32_t from, int64_t lag_ns)
{
    if (from == TASK_NONE || from >= to)
        return 0;
    struct edge *e = vec_push(&j->edges);
    if (!e)
        return -1;
    *e = (struct edge){from, (int32_t)lag_ns};
    j->g->tasks[to].edges++;
    return 0;
}

static int guess_from(struct joiner *j, uint32_t to, uint32_t from)
{
    int rc = from < to ? edge_from(j, to, from, 0) : 0;
    if (rc == 0 && from < to && j->g->tasks[to].guessed < UINT8_MAX)
        j->g->tasks[to].guessed++;
    return rc;
}

static void call_wait(struct joiner *j, const struct api *c)
{
    if (!j->guess.on || c->kind != API_STREAM_WAIT || c->sync != TL_NONE)
        return;
    j->guess.waits++;
    memcpy(j->guess.held, j->last, j->g->streams * sizeof *j->last);
}

/* Adds guessed edges to the first work of its stream behind a wait whose event is not known. */
static int guess_waits(struct joiner *j, uint32_t i)
{
    const struct task *t = &j->g->tasks[i];
    int rc = 0;
    if (!j->guess.on || j->guess.seen[t->lane] == j->guess.waits)
        return 0;
    j->guess.seen[t->lane] = j->guess.waits;
    for (uint32_t s = 0; rc == 0 && s < j->g->streams; s++) {
        uint32_t from = s == t->lane ? TASK_NONE : j->guess.held[s];
        for (int n = 0; from != TASK_NONE && n < REPLAY_LOOKED_BACK; n++) {
            if (task_end(&j->g->tasks[from]) <= t->at_ns)
                break;
            from = n + 1 < REPLAY_LOOKED_BACK ? j->g->tasks[from].prev : TASK_NONE;
        }
        if (from != TASK_NONE && j->g->tasks[i].guessed < UINT8_MAX)
            rc = guess_from(j, i, from);
    }
    return rc;
}

/* The host waits for an event that was not recorded. Guesses that it waited for the operation that
 * ended last during the wait. */
static int guess_host_wait(struct joiner *j, uint32_t i)
{
    const struct task *t = &j->g->tasks[i];
    int64_t from = t->prev == TASK_NONE ? 0 : task_end(&j->g->tasks[t->prev]);
    uint32_t op = graph_polled_op(j->g->a, j->g->start_ns + from, j->g->start_ns + t->at_ns);
    return op == TL_NONE || j->op_task[op] == TASK_NONE ? 0 : guess_from(j, i, j->op_task[op]);
}

bool graph_events_missing(const struct facts *f)
{
    if (f->tl->have & HAVE_EVENTS)
        return false;
    for (size_t i = 0; i < f->totals.api_count; i++)
        if (f->totals.apis[i].kind == API_STREAM_WAIT || f->totals.apis[i].kind == API_SYNC_EVENT)
            return true;
    return false;
}

static uint32_t api_of(const struct joiner *j, const struct task *t)
{
    switch (t->kind) {
    case TASK_EV_REC:
        return j->t->events[t->source].api;
    case TASK_EV_WAIT:
        return j->t->syncs[t->source].api;
    default:
        return j->t->ops[t->source].api;
    }
}

static uint16_t step_at(const struct graph *g, int64_t at_ns)
{
    const struct step *s = &g->a->steps.at[g->first];
    size_t lo = 0, hi = g->steps - 1;
    while (lo < hi) {
        size_t mid = (lo + hi + 1) / 2;
        if (s[mid].start_ns - g->start_ns <= at_ns)
            lo = mid;
        else
            hi = mid - 1;
    }
    return (uint16_t)lo;
}

/* A WAIT of a copy call depends on the copy that this call issued. */
static int join_copy_wait(struct joiner *j, uint32_t i)
{
    uint32_t k = i; /* the copy stands between the call and its WAIT */
    while (k-- > 0 && j->g->tasks[k].kind != TASK_COPY)
        ;
    if (k == TASK_NONE)
        return 0;
    int64_t left = j->g->tasks[i].at_ns - task_end(&j->g->tasks[k]);
    return edge_from(j, i, k, left < 0 ? left : 0);
}

/* A WAIT that ended because operation `done` had ended: the lag is as observed. */
static int join_done(struct joiner *j, uint32_t i, uint32_t done)
{
    return done == TASK_NONE
               ? 0
               : edge_from(j, i, done, j->g->tasks[i].at_ns - task_end(&j->g->tasks[done]));
}

static int join_wait(struct joiner *j, uint32_t i)
{
    struct task *t = &j->g->tasks[i];
    const struct api *c = &j->t->apis[t->source];
    if (t->flags & TASK_COPY_WAIT) {
        j->g->tails[i] = WAIT_NOTHING;
        return join_copy_wait(j, i);
    }
    if (t->flags & TASK_FOR_KERNEL) {
        j->g->tails[i] = WAIT_NOTHING;
        return join_done(j, i, j->op_task[c->op]);
    }
    if (c->kind == API_LAUNCH) { /* the launch waited for room in the queue */
        uint32_t op = graph_awaited_for_room(j->g->a, t->source);
        uint32_t done = op == TL_NONE ? TASK_NONE : j->op_task[op];
        j->g->tails[i] = WAIT_NOTHING;
        t->flags |= done == TASK_NONE ? TASK_ROOT : 0; /* that operation ended before the window */
        return join_done(j, i, done);
    }
    if (c->kind == API_EVENT_QUERY) {
        int64_t from = t->prev == TASK_NONE ? 0 : task_end(&j->g->tasks[t->prev]);
        uint32_t op = graph_polled_op(j->g->a, j->g->start_ns + from, j->g->start_ns + t->at_ns);
        j->g->tails[i] = WAIT_NOTHING;
        return join_done(j, i, op == TL_NONE ? TASK_NONE : j->op_task[op]);
    }
    const struct sync *s = c->sync == TL_NONE ? NULL : &j->t->syncs[c->sync];
    if (c->kind == API_SYNC_EVENT) {
        uint32_t from = s ? find_mark(j, s) : TASK_NONE;
        j->g->tails[i] = WAIT_NOTHING;
        if (from != TASK_NONE && j->last[j->g->tasks[from].lane] == from)
            t->flags |= TASK_DRAINS;
        if (from == TASK_NONE && j->guess.on)
            return guess_host_wait(j, i);
        return edge_from(j, i, from, 0);
    }
    j->g->tails[i] =
        c->kind == API_SYNC_STREAM && s && s->stream != TL_NONE ? s->stream : TASK_NONE;
    t->flags |= TASK_DRAINS;
    return 0;
}

static void join_queue(struct joiner *j, uint32_t i)
{
    struct task *t = &j->g->tasks[i];
    size_t n = j->queued[t->lane]++;
    uint32_t *place = &j->ring[t->lane * QUEUE_DEPTH + n % QUEUE_DEPTH];
    /* The launch needs room: the task QUEUE_DEPTH places earlier in the stream must end first.
     * graph_residuals() removes the link where the recording shows that the launch did not wait for
     * it. */
    if (n >= QUEUE_DEPTH && t->issue != TASK_NONE)
        j->g->tasks[t->issue].queue = *place;
    *place = i;
}

/* A worker that was idle began this batch because the training thread requested it. Adds an edge
 * from the training thread's last task that had ended by then. */
static int join_idle_load(struct joiner *j, uint32_t i)
{
    const struct task *t = &j->g->tasks[i], *all = j->g->tasks;
    uint32_t from = j->last[j->g->streams + j->g->a->steps.main_thread];
    if (t->prev != TASK_NONE &&
        all[t->prev].at_ns + all[t->prev].dur_ns + REPLAY_STALL_NS > t->at_ns)
        return 0;
    while (from != TASK_NONE && all[from].at_ns + all[from].dur_ns > t->at_ns)
        from = all[from].prev;
    return edge_from(j, i, from, 0);
}

static int64_t context_of(const struct joiner *j, uint32_t task)
{
    return j->t->streams[j->g->tasks[task].lane].row.context;
}

/* Notes the recording of an event: later waits for this event depend on task i. */
static int put_mark(struct joiner *j, uint32_t i)
{
    const struct event_record *r = &j->t->events[j->g->tasks[i].source];
    if (r->event_sync >= 0)
        return idmap_set(&j->marks, r->event_sync, i);
    if (r->event < 0)
        return 0;
    uint32_t last = idmap_get(&j->latest, r->event);
    bool one =
        last == TASK_NONE || (last != OF_TWO_CONTEXTS && context_of(j, last) == context_of(j, i));
    return idmap_set(&j->latest, r->event, one ? i : OF_TWO_CONTEXTS);
}

/* The step that the operation belongs to by the estimate of its launch, or the first. */
static uint16_t step_of_op(const struct graph *g, uint32_t op)
{
    uint32_t step = g->a->steps.op_step[op] - g->first;
    return step < g->steps ? (uint16_t)step : 0;
}

/* Connects a task of a stream to the call that issued it and to the event that its stream waits
 * for. */
static int join_gpu(struct joiner *j, uint32_t i)
{
    struct task *t = &j->g->tasks[i];
    uint32_t api = api_of(j, t);
    if (api != TL_NONE && j->api_task[api] != TASK_NONE) {
        t->issue = j->api_task[api];
        t->step = j->g->tasks[t->issue].step;
    } else {
        bool seen = api != TL_NONE || t->kind == TASK_EV_REC || t->kind == TASK_EV_WAIT;
        t->step = seen ? 0 : step_of_op(j->g, t->source);
        t->flags |= t->prev == TASK_NONE ? TASK_ROOT : 0;
    }
    if (t->kind == TASK_EV_REC)
        return put_mark(j, i);
    if (t->kind == TASK_EV_WAIT)
        return edge_from(j, i, find_mark(j, &j->t->syncs[t->source]), 0);
    j->op_task[t->source] = i;
    join_queue(j, i);
    return guess_waits(j, i);
}

/* A worker may make batch n only after the training thread has taken batch n - credits. */
static int join_load(struct joiner *j, uint32_t i)
{
    const struct task *t = &j->g->tasks[i];
    j->g->load_of[t->source] = i;
    j->g->loads++;
    if (t->source >= (uint32_t)j->g->credits &&
        edge_from(j, i, j->get_of[t->source - (uint32_t)j->g->credits], 0) < 0)
        return -1;
    return join_idle_load(j, i);
}

/* Host code that reads managed memory which the GPU wrote depends on the GPU work that had ended
 * when the first page came back. */
static int join_pages(struct joiner *j, uint32_t i)
{
    const struct task *t = &j->g->tasks[i];
    int64_t at_ns = j->g->start_ns + t->at_ns;
    int64_t back = graph_page_back(j->g->a, at_ns, at_ns + t->dur_ns);
    int rc = 0;
    for (uint32_t s = 0; back >= 0 && rc == 0 && s < j->g->streams; s++) {
        uint32_t from = graph_ended_by(j->g, j->last[s], back - j->g->start_ns);
        int64_t end = from == TASK_NONE ? 0 : task_end(&j->g->tasks[from]);
        rc = edge_from(j, i, from, end > t->at_ns ? t->at_ns - end : 0);
    }
    return rc;
}

/* Adds the edges that end at task i, and notes it as the latest task of its lane. Tasks come in
 * order, so everything that i waits for was noted before. Returns -1 without memory. */
static int join_task(struct joiner *j, uint32_t i)
{
    struct task *t = &j->g->tasks[i];
    t->edge = (uint32_t)j->edges.n;
    t->prev = j->last[t->lane];
    t->step = step_at(j->g, t->at_ns - (t->kind == TASK_WAIT || t->kind == TASK_GET));
    int rc = 0;
    if (t->kind == TASK_HOST_API) {
        j->api_task[t->source] = i;
        call_wait(j, &j->t->apis[t->source]);
    }
    if (t->kind == TASK_HOST_API || t->kind == TASK_WAIT)
        j->api_end[t->source] = i;
    if (t->flags & TASK_HANDED)
        rc = edge_from(j, i, j->api_end[t->source], 0);
    if (j->pages_move && t->kind == TASK_HOST_GAP &&
        t->lane == j->g->streams + j->g->a->steps.main_thread)
        rc = join_pages(j, i);
    if (rc == 0 && task_on_gpu(t))
        rc = join_gpu(j, i);
    if (t->kind == TASK_WAIT)
        rc = join_wait(j, i);
    if (t->kind == TASK_GET) {
        rc = edge_from(j, i, j->g->load_of[t->source], j->g->way_ns);
        j->get_of[t->source] = i;
    }
    if (t->kind == TASK_LOAD && t->flags & TASK_BEHIND && t->source < j->g->gets)
        rc = join_load(j, i);
    j->last[t->lane] = i;
    return rc;
}

static uint32_t *indices(size_t n)
{
    uint32_t *p = malloc((n + 1) * sizeof *p);
    return p ? memset(p, 0xff, (n + 1) * sizeof *p) : NULL;
}

static void release(struct joiner *j)
{
    free(j->api_task);
    free(j->api_end);
    free(j->op_task);
    free(j->last);
    free(j->get_of);
    free(j->ring);
    free(j->queued);
    free(j->guess.seen);
    free(j->guess.held);
    idmap_release(&j->marks);
    idmap_release(&j->latest);
}

int graph_join(struct graph *g, struct err *e)
{
    struct joiner j = {.g = g, .t = g->a->tl};
    j.api_task = indices(j.t->api_count);
    j.op_task = indices(j.t->op_count);
    j.api_end = indices(j.t->api_count);
    j.last = indices(g->lanes);
    j.get_of = indices(g->gets);
    j.ring = indices(g->streams * QUEUE_DEPTH);
    j.queued = calloc(g->streams + 1, sizeof *j.queued);
    g->load_of = indices(g->gets);
    g->tails = indices(g->count);
    /* Each such wait looks at all streams, so with more streams the builder does not guess. */
    enum { STREAMS_MOST = 256 };
    j.guess.on = g->streams <= STREAMS_MOST && graph_events_missing(g->a);
    j.pages_move = g->streams <= STREAMS_MOST && graph_page_back(g->a, INT64_MIN, INT64_MAX) >= 0;
    j.guess.seen = calloc(g->streams + 1, sizeof *j.guess.seen);
    j.guess.held = indices(g->streams);
    int rc = j.guess.seen && j.guess.held && j.api_task && j.op_task && j.api_end && j.last &&
                     j.get_of && j.ring && j.queued && g->load_of && g->tails
                 ? 0
                 : -1;
    for (uint32_t i = 0; rc == 0 && i < g->count; i++)
        rc = join_task(&j, i);
    g->edges = j.edges.at;
    g->edge_count = j.edges.n;
    release(&j);
    return rc < 0 ? err_no_memory(e) : 0;
}
