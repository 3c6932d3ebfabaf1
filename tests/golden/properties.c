/* properties FILE...: tests properties of the replay that must hold on any recording, with profiles
 * and traces.
 *
 * Without an edit, every recorded task starts and ends when it was recorded to; copies of it, in
 * turns that repeat a few recorded steps, end no earlier. If all durations are scaled, the end is
 * scaled. A task that takes longer delays the end by as much if it has no slack, by at most as much
 * anywhere, and twice the delay by at least twice as much. Nothing ends later if a task is shorter
 * or removed, or if the dependencies of one kind are removed. Plans that are replayed side by side
 * end when they do alone.
 *
 * A fixed seed draws the tasks that are tested, as many as a fixed amount of work allows. The
 * program prints one line for each file; if anything fails, it says what and where, and the exit
 * status is 1. */
#include "analyzer/advice/advice.h"
#include "analyzer/import/import.h"
#include "analyzer/whatif/critical.h"
#include "analyzer/replay/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MIN = 24, SAMPLES_MAX = 300, VISITS = 4000000, DELAY_NS = 77000 };

struct trial {
    const char *path;
    struct graph *g;
    struct plan plan;
    struct replay now, then;
    uint64_t seed;
    size_t checks, failures;
};

static const char *const kind_names[TASK_KINDS] = {
    [TASK_HOST_API] = "call",   [TASK_HOST_GAP] = "pause", [TASK_WAIT] = "wait",
    [TASK_KERNEL] = "kernel",   [TASK_COPY] = "copy",      [TASK_MEMSET] = "memset",
    [TASK_COLL] = "collective", [TASK_EV_REC] = "record",  [TASK_EV_WAIT] = "await",
    [TASK_LOAD] = "load",       [TASK_GET] = "get"};

static void expect(struct trial *x, bool ok, const char *what, uint32_t task, int64_t got,
                   int64_t want)
{
    enum { SHOWN = 5 };
    x->checks++;
    if (ok)
        return;
    if (x->failures++ >= SHOWN)
        return;
    const struct task *t = task == TASK_NONE ? NULL : &x->g->tasks[task];
    printf("%s: %s: %" PRId64 " ns, expected %" PRId64 " ns", x->path, what, got, want);
    if (t)
        printf(" (task %" PRIu32 ", a %s in lane %" PRIu32 ", flags %d, at %" PRId64
               " ns for %" PRId64 " ns)",
               task, kind_names[t->kind], t->lane, t->flags, t->at_ns, t->dur_ns);
    printf("\n");
}

static uint32_t draw(struct trial *x)
{
    x->seed = x->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((x->seed >> 33) % x->g->count);
}

/* One that was seen to begin before what it follows had ended, where there is any. */
static uint32_t draw_overlapped(struct trial *x)
{
    uint32_t from = draw(x), n = (uint32_t)x->g->count;
    for (uint32_t k = 0; k < n; k++)
        if (x->g->tasks[(from + k) % n].prev_lag_ns < 0)
            return (from + k) % n;
    return from;
}

static size_t samples(const struct trial *x)
{
    size_t n = VISITS / x->g->count;
    return n < SAMPLES_MIN ? SAMPLES_MIN : n > SAMPLES_MAX ? SAMPLES_MAX : n;
}

static void as_recorded(struct trial *x)
{
    plan_reset(&x->plan, x->g);
    replay_run(&x->now, x->g, &x->plan);
    for (uint32_t i = 0; i < x->g->recorded; i++) {
        const struct task *t = &x->g->tasks[i];
        if (x->now.start[i] != t->at_ns)
            expect(x, false, "starts as recorded", i, x->now.start[i], t->at_ns);
        if (x->now.end[i] != t->at_ns + t->dur_ns)
            expect(x, false, "ends as recorded", i, x->now.end[i], t->at_ns + t->dur_ns);
        x->checks += 2;
    }
    for (uint32_t i = (uint32_t)x->g->recorded; i < x->g->count; i++)
        expect(x, x->now.end[i] >= x->g->tasks[i].at_ns, "a copy ends later", i, x->now.end[i],
               x->g->tasks[i].at_ns);
}

static void scaled(struct trial *x, int by)
{
    plan_reset(&x->plan, x->g);
    for (uint32_t i = 0; i < x->g->count; i++)
        x->plan.dur[i] *= by;
    x->plan.scale_lags_permille = 1000 * by;
    replay_run(&x->then, x->g, &x->plan);
    for (uint32_t i = 0; i < x->g->count; i++)
        if (x->then.end[i] != by * x->now.end[i])
            expect(x, false, "scales", i, x->then.end[i], by * x->now.end[i]);
    expect(x, x->then.length_ns == by * x->now.length_ns, "scales the end", TASK_NONE,
           x->then.length_ns, by * x->now.length_ns);
}

static int64_t with_duration(struct trial *x, uint32_t task, int64_t ns)
{
    int64_t kept = x->plan.dur[task];
    x->plan.dur[task] = ns;
    replay_run(&x->then, x->g, &x->plan);
    x->plan.dur[task] = kept;
    return x->then.length_ns;
}

/* The chain that ends last, walked back by what each task waited for. What waits for a task's start
 * (work that a call issues) does not wait for its end; unless its queue was full. */
static void without_slack(struct trial *x)
{
    uint32_t *chain = malloc(x->g->count * sizeof *chain), at = TASK_NONE;
    size_t n = 0;
    plan_reset(&x->plan, x->g);
    for (uint32_t i = 0; i < x->g->count; i++)
        if (!(x->g->tasks[i].flags & TASK_BEHIND) && x->now.end[i] == x->now.length_ns)
            at = i;
    bool end_counts = true;
    while (chain && at != TASK_NONE) {
        if (end_counts)
            chain[n++] = at;
        uint32_t on = x->now.bind[at];
        end_counts = on == TASK_NONE || x->g->tasks[at].issue != on;
        at = on;
    }
    for (size_t k = 0, count = samples(x); k < count && n; k++) {
        uint32_t i = chain[draw(x) % n];
        int64_t length = with_duration(x, i, x->plan.dur[i] + DELAY_NS);
        expect(x, length == x->now.length_ns + DELAY_NS, "delays the end by as much", i, length,
               x->now.length_ns + DELAY_NS);
    }
    expect(x, n > 0, "a chain ends last", TASK_NONE, 0, 0);
    free(chain);
}

static void delayed(struct trial *x)
{
    plan_reset(&x->plan, x->g);
    for (size_t k = 0, count = samples(x); k < count; k++) {
        uint32_t i = draw(x);
        int64_t once = with_duration(x, i, x->plan.dur[i] + DELAY_NS) - x->now.length_ns;
        expect(x, once >= 0 && once <= DELAY_NS, "a delay passes on at most itself", i, once,
               DELAY_NS);
        int64_t twice = with_duration(x, i, x->plan.dur[i] + 2 * DELAY_NS) - x->now.length_ns;
        expect(x, twice >= 2 * once && twice <= 2 * DELAY_NS, "twice the delay is no less harm", i,
               twice, 2 * once);
    }
}

static void none_later(struct trial *x, const char *what, uint32_t changed)
{
    for (uint32_t i = 0; i < x->g->count; i++)
        if (x->then.end[i] > x->now.end[i]) {
            expect(x, false, what, changed == TASK_NONE ? i : changed, x->then.end[i],
                   x->now.end[i]);
            return;
        }
    x->checks++;
}

static void shorter(struct trial *x)
{
    plan_reset(&x->plan, x->g);
    for (size_t k = 0, count = samples(x); k < count; k++) {
        uint32_t i = k % 2 ? draw_overlapped(x) : draw(x);
        with_duration(x, i, x->plan.dur[i] / 2);
        none_later(x, "shorter, nothing ends later", i);
        x->plan.mark[i] = PLAN_DROP;
        replay_run(&x->then, x->g, &x->plan);
        none_later(x, "gone, nothing ends later", i);
        x->plan.mark[i] = 0;
    }
}

/* ---- dependencies of one kind ---- */

enum cut {
    CUT_EVENTS,
    CUT_QUEUES,
    CUT_WAITS,
    CUT_BATCHES,
    CUT_TURNS,
    CUT_LEGACY,
    CUT_LAUNCHES,
    CUT_STREAMS,
    CUT_THREADS,
    CUTS
};

static const char *const cut_names[CUTS] = {
    [CUT_EVENTS] = "without events, nothing ends later",
    [CUT_QUEUES] = "without full queues, nothing ends later",
    [CUT_WAITS] = "without the host's waits, nothing ends later",
    [CUT_BATCHES] = "without waits for batches, nothing ends later",
    [CUT_TURNS] = "without turns of threads, nothing ends later",
    [CUT_LEGACY] = "without the legacy stream's order, nothing ends later",
    [CUT_LAUNCHES] = "without launches, nothing ends later",
    [CUT_STREAMS] = "without order in streams, nothing ends later",
    [CUT_THREADS] = "without order in threads, nothing ends later"};

/* What began before the window has only its stream to tell when: it keeps that. */
static void cut(struct task *t, uint32_t *tail, enum cut which)
{
    bool gpu = task_on_gpu(t), batch = t->kind == TASK_LOAD || t->kind == TASK_GET;
    switch (which) {
    case CUT_EVENTS:
        t->edges = t->kind == TASK_EV_WAIT ? 0 : t->edges;
        return;
    case CUT_QUEUES:
        t->queue = TASK_NONE;
        return;
    case CUT_WAITS:
        t->edges = t->kind == TASK_WAIT ? 0 : t->edges;
        *tail = WAIT_NOTHING;
        return;
    case CUT_BATCHES:
        t->edges = batch ? 0 : t->edges;
        return;
    case CUT_TURNS:
        t->edges = t->flags & TASK_HANDED ? 0 : t->edges;
        return;
    case CUT_LEGACY:
        t->flags |= TASK_NO_LEGACY;
        return;
    case CUT_LAUNCHES:
        t->issue = t->prev != TASK_NONE ? TASK_NONE : t->issue;
        return;
    case CUT_STREAMS:
        t->prev = gpu && t->issue != TASK_NONE ? TASK_NONE : t->prev;
        return;
    case CUT_THREADS:
        t->prev = gpu ? t->prev : TASK_NONE;
        return;
    case CUTS:
        return;
    }
}

static void without_dependencies(struct trial *x)
{
    size_t tasks = x->g->count * sizeof *x->g->tasks, tails = x->g->count * sizeof *x->g->tails;
    struct graph h = *x->g;
    h.tasks = malloc(tasks);
    h.tails = malloc(tails);
    plan_reset(&x->plan, x->g);
    for (int which = 0; h.tasks && h.tails && which < CUTS; which++) {
        memcpy(h.tasks, x->g->tasks, tasks);
        memcpy(h.tails, x->g->tails, tails);
        for (uint32_t i = 0; i < h.count; i++)
            cut(&h.tasks[i], &h.tails[i], (enum cut)which);
        replay_release(&x->then);
        if (replay_init(&x->then, &h) < 0)
            break;
        replay_run(&x->then, &h, &x->plan);
        none_later(x, cut_names[which], TASK_NONE);
    }
    free(h.tasks);
    free(h.tails);
}

/* Changes durations, removes work and makes nodes, at a share of the tasks. */
static void change(struct trial *x, struct plan *p, unsigned assume, int often)
{
    plan_reset(p, x->g);
    p->assume = assume;
    p->dated = &x->now;
    p->node_lag_permille = 1000 - draw(x) % 1000;
    for (size_t k = 0; k * 1000 < x->g->count * (size_t)often; k++) {
        uint32_t i = draw(x);
        const struct task *t = &x->g->tasks[i];
        p->dur[i] = draw(x) % 3 ? p->dur[i] / 2 : p->dur[i] + DELAY_NS;
        if (task_on_gpu(t))
            p->mark[i] |= draw(x) % 3 ? PLAN_NODE : t->kind == TASK_COPY ? PLAN_DETACH : PLAN_DROP;
    }
}

static void side_by_side(struct trial *x)
{
    static const unsigned assume[] = {
        0, ASSUME_NO_EVENTS, ASSUME_STALLS_DATED, ASSUME_END_WAIT, ASSUME_ORDER, ASSUME_READY};
    struct replay_wide w;
    struct plan plans[REPLAY_WIDE], *p[REPLAY_WIDE];
    bool made = replay_wide_init(&w, x->g) == 0;
    for (size_t k = 0; k < REPLAY_WIDE; k++)
        made &= plan_init(p[k] = &plans[k], x->g) == 0;
    for (size_t a = 0; made && a < sizeof assume / sizeof *assume; a++) {
        size_t n = a % REPLAY_WIDE + 1;
        for (size_t k = 0; k < n; k++)
            change(x, p[k], assume[a], (int)(k * 100));
        replay_wide_run(&w, x->g, p, n);
        for (size_t k = 0; k < n; k++) {
            const struct replay *r = &w.lane[k];
            replay_run(&x->then, x->g, p[k]);
            expect(x, r->step_ns == x->then.step_ns && r->pace_ns == x->then.pace_ns,
                   "has the pace that it has alone", TASK_NONE, r->pace_ns, x->then.pace_ns);
            for (uint32_t i = 0; i < x->g->count; i++)
                if (r->end[replay_at(r, i)] != x->then.end[i])
                    expect(x, false, "ends beside others as alone", i, r->end[replay_at(r, i)],
                           x->then.end[i]);
        }
    }
    expect(x, made, "has memory", TASK_NONE, 0, 0);
    for (size_t k = 0; k < REPLAY_WIDE; k++)
        plan_release(p[k]);
    replay_wide_release(&w);
}

/* ---- one recording ---- */

static void try_all(struct trial *x)
{
    struct whatif w = {.steps = x->g->steps};
    as_recorded(x);
    critical_find(&w, x->g, &x->now);
    scaled(x, 3);
    without_slack(x);
    delayed(x);
    shorter(x);
    side_by_side(x);
    without_dependencies(x);
    printf("%s: %zu steps of %.3f ms, %zu tasks, %zu edges, %zu seen broken, unexplained %.2f %%: "
           "%zu checks, %zu failed\n",
           x->path, x->g->steps, (double)x->now.step_ns / 1e6, x->g->count, x->g->edge_count,
           x->g->violations,
           x->now.step_ns > 0
               ? 100.0 * (double)w.path[PATH_UNEXPLAINED].path_ns / (double)x->now.step_ns
               : 0,
           x->checks, x->failures);
}

static int try_graph(const char *path, const struct advice *a, struct err *e)
{
    struct trial x = {.path = path, .g = graph_build(a->facts, e), .seed = 1};
    if (!x.g)
        return -1;
    int rc = 0;
    if (x.g->count == 0)
        printf("%s: nothing to replay: too few steps in a row\n", path);
    else if (plan_init(&x.plan, x.g) < 0 || replay_init(&x.now, x.g) < 0 ||
             replay_init(&x.then, x.g) < 0)
        rc = err_set(e, "%s: no memory", path);
    else
        try_all(&x);
    plan_release(&x.plan);
    replay_release(&x.now);
    replay_release(&x.then);
    graph_free(x.g);
    return rc < 0 ? -1 : x.failures ? 1 : 0;
}

/* 0 = all hold, 1 = not, -1 with *e set. */
static int try_file(const char *path, struct err *e)
{
    struct timeline *t = timeline_new(e);
    struct advice *a = NULL;
    if (t) {
        struct sink sink = timeline_sink(t);
        if (import_paths(&path, 1, &sink, e) == 0 && timeline_finish(t, e) == 0)
            a = advise(t, e);
    }
    int rc = a ? try_graph(path, a, e) : -1;
    advice_free(a);
    timeline_free(t);
    return rc;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    if (failed)
        fprintf(stderr, "usage: properties FILE...\n");
    for (int i = 1; i < argc; i++) {
        struct err e = ERR_INIT;
        int rc = try_file(argv[i], &e);
        if (rc < 0)
            fprintf(stderr, "properties: %s\n", e.text);
        failed |= rc != 0;
        fflush(stdout);
    }
    return failed;
}
