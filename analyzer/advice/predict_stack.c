/* The order in which to make the changes, and what each saves on top of those before it.
 *
 * By turns: what heads the ranking, then repairs, then CUDA graphs. What changes the training has no place in it: with another batch a step is not the
 * same step any longer. Within a turn the one goes first that saves most on top of what was chosen,
 * by its lower bound. Unless it heads the ranking, a graph comes behind the repairs because it holds the launches that it was
 * captured with: waits, allocations and shapes that differ keep a step out of it, and what changes
 * kernels afterwards has it captured anew. After each choice all are asked again: what saves
 * nothing while the host sets the pace may save much once a graph launches.
 *
 * Cost: a replay for each pair of findings, and an interval for each that is chosen. */
#include "analyzer/advice/passes.h"
#include "analyzer/queries/limits.h"

enum { CHANGES = STACK_MOST };
enum turn { TURN_FIRST, TURN_REPAIR, TURN_GRAPH, TURNS };

struct choice {
    const struct outcome *outcome;
    int64_t together_ns; /* saved with all before it */
};

static enum turn turn_of(const struct advice *a, const struct outcome *o)
{
    if (a->ranked_count && a->ranked[0] == o)
        return TURN_FIRST;
    return o->edit.kind->comes_last ? TURN_GRAPH : TURN_REPAIR;
}

/* What it saves at least of what it saves here: as much of it as of what it saves alone. */
static double least(const struct outcome *o, int64_t more_ns)
{
    return o->saves_mid_ns > 0 ? (double)more_ns * (double)o->least_ns / (double)o->saves_mid_ns
                               : 0;
}

struct outcomes {
    const struct outcome *at[CHANGES];
    size_t n;
};

static bool is_chosen(const struct outcome *const *chosen, size_t n, const struct outcome *o)
{
    for (size_t i = 0; i < n; i++)
        if (chosen[i] == o)
            return true;
    return false;
}

/* May it stand behind n others? */
static bool open_behind(const struct outcome *o, size_t n)
{
    return (o->later && n > 0) || (predict_open_to(o) && !o->upper_bound);
}

/* The least that it saves, one part in so many of the step. */
static int worth_of(const struct outcome *o)
{
    return o->later ? ADVICE_LATER : QUERY_WORTH;
}

/* The first finding begins the order if its saving is predicted: also where the others of its job
 * have shown what it saves, and the replay of this rank alone says less. */
static bool leads(const struct advice *a)
{
    const struct outcome *o = a->ranked_count ? a->ranked[0] : NULL;
    return o && open_behind(o, 0) && o->verdict == RULE_FIRES && !o->rule->changes_training;
}

/* The next one behind the n that are chosen, which save `sum_ns`; chosen[n] is scratch, `out` those
 * that were of no use behind them. No outcome when none of the others saves enough of the step. */
static struct choice next(const struct advice *a, struct engine *x, const struct outcome **chosen,
                          size_t n, int64_t sum_ns, const struct outcomes *out)
{
    struct choice best = {NULL, 0};
    enum turn turn = TURNS;
    if (n == 0 && out->n == 0 && leads(a)) {
        chosen[0] = a->ranked[0];
        return (struct choice){a->ranked[0], predict_saved(x, chosen, 1)};
    }
    for (size_t i = 0; i < a->outcome_count; i++) {
        const struct outcome *o = &a->outcomes[i];
        if (!open_behind(o, n) || o->rule->changes_training || is_chosen(chosen, n, o) ||
            is_chosen(out->at, out->n, o) || turn_of(a, o) > turn)
            continue;
        chosen[n] = o;
        int64_t ns = predict_saved(x, chosen, n + 1);
        if ((ns - sum_ns) * worth_of(o) < a->facts->step_ns)
            continue;
        if (best.outcome && turn_of(a, o) == turn &&
            least(o, ns - sum_ns) <= least(best.outcome, best.together_ns - sum_ns))
            continue;
        best = (struct choice){o, ns};
        turn = turn_of(a, o);
    }
    return best;
}

/* A number stays within its interval, and that of a first change is what its finding says. */
static int64_t told(struct span_ns s, int64_t together_ns, bool first)
{
    if (first)
        return s.mid_ns;
    int64_t least = together_ns > s.low_ns ? together_ns : s.low_ns;
    return least < s.high_ns ? least : s.high_ns;
}

void predict_stack(struct advice *a, struct engine *x)
{
    const struct outcome *chosen[CHANGES + 1];
    struct outcomes out = {.n = 0};
    int64_t sum = 0, told_sum = 0, step = a->facts->step_ns, unseen = 0;
    while (a->stack_count < CHANGES && out.n < CHANGES) {
        size_t n = a->stack_count;
        struct choice c = next(a, x, chosen, n, sum, &out);
        if (!c.outcome)
            return;
        chosen[n] = c.outcome;
        struct span_ns s = n ? predict_span(a, x, chosen, n + 1)
                             : (struct span_ns){c.outcome->saves_low_ns, c.outcome->saves_mid_ns,
                                                c.outcome->saves_high_ns, c.outcome->least_ns};
        int64_t saved = engine_within(told(s, c.together_ns, n == 0) + unseen, step);
        if (saved <= told_sum) { /* the replay gives it less than its finding claims */
            out.at[out.n++] = c.outcome;
            continue;
        }
        a->stack[a->stack_count++] =
            (struct stacked){.outcome = c.outcome,
                             .step_ns = step - saved,
                             .step_low_ns = step - engine_within(s.high_ns + unseen, step),
                             .step_high_ns = step - s.low_ns,
                             .saves_ns = saved - told_sum};
        unseen = n == 0 && saved > c.together_ns ? saved - c.together_ns : unseen;
        sum = c.together_ns;
        told_sum = saved;
    }
}
