/* Finds out whether CUDA graphs could launch the used steps; see capture.h. */
#include "analyzer/queries/capture.h"

#include "analyzer/measure/spans.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/waits.h"

#include <stdlib.h>

/* ---- do the steps repeat? ---- */

struct content {
    int64_t kernels, in_graph;
    uint64_t sum; /* hash over all launched kernels, independent of their order */
};

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int by_sum(const void *x, const void *y)
{
    const struct content *a = x, *b = y;
    return (a->sum > b->sum) - (a->sum < b->sum);
}

/* Counts the kernels of each used step and how many steps launch the same
 * ones. -1: out of memory. */
static int contents(const struct facts *f, struct query_capture *s)
{
    const struct timeline *t = f->tl;
    struct content *c = calloc(f->steps.count + 1, sizeof *c);
    int64_t all = 0, in_graph = 0;
    if (!c)
        return -1;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind != OP_KERNEL || !query_used(f, i))
            continue;
        struct content *k = &c[f->steps.op_step[i]];
        k->kernels++;
        k->in_graph += o->in_graph != GRAPH_NONE;
        k->sum += mix(mix((uint64_t)o->full_name << 32 | o->grid[0]) + o->grid[1]);
    }
    for (size_t i = 0; i < f->steps.count; i++) {
        if (!f->steps.at[i].used)
            continue;
        s->kernels_min = c[i].kernels < s->kernels_min ? c[i].kernels : s->kernels_min;
        s->kernels_max = c[i].kernels > s->kernels_max ? c[i].kernels : s->kernels_max;
        all += c[i].kernels;
        in_graph += c[i].in_graph;
        c[s->steps++] = c[i];
    }
    qsort(c, s->steps, sizeof *c, by_sum);
    for (size_t i = 0, j; i < s->steps; i = j) {
        for (j = i; j < s->steps && c[j].sum == c[i].sum; j++)
            ;
        s->alike = j - i > s->alike ? j - i : s->alike;
    }
    s->graph_pct = all ? 100.0 * (double)in_graph / (double)all : 0;
    free(c);
    return 0;
}

/* ---- can a step be captured? ---- */

struct mark { /* a launch, or a call that cannot be captured into a graph */
    int64_t ns;
    uint32_t step, api;
    bool stops;
};

static int by_time(const void *x, const void *y)
{
    const struct mark *a = x, *b = y;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static size_t collect_marks(const struct facts *f, struct mark *m)
{
    const struct timeline *t = f->tl;
    size_t n = 0;
    for (uint32_t i = 0; i < t->api_count; i++) {
        const struct api *c = &t->apis[i];
        bool launch = c->op != TL_NONE && t->ops[c->op].kind == OP_KERNEL;
        bool stops = query_stops_capture(t, c);
        if ((!launch && !stops) || t->threads[c->thread].process != f->steps.process)
            continue;
        uint32_t step = query_step_at(f, c->start_ns);
        if (step != TL_NONE)
            m[n++] = (struct mark){c->start_ns, step, i, stops};
    }
    return n;
}

/* Sums over stretches of launches without a call that stops a capture. */
struct stretches {
    size_t all;               /* launches */
    size_t covered;           /* in each step's longest stretch */
    size_t pieces, in_pieces; /* stretches that are worth a graph each, and their launches */
};

/* A stretch of `run` launches ends. */
static void end_stretch(struct stretches *s, size_t run, size_t *best)
{
    bool worth = run >= QUERY_PIECE_LAUNCHES;
    s->pieces += worth;
    s->in_pieces += worth ? run : 0;
    *best = run > *best ? run : *best;
}

/* Finds each step's longest stretch of launches without such a call, and their share of all
 * launches. -1: out of memory. */
static int regions(const struct facts *f, struct query_capture *s)
{
    struct mark *m = malloc((f->tl->api_count + 1) * sizeof *m);
    if (!m)
        return -1;
    size_t n = collect_marks(f, m), best = 0, run = 0;
    struct stretches sum = {0};
    qsort(m, n, sizeof *m, by_time);
    for (size_t i = 0; i < n; i++) {
        bool next = i && m[i].step != m[i - 1].step;
        bool amid = !next && run && m[i].stops && i + 1 < n && m[i + 1].step == m[i].step;
        if (amid && s->interrupter == TL_NONE)
            s->interrupter = m[i].api;
        if (next || m[i].stops) {
            end_stretch(&sum, run, &best);
            run = 0;
        }
        if (next) {
            sum.covered += best;
            best = 0;
        }
        sum.all += !m[i].stops;
        run += !m[i].stops;
    }
    end_stretch(&sum, run, &best);
    sum.covered += best;
    s->region = each_step(f, (int64_t)sum.covered);
    s->region_pct = sum.all ? 100.0 * (double)sum.covered / (double)sum.all : 100;
    s->pieces = each_step(f, (int64_t)sum.pieces);
    s->pieces_pct = sum.all ? 100.0 * (double)sum.in_pieces / (double)sum.all : 100;
    free(m);
    return 0;
}

int query_capture(const struct facts *f, struct query_capture *s)
{
    *s = (struct query_capture){.kernels_min = INT64_MAX, .interrupter = TL_NONE};
    return contents(f, s) < 0 || regions(f, s) < 0 ? -1 : 0;
}

static int by_start(const void *x, const void *y)
{
    const struct span *a = x, *b = y;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* *s: the time of one launching call, with the pause since the thread's last call if that is short.
 * Limits a call to QUERY_QUEUED_CALL_NS, because a longer one waits for room in the launch queue.
 * False: the call does not launch, or would not go into a graph. */
static bool launching(const struct facts *f, uint32_t call, struct span *s)
{
    const struct timeline *t = f->tl;
    const struct api *c = &t->apis[call];
    const struct thread *th = &t->threads[c->thread];
    if (th->process != f->steps.process || query_stops_capture(t, c) ||
        query_step_at(f, c->start_ns) == TL_NONE ||
        (c->op != TL_NONE && t->ops[c->op].class.family == FAMILY_COMM))
        return false;
    int64_t pause = call > th->first_api ? c->start_ns - c[-1].end_ns : 0;
    int64_t end = c->start_ns + QUERY_QUEUED_CALL_NS;
    s->start_ns = c->start_ns - (pause > 0 && pause < QUERY_OWN_WORK_NS ? pause : 0);
    s->end_ns = c->end_ns < end ? c->end_ns : end;
    return true;
}

int64_t query_launching_ns(const struct facts *f)
{
    struct span *at = malloc((f->tl->api_count + 1) * sizeof *at);
    size_t n = 0;
    int64_t sum = 0, until = INT64_MIN;
    if (!at)
        return -1;
    for (uint32_t i = 0; i < f->tl->api_count; i++)
        n += launching(f, i, &at[n]);
    qsort(at, n, sizeof *at, by_start);
    for (size_t i = 0; i < n; i++) {
        int64_t from = at[i].start_ns > until ? at[i].start_ns : until;
        sum += at[i].end_ns > from ? at[i].end_ns - from : 0;
        until = at[i].end_ns > until ? at[i].end_ns : until;
    }
    free(at);
    return per_step(f, sum);
}
