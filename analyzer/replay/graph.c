/* Chooses the steps to replay, makes their tasks thread by thread, and builds the graph. */
#include "analyzer/replay/graph_make.h"

#include "analyzer/measure/launched.h"
#include "analyzer/measure/median.h"
#include "analyzer/queries/query.h"
#include "analyzer/replay/limits.h"
#include "wire/spool_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS_MAX = 32,
};

struct task *graph_put(struct maker *m, enum task_kind kind, int64_t key, uint32_t lane,
                       int64_t start_ns, int64_t end_ns, uint32_t source)
{
    struct sort_key *k = vec_push(&m->keys);
    struct task *t = vec_push(&m->tasks);
    if (!k || !t) {
        static struct task nowhere;
        m->failed = true;
        return &nowhere;
    }
    *k = (struct sort_key){.time = key, .index = (uint32_t)(m->tasks.n - 1)};
    bool waits = kind == TASK_WAIT || kind == TASK_GET;
    *t = (struct task){.at_ns = (waits ? end_ns : start_ns) - m->g->start_ns,
                       .dur_ns = waits ? 0 : end_ns - start_ns,
                       .kind = (uint8_t)kind,
                       .lane = lane,
                       .source = source,
                       .prev = TASK_NONE,
                       .issue = TASK_NONE,
                       .queue = TASK_NONE};
    return t;
}

/* Returns how many of the `most` steps before `end` to replay: at least REPLAY_STEPS, then as many
 * as fit into REPLAY_CALLS calls of the training thread. */
static size_t steps_wanted(const struct maker *m, size_t end, size_t most)
{
    const struct thread *th = &m->t->threads[m->a->steps.main_thread];
    uint32_t call = th->first_api + th->apis;
    size_t calls = 0, n = 0;
    while (n < most && (n < REPLAY_STEPS || calls < REPLAY_CALLS)) {
        const struct step *s = &m->a->steps.at[end - ++n];
        for (; call > th->first_api && m->t->apis[call - 1].start_ns >= s->start_ns; call--)
            calls += m->t->apis[call - 1].start_ns < s->end_ns;
    }
    return n;
}

/* Returns the end of the training thread's last call that begins in the step, or the step's start
 * if it has no call. */
static int64_t last_call_ns(const struct maker *m, const struct step *s)
{
    const struct thread *th = &m->t->threads[m->a->steps.main_thread];
    uint32_t call = th->first_api + th->apis;
    while (call > th->first_api && m->t->apis[call - 1].start_ns >= s->end_ns)
        call--;
    bool any = call > th->first_api && m->t->apis[call - 1].start_ns >= s->start_ns;
    return any ? m->t->apis[call - 1].end_ns : s->start_ns;
}

/* Returns the end of the window: the end of its last step. If that is also the last step of the
 * recording, a profiler that stops there blocks the host behind the step's last call. So the last
 * step then gets the other steps' median host length, but covers its own calls. */
static int64_t window_end(const struct maker *m, size_t end)
{
    const struct step *at = &m->a->steps.at[m->g->first], *last = &m->a->steps.at[end - 1];
    int64_t others[STEPS_MAX], call_ns;
    size_t n = m->g->steps - 1;
    if (!m->a->steps.on_gpu || end < m->a->steps.count || n == 0)
        return last->end_ns;
    for (size_t i = 0; i < n; i++)
        others[i] = at[i].end_ns - at[i].start_ns;
    int64_t ns = last->start_ns + median_ns(others, n);
    call_ns = last_call_ns(m, last);
    ns = ns > call_ns ? ns : call_ns;
    return ns < last->end_ns ? ns : last->end_ns;
}

/* If step times drift in the course of the loop, returns the end of the window, among the last
 * `run` steps, whose mean step is nearest to the reported step: the last steps of such a loop are
 * not typical. Otherwise returns `end`. */
static size_t typical_end(const struct maker *m, size_t end, size_t run)
{
    const struct step *at = m->a->steps.at;
    size_t most = run > STEPS_MAX ? STEPS_MAX : run, counted = most - most / REPLAY_SETTLE,
           best = end;
    double sum = 0, least = -1;
    for (size_t i = end - run; m->a->steps.drift_to_ns && i < end; i++) {
        sum += (double)at[i].length_ns;
        sum -= i >= end - run + counted ? (double)at[i - counted].length_ns : 0;
        double off = fabs(sum / (double)counted - (double)m->a->step_ns);
        if (i + 1 < end - run + most || (least >= 0 && off >= least))
            continue;
        least = off;
        best = i + 1;
    }
    return best;
}

/* Chooses the longest row of consecutive used steps, and the last one of equal length. */
static void find_window(struct maker *m)
{
    const struct steps *s = &m->a->steps;
    size_t best = 0, end = 0, run = 0;
    for (size_t i = 0; i < s->count; i++) {
        bool follows = run && s->at[i].start_ns - s->at[i - 1].end_ns < s->short_ns / 2;
        run = s->at[i].used ? (follows ? run + 1 : 1) : 0;
        if (run >= best && run > 0) {
            best = run;
            end = i + 1;
        }
    }
    if (best == 0 || s->main_thread >= m->t->thread_count)
        return;
    end = typical_end(m, end, best);
    m->g->steps = steps_wanted(m, end, best > STEPS_MAX ? STEPS_MAX : best);
    m->g->recorded_steps = m->g->steps;
    m->g->once = analysis_of_window(m->a);
    m->g->skip = m->g->steps / REPLAY_SETTLE;
    m->g->first = (uint32_t)(end - m->g->steps);
    m->g->start_ns = s->at[m->g->first].start_ns;
    m->end_ns = window_end(m, end);
    m->g->length_ns = m->end_ns - m->g->start_ns;
}

/* Links the operations of each API call in order: first_op by call, next_op by operation. Returns
 * -1 without memory. */
static int link_ops(struct maker *m)
{
    const struct timeline *t = m->t;
    m->first_op = malloc((t->api_count + 1) * sizeof *m->first_op);
    m->next_op = malloc((t->op_count + 1) * sizeof *m->next_op);
    if (!m->first_op || !m->next_op)
        return -1;
    memset(m->first_op, 0xff, (t->api_count + 1) * sizeof *m->first_op);
    for (size_t i = t->op_count; i-- > 0;) {
        uint32_t api = t->ops[i].api;
        m->next_op[i] = TL_NONE;
        if (api == TL_NONE)
            continue;
        m->next_op[i] = m->first_op[api];
        m->first_op[api] = (uint32_t)i;
    }
    return 0;
}

/* Adds work that was issued before the window and ends in it, and work whose launch was not
 * recorded. It leaves out pages of managed memory that move: they belong to no stream, no call
 * waits for them, and the kernel or host code that touches them takes that much longer (CUDA C++
 * Programming Guide, "Unified Memory"). */
static int put_orphans(struct maker *m)
{
    const struct timeline *t = m->t;
    /* by stream: work launched in the window has begun there */
    bool *goes_on = calloc(t->stream_count + 1, 1);
    m->failed |= !goes_on;
    for (uint32_t i = 0; i < t->op_count && !m->failed; i++) {
        const struct op *o = &t->ops[i];
        if (t->streams[o->stream].process != m->a->steps.process || tl_migrates(o))
            continue;
        if (o->api != TL_NONE && m->feeds[t->apis[o->api].thread])
            continue;
        bool known = o->api != TL_NONE, in = o->start_ns >= m->g->start_ns;
        bool before = known ? t->apis[o->api].start_ns < m->g->start_ns : !goes_on[o->stream];
        goes_on[o->stream] |= known && !before;
        if (before && o->end_ns > m->g->start_ns && (known || o->start_ns < m->end_ns))
            graph_put_op(m, i, INT64_MIN);
        else if (!known && in && o->start_ns < m->end_ns)
            graph_put_op(m, i, o->start_ns);
    }
    free(goes_on);
    return m->failed ? -1 : 0;
}

static uint32_t *index_events(const struct timeline *t)
{
    uint32_t *of = malloc((t->api_count + 1) * sizeof *of);
    if (!of)
        return NULL;
    memset(of, 0xff, (t->api_count + 1) * sizeof *of);
    for (size_t i = 0; i < t->event_count; i++)
        if (t->events[i].api != TL_NONE)
            of[t->events[i].api] = (uint32_t)i;
    return of;
}

/* Finds, by thread, the threads that only feed the program from aside (launched_aside). They wait
 * for room as loaders do, so their present time limits nothing: they get no tasks. */
static bool *find_feeders(const struct timeline *t, const bool *aside)
{
    bool *feeds = calloc(t->thread_count + 1, sizeof *feeds);
    for (size_t i = 0; feeds && i < t->op_count; i++)
        if (aside[t->ops[i].stream])
            feeds[t->apis[t->ops[i].api].thread] = true;
    for (size_t i = 0; feeds && i < t->op_count; i++)
        if (!aside[t->ops[i].stream] && t->ops[i].api != TL_NONE)
            feeds[t->apis[t->ops[i].api].thread] = false;
    return feeds;
}

/* Makes all tasks of the window and sorts them by their keys. Returns -1 without memory. */
static int make(struct maker *m)
{
    uint32_t *event_of = index_events(m->t);
    bool *aside = launched_aside(m->t), *feeds = aside ? find_feeders(m->t, aside) : NULL;
    int rc = event_of && feeds ? link_ops(m) : -1;
    m->feeds = feeds;
    if (rc == 0)
        rc = graph_find_homes(m);
    if (rc == 0)
        rc = put_orphans(m);
    if (rc == 0)
        rc = graph_put_loads(m);
    for (uint32_t i = 0; rc == 0 && i < m->t->thread_count; i++)
        if (m->t->threads[i].process == m->a->steps.process && !feeds[i])
            rc = graph_put_thread(m, i, event_of);
    int sorted = rc == 0 ? sort_keys(m->keys.at, m->keys.n) : -1;
    if (sorted == 1)
        sorted = sort_apply(m->keys.at, m->keys.n, m->tasks.at, sizeof *m->tasks.at);
    m->g->tasks = m->tasks.at;
    m->g->count = m->tasks.n;
    free(event_of);
    free(aside);
    free(feeds);
    m->feeds = NULL;
    return sorted < 0 ? -1 : 0;
}

bool graph_too_wide(const struct timeline *t)
{
    enum { STREAMS_MOST = 4096, THREADS_MOST = 8192 };
    size_t threads = 0;
    for (size_t i = 0; i < t->thread_count; i++)
        threads += t->threads[i].apis > 0;
    return threads > THREADS_MOST || t->stream_count > STREAMS_MOST;
}

/* Repeats a window of one to three steps. `skip` leaves the first repetitions out of the pace,
 * until the replay has settled. */
static int repeat(struct graph *g, struct err *e)
{
    static const struct {
        uint8_t turns, skip;
    } by_steps[GRAPH_STEPS_ENOUGH] = {{0, 0}, {5, 2}, {3, 3}, {2, 2}};
    if (g->steps >= GRAPH_STEPS_ENOUGH || g->once)
        return 0;
    g->skip = by_steps[g->steps].skip;
    return graph_unroll(g, by_steps[g->steps].turns, e);
}

/* A host that runs a few steps ahead waits, in the first steps, for work from before the window. A
 * replay cannot shorten these waits. So their steps do not count, if enough others are left. */
static void leave_out_open_waits(struct graph *g)
{
    size_t last = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        if (t->kind == TASK_WAIT && t->flags & TASK_STALL && t->edges == 0 &&
            g->tails[i] == WAIT_NOTHING && !(t->flags & TASK_COPY_WAIT))
            last = t->step;
    }
    if (last > g->skip && last + REPLAY_COUNTED < g->steps)
        g->skip = last;
}

struct graph *graph_build(const struct facts *f, struct err *e)
{
    struct graph *g = calloc(1, sizeof *g);
    if (!g) {
        err_no_memory(e);
        return NULL;
    }
    struct maker m = {.g = g, .a = f, .t = f->tl};
    g->a = f;
    g->streams = f->tl->stream_count;
    /* one more, for a worker that was not recorded */
    g->lanes = g->streams + f->tl->thread_count + 1;
    g->launches_block = query_launches(f).block;
    if (!graph_too_wide(f->tl))
        find_window(&m);
    int rc = g->steps ? make(&m) : 0;
    if (rc == 0)
        rc = graph_classify(g);
    g->gets = m.marks.n;
    free(m.first_op);
    free(m.next_op);
    free(m.ended);
    free(m.home);
    vec_release(&m.keys);
    vec_release(&m.marks);
    if (rc < 0)
        err_no_memory(e);
    if (rc == 0 && g->count)
        rc = graph_join(g, e);
    if (rc < 0) {
        graph_free(g);
        return NULL;
    }
    if (g->count) {
        graph_residuals(g);
        leave_out_open_waits(g);
    }
    g->recorded = g->count;
    if (g->count && repeat(g, e) < 0) {
        graph_free(g);
        return NULL;
    }
    return g;
}

void graph_free(struct graph *g)
{
    if (!g)
        return;
    free(g->tasks);
    free(g->classes);
    free(g->computes);
    free(g->edges);
    free(g->tails);
    free(g->loose_ns);
    free(g->load_of);
    free(g);
}
