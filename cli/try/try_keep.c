/* Stores the results of a trial (try.h). In one transaction: a reader finds the whole row or
 * none. */
#include "cli/try/try.h"

#include "analyzer/profile/history.h"
#include "analyzer/profile/store.h"

#include <math.h>
#include <stdio.h>

static int64_t of_step(double share, int64_t step_ns)
{
    return llround(share * (double)step_ns);
}

static int put_row(struct store *s, const struct trial *t, const struct tried *c, struct err *e)
{
    const struct ab_prediction *p = &c->predicted;
    const struct ab_result *r = &c->result;
    struct row_trial row = {
        .id = store_next_trial(s),
        .setting = store_intern(s, c->settings),
        .verdict = store_intern(s, trial_verdict(c)),
        .predicted_low_ns = p->known ? of_step(p->low, t->step_ns) : -1,
        .predicted_mid_ns = p->known ? of_step(p->mid, t->step_ns) : -1,
        .predicted_high_ns = p->known ? of_step(p->high, t->step_ns) : -1,
        .measured_low_ns = of_step(r->low, r->a_ns),
        .measured_mid_ns = of_step(r->saved, r->a_ns),
        .measured_high_ns = of_step(r->high, r->a_ns),
        .rule = store_intern(s, c->rule),
        .step_ns = r->a_ns,
        .runs_without = (int64_t)t->without.count,
        .runs_with = (int64_t)c->arm.count,
        .tried_realtime_ns = t->tried_ns,
        .own_low_ns = p->known ? of_step(c->own_low, t->step_ns) : -1,
        .own_high_ns = p->known ? of_step(c->own_high, t->step_ns) : -1,
    };
    return store_put_derived(s, DERIVED_TRIAL, &row, e);
}

int trial_keep(const struct trial *t, const struct tried *c, const char *profile, struct err *e)
{
    struct store *s = store_open(profile, 1, e);
    int rc = s && store_begin(s, e) == 0 && put_row(s, t, c, e) == 0 ? store_commit(s, e) : -1;
    store_close(s);
    return rc;
}

int trial_remember(const struct trial *t, const struct tried *c, const char *history, struct err *e)
{
    const struct ab_prediction *p = &c->predicted;
    struct past_trial line = {
        .tried_ns = t->tried_ns,
        .virtual_gpu = *t->gpu,
        .low = c->own_low,
        .high = c->own_high,
        .measured = c->result.saved,
    };
    if (!p->known || !*c->edit || c->refused || c->result.verdict == AB_UNDERPOWERED)
        return 0;
    snprintf(line.edit, sizeof line.edit, "%s", c->edit);
    return history_add(history, &line, e);
}
