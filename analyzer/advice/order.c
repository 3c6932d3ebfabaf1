/* The order of the findings: by what each saves, and the cause before what hides it. Findings are
 * of two groups: time that the program loses (waits, input, host work, settings, repeated work),
 * and computing made cheaper (precision, fusion, graphs, layouts). The first of the lost time
 * leads, because its cause is in the program and its remedy keeps the numbers, unless cheaper
 * computing saves far more. */
#include "analyzer/advice/passes.h"

#include <stdlib.h>
#include <string.h>

/* What a finding competes by. Predictions by what they save at least while the host keeps its
 * recorded pace: in another run all of them meet the same host. Upper bounds by their middle: all
 * of it where the time is idle or exposed (structural), half where kernels would only become faster
 * by an unknown amount. */
static int64_t worth(const struct outcome *o)
{
    int64_t least = o->least_ns > o->saves_low_ns ? o->least_ns : o->saves_low_ns;
    return o->upper_bound ? o->saves_mid_ns : least;
}

/* What changes the training itself is a choice, not a repair: it comes last. Predictions before
 * bounds, either by worth. */
static int by_worth(const void *a, const void *b)
{
    const struct outcome *x = *(const struct outcome *const *)a;
    const struct outcome *y = *(const struct outcome *const *)b;
    if (x->rule->changes_training != y->rule->changes_training)
        return x->rule->changes_training ? 1 : -1;
    if (x->upper_bound != y->upper_bound)
        return x->upper_bound ? 1 : -1;
    if (worth(x) != worth(y))
        return worth(x) < worth(y) ? 1 : -1;
    return strcmp(x->rule->id, y->rule->id);
}

static void move_up(struct advice *a, size_t from, size_t to)
{
    const struct outcome *o = a->ranked[from];
    memmove(a->ranked + to + 1, a->ranked + to, (from - to) * sizeof *a->ranked);
    a->ranked[to] = o;
}

/* A bound says what can be had at most, a prediction what will be: a bound moves up past smaller
 * predictions, never past one that is larger. */
static void place_bounds(struct advice *a)
{
    for (size_t i = 1; i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        size_t to = i;
        while (o->upper_bound && to > 0 &&
               a->ranked[to - 1]->rule->changes_training == o->rule->changes_training &&
               a->ranked[to - 1]->saves_mid_ns < o->saves_mid_ns)
            to--;
        move_up(a, i, to);
    }
}

/* Does the first finding, which makes computing cheaper, stay before the first of the lost time?
 * Where it saves so many times as much, or where the other is only a bound, and smaller than what
 * lies between the least and the likeliest that the prediction says. */
static bool cheaper_leads(const struct outcome *cheaper, const struct outcome *lost)
{
    double least = (double)worth(cheaper), likely = (double)cheaper->saves_mid_ns;
    return least > ADVICE_FAR_MORE * (double)worth(lost) ||
           (lost->upper_bound && !cheaper->upper_bound &&
            least + ADVICE_BESIDE_BOUND * (likely - least) > (double)lost->saves_mid_ns);
}

static void put_lost_time_first(struct advice *a)
{
    size_t i = 0;
    while (i < a->ranked_count && a->ranked[i]->rule->cheaper)
        i++;
    if (i < a->ranked_count && !a->ranked[i]->rule->changes_training &&
        !cheaper_leads(a->ranked[0], a->ranked[i]))
        move_up(a, i, 0);
}

/* Where waiting for data is most of what is lost, whatever frees the host earlier seems to save
 * that wait, too: it only hides the cause. And without a core the training thread is slow in all
 * that it does, so that other figures follow from that. */
static bool is_cause(const struct advice *a, const struct rule *r)
{
    bool input = r->about_input;
    for (int p = PART_COMM; p < PART_COUNT; p++)
        input = input && a->facts->breakdown_ns[p] <= a->facts->breakdown_ns[PART_IDLE_INPUT];
    return input || r->no_core;
}

/* The cause goes first unless it is worth far less. */
static void put_cause_first(struct advice *a)
{
    size_t i = 0;
    while (i < a->ranked_count && !is_cause(a, a->ranked[i]->rule))
        i++;
    if (i < a->ranked_count && worth(a->ranked[i]) * 100 >= worth(a->ranked[0]) * ADVICE_CAUSE_PCT)
        move_up(a, i, 0);
}

void findings_rank(struct advice *a)
{
    a->ranked_count = 0;
    for (size_t i = 0; i < rule_count; i++)
        if (a->outcomes[i].verdict == RULE_FIRES)
            a->ranked[a->ranked_count++] = &a->outcomes[i];
    if (a->ranked_count == 0)
        return;
    qsort(a->ranked, a->ranked_count, sizeof *a->ranked, by_worth);
    place_bounds(a);
    put_lost_time_first(a);
    put_cause_first(a);
}
