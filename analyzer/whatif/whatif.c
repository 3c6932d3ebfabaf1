#include "analyzer/whatif/engine.h"

#include "analyzer/facts/passes.h"
#include "analyzer/advice/past.h"
#include "analyzer/advice/rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Takes the profiler's own measured cost out of the calls that it was added to, so that what is
 * saved is a share of the program's step and not of the profiler's. */
static void take_cost_out(struct engine *x, struct whatif *w)
{
    struct graph *g = x->g;
    double cost = x->a->health.overhead_pct / 100 * (double)g->length_ns;
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

/* ---- predictions ------------------------------------------------------------------------------
 */

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
int64_t engine_saved_by(struct engine *x, const struct outcome *const *o, size_t n, int draw)
{
    struct draw d = draw_of(draw);
    spare_recording(x, draw);
    if (x->base_ns[draw] == 0) {
        replay_run(&x->then, x->g, &x->plan);
        x->base_ns[draw] = x->then.pace_ns > 0 ? x->then.pace_ns : 1;
    }
    for (size_t i = 0; i < n; i++)
        edit_apply(&o[i]->edit, x->g, &x->plan, &d);
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
    double by = x->now.pace_ns > 0 ? (double)x->a->steps.median_ns / (double)x->now.pace_ns : 1;
    return (int64_t)((double)ns * by);
}

/* What trials of such changes have shown to be missing from the interval. */
static struct span_ns widen(const struct analysis *a, struct span_ns s,
                            const struct outcome *const *o, size_t n)
{
    double most = 0;
    size_t trials;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, past_miss(a, o[i]->edit.kind, &trials));
    int64_t wide = (int64_t)(most * (double)a->steps.median_ns);
    return (struct span_ns){engine_within(s.low_ns - wide, s.low_ns), s.mid_ns,
                            engine_within(s.high_ns + wide, a->steps.median_ns)};
}

static struct span_ns own_span(struct engine *x, const struct outcome *const *o, size_t n)
{
    const struct whatif *w = &x->a->whatif;
    int64_t saved[DRAWS], step = x->a->steps.median_ns;
    int draws = 1;
    for (size_t i = 0; i < n; i++)
        draws = edit_certain(o[i]->edit.kind) ? draws : DRAWS;
    for (int i = 0; i < draws; i++)
        saved[i] = engine_to_median(x, engine_saved_by(x, o, n, i));
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

struct span_ns engine_span(struct engine *x, const struct outcome *const *o, size_t n)
{
    return widen(x->a, own_span(x, o, n), o, n);
}

static bool negligible(const struct analysis *a, int64_t ns)
{
    return ns * 100 < a->steps.median_ns;
}

/* How much of the change can be had is not known: at most what all of it saves. */
static void bound_by(struct engine *x, struct outcome *o)
{
    struct outcome whole = *o;
    const struct outcome *one = &whole;
    struct span_ns s = engine_span(x, &one, 1);
    if (s.high_ns < o->saves_high_ns)
        o->saves_mid_ns = o->saves_high_ns = s.high_ns;
}

static void predict(struct engine *x, struct outcome *o)
{
    const struct outcome *one = o;
    int64_t direct_ns = x->a->breakdown_ns[PART_IDLE_LAUNCH];
    struct span_ns own = own_span(x, &one, 1), s;
    /* That other host work then fits behind the GPU is inferred; that the idle time between
     * launches goes is not. */
    if (o->edit.kind == EDIT_GRAPH && own.low_ns > direct_ns)
        own.low_ns = direct_ns;
    s = widen(x->a, own, &one, 1);
    o->own_low_ns = own.low_ns;
    o->own_high_ns = own.high_ns;
    o->saves_low_ns = s.low_ns;
    o->saves_mid_ns = s.mid_ns;
    o->saves_high_ns = s.high_ns;
    o->upper_bound = false;
    o->widened_ns =
        (int64_t)(past_miss(x->a, o->edit.kind, &o->widened_after) * (double)x->a->steps.median_ns);
    if (o->edit.kind == EDIT_UNSYNC && !negligible(x->a, o->saves_mid_ns))
        engine_waits(x, o);
}

bool engine_open_to(const struct outcome *o)
{
    return o->verdict == RULE_FIRES && o->edit.kind != EDIT_NONE && !o->edit.best_case;
}

static int make_ready(struct engine *x)
{
    return plan_init(&x->plan, x->g) < 0 || replay_init(&x->now, x->g) < 0 ||
                   replay_init(&x->then, x->g) < 0
               ? -1
               : 0;
}

static void release(struct engine *x)
{
    plan_release(&x->plan);
    replay_release(&x->now);
    replay_release(&x->then);
    graph_free(x->g);
}

static void predict_all(struct engine *x)
{
    for (size_t i = 0; i < x->a->outcome_count; i++) {
        struct outcome *o = &x->a->outcomes[i];
        if (engine_open_to(o))
            predict(x, o);
        else if (o->verdict == RULE_FIRES && o->edit.best_case)
            bound_by(x, o);
    }
}

static const struct stacked *stacked_as(const struct whatif *w, const struct outcome *o)
{
    for (size_t i = 0; i < w->stack_count; i++)
        if (w->stack[i].outcome == o)
            return &w->stack[i];
    return NULL;
}

/* What saves next to nothing by itself is not advised now. Behind other changes it may be worth it.
 */
static void put_off(struct analysis *a)
{
    for (size_t i = 0; i < a->outcome_count; i++) {
        struct outcome *o = &a->outcomes[i];
        int64_t most_ns = o->edit.best_case ? o->saves_high_ns : o->saves_mid_ns;
        if (o->verdict != RULE_FIRES || o->edit.kind == EDIT_NONE || !negligible(a, most_ns))
            continue;
        const struct stacked *then = stacked_as(&a->whatif, o);
        o->verdict = RULE_SUPPRESSED;
        o->why =
            then ? arena_printf(&a->arena,
                                "there, but by itself it saves %.2f ms at best: the step waits for "
                                "something else; %.2f ms once what comes before it is done",
                                (double)o->saves_high_ns / 1e6, (double)then->saves_ns / 1e6)
                 : arena_printf(&a->arena,
                                "there, but without it a step would be %.2f ms faster at best: "
                                "something else takes its place",
                                (double)o->saves_high_ns / 1e6);
    }
}

static int look(struct engine *x, struct whatif *w)
{
    if (make_ready(x) < 0 || engine_check(x, w) < 0)
        return -1;
    w->why_not = engine_distrust(x->a, w);
    w->trusted = !w->why_not;
    if (!w->trusted)
        return 0;
    take_cost_out(x, w);
    predict_all(x);
    rules_rank(x->a); /* what heads it may have its turn first */
    engine_stack(x, w);
    put_off(x->a);
    return 0;
}

int whatif_run(struct analysis *a, struct err *e)
{
    struct engine x = {.a = a, .g = graph_build(a, e)};
    if (!x.g)
        return -1;
    struct whatif *w = &a->whatif;
    *w = (struct whatif){.steps = x.g->steps,
                         .tasks = x.g->count,
                         .edges = x.g->edge_count,
                         .violations = x.g->violations,
                         .holdout_error_pct = -1,
                         .holdout_p95_pct = -1};
    int rc = 0;
    if (x.g->count)
        rc = look(&x, w);
    else
        w->why_not = engine_distrust(a, w);
    release(&x);
    return rc < 0 ? no_memory(e) : 0;
}

int whatif_together(struct analysis *a, const struct outcome *const *o, size_t n,
                    struct span_ns *saved, struct err *e)
{
    bool known = a->whatif.trusted && n > 0;
    for (size_t i = 0; i < n; i++)
        known = known && o[i]->edit.kind != EDIT_NONE && !o[i]->upper_bound;
    if (!known)
        return 0;
    struct engine x = {.a = a, .g = graph_build(a, e)};
    if (!x.g)
        return -1;
    int rc = make_ready(&x);
    if (rc == 0) {
        take_cost_out(&x, &a->whatif);
        *saved = engine_span(&x, o, n);
    }
    release(&x);
    return rc < 0 ? no_memory(e) : 1;
}
