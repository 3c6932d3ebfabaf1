#include "analyzer/analyze/whatif.h"

#include "analyzer/analyze/critical.h"
#include "analyzer/analyze/edits.h"
#include "analyzer/analyze/holdout.h"
#include "analyzer/analyze/passes.h"
#include "analyzer/analyze/past.h"
#include "analyzer/rules/rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 24 };

struct engine {
    struct analysis *a;
    struct graph *g;
    struct plan plan;
    struct replay now, then;
    int64_t base_ns[DRAWS]; /* pace of the recorded steps, by draw; 0 = not replayed yet */
};

static double off_pct(int64_t got, int64_t want)
{
    return want > 0 ? 100.0 * fabs((double)got - (double)want) / (double)want : 0;
}

/* ---- self-checks ------------------------------------------------------------------------------
 */

/* Waits for events are used, but which recording each waits for was not recorded. */
static bool events_missing(const struct analysis *a)
{
    if (a->tl->have & HAVE_EVENTS)
        return false;
    for (size_t i = 0; i < a->totals.api_count; i++)
        if (a->totals.apis[i].kind == API_STREAM_WAIT || a->totals.apis[i].kind == API_SYNC_EVENT)
            return true;
    return false;
}

static const char *doubt(struct analysis *a, const struct whatif *w)
{
    struct arena *m = &a->arena;
    if (w->steps == 0 || w->tasks == 0)
        return "attribution only: fewer than four steady steps in a row were recorded";
    if (!(a->tl->have & HAVE_API))
        return "attribution only: CUDA calls were not recorded";
    if (events_missing(a))
        return "attribution only: the recordings that waits for events refer to were not recorded";
    if (a->health.dropped > 0)
        return arena_printf(m, "attribution only: %lld records were lost",
                            (long long)a->health.dropped);
    if (w->unexplained_pct > WHATIF_UNEXPLAINED_PCT)
        return "attribution only";
    if (w->violations * 50 > w->tasks)
        return arena_printf(m, "attribution only: %zu dependencies were observed broken",
                            w->violations);
    if (w->identity_error_pct > 1 || w->class_error_pct > 5)
        return arena_printf(m, "attribution only: the replay is off by %.1f %%",
                            w->class_error_pct > w->identity_error_pct ? w->class_error_pct
                                                                       : w->identity_error_pct);
    if (off_pct(w->pace_ns, a->steps.median_ns) > 20)
        return "attribution only: the replayed steps are not as long as the median step";
    if (w->waits == 0 && a->gpu.busy_pct > 15)
        return "attribution only: no wait of the host for the GPU was recorded, so nobody knows "
               "which of them sets the pace";
    if (a->steps.cv > 0.25)
        return arena_printf(m, "attribution only: steps scatter by %.0f %%", 100 * a->steps.cv);
    if (w->holdout_error_pct < 0)
        return "attribution only: the steps do different work, so none can stand for the others";
    if (w->holdout_error_pct > 10)
        return arena_printf(m, "attribution only: steps predict one another with %.1f %% error",
                            w->holdout_error_pct);
    return NULL;
}

/* Whatever else speaks against it: a path that is not explained is always said. */
static const char *distrust(struct analysis *a, const struct whatif *w)
{
    const char *why = doubt(a, w);
    if (!why || w->unexplained_pct <= WHATIF_UNEXPLAINED_PCT)
        return why;
    return arena_printf(&a->arena, "%s%s %.1f %% of the critical path is unexplained", why,
                        strchr(why, ':') ? ", and" : ":", w->unexplained_pct);
}

static int64_t bound(struct engine *x, bool (*zero)(const struct task *), bool drop)
{
    plan_reset(&x->plan, x->g);
    for (uint32_t i = 0; i < x->g->count; i++)
        if (zero(&x->g->tasks[i])) {
            x->plan.dur[i] = 0;
            x->plan.mark[i] |= drop ? PLAN_DROP : 0;
        }
    return x->now.step_ns - replay_run(&x->then, x->g, &x->plan);
}

static bool is_host(const struct task *t)
{
    return t->kind == TASK_HOST_API || t->kind == TASK_HOST_GAP;
}
static bool is_wait(const struct task *t)
{
    return t->kind == TASK_WAIT;
}
static bool is_comm(const struct task *t)
{
    return t->kind == TASK_COLL;
}
static bool is_input(const struct task *t)
{
    return t->kind == TASK_LOAD || t->kind == TASK_GET;
}

static int check_self(struct engine *x, struct whatif *w)
{
    const struct graph *g = x->g;
    plan_reset(&x->plan, g);
    w->step_ns = replay_run(&x->now, g, &x->plan);
    w->pace_ns = x->now.pace_ns;
    for (size_t i = 0; i < g->count; i++)
        w->waits += g->tasks[i].kind == TASK_WAIT;
    int64_t last = 0;
    for (size_t i = 0; i < g->count; i++) {
        int64_t end = g->tasks[i].at_ns + g->tasks[i].dur_ns;
        if (!(g->tasks[i].flags & TASK_BEHIND) && end > last)
            last = end;
    }
    w->identity_error_pct = off_pct(x->now.length_ns, last);
    if (critical_find(w, g, &x->now) < 0)
        return -1;
    w->unexplained_pct = off_pct(w->step_ns + w->path[PATH_UNEXPLAINED].path_ns, w->step_ns);
    x->plan.mean_jitter = true;
    w->class_error_pct = off_pct(replay_run(&x->then, g, &x->plan), w->step_ns);
    if (holdout_check(w, g, &x->now, &x->plan, &x->then) < 0)
        return -1;
    w->host_bound_ns = bound(x, is_host, false);
    w->wait_bound_ns = bound(x, is_wait, true);
    w->comm_bound_ns = bound(x, is_comm, false);
    w->input_bound_ns = bound(x, is_input, true);
    critical_worth(w, g, &x->now, &x->plan, &x->then);
    return 0;
}

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
static int64_t saved_by(struct engine *x, const struct outcome *const *o, size_t n, int draw)
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

static int64_t to_median(const struct engine *x, int64_t ns)
{
    double by = x->now.pace_ns > 0 ? (double)x->a->steps.median_ns / (double)x->now.pace_ns : 1;
    return (int64_t)((double)ns * by);
}

static int64_t within(int64_t v, int64_t high)
{
    return v < 0 ? 0 : v > high ? high : v;
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
    return (struct span_ns){within(s.low_ns - wide, s.low_ns), s.mid_ns,
                            within(s.high_ns + wide, a->steps.median_ns)};
}

static struct span_ns span_of(struct engine *x, const struct outcome *const *o, size_t n)
{
    const struct whatif *w = &x->a->whatif;
    int64_t saved[DRAWS], step = x->a->steps.median_ns;
    int draws = 1;
    for (size_t i = 0; i < n; i++)
        draws = edit_certain(o[i]->edit.kind) ? draws : DRAWS;
    for (int i = 0; i < draws; i++)
        saved[i] = to_median(x, saved_by(x, o, n, i));
    qsort(saved, (size_t)draws, sizeof *saved, by_ns);
    double doubt = w->unexplained_pct + (w->holdout_error_pct > 0 ? w->holdout_error_pct : 0) +
                   w->class_error_pct;
    int64_t mid = saved[draws / 2], wide = (int64_t)((double)step * doubt / 200);
    if (wide * 100 < step)
        wide = step / 100; /* no two runs agree better than that */
    if (wide > mid / 2 && mid > 0)
        wide = mid / 2; /* errors shared with the base cancel: doubt is not more than half */
    struct span_ns s = {within(saved[draws / 10] - wide, step), within(mid, step),
                        within(saved[draws - 1 - draws / 10] + wide, step)};
    return widen(x->a, s, o, n);
}

static void predict(struct engine *x, struct outcome *o)
{
    const struct outcome *one = o;
    int64_t direct_ns = x->a->breakdown_ns[PART_IDLE_LAUNCH];
    struct span_ns s = span_of(x, &one, 1);
    /* That other host work then fits behind the GPU is inferred; that the idle time between
     * launches goes is not. */
    if (o->edit.kind == EDIT_GRAPH && s.low_ns > direct_ns)
        s.low_ns = direct_ns;
    o->saves_low_ns = s.low_ns;
    o->saves_mid_ns = s.mid_ns;
    o->saves_high_ns = s.high_ns;
    o->upper_bound = false;
    o->widened_ns =
        (int64_t)(past_miss(x->a, o->edit.kind, &o->widened_after) * (double)x->a->steps.median_ns);
    if (o->saves_mid_ns * 100 < x->a->steps.median_ns) {
        o->verdict = RULE_SILENT;
        o->why = arena_printf(&x->a->arena,
                              "there, but without it a step would be %.3f ms faster "
                              "at best: something else takes its place",
                              (double)o->saves_high_ns / 1e6);
    }
}

static bool open_to(const struct outcome *o)
{
    return o->verdict == RULE_FIRES && o->edit.kind != EDIT_NONE;
}

/* First the one that saves most, then the one that saves most on top of it, and so on. */
static void stack(struct engine *x, struct whatif *w)
{
    const struct outcome *chosen[16];
    int64_t sum = 0;
    while (w->stack_count < 16) {
        const struct outcome *best = NULL;
        int64_t most = INT64_MIN;
        for (size_t i = 0; i < x->a->outcome_count; i++) {
            const struct outcome *o = &x->a->outcomes[i];
            bool taken = !open_to(o);
            for (size_t k = 0; k < w->stack_count; k++)
                taken |= chosen[k] == o;
            if (taken)
                continue;
            chosen[w->stack_count] = o;
            int64_t saves = to_median(x, saved_by(x, chosen, w->stack_count + 1, 0));
            if (saves > most) {
                most = saves;
                best = o;
            }
        }
        if (!best || (most - sum) * 100 < x->a->steps.median_ns)
            return;
        chosen[w->stack_count] = best;
        int64_t step = x->a->steps.median_ns;
        struct span_ns s = w->stack_count ? span_of(x, chosen, w->stack_count + 1)
                                          : (struct span_ns){best->saves_low_ns, best->saves_mid_ns,
                                                             best->saves_high_ns};
        w->stack[w->stack_count++] = (struct stacked){.outcome = best,
                                                      .step_ns = step - within(most, step),
                                                      .step_low_ns = step - s.high_ns,
                                                      .step_high_ns = step - s.low_ns,
                                                      .saves_ns = most - sum};
        sum = most;
    }
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

static int look(struct engine *x, struct whatif *w)
{
    if (make_ready(x) < 0 || check_self(x, w) < 0)
        return -1;
    w->why_not = distrust(x->a, w);
    w->trusted = !w->why_not;
    if (!w->trusted)
        return 0;
    take_cost_out(x, w);
    for (size_t i = 0; i < x->a->outcome_count; i++)
        if (open_to(&x->a->outcomes[i]))
            predict(x, &x->a->outcomes[i]);
    stack(x, w);
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
        w->why_not = distrust(a, w);
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
        *saved = span_of(&x, o, n);
    }
    release(&x);
    return rc < 0 ? no_memory(e) : 1;
}
