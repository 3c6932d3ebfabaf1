/* Opens the engine, and says what edits save at most and what a step takes at least.
 * engine_asked.c replays, engine_span.c makes the intervals. See engine.h. */
#include "analyzer/whatif/engine_asked.h"

#include "analyzer/queries/query.h"
#include "analyzer/whatif/limits.h"

#include <math.h>

void engine_take_cost_out(struct engine *x, struct whatif *w)
{
    struct graph *g = x->g;
    double cost = x->f->health.overhead_pct / 100 * (double)g->length_ns;
    size_t calls = 0;
    for (size_t i = 0; i < g->recorded; i++)
        calls += g->tasks[i].kind == TASK_HOST_API;
    int64_t each = cost > 0 && calls ? (int64_t)(cost / (double)calls) : 0;
    for (size_t i = 0; each && i < g->count; i++)
        if (g->tasks[i].kind == TASK_HOST_API)
            g->tasks[i].dur_ns -= each < g->tasks[i].dur_ns ? each : g->tasks[i].dur_ns;
    plan_rebase(&x->plan, g);
    for (size_t k = 0; k < REPLAY_WIDE - 1; k++)
        plan_rebase(&x->beside[k], g);
    engine_forget(x);
    replay_run(&x->now, g, &x->plan);
    w->unprofiled_ns = x->now.pace_ns;
}

int64_t engine_usually_saved(struct engine *x, const struct edit *edit)
{
    static const int draws[] = {0, USUALLY};
    int64_t saved[2];
    asked_saved(x, 0, &edit, 1, draws, 2, false, saved);
    return engine_to_median(x, saved[1]) - engine_to_median(x, saved[0]);
}

/* Replays the steps without the cost of stacks, and without the host. Returns what the host costs of
 * them; *step: their length as a share of the recorded one. */
static double host_without_stacks(struct engine *x, double u, double *step)
{
    asked_plan(x, &x->plan, 0, x->assume[0]);
    host_pace_unstack(x->stacked, x->g, &x->plan, u);
    replay_run(&x->then, x->g, &x->plan);
    double base_ns = x->then.pace_ns > 0 ? (double)x->then.pace_ns : 1;
    for (size_t i = 0; i < x->g->count; i++)
        if (task_is_host(&x->g->tasks[i]))
            x->plan.dur[i] = 0;
    replay_run(&x->then, x->g, &x->plan);
    *step = x->now.pace_ns > 0 ? fmin(base_ns / (double)x->now.pace_ns, 1) : 1;
    return fmax(0, 1 - (double)x->then.pace_ns / base_ns);
}

void engine_unstack(struct engine *x, struct whatif *w)
{
    double step;
    if (!x->stacked)
        return;
    double host = host_without_stacks(x, 0.5, &step);
    w->unstacked_host_ns = (int64_t)(host * (double)x->f->step_ns);
    w->unstacked_host = host_without_stacks(x, 0, &w->unstacked);
}

/* Returns the least that a step takes under the plan, in ns per reported step. */
static int64_t work_left_ns(const struct engine *x)
{
    double most = room_left_ns(&x->room, x->g, &x->plan);
    double share = x->g->length_ns > 0 ? most / x->plan.work / (double)x->g->length_ns : 0;
    /* damaged files may contain times that make the share larger than 1 */
    return (int64_t)(fmin(share, 1) * (double)x->f->step_ns);
}

bool engine_of_host(const struct edit *const *edits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!edits[i]->kind->of_host)
            return false;
    return true;
}

/* A change of launches does not make batches faster. While the GPU waits for a batch only its maker
 * works, so a step keeps that waiting. */
static int64_t input_left_ns(const struct engine *x, const struct edit *edit)
{
    return edit->kind->keeps_input
               ? engine_within(x->f->breakdown_ns[PART_IDLE_INPUT], x->f->step_ns)
               : 0;
}

int64_t engine_most(struct engine *x, const struct edit *edit)
{
    int64_t best = 0, left = INT64_MAX, known;
    uint64_t question = asked_question(ASKED_MOST, 0, 0, &edit, 1);
    if (asked_before(x, question, &known))
        return known;
    for (int i = 0; i < x->assumptions; i++) {
        int64_t usual, most;
        asked_saved(x, i, &edit, 1, &(int){0}, 1, false, &usual);
        asked_saved(x, i, &edit, 1, &(int){0}, 1, true, &most);
        int64_t work = work_left_ns(x);
        best = usual > best ? usual : best;
        best = most > best ? most : best;
        left = work < left ? work : left;
    }
    int64_t input = input_left_ns(x, edit);
    left = engine_of_host(&edit, 1) && x->work_ns > left ? x->work_ns : left;
    int64_t limit = x->f->step_ns - (left > input ? left : input);
    best = engine_to_median(x, best) + (engine_of_host(&edit, 1) ? x->first_ns : 0);
    return asked_keep(x, question, engine_within(best, limit > 0 ? limit : 0));
}

int64_t engine_to_median(const struct engine *x, int64_t ns)
{
    double by = x->now.pace_ns > 0 ? (double)x->f->step_ns / (double)x->now.pace_ns : 1;
    return (int64_t)((double)ns * by);
}

/* Returns the least that a step takes according to the edit's kind (least_ns), in ns. */
static int64_t kind_left_ns(const struct engine *x, const struct edit *edit)
{
    return edit->kind->least_ns ? engine_within(edit->kind->least_ns(x->f), x->f->step_ns) : 0;
}

/* Returns the least that a step takes after the edits, with all parameters at their good end. */
static int64_t edited_left_ns(struct engine *x, const struct edit *const *edits, size_t n)
{
    const struct draw lucky = {{0, 0, 0}};
    uint64_t question = asked_question(ASKED_LEFT, 0, 0, edits, n);
    int64_t known;
    if (asked_before(x, question, &known))
        return known;
    plan_reset(&x->plan, x->g);
    x->plan.most = false;
    for (size_t i = 0; i < n; i++)
        edit_apply(edits[i], x->g, &x->plan, &lucky);
    return asked_keep(x, question, engine_within(work_left_ns(x), x->f->step_ns));
}

int64_t engine_floor_ns(struct engine *x, const struct edit *const *edits, size_t n)
{
    if (!engine_of_host(edits, n)) {
        int64_t left = edited_left_ns(x, edits, n);
        for (size_t i = 0; i < n; i++)
            left = kind_left_ns(x, edits[i]) > left ? kind_left_ns(x, edits[i]) : left;
        return left;
    }
    int64_t input = n == 1 ? input_left_ns(x, edits[0]) : 0;
    return input > x->work_ns ? input : x->work_ns;
}

static int make_ready(struct engine *x)
{
    if (plan_init(&x->plan, x->g) < 0 || replay_init(&x->now, x->g) < 0 ||
        replay_init(&x->then, x->g) < 0 || replay_wide_init(&x->draws, x->g) < 0)
        return -1;
    for (size_t k = 0; k < REPLAY_WIDE - 1; k++)
        if (plan_init(&x->beside[k], x->g) < 0)
            return -1;
    if (room_measure(&x->room, x->g) < 0)
        return -1;
    x->host = host_pace_of(x->g);
    x->stacked = host_pace_stacked(x->g, x->arena);
    int64_t busiest = room_busiest_ns(x->f), window = work_left_ns(x);
    if (busiest < 0)
        return -1;
    x->work_ns = engine_within(busiest > window ? busiest : window, x->f->step_ns);
    return 0;
}

void engine_close(struct engine *x)
{
    plan_release(&x->plan);
    replay_release(&x->now);
    replay_release(&x->then);
    replay_wide_release(&x->draws);
    for (size_t k = 0; k < REPLAY_WIDE - 1; k++)
        plan_release(&x->beside[k]);
    room_release(&x->room);
    vec_release(&x->answers);
    graph_free(x->g);
}

int engine_open(struct engine *x, const struct facts *f, struct arena *arena, struct whatif *w,
                struct err *e)
{
    *x = (struct engine){.f = f, .arena = arena, .g = graph_build(f, e), .assumptions = 1};
    if (!x->g)
        return -1;
    *w = (struct whatif){.steps = x->g->recorded_steps,
                         .tasks = x->g->recorded,
                         .once = x->g->once,
                         .edges = x->g->edge_count,
                         .violations = x->g->violations,
                         .holdout_error_pct = -1,
                         .holdout_p95_pct = -1};
    return make_ready(x) < 0 ? err_no_memory(e) : 0;
}
