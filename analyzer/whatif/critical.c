/* Finds the critical path and the cause of every idle moment of the GPU by the same walk: backwards
 * from task to task, each time to the dependency that released the task last. The walk divides the
 * time that it crosses: a task's own duration, its residual, and the lag behind its dependency each
 * go to a class. From the end of the last step back to the first step that counts, the walk gives
 * the critical path. From the end of an idle gap of the GPU back to the gap's begin, it gives the
 * gap's cause. Unexplained stalls are a class of their own.
 *
 * A class's share of the path overstates what can be saved if a second path is only a little
 * shorter. So the worth of a class comes from a replay without the class. Cost: O(tasks) for both
 * walks (gaps do not overlap), and one replay per class. */
#include "analyzer/whatif/critical.h"

#include "analyzer/measure/ranges.h"
#include "analyzer/timeline/sort.h"

#include <stdlib.h>
#include <string.h>

const char *const path_key[PATH_CLASSES] = {
    [PATH_INPUT] = "input", [PATH_HOST] = "host",     [PATH_LAUNCH] = "launch",
    [PATH_ALLOC] = "alloc", [PATH_MODULE] = "module", [PATH_SYNC] = "sync",
    [PATH_COPY] = "copy",   [PATH_MATRIX] = "matrix", [PATH_KERNEL] = "kernel",
    [PATH_COMM] = "comm",   [PATH_QUEUED] = "queued", [PATH_UNEXPLAINED] = "unexplained",
};
const char *const path_title[PATH_CLASSES] = {
    [PATH_INPUT] = "making and handing over batches",
    [PATH_HOST] = "host code between CUDA calls",
    [PATH_LAUNCH] = "CUDA calls, and the time from call to GPU",
    [PATH_ALLOC] = "allocating and freeing",
    [PATH_MODULE] = "loading and unloading code",
    [PATH_SYNC] = "returning from a wait",
    [PATH_COPY] = "copies and memsets",
    [PATH_MATRIX] = "matrix kernels",
    [PATH_KERNEL] = "other kernels",
    [PATH_COMM] = "communication",
    [PATH_QUEUED] = "gaps between queued operations",
    [PATH_UNEXPLAINED] = "unexplained",
};

static bool is_matrix(uint8_t family)
{
    return family == FAMILY_GEMM || family == FAMILY_CONV || family == FAMILY_ATTENTION;
}

/* Returns the class of a CUDA call's own time, without what it waits for. */
static enum path_class class_of_call(uint8_t kind)
{
    switch (kind) {
    case API_ALLOC:
    case API_FREE:
    case API_HOST_ALLOC:
        return PATH_ALLOC;
    case API_MODULE:
        return PATH_MODULE;
    case API_SYNC_DEVICE:
    case API_SYNC_STREAM:
    case API_SYNC_EVENT:
    case API_EVENT_QUERY:
        return PATH_SYNC;
    default:
        return PATH_LAUNCH;
    }
}

/* Returns the class of a task's own time. */
static enum path_class class_of(const struct graph *g, const struct task *t)
{
    const struct timeline *tl = g->a->tl;
    switch ((enum task_kind)t->kind) {
    case TASK_HOST_API:
        return class_of_call(tl->apis[t->source].kind);
    case TASK_HOST_GAP:
        return PATH_HOST;
    case TASK_WAIT:
        return PATH_SYNC;
    case TASK_KERNEL:
        return is_matrix(tl->ops[t->source].class.family) ? PATH_MATRIX : PATH_KERNEL;
    case TASK_COPY:
    case TASK_MEMSET:
        return PATH_COPY;
    case TASK_COLL:
        return PATH_COMM;
    case TASK_LOAD:
    case TASK_GET:
        return PATH_INPUT;
    case TASK_EV_REC:
    case TASK_EV_WAIT:
    case TASK_KINDS:
        break;
    }
    return PATH_QUEUED;
}

struct walk {
    const struct graph *g;
    const struct replay *r;
    int64_t by[PATH_CLASSES];
    int64_t *by_task; /* time of each task on the path; NULL = not wanted */
};

/* Charges the part of [from, to) behind `floor` to class c and to the task. */
static void charge(struct walk *w, enum path_class c, uint32_t task, int64_t from, int64_t to,
                   int64_t floor)
{
    from = from > floor ? from : floor;
    if (to <= from)
        return;
    w->by[c] += to - from;
    if (w->by_task && c == class_of(w->g, &w->g->tasks[task]))
        w->by_task[task] += to - from;
}

/* Charges what task i waited longer than for what it depends on, before time `at`. As long as its
 * call has not returned, GPU work waits for the call: a first launch loads code, for example. */
static void charge_wait(struct walk *w, uint32_t i, int64_t at, int64_t floor)
{
    const struct task *t = &w->g->tasks[i];
    bool gpu = task_on_gpu(t);
    enum path_class rest = t->flags & TASK_STALL ? PATH_UNEXPLAINED
                           : gpu                 ? PATH_QUEUED
                                                 : class_of(w->g, t);
    int64_t from = at - t->wait_ns, called = from;
    if (gpu && t->issue != TASK_NONE)
        called = w->r->end[t->issue] < at ? w->r->end[t->issue] : at;
    charge(w, PATH_LAUNCH, i, from, called, floor);
    charge(w, rest, i, called > from ? called : from, at, floor);
}

/* Walks back from time `at` to `floor`. Task i ends at `at`, or begins then if `starts` is set. */
static void walk_back(struct walk *w, uint32_t i, bool starts, int64_t at, int64_t floor)
{
    const struct replay *r = w->r;
    while (at > floor) {
        const struct task *t = &w->g->tasks[i];
        uint32_t from = r->bind[i];
        enum path_class own = class_of(w->g, t);
        bool gpu = task_on_gpu(t);
        if (from != TASK_NONE && from == t->queue) { /* a full queue delayed the task */
            i = from;
            starts = false;
            continue;
        }
        if (!starts) {
            charge(w, own, i, r->start[i], at, floor);
            at = r->start[i] < at ? r->start[i] : at;
        }
        charge_wait(w, i, at, floor);
        at -= t->wait_ns;
        if (from == TASK_NONE || from >= i)
            break;
        bool issued = gpu && from == t->issue;
        int64_t release = issued ? r->start[from] : r->end[from];
        charge(w, issued ? PATH_LAUNCH : gpu ? PATH_QUEUED : own, i, release, at, floor);
        at = release < at ? release : at;
        i = from;
        starts = issued;
    }
    if (at > floor) /* nothing in the window precedes this time */
        charge(w, PATH_UNEXPLAINED, i, floor, at, floor);
}

/* ---- the longest things on the path ---- */

struct sum {
    const char *what;
    enum path_class class;
    int64_t ns;
};

static const char *name_of(const struct graph *g, const struct task *t)
{
    const struct timeline *tl = g->a->tl;
    if (t->kind >= TASK_KERNEL && t->kind <= TASK_COLL) {
        const struct op *o = &tl->ops[t->source];
        return o->kind == OP_KERNEL ? tl_text(tl, o->name) : o->kind == OP_COPY ? "copy" : "memset";
    }
    if (t->kind == TASK_HOST_API || t->kind == TASK_WAIT)
        return tl_text(tl, tl->apis[t->source].name);
    if (t->kind == TASK_LOAD || t->kind == TASK_GET)
        return t->kind == TASK_LOAD ? "making a batch" : "taking a batch";
    if (t->kind != TASK_HOST_GAP)
        return "event";
    uint32_t in =
        range_place_at(tl, t->lane - (uint32_t)g->streams, g->start_ns + t->at_ns + t->dur_ns / 2);
    return in == TL_NONE ? "outside all ranges" : tl_text(tl, tl->ranges[in].name);
}

static int by_name(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    return x->class != y->class ? (x->class > y->class) - (x->class < y->class)
                                : strcmp(x->what, y->what);
}

static int by_time(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : by_name(a, b);
}

/* Fills w->path_top: sums the tasks' time on the path by name and keeps the longest. Returns -1
 * without memory. */
static int find_top(struct whatif *w, const struct graph *g, const int64_t *by_task, int64_t steps)
{
    struct sum *sums = malloc((g->count + 1) * sizeof *sums);
    size_t n = 0, kept = 0;
    if (!sums)
        return -1;
    for (size_t i = 0; i < g->count; i++)
        if (by_task[i] > 0)
            sums[n++] =
                (struct sum){name_of(g, &g->tasks[i]), class_of(g, &g->tasks[i]), by_task[i]};
    if (n)
        qsort(sums, n, sizeof *sums, by_name);
    for (size_t i = 0; i < n; i++) {
        if (kept && by_name(&sums[kept - 1], &sums[i]) == 0)
            sums[kept - 1].ns += sums[i].ns;
        else
            sums[kept++] = sums[i];
    }
    if (kept)
        qsort(sums, kept, sizeof *sums, by_time);
    for (size_t i = 0; i < kept && i < PATH_TOP; i++)
        w->path_top[w->path_top_count++] =
            (struct path_item){sums[i].what, sums[i].class, sums[i].ns / steps};
    free(sums);
    return 0;
}

/* ---- the two walks ---- */

/* Divides the times of the classes by the number of steps so that they sum to `total` exactly: the
 * largest class gets the rounding errors. */
static void divide(int64_t *to, size_t stride, const int64_t *by, int64_t total, int64_t steps)
{
    int64_t sum = 0;
    size_t most = 0;
    for (size_t c = 0; c < PATH_CLASSES; c++) {
        to[c * stride] = by[c] / steps;
        sum += to[c * stride];
        most = by[c] > by[most] ? c : most;
    }
    to[most * stride] += total - sum;
}

enum { SHARE_STRIDE = sizeof(struct path_share) / sizeof(int64_t) };

/* Returns the task with which the replay ends. */
static uint32_t last_task(const struct graph *g, const struct replay *now)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < g->count; i++)
        if (!(g->tasks[i].flags & TASK_BEHIND) && now->end[i] == now->length_ns)
            last = i;
    return last;
}

/* Walks the critical path from the end of the replay back to `floor`. Returns -1 without memory. */
static int find_path(struct whatif *w, const struct graph *g, const struct replay *now,
                     int64_t floor, int64_t steps)
{
    struct walk walk = {.g = g, .r = now, .by_task = calloc(g->count + 1, sizeof(int64_t))};
    if (!walk.by_task)
        return -1;
    walk_back(&walk, last_task(g, now), false, now->length_ns, floor);
    divide(&w->path[0].path_ns, SHARE_STRIDE, walk.by, w->step_ns, steps);
    int rc = find_top(w, g, walk.by_task, steps);
    free(walk.by_task);
    return rc;
}

/* Walks from the end of each gap between GPU operations back to the gap's begin, and so divides the
 * GPU's idle time by its causes. Returns -1 without memory. */
static int find_idle(struct whatif *w, const struct graph *g, const struct replay *now,
                     int64_t floor, int64_t steps)
{
    struct walk walk = {.g = g, .r = now};
    struct sort_key *ops = malloc((g->count + 1) * sizeof *ops);
    size_t n = 0;
    int64_t covered = floor, total = 0;
    for (uint32_t i = 0; ops && i < g->count; i++)
        if (task_on_gpu(&g->tasks[i]) && g->tasks[i].kind < TASK_EV_REC &&
            now->end[i] > now->start[i])
            ops[n++] = (struct sort_key){.time = now->start[i], .index = i};
    if (!ops || sort_keys(ops, n) < 0) {
        free(ops);
        return -1;
    }
    for (size_t k = 0; k < n && covered < now->length_ns; k++) {
        int64_t start = ops[k].time < now->length_ns ? ops[k].time : now->length_ns;
        if (start > covered) {
            total += start - covered;
            walk_back(&walk, ops[k].index, true, start, covered);
        }
        if (now->end[ops[k].index] > covered)
            covered = now->end[ops[k].index];
    }
    free(ops);
    /* No operation follows: the cause is what the last step ends with. */
    if (covered < now->length_ns) {
        total += now->length_ns - covered;
        walk_back(&walk, last_task(g, now), false, now->length_ns, covered);
    }
    w->idle_ns = total / steps;
    divide(&w->path[0].idle_ns, SHARE_STRIDE, walk.by, w->idle_ns, steps);
    return 0;
}

int critical_find(struct whatif *w, const struct graph *g, const struct replay *now)
{
    size_t skip = g->skip;
    int64_t floor = g->once ? 0 : now->step_end[skip];
    int64_t steps = g->once ? 1 : (int64_t)(g->steps - 1 - skip);
    if (g->count == 0 || steps <= 0)
        return 0;
    int rc = find_path(w, g, now, floor, steps);
    return rc == 0 ? find_idle(w, g, now, floor, steps) : rc;
}

void critical_worth(struct whatif *w, const struct graph *g, const struct replay *now,
                    struct plan *p, struct replay *then)
{
    for (int c = 0; c < PATH_CLASSES; c++) {
        if (c == PATH_QUEUED || c == PATH_UNEXPLAINED)
            continue; /* they consist of residuals and lags, which no change removes */
        plan_reset(p, g);
        for (uint32_t i = 0; i < g->count; i++)
            if ((int)class_of(g, &g->tasks[i]) == c) {
                p->dur[i] = 0;
                p->mark[i] |= c == PATH_SYNC || c == PATH_INPUT ? PLAN_DROP : 0;
            }
        int64_t saved = now->step_ns - replay_run(then, g, p);
        w->path[c].worth_ns = saved > 0 ? saved : 0;
    }
}
