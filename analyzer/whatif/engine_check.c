/* The engine checks itself: it compares replays with the recording, decides whether to predict, and
 * computes upper bounds for the classes of changes. */
#include "analyzer/queries/warm.h"
#include "analyzer/whatif/critical.h"
#include "analyzer/whatif/engine.h"
#include "analyzer/whatif/holdout.h"
#include "analyzer/whatif/limits.h"

#include <math.h>
#include <string.h>

static double off_pct(int64_t got, int64_t want)
{
    return want > 0 ? 100.0 * fabs((double)got - (double)want) / (double)want : 0;
}

/* Returns the first reason that forbids predictions, or NULL. */
static const char *doubt(struct engine *x, const struct whatif *w)
{
    const struct facts *f = x->f;
    struct arena *m = x->arena;
    if (f->on_cpu)
        return "except for data loading: gpuprof replays only steps that use a GPU";
    if (graph_too_wide(f->tl))
        return "only bounds: the recording has too many streams or threads to replay";
    bool calls = f->tl->have & HAVE_API;
    if ((w->steps == 0 || w->tasks == 0) && (calls || analysis_of_window(f)))
        return "only bounds: the recording contains no repeating step";
    if (!calls)
        return f->tl->op_count ? "only bounds: the recording contains no CUDA calls"
                               : "only bounds: the recording contains no GPU work";
    if (f->health.dropped > 0)
        return arena_printf(m, "only bounds: %lld records were lost", (long long)f->health.dropped);
    if (w->unexplained_pct > WHATIF_DATED_PCT)
        return "only bounds";
    if (w->violations * 100 > w->tasks * WHATIF_VIOLATIONS_PCT)
        return arena_printf(m,
                            "only bounds: the recording contradicts %zu dependencies of the replay",
                            w->violations);
    if (w->identity_error_pct > WHATIF_IDENTITY_PCT || w->class_error_pct > WHATIF_CLASS_PCT)
        return arena_printf(m, "only bounds: the replay is off by %.1f %%",
                            w->class_error_pct > w->identity_error_pct ? w->class_error_pct
                                                                       : w->identity_error_pct);
    if (off_pct(w->pace_ns, f->step_ns) > WHATIF_PACE_MOST_PCT)
        return arena_printf(m, "only bounds: the replayed step is %.0f %% %s than the recorded one",
                            off_pct(w->pace_ns, f->step_ns),
                            w->pace_ns > f->step_ns ? "longer" : "shorter");
    return NULL;
}

/* Adds the share of the critical path that is unexplained, if it is large, to any other reason. */
const char *engine_distrust(struct engine *x, const struct whatif *w)
{
    const char *why = doubt(x, w);
    if (!why || w->unexplained_pct <= WHATIF_UNEXPLAINED_PCT)
        return why;
    return arena_printf(x->arena, "%s%s %.1f %% of the critical path is unexplained", why,
                        strchr(why, ':') ? ", and" : ":", w->unexplained_pct);
}

/* Adds a set of assumptions under which each edit is replayed too (0: adds none), and the reason
 * for wider intervals. */
static void assume(struct engine *x, struct whatif *w, unsigned assumption, const char *because)
{
    if (assumption && x->assumptions < ASSUMPTIONS_MOST)
        x->assume[x->assumptions++] = assumption;
    w->wider = w->wider ? arena_printf(x->arena, "%s; %s", w->wider, because) : because;
}

/* If one to three steps were recorded and contain one-time work (loading code, first allocations),
 * a later step lacks it: a second recording, made after the change, shows the change's saving and
 * the missing one-time work together. */
static void assume_warm(struct engine *x, struct whatif *w)
{
    bool few = w->steps < GRAPH_STEPS_ENOUGH && !w->once;
    int64_t ns = few ? per_step(x->f, query_warm_up(x->f).ns) : 0;
    if (ns * QUERY_WORTH < x->f->step_ns)
        return;
    x->first_ns = ns;
    assume(x, w, 0,
           arena_printf(x->arena, "%s of one-time work may be gone from later steps anyway",
                        time_text(x->arena, ns)));
}

static void assume_order(struct engine *x, struct whatif *w)
{
    const struct steps *s = &x->f->steps;
    /* the recorded order is the likelier assumption: it stands first */
    if (x->room.apart && w->waits > 0) {
        assume(
            x, w, ASSUME_ORDER,
            "kernels of different streams never ran at the same time, so their order may matter");
        x->assume[x->assumptions - 1] = x->assume[0];
        x->assume[0] = ASSUME_ORDER;
    }
    if (s->drift_to_ns)
        assume(x, w, 0,
               arena_printf(x->arena,
                            "the steps become %s in the course of the loop, and those of average "
                            "length are replayed",
                            s->drift_to_ns < s->drift_from_ns ? "shorter" : "longer"));
}

/* For loops whose waits for batches may be only the cost of taking a batch that is ready. The
 * engine takes this as the likelier reading: otherwise the workers would be as fast as the loop by
 * chance. */
static void assume_ready(struct engine *x, struct whatif *w)
{
    if (!x->g->batches_ready)
        return;
    for (int i = 0; i < x->assumptions; i++)
        x->assume[i] |= ASSUME_READY;
    if (!x->g->batches_late || x->assumptions == ASSUMPTIONS_MOST)
        return;
    x->assume[x->assumptions++] = x->assume[0] & ~(unsigned)ASSUME_READY;
    assume(x, w, 0, "the recording does not show whether batches were ready when the loop asked");
}

/* Missing records do not forbid predictions. Instead the intervals hold the results under each
 * assumption about what was not recorded, and are widened by how much steps differ. */
static void engine_assume(struct engine *x, struct whatif *w)
{
    const struct steps *s = &x->f->steps;
    double scatter = 100 * WHATIF_SCATTER_ERRORS * s->cv / sqrt(s->used > 0 ? (double)s->used : 1);
    if (w->steps < GRAPH_STEPS_ENOUGH)
        w->wider = w->once ? "the recording contains no repeating step"
                   : w->steps == 1
                       ? "the recording contains only one step"
                       : arena_printf(x->arena, "the recording contains only %zu consecutive steps",
                                      w->steps);
    assume_warm(x, w);
    w->events_guessed = x->g->loose_ns != NULL;
    if (w->events_guessed)
        assume(x, w, ASSUME_NO_EVENTS,
               "the recording does not show which events the waits refer to");
    if (w->unexplained_pct > WHATIF_UNEXPLAINED_PCT)
        assume(x, w, ASSUME_STALLS_DATED,
               arena_printf(x->arena, "%.1f %% of the critical path is unexplained",
                            w->unexplained_pct));
    x->no_wait = w->waits == 0 && x->f->gpu.busy_pct > WHATIF_QUIET_PCT;
    if (x->no_wait)
        assume(x, w, x->now.ran_dry ? ASSUME_END_WAIT : 0,
               "the recording contains no wait of the host for the GPU");
    assume_order(x, w);
    assume_ready(x, w);
    if (x->f->health.python_functions)
        assume(x, w, 0,
               "PyTorch's profiler recorded stacks (with_stack=True), which slows the host: waits "
               "for the GPU are longer without it");
    double off = off_pct(w->pace_ns, x->f->step_ns);
    if (off > WHATIF_PACE_PCT) {
        w->scatter_pct = off;
        assume(x, w, 0,
               arena_printf(x->arena, "the replayed step is %.0f %% %s than the recorded one", off,
                            w->pace_ns > x->f->step_ns ? "longer" : "shorter"));
    }
    bool differ = w->holdout_error_pct < 0 && w->steps >= GRAPH_STEPS_ENOUGH;
    if (differ || s->cv * 100 > WHATIF_SCATTER_PCT || w->holdout_error_pct > WHATIF_HOLDOUT_PCT) {
        w->scatter_pct = scatter > w->scatter_pct ? scatter : w->scatter_pct;
        bool vary = differ || s->cv * 100 > WHATIF_SCATTER_PCT;
        assume(x, w, 0,
               arena_printf(x->arena,
                            differ && (int)(s->cv * 100) == 0 ? "the steps do different work"
                            : differ
                                ? "the steps do different work, and their times vary by %.0f %%"
                            : vary ? "the step times vary by %.0f %%"
                                   : "steps predict each other only within %.0f %%",
                            vary ? 100 * s->cv : w->holdout_error_pct));
    }
}

/* Returns the ns per step that are saved if the tasks that `zero` selects take no time; `drop` also
 * removes their waiting. */
static int64_t bound(struct engine *x, bool (*zero)(const struct task *), bool drop)
{
    plan_reset(&x->plan, x->g);
    for (uint32_t i = 0; i < x->g->count; i++)
        if (zero(&x->g->tasks[i])) {
            x->plan.dur[i] = 0;
            x->plan.mark[i] |= drop ? PLAN_DROP : 0;
        }
    return engine_within(x->now.step_ns - replay_run(&x->then, x->g, &x->plan), x->now.step_ns);
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

/* Scales w to the median step. The replayed steps are on average a little longer or shorter, but
 * all other numbers of a report refer to the median step. The shares of the path still sum to the
 * step exactly. */
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
    for (size_t i = 0; i < g->recorded; i++)
        w->waits +=
            g->tasks[i].kind == TASK_WAIT && g->a->tl->apis[g->tasks[i].source].kind != API_FREE;
    int64_t last = 0;
    for (size_t i = 0; i < g->recorded; i++) {
        int64_t end = g->tasks[i].at_ns + g->tasks[i].dur_ns;
        if (!(g->tasks[i].flags & TASK_BEHIND) && end > last)
            last = end;
    }
    w->identity_error_pct = off_pct(x->now.step_end[g->recorded_steps - 1], last);
    if (critical_find(w, g, &x->now) < 0)
        return -1;
    w->unexplained_pct = off_pct(w->step_ns + w->path[PATH_UNEXPLAINED].path_ns, w->step_ns);
    x->plan.mean_jitter = true;
    w->class_error_pct = off_pct(replay_run(&x->then, g, &x->plan), w->step_ns);
    if (holdout_check(w, g, &x->now, &x->plan, &x->then) < 0)
        return -1;
    w->host_bound_ns = bound(x, task_is_host, false);
    w->wait_bound_ns = bound(x, is_wait, true);
    w->comm_bound_ns = bound(x, is_comm, false);
    w->input_bound_ns = bound(x, is_input, true);
    critical_worth(w, g, &x->now, &x->plan, &x->then);
    on_the_median(w, x->f->step_ns);
    w->why_not = engine_distrust(x, w);
    w->trusted = !w->why_not;
    if (w->trusted)
        engine_assume(x, w);
    return 0;
}
