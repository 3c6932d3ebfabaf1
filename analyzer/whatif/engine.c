/* See engine.h. */
#include "analyzer/whatif/engine.h"

#include <math.h>
#include <stdlib.h>

void engine_take_cost_out(struct engine *x, struct whatif *w)
{
    struct graph *g = x->g;
    double cost = x->f->health.overhead_pct / 100 * (double)g->length_ns;
    size_t calls = 0;
    for (size_t i = 0; i < g->count; i++)
        calls += g->tasks[i].kind == TASK_HOST_API;
    int64_t each = cost > 0 && calls ? (int64_t)(cost / (double)calls) : 0;
    for (size_t i = 0; each && i < g->count; i++)
        if (g->tasks[i].kind == TASK_HOST_API)
            g->tasks[i].dur_ns -= each < g->tasks[i].dur_ns ? each : g->tasks[i].dur_ns;
    plan_rebase(&x->plan, g);
    replay_run(&x->now, g, &x->plan);
    w->unprofiled_ns = x->now.pace_ns;
}

/* Evenly spread over the ranges (multiples of irrational numbers); the first is the middle. */
static struct draw draw_of(int n)
{
    static const double by[DRAW_DIMENSIONS] = {0.6180339887498949, 0.7548776662466927,
                                               0.8191725133961645};
    struct draw d;
    for (int k = 0; k < DRAW_DIMENSIONS; k++)
        d.u[k] = fmod(0.5 + by[k] * n, 1.0);
    return d;
}

/* Recording lengthens calls by more than its own figures show: by a few tenths of a microsecond
 * each, which are in no program that runs unrecorded. */
static void spare_recording(struct engine *x, int draw)
{
    enum { CALL_RECORD_NS = 500 };
    int64_t each = (int64_t)(CALL_RECORD_NS * fmod(0.5 + 0.4142135623730951 * draw, 1.0));
    plan_reset(&x->plan, x->g);
    for (size_t i = 0; i < x->g->count; i++)
        if (x->g->tasks[i].kind == TASK_HOST_API)
            x->plan.dur[i] -= each < x->plan.dur[i] ? each : x->plan.dur[i];
}

/* Of the recorded pace: what the steps lose, as a share of what they take unrecorded. */
int64_t engine_saved_by(struct engine *x, const struct edit *const *edits, size_t n, int draw)
{
    struct draw d = draw_of(draw);
    spare_recording(x, draw);
    if (x->base_ns[draw] == 0) {
        replay_run(&x->then, x->g, &x->plan);
        x->base_ns[draw] = x->then.pace_ns > 0 ? x->then.pace_ns : 1;
    }
    for (size_t i = 0; i < n; i++)
        edit_apply(edits[i], x->g, &x->plan, &d);
    replay_settle(&x->then, x->g, &x->plan);
    double share = 1 - (double)x->then.pace_ns / x->plan.work / (double)x->base_ns[draw];
    return (int64_t)(share * (double)x->now.pace_ns);
}

static int by_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t engine_to_median(const struct engine *x, int64_t ns)
{
    double by = x->now.pace_ns > 0 ? (double)x->f->steps.median_ns / (double)x->now.pace_ns : 1;
    return (int64_t)((double)ns * by);
}

struct span_ns engine_span(struct engine *x, const struct whatif *w,
                           const struct edit *const *edits, size_t n)
{
    int64_t saved[DRAWS], step = x->f->steps.median_ns;
    int draws = 1;
    for (size_t i = 0; i < n; i++)
        draws = edit_certain(edits[i]->kind) ? draws : DRAWS;
    for (int i = 0; i < draws; i++)
        saved[i] = engine_to_median(x, engine_saved_by(x, edits, n, i));
    qsort(saved, (size_t)draws, sizeof *saved, by_ns);
    double doubt = w->unexplained_pct + (w->holdout_error_pct > 0 ? w->holdout_error_pct : 0) +
                   w->class_error_pct;
    int64_t mid = saved[draws / 2], wide = (int64_t)((double)step * doubt / 200);
    if (wide * 100 < step)
        wide = step / 100; /* no two runs agree better than that */
    if (wide > mid / 2 && mid > 0)
        wide = mid / 2; /* errors shared with the base cancel: doubt is not more than half */
    return (struct span_ns){engine_within(saved[draws / 10] - wide, step), engine_within(mid, step),
                            engine_within(saved[draws - 1 - draws / 10] + wide, step)};
}

static int make_ready(struct engine *x)
{
    return plan_init(&x->plan, x->g) < 0 || replay_init(&x->now, x->g) < 0 ||
                   replay_init(&x->then, x->g) < 0
               ? -1
               : 0;
}

void engine_close(struct engine *x)
{
    plan_release(&x->plan);
    replay_release(&x->now);
    replay_release(&x->then);
    graph_free(x->g);
}

int engine_open(struct engine *x, const struct facts *f, struct arena *arena, struct whatif *w,
                struct err *e)
{
    *x = (struct engine){.f = f, .arena = arena, .g = graph_build(f, e)};
    if (!x->g)
        return -1;
    *w = (struct whatif){.steps = x->g->steps,
                         .tasks = x->g->count,
                         .edges = x->g->edge_count,
                         .violations = x->g->violations,
                         .holdout_error_pct = -1,
                         .holdout_p95_pct = -1};
    return make_ready(x) < 0 ? err_no_memory(e) : 0;
}
