/* Ranks the findings by what each saves, and puts a cause before what hides it. Findings form two
 * groups: time that the program loses (waits, input, host work, settings, repeated work), and
 * computing made cheaper (precision, fusion, graphs, layouts). Lost time comes first, because its
 * cause is in the program and its remedy does not change computed results, unless cheaper computing
 * saves far more. A bound never comes before a larger prediction. */
#include "analyzer/advice/passes.h"
#include "analyzer/queries/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the least that a prediction saves if the host keeps its recorded pace. Other paces do not
 * matter for the ranking, because in another run all changes meet the same host. */
static int64_t least(const struct outcome *o)
{
    if (o->usual_known)
        return o->usual_least_ns;
    return o->least_ns > o->saves_low_ns ? o->least_ns : o->saves_low_ns;
}

static int64_t middle(const struct outcome *o)
{
    return o->usual_known ? o->usual_mid_ns : o->saves_mid_ns;
}

/* True if the saving may be zero: for bounds, and for predictions whose interval begins at zero. */
static bool may_be_nothing(const struct outcome *o)
{
    return o->upper_bound || least(o) == 0;
}

/* Returns the ns by which a finding ranks: the least that a prediction saves, or the middle if that
 * is zero. The middle of a bound is all of it for idle or exposed time (structural), and a share of
 * it for kernels that become faster by an unknown amount. */
static int64_t rank_value(const struct outcome *o)
{
    return may_be_nothing(o) ? middle(o) : least(o);
}

/* Order: changes of the training itself last, because they are a choice and not a repair; before
 * them findings that save something for sure, then findings that may save nothing; each by
 * worth. */
static int by_worth(const void *a, const void *b)
{
    const struct outcome *x = *(const struct outcome *const *)a;
    const struct outcome *y = *(const struct outcome *const *)b;
    if (outcome_changes_training(x) != outcome_changes_training(y))
        return outcome_changes_training(x) ? 1 : -1;
    if (may_be_nothing(x) != may_be_nothing(y))
        return may_be_nothing(x) ? 1 : -1;
    if (rank_value(x) != rank_value(y))
        return rank_value(x) < rank_value(y) ? 1 : -1;
    return strcmp(x->rule->id, y->rule->id);
}

static void move_up(struct advice *a, size_t from, size_t to)
{
    const struct outcome *o = a->ranked[from];
    memmove(a->ranked + to + 1, a->ranked + to, (from - to) * sizeof *a->ranked);
    a->ranked[to] = o;
}

/* True if `o` may rank before `before`. A bound may not pass a larger prediction: the bound says
 * what is possible at most, the prediction what will happen. */
static bool may_pass(const struct outcome *o, const struct outcome *before)
{
    return !o->upper_bound || before->upper_bound || middle(before) < middle(o);
}

/* Moves findings that may save nothing up past smaller ones. */
static void place_bounds(struct advice *a)
{
    for (size_t i = 1; i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        size_t to = i;
        while (may_be_nothing(o) && to > 0 &&
               outcome_changes_training(a->ranked[to - 1]) == outcome_changes_training(o) &&
               middle(a->ranked[to - 1]) < middle(o))
            to--;
        move_up(a, i, to);
    }
}

/* True for a bound on host work that lies in no line or range: its remedy is as general. */
static bool is_spread(const struct outcome *o)
{
    return o->rule->host_pace && o->upper_bound && !o->edit.kind && !o->remedy.object.place &&
           o->remedy.action != ACTION_WAIT_ASIDE;
}

/* True for a sure change of what the host does that saves ADVICE_CAUSE_PCT of the middle of `spread`. */
static bool says_more(const struct outcome *o, const struct outcome *spread)
{
    bool of_host = !o->rule->cheaper || (o->edit.kind && o->edit.kind->comes_last);
    return of_host && !outcome_changes_training(o) && !may_be_nothing(o) &&
           100 * middle(o) >= ADVICE_CAUSE_PCT * middle(spread);
}

/* Moves host work without a place behind findings that say what to do about the same time. */
static void put_spread_last(struct advice *a)
{
    for (size_t i = 0; i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        size_t to = i;
        for (size_t k = i + 1; is_spread(o) && k < a->ranked_count; k++)
            to = says_more(a->ranked[k], o) ? k : to;
        memmove(a->ranked + i, a->ranked + i + 1, (to - i) * sizeof *a->ranked);
        a->ranked[to] = o;
    }
}

/* Compares the least savings, or the middles if one of the two may save nothing. */
static bool saves_far_more(const struct outcome *x, const struct outcome *y)
{
    bool middles = may_be_nothing(x) || may_be_nothing(y);
    int64_t of_x = middles ? middle(x) : rank_value(x);
    int64_t of_y = middles ? middle(y) : rank_value(y);
    return (double)of_x > ADVICE_FAR_MORE * (double)of_y;
}

/* Moves lost time before cheaper computing that does not save ADVICE_FAR_MORE times as much. */
static void put_lost_time_first(struct advice *a)
{
    for (size_t i = 1; i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        size_t to = i;
        while (!o->rule->cheaper && !outcome_changes_training(o) && to > 0 &&
               a->ranked[to - 1]->rule->cheaper && may_pass(o, a->ranked[to - 1]) &&
               !saves_far_more(a->ranked[to - 1], o))
            to--;
        move_up(a, i, to);
    }
}

/* True if the finding at `i` may become the first. */
static bool may_lead(const struct advice *a, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!may_pass(a->ranked[i], a->ranked[k]))
            return false;
    return true;
}

static bool is_most_lost(const struct advice *a, enum part part)
{
    for (int p = PART_COMM; p < PART_COUNT; p++)
        if (a->facts->breakdown_ns[p] > a->facts->breakdown_ns[part])
            return false;
    return true;
}

/* True if other findings follow from this one. If most lost time is waiting for data, every change
 * that frees the host earlier seems to save that wait too, but only hides the cause. If most of it
 * is waiting for a late rank, the freed time becomes more waiting. And without a core the training
 * thread is slow in everything that it does. */
static bool is_cause(const struct advice *a, const struct rule *r)
{
    return (r->about_input && is_most_lost(a, PART_IDLE_INPUT)) ||
           (r->late_rank && is_most_lost(a, PART_COMM)) || r->no_core;
}

/* Moves the cause to the front, unless its middle is far below the first finding's worth
 * (ADVICE_CAUSE_PCT). */
static void put_cause_first(struct advice *a)
{
    size_t i = 0;
    while (i < a->ranked_count && !is_cause(a, a->ranked[i]->rule))
        i++;
    if (i < a->ranked_count && may_lead(a, i) &&
        100 * middle(a->ranked[i]) >= ADVICE_CAUSE_PCT * rank_value(a->ranked[0]))
        move_up(a, i, 0);
}

/* True if the line's time passes in a function of Python's library or of another package than
 * PyTorch: fewer operators, or compiled ones, leave it as it is. */
static bool calls_others(const struct line *l)
{
    return *l->called && strncmp(l->called, "torch.", 6) != 0;
}

/* True if `o` says what to do about the time in the cause's lines: it names one of them, or is about
 * batches as they are, but not about which samples are drawn. With a GPU also if it is about host
 * work at large, which may be the model's but does not make batches, or the lines lack a core. */
static bool answers_line(const struct facts *f, const struct outcome *o,
                         const struct query_cause *c)
{
    char place[512];
    bool named = false;
    for (int line = c->from; line <= c->to && o->remedy.object.place && !named; line++) {
        snprintf(place, sizeof place, "%.*s:%d", (int)strcspn(c->line->place, ":"), c->line->place,
                 line);
        named = strcmp(place, o->remedy.object.place) == 0;
    }
    if (named)
        return true;
    if (o->rule->about_input)
        return !c->line->draws &&
               (f->on_cpu ? query_line_of_input(c->line) : query_line_loads(c->line));
    if (o->rule->about_update && query_line_updates(c->line))
        return true;
    return !f->on_cpu &&
           ((o->rule->host_pace && !calls_others(c->line) && !query_line_of_input(c->line)) ||
            (o->rule->no_core && c->starved_ns * 2 > c->ns));
}

/* True if `o` has a remedy for the time that `stand_in` only names, and saves enough of it. For
 * computing both must be about the same kernels. */
static bool answers(const struct facts *f, const struct outcome *o, const struct outcome *stand_in)
{
    int pct = stand_in->rule->cheaper ? ADVICE_ANSWER_CHEAPER_PCT : ADVICE_ANSWER_LOST_PCT;
    if (o->verdict != RULE_FIRES || o->rule->stands_in || o->rule->changes_training ||
        o->rule->cheaper != stand_in->rule->cheaper ||
        o->saves_high_ns * 100 < stand_in->saves_high_ns * pct)
        return false;
    if (stand_in->rule->cheaper)
        return stand_in->example_count && outcome_is_about(f, o, stand_in->examples[0].op);
    struct query_cause c = query_own_cause(f);
    return c.line && answers_line(f, o, &c);
}

/* Suppresses findings that only name a cost if another finding has a remedy for it. */
static void drop_stand_ins(struct advice *a)
{
    for (size_t i = 0; i < a->outcome_count; i++) {
        struct outcome *o = &a->outcomes[i];
        for (size_t k = 0; k < a->outcome_count && o->verdict == RULE_FIRES && o->rule->stands_in;
             k++)
            if (answers(a->facts, &a->outcomes[k], o)) {
                o->verdict = RULE_SUPPRESSED;
                o->why = arena_printf(&a->arena, "%s says what to do about it: %s",
                                      a->outcomes[k].rule->id, o->summary);
            }
    }
}

/* If the first finding only names a line, moves a finding with a remedy for that line before it. */
static void put_answer_first(struct advice *a)
{
    const struct outcome *first = a->ranked[0];
    for (size_t i = 1; first->remedy.action == ACTION_SHORTEN_LINE && i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        const char *place = o->remedy.object.place;
        if (place && first->remedy.object.place && !outcome_changes_training(o) &&
            o->remedy.action != ACTION_SHORTEN_LINE &&
            strcmp(place, first->remedy.object.place) == 0 &&
            o->saves_high_ns * 100 >= first->saves_high_ns * ADVICE_ANSWER_LOST_PCT) {
            move_up(a, i, 0);
            return;
        }
    }
}

/* What the change of `x` cannot hold, or what exposes the host's work that it is about: the wait
 * goes first. Where it saves far less, the remedy of `x` names it instead. */
static bool goes_before(const struct facts *f, const struct outcome *wait, const struct outcome *x)
{
    const struct edit_kind *kind = x->edit.kind;
    if (kind && kind->comes_last)
        return edit_takes_stops(&wait->edit, f) &&
               wait->saves_high_ns * 100 >= x->saves_high_ns * ADVICE_STOPS_PCT;
    return x->rule->host_pace && wait->edit.kind && wait->edit.kind->wait_by_wait &&
           wait->saves_high_ns * 100 >= x->saves_high_ns * ADVICE_CAUSE_PCT;
}

static void put_waits_first(struct advice *a)
{
    for (size_t k = 1; k < a->ranked_count; k++) {
        const struct outcome *wait = a->ranked[k];
        size_t to = k;
        for (size_t i = k; i > 0 && may_pass(wait, a->ranked[i - 1]); i--)
            if (goes_before(a->facts, wait, a->ranked[i - 1]))
                to = i - 1;
        move_up(a, k, to);
    }
}

/* What has to be changed before a change that cannot hold it. */
static void name_stops(struct advice *a)
{
    const struct outcome *stop = NULL;
    for (size_t i = 0; i < a->ranked_count && !stop; i++)
        if (edit_takes_stops(&a->ranked[i]->edit, a->facts))
            stop = a->ranked[i];
    for (size_t i = 0; i < a->outcome_count; i++) {
        const struct edit_kind *kind = a->outcomes[i].edit.kind;
        a->outcomes[i].after = kind && kind->comes_last ? stop : NULL;
    }
}

/* Where the first finding can only be done after another one, that comes next: it belongs to the same
 * advice, however little it saves by itself. */
static void put_stop_beside(struct advice *a)
{
    const struct outcome *stop = a->ranked[0]->after;
    size_t k = 0;
    while (k < a->ranked_count && a->ranked[k] != stop)
        k++;
    if (!stop || k == a->ranked_count)
        return;
    size_t to = k;
    while (to > 1 && may_pass(stop, a->ranked[to - 1]))
        to--;
    move_up(a, k, to);
}

void findings_rank(struct advice *a)
{
    a->ranked_count = 0;
    drop_stand_ins(a);
    for (size_t i = 0; i < rule_count; i++)
        if (a->outcomes[i].verdict == RULE_FIRES)
            a->ranked[a->ranked_count++] = &a->outcomes[i];
    if (a->ranked_count == 0)
        return;
    qsort(a->ranked, a->ranked_count, sizeof *a->ranked, by_worth);
    place_bounds(a);
    put_lost_time_first(a);
    put_spread_last(a);
    put_cause_first(a);
    put_answer_first(a);
    put_waits_first(a);
    name_stops(a);
    put_stop_beside(a);
}

struct group_total advice_group(const struct advice *a, bool cheaper)
{
    struct group_total t = {.findings = 0};
    for (size_t i = 0; i < a->ranked_count; i++) {
        const struct outcome *o = a->ranked[i];
        if (outcome_changes_training(o) || o->rule->cheaper != cheaper)
            continue;
        t.findings++;
        t.of_run |= o->of_run;
        t.most_ns += o->saves_high_ns;
    }
    int64_t most_ns = t.of_run ? a->facts->run_ns : a->facts->step_ns;
    t.most_ns = t.most_ns < most_ns ? t.most_ns : most_ns;
    return t;
}
