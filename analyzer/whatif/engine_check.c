/* The engine's doubts about itself, and the bounds of any advice of a class. */
#include "analyzer/whatif/critical.h"
#include "analyzer/whatif/engine.h"
#include "analyzer/whatif/holdout.h"

#include <math.h>
#include <string.h>

static double off_pct(int64_t got, int64_t want)
{
    return want > 0 ? 100.0 * fabs((double)got - (double)want) / (double)want : 0;
}

/* Waits for events are used, but which recording each waits for was not recorded. */
static bool events_missing(const struct facts *f)
{
    if (f->tl->have & HAVE_EVENTS)
        return false;
    for (size_t i = 0; i < f->totals.api_count; i++)
        if (f->totals.apis[i].kind == API_STREAM_WAIT || f->totals.apis[i].kind == API_SYNC_EVENT)
            return true;
    return false;
}

static const char *doubt(struct engine *x, const struct whatif *w)
{
    const struct facts *f = x->f;
    struct arena *m = x->arena;
    if (f->on_cpu)
        return "but for data loading: steps are replayed where a GPU is at work";
    if (graph_too_wide(f->tl))
        return "attribution only: more streams or threads than steps are replayed with";
    if (w->steps == 0 || w->tasks == 0)
        return "attribution only: fewer than four steady steps in a row were recorded";
    if (!(f->tl->have & HAVE_API))
        return f->tl->op_count ? "attribution only: CUDA calls were not recorded"
                               : "attribution only: no GPU work was recorded";
    if (events_missing(f))
        return "attribution only: which events the waits refer to was not recorded";
    if (f->health.dropped > 0)
        return arena_printf(m, "attribution only: %lld records were lost",
                            (long long)f->health.dropped);
    if (w->unexplained_pct > WHATIF_UNEXPLAINED_PCT)
        return "attribution only";
    if (w->violations * 50 > w->tasks)
        return arena_printf(m, "attribution only: %zu dependencies were observed broken",
                            w->violations);
    if (w->identity_error_pct > 1 || w->class_error_pct > 5)
        return arena_printf(m, "attribution only: the replay is off by %.1f %%",
                            w->class_error_pct > w->identity_error_pct ? w->class_error_pct
                                                                       : w->identity_error_pct);
    if (off_pct(w->pace_ns, f->steps.median_ns) > 20)
        return "attribution only: the replayed steps are not as long as the median step";
    if (w->waits == 0 && f->gpu.busy_pct > 15)
        return "attribution only: no wait of the host for the GPU was recorded, so nobody knows "
               "which of them sets the pace";
    if (f->steps.cv > 0.25)
        return arena_printf(m, "attribution only: steps scatter by %.0f %%", 100 * f->steps.cv);
    if (w->holdout_error_pct < 0)
        return "attribution only: the steps do different work, so none can stand for the others";
    if (w->holdout_error_pct > 10)
        return arena_printf(m, "attribution only: steps predict one another with %.1f %% error",
                            w->holdout_error_pct);
    return NULL;
}

/* Whatever else speaks against it: a path that is not explained is always said. */
const char *engine_distrust(struct engine *x, const struct whatif *w)
{
    const char *why = doubt(x, w);
    if (!why || w->unexplained_pct <= WHATIF_UNEXPLAINED_PCT)
        return why;
    return arena_printf(x->arena, "%s%s %.1f %% of the critical path is unexplained", why,
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

/* Everything else in a report is per median step; so is what the replay says, whose steps are on
 * average a little longer or shorter. Shares still sum to the step exactly. */
static void on_the_median(struct whatif *w, int64_t median_ns)
{
    double by = w->step_ns > 0 ? (double)median_ns / (double)w->step_ns : 1;
    int64_t sum = 0;
    int most = 0;
    w->idle_ns = 0;
    for (int i = 0; i < PATH_CLASSES; i++) {
        struct path_share *s = &w->path[i];
        s->path_ns = llround((double)s->path_ns * by);
        s->idle_ns = llround((double)s->idle_ns * by);
        s->worth_ns = llround((double)s->worth_ns * by);
        sum += s->path_ns;
        w->idle_ns += s->idle_ns;
        most = s->path_ns > w->path[most].path_ns ? i : most;
    }
    if (w->step_ns > 0)
        w->path[most].path_ns += median_ns - sum;
    for (size_t i = 0; i < w->path_top_count; i++)
        w->path_top[i].ns = llround((double)w->path_top[i].ns * by);
    int64_t *const bounds[] = {&w->host_bound_ns, &w->wait_bound_ns, &w->comm_bound_ns,
                               &w->input_bound_ns};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        *bounds[i] = llround((double)*bounds[i] * by);
    w->step_ns = w->step_ns > 0 ? median_ns : 0;
}

int engine_check(struct engine *x, struct whatif *w)
{
    const struct graph *g = x->g;
    if (!g->count) {
        w->why_not = engine_distrust(x, w);
        return 0;
    }
    plan_reset(&x->plan, g);
    w->step_ns = replay_run(&x->now, g, &x->plan);
    w->pace_ns = x->now.pace_ns;
    for (size_t i = 0; i < g->count; i++)
        w->waits +=
            g->tasks[i].kind == TASK_WAIT && g->a->tl->apis[g->tasks[i].source].kind != API_FREE;
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
    on_the_median(w, x->f->steps.median_ns);
    w->why_not = engine_distrust(x, w);
    w->trusted = !w->why_not;
    return 0;
}
