/* Finds the order in which to make the changes, and what each saves after those before it.
 *
 * It goes in turns: first the head of the ranking, then repairs, then CUDA graphs. Changes of the
 * training are left out, because with another batch a step is no longer the same step. Within a
 * turn the change comes first that saves most, by its lower end, after those already chosen. A
 * graph comes behind the repairs (unless it heads the ranking), because it holds the launches that
 * it was captured with: waits, allocations and varying shapes keep a step out of a graph, and a
 * later change of kernels needs a new capture. After each choice all other changes are replayed
 * again: what saves nothing while the host sets the pace may save much once a graph launches.
 *
 * Cost: a replay for each pair of findings, and an interval for each chosen one. */
#include "analyzer/advice/passes.h"
#include "analyzer/queries/limits.h"

enum { CHANGES = STACK_MOST };
enum turn { TURN_FIRST, TURN_REPAIR, TURN_GRAPH, TURNS };

struct choice {
    const struct outcome *outcome;
    int64_t together_ns; /* saved by this and all before it */
};

static enum turn turn_of(const struct advice *a, const struct outcome *o)
{
    if (a->ranked_count && a->ranked[0] == o)
        return TURN_FIRST;
    return o->edit.kind->comes_last ? TURN_GRAPH : TURN_REPAIR;
}

/* Returns the least that a change saves here, in ns: the same share of its saving as when it is
 * made alone. */
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

/* True if the change may stand behind n others. */
static bool open_behind(const struct outcome *o, size_t n)
{
    return (o->later && n > 0) || (predict_open_to(o) && !o->upper_bound);
}

/* A change must save at least the step divided by this number. */
static int worth_of(const struct outcome *o)
{
    return o->later ? ADVICE_LATER : QUERY_WORTH;
}

/* True if the first finding begins the order: its saving is predicted. (Other ranks of the job may
 * have shown a larger saving than the replay of this rank alone.) */
static bool leads(const struct advice *a)
{
    const struct outcome *o = a->ranked_count ? a->ranked[0] : NULL;
    return o && open_behind(o, 0) && o->verdict == RULE_FIRES && !o->rule->changes_training;
}

/* Returns the best change behind the n chosen ones, which save `sum_ns` together. chosen[n] is
 * scratch; `out` has changes that turned out useless there. The outcome is NULL if no other change
 * saves enough of the step. */
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

/* Returns the saving to report: within its interval, and for the first change the finding's own
 * number. */
static int64_t reported_saving(struct span_ns s, int64_t together_ns, bool first)
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
        int64_t saved = engine_within(reported_saving(s, c.together_ns, n == 0) + unseen, step);
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
