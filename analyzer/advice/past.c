/* Widens intervals by what past trials and the ledger of real cards show; see past.h. */
#include "analyzer/advice/passes.h"
#include "analyzer/advice/past.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct edit_kind *edit_of(const struct advice *a, const char *rule)
{
    for (size_t i = 0; i < a->outcome_count; i++)
        if (strcmp(a->outcomes[i].rule->id, rule) == 0)
            return a->outcomes[i].edit.kind;
    return NULL;
}

/* Converts a trial of this profile. Returns false if it shows nothing about a prediction. */
static bool from_kept(const struct advice *a, const struct kept_trial *k, struct past_trial *t)
{
    const struct edit_kind *kind = edit_of(a, k->rule);
    double step = (double)a->facts->step_ns;
    if (!kind || k->predicted_mid_ns < 0 || k->step_ns <= 0 || step <= 0 ||
        strcmp(k->verdict, "UNDERPOWERED") == 0)
        return false;
    *t = (struct past_trial){.tried_ns = k->tried_realtime_ns,
                             .virtual_gpu = facts_virtual(a->facts),
                             .low = (double)k->own_low_ns / step,
                             .high = (double)k->own_high_ns / step,
                             .measured = (double)k->measured_mid_ns / (double)k->step_ns};
    memccpy(t->edit, kind->name, '\0', sizeof t->edit - 1);
    return true;
}

static bool known(const struct advice *a, const struct past_trial *t)
{
    for (size_t i = 0; i < a->past_count; i++)
        if (a->past[i].tried_ns == t->tried_ns && strcmp(a->past[i].edit, t->edit) == 0)
            return true;
    return false;
}

int past_learn(struct advice *a, const struct past_trials *past, struct err *e)
{
    struct past_trial one;
    a->past = arena_array(&a->arena, past->count + past->own_count, sizeof *a->past);
    if (!a->past)
        return err_no_memory(e);
    for (a->past_count = 0; a->past_count < past->count; a->past_count++)
        a->past[a->past_count] = past->history[a->past_count];
    for (size_t i = 0; i < past->own_count; i++)
        if (from_kept(a, &past->own[i], &one) && !known(a, &one))
            a->past[a->past_count++] = one;
    return 0;
}

double past_miss(const struct advice *a, const struct edit_kind *kind, size_t *trials)
{
    double *miss = a->past_count ? malloc(a->past_count * sizeof *miss) : NULL;
    size_t n = 0;
    for (size_t i = 0; miss && i < a->past_count; i++) {
        const struct past_trial *t = &a->past[i];
        if (t->virtual_gpu != facts_virtual(a->facts) || strcmp(t->edit, kind->name) != 0)
            continue;
        miss[n++] = fmax(0, fmax(t->low - t->measured, t->measured - t->high));
    }
    *trials = n;
    if (n)
        qsort(miss, n, sizeof *miss, order_double);
    /* Rank of the quantile, counted from 1 and rounded up. */
    size_t at = n >= (size_t)ADVICE_PAST_TRIALS ? (ADVICE_PAST_PCT * (n + 1) + 99) / 100 : n;
    double by = n ? miss[(at < n ? at : n) - 1] : 0;
    free(miss);
    return by;
}

enum ledger_kind past_kind(const struct advice *a, const struct edit_kind *kind)
{
    return a->whatif.steps == 1 ? LEDGER_ONE_STEP : kind->change;
}

static int64_t trials_ns(const struct advice *a, const struct outcome *const *o, size_t n)
{
    double most = 0;
    size_t trials;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, past_miss(a, o[i]->edit.kind, &trials));
    return (int64_t)(most * (double)a->facts->step_ns);
}

struct span_ns widen_by_trials(const struct advice *a, struct span_ns s,
                               const struct outcome *const *o, size_t n)
{
    int64_t wide = trials_ns(a, o, n);
    return (struct span_ns){engine_within(s.low_ns - wide, s.low_ns), s.mid_ns,
                            engine_within(s.high_ns + wide, a->facts->step_ns),
                            engine_within(s.least_ns - wide, s.least_ns)};
}

double past_ledger_miss(const struct advice *a, const struct outcome *const *o, size_t n)
{
    static const double miss[LEDGER_KINDS] = {[LEDGER_STRUCTURAL] = ADVICE_MISS_STRUCTURAL,
                                              [LEDGER_KERNEL] = ADVICE_MISS_KERNEL,
                                              [LEDGER_HOST] = ADVICE_MISS_HOST};
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, miss[o[i]->edit.kind->change]);
    return facts_virtual(a->facts) ? 0 : most;
}

int64_t past_by_odds(int64_t ns, int64_t step_ns, double by)
{
    double step = (double)step_ns, same = step / WHATIF_AGREE;
    double odds = ((double)ns + same) / (step - (double)ns + same) * exp(by);
    return engine_within((int64_t)((odds * (step + same) - same) / (1 + odds)), step_ns);
}

struct span_ns widen_by_ledger(const struct advice *a, struct span_ns s,
                               const struct outcome *const *o, size_t n, int64_t most_ns)
{
    double by = past_ledger_miss(a, o, n);
    int64_t step = a->facts->step_ns;
    if (by <= 0 || s.mid_ns <= 0)
        return s;
    /* Trials of the same change already contain these misses, so the wider of both counts. */
    int64_t known = trials_ns(a, o, n);
    int64_t low = past_by_odds(engine_within(s.low_ns + known, s.mid_ns), step, -by);
    int64_t high = past_by_odds(engine_within(s.high_ns - known, step), step, by);
    high = high < most_ns ? high : most_ns;
    s.low_ns = low < s.low_ns ? low : s.low_ns;
    s.high_ns = high > s.high_ns ? high : s.high_ns;
    return s;
}
