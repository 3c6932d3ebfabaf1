/* One trial, from the choice of its changes to the answer (try.h). */
#include "cli/common/command.h"
#include "cli/try/try.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PILOT = 2, MOST = 6 };

/* One run with each change. A change that the program does not apply is not tried further. */
static int probe_from(struct trial *t, size_t from, struct err *e)
{
    for (size_t i = from; i < t->count; i++) {
        struct tried *c = &t->change[i];
        say("a run with %s, to see whether the program %s", c->settings,
            c->patch ? "works" : "applies it");
        if (trial_probe(t, c, e) < 0)
            return -1;
        if (c->refused)
            say("the program does not apply it: %s", c->refusal);
    }
    return 0;
}

/* Chooses the changes to try, with their predictions. The profile is then released from memory. */
static int choose(struct trial *t, struct err *e)
{
    struct loaded l;
    const char *path[] = {t->profile};
    if (load_predicted(path, 1, &(struct load_how){0}, load_history(t->in->history), &l, e) < 0)
        return -1;
    t->marks = trial_marks_tell(t, l.analysis);
    int rc = trial_choose(t, &l, e);
    if (rc == 0)
        rc = probe_from(t, 0, e);
    size_t alone = t->count;
    if (rc == 0 && t->in->top > 1 && trial_join(t, &l, e) < 0)
        rc = -1;
    load_release(&l);
    return rc == 0 ? probe_from(t, alone, e) : rc;
}

/* Runs per arm that give 90 % power to detect half of what was predicted, or 1 % of the step. */
static size_t runs_for(struct trial *t, struct tried *c)
{
    const struct ab_prediction *p = &c->predicted;
    double delta = p->known && p->mid > 0.02 ? p->mid / 2 : 0.01;
    double n = ceil(21 * pow(ab_spread(&t->without, &c->arm) / delta, 2));
    return n < AB_LEAST ? AB_LEAST : n > MOST ? MOST : (size_t)n;
}

static size_t runs_wanted(struct trial *t)
{
    size_t most = t->in->runs ? (size_t)t->in->runs : AB_LEAST;
    for (size_t i = 0; !t->in->runs && i < t->count; i++) {
        size_t n = t->change[i].refused ? 0 : runs_for(t, &t->change[i]);
        most = n > most ? n : most;
    }
    return most;
}

/* One run without a change and one with each; every other round backwards, so that a drift of the
 * machine affects all of them alike. */
static int round_of_runs(struct trial *t, size_t round, const char *of, struct err *e)
{
    for (size_t i = 0; i <= t->count; i++) {
        size_t at = round % 2 ? t->count - i : i;
        struct tried *c = at ? &t->change[at - 1] : NULL;
        if (c && c->refused)
            continue;
        say("round %zu of %s, %s%s", round + 1, of, c ? "with " : "without a change",
            c ? c->settings : "");
        if (trial_again(t, c, e) < 0)
            return -1;
    }
    return 0;
}

static int measure(struct trial *t, struct err *e)
{
    char of[32];
    int runs = t->in->runs;
    size_t wanted = runs ? (size_t)runs : PILOT, open = 0;
    for (size_t i = 0; i < t->count; i++)
        open += !t->change[i].refused;
    for (size_t round = 0; open && round < wanted && !series_late(t->in); round++) {
        bool pilot = !runs && round < PILOT;
        snprintf(of, sizeof of, "%s%zu", pilot ? "at least " : "",
                 pilot ? (size_t)AB_LEAST : wanted);
        if (round_of_runs(t, round, of, e) < 0)
            return -1;
        if (round + 1 == PILOT)
            wanted = runs_wanted(t);
    }
    return 0;
}

bool trial_compared(const struct trial *t)
{
    bool any = t->without.count > 0;
    for (size_t i = 0; i < t->count; i++)
        any = any && (t->change[i].refused || t->change[i].arm.count > 0);
    return any;
}

int trial_compare(struct trial *t, struct err *e)
{
    struct tried *c = t->change;
    if (choose(t, e) < 0 || measure(t, e) < 0) {
        if (trial_interrupted() && !trial_compared(t))
            return 0;
        if (!trial_interrupted() && !(t->in->until && c->failed))
            return -1;
    }
    if (t->in->until && c->failed) { /* it is taken back, and the series goes on */
        c->refused = true;
        snprintf(c->refusal, sizeof c->refusal, "%.*s", (int)sizeof c->refusal - 1, e->text);
    }
    for (size_t i = 0; i < t->count; i++)
        if (ab_judge(&t->without, &c[i].arm, &c[i].predicted, &c[i].result, e) < 0)
            return -1;
    for (size_t i = 0; i < t->count && !*t->gpu; i++) /* a virtual GPU computes none */
        c[i].computes = losses_compare(&t->losses_without, &c[i].losses);
    t->tried_ns = clock_ns(CLOCK_REALTIME);
    return 0;
}
