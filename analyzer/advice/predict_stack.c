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
 * Cost: a replay for each pair of findings, four in one pass, and an interval for each chosen one;
 * each draw of these intervals goes through all of them before the next draw, so that a change is
 * applied once. */
#include "analyzer/advice/passes.h"
#include "analyzer/queries/limits.h"

#include <string.h>

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

/* What the search for the next change goes by. */
struct search {
    const struct advice *a;
    struct engine *x;
    struct outcomes out;          /* turned out useless where they were tried */
    const struct outcome **found; /* scratch: room for all outcomes */
};

/* Fills s->found with the changes of that turn that may come behind the n chosen ones. */
static size_t candidates(const struct search *s, enum turn turn,
                         const struct outcome *const *chosen, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < s->a->outcome_count; i++) {
        const struct outcome *o = &s->a->outcomes[i];
        if (open_behind(o, n) && !o->rule->changes_training && !is_chosen(chosen, n, o) &&
            !is_chosen(s->out.at, s->out.n, o) && turn_of(s->a, o) == turn)
            s->found[count++] = o;
    }
    return count;
}

/* Returns the best change of that turn behind the n chosen ones, which save `sum_ns` together.
 * chosen[n] is scratch. The outcome is NULL if none saves enough of the step. */
static struct choice best_of(const struct search *s, enum turn turn, const struct outcome **chosen,
                             size_t n, int64_t sum_ns)
{
    struct choice best = {NULL, 0};
    size_t count = candidates(s, turn, chosen, n);
    predict_ask_each(s->x, chosen, n, s->found, count);
    for (size_t i = 0; i < count; i++) {
        const struct outcome *o = chosen[n] = s->found[i];
        int64_t ns = predict_saved(s->x, chosen, n + 1);
        if ((ns - sum_ns) * worth_of(o) < s->a->facts->step_ns)
            continue;
        if (best.outcome && least(o, ns - sum_ns) <= least(best.outcome, best.together_ns - sum_ns))
            continue;
        best = (struct choice){o, ns};
    }
    return best;
}

/* Returns the best change behind the n chosen ones, of the first turn that has one. */
static struct choice next(const struct search *s, const struct outcome **chosen, size_t n,
                          int64_t sum_ns)
{
    struct choice best = {NULL, 0};
    if (n == 0 && s->out.n == 0 && leads(s->a)) {
        chosen[0] = s->a->ranked[0];
        return (struct choice){chosen[0], predict_saved(s->x, chosen, 1)};
    }
    for (enum turn turn = TURN_FIRST; turn < TURNS && !best.outcome; turn++)
        best = best_of(s, turn, chosen, n, sum_ns);
    return best;
}

/* Chooses as if no more changes turned out useless, and replays the intervals of this order in one
 * go. */
static void replay_ahead(const struct search *s, const struct outcome *const *chosen, size_t n,
                         int64_t sum_ns)
{
    const struct outcome *order[CHANGES + 1];
    memcpy(order, chosen, n * sizeof *order);
    for (; n < CHANGES; n++) {
        struct choice c = next(s, order, n, sum_ns);
        if (!c.outcome)
            break;
        order[n] = c.outcome;
        sum_ns = c.together_ns;
    }
    predict_span_in_turn(s->a, s->x, order, n);
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
    struct search s = {
        .a = a, .x = x, .found = arena_array(&a->arena, a->outcome_count + 1, sizeof *s.found)};
    int64_t sum = 0, told_sum = 0, step = a->facts->step_ns, unseen = 0;
    if (!s.found)
        return;
    replay_ahead(&s, chosen, 0, 0);
    while (a->stack_count < CHANGES && s.out.n < CHANGES) {
        size_t n = a->stack_count;
        struct choice c = next(&s, chosen, n, sum);
        if (!c.outcome)
            return;
        chosen[n] = c.outcome;
        struct span_ns span = n ? predict_span(a, x, chosen, n + 1)
                                : (struct span_ns){c.outcome->saves_low_ns, c.outcome->saves_mid_ns,
                                                   c.outcome->saves_high_ns, c.outcome->least_ns};
        int64_t saved = engine_within(reported_saving(span, c.together_ns, n == 0) + unseen, step);
        if (saved <= told_sum) { /* the replay gives it less than its finding claims */
            s.out.at[s.out.n++] = c.outcome;
            replay_ahead(&s, chosen, n, sum);
            continue;
        }
        a->stack[a->stack_count++] =
            (struct stacked){.outcome = c.outcome,
                             .step_ns = step - saved,
                             .step_low_ns = step - engine_within(span.high_ns + unseen, step),
                             .step_high_ns = step - span.low_ns,
                             .saves_ns = saved - told_sum};
        unseen = n == 0 && saved > c.together_ns ? saved - c.together_ns : unseen;
        sum = c.together_ns;
        told_sum = saved;
    }
}
