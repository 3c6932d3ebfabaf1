/* The trials of `try`, one after another (try.h): with --until each tries the next advice on top of
 * what was kept, in copies of the current folder. The diff of what was kept is written after each
 * change that is kept, so that it is there if the series is stopped later. */
#include "analyzer/profile/store.h"
#include "base/clock.h"
#include "cli/common/command.h"
#include "cli/common/output.h"
#include "cli/try/try.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool series_late(const struct series *s)
{
    return s->end_ns && clock_monotonic_ns() >= s->end_ns;
}

const struct trial *series_last(const struct series *s)
{
    const struct trial *next = &s->at[s->count];
    return s->count == 0 || next->passed_count ? next : next - 1;
}

double series_saved(const struct series *s)
{
    double left = 1;
    for (size_t i = 0; i < s->count; i++)
        if (trial_kept(s->at[i].change))
            left *= 1 - s->at[i].change->result.saved;
    return 1 - left;
}

/* The first run, unless there is a profile already. */
static int run_first(struct trial *t, struct err *e)
{
    if (t->in->recorded)
        return 0;
    say("first run, for the prediction");
    int status = trial_record(t, t->profile, NULL, NULL, false, e);
    if (status > 0 && !trial_interrupted())
        err_set(e, "the program exited with status %d: nothing to try", status);
    return status ? -1 : 0;
}

/* Stores the results. If the profile cannot be written, the trial does not fail. */
static void store(const struct series *s, const struct trial *t)
{
    struct err e = ERR_INIT;
    const char *file = load_history(s->history);
    /* A trial of a changed program says nothing of the one in the profile. */
    bool works = s->results && !*t->base && store_is_profile(s->results);
    for (size_t i = 0; i < t->count; i++) {
        const struct tried *c = &t->change[i];
        if (file && trial_remember(t, c, file, &e) < 0)
            say("%s", e.text);
        if (!works || c->refused || c->result.a_ns <= 0)
            continue;
        works = trial_keep(t, c, s->results, &e) == 0;
        if (!works)
            say("cannot keep the result in %s: %s", s->results, e.text);
    }
}

static int write_kept(const struct series *s, struct err *e)
{
    struct output out;
    if (output_open(&out, s->fix, true, e) < 0)
        return -1;
    fputs(s->kept, out.f);
    return output_commit(&out, e);
}

/* Keeps the change that was tried last, or takes it back. */
static int decide(struct series *s, const struct trial *t, struct err *e)
{
    const struct tried *c = t->change;
    char range[48], *both = NULL;
    bool kept = trial_kept(c);
    say("change %zu, %s: %s, %s", s->count, c->rule, trial_decision[kept],
        c->failed ? trial_why(c) : trial_measured(range, c));
    if (!kept)
        return 0;
    if (asprintf(&both, "%s%s", s->kept ? s->kept : "", c->diff) < 0)
        return err_no_memory(e);
    free(s->kept);
    s->kept = both;
    return write_kept(s, e);
}

/* Prepares the next trial: without a change the program is then what was kept. */
static int prepare(struct series *s, const struct trial *t, struct trial *next, struct err *e)
{
    char log[PATH_MAX];
    bool kept = trial_kept(t->change);
    next->in = s;
    next->warm = t->warm;
    snprintf(next->base, sizeof next->base, "%s", kept ? t->patched : t->base);
    snprintf(next->profile, sizeof next->profile, "%s", t->profile);
    if (!kept)
        return 0;
    say("recording the program with what was kept, for the next prediction");
    snprintf(next->profile, sizeof next->profile, "%s/kept.gpuprof", s->folder);
    snprintf(log, sizeof log, "%s/without.log", s->folder);
    int status = trial_record(next, next->profile, log, NULL, false, e);
    if (status > 0)
        err_set(e,
                "recorded with what was kept, the program exited with status %d (its output: %s)",
                status, log);
    else
        remove(log);
    return status ? -1 : 0;
}

/* True if there is a next trial. Else s->ended says why not. */
static bool go_on(struct series *s, struct err *e)
{
    const struct trial *t = &s->at[s->count - 1];
    if (!s->until || trial_interrupted())
        return false;
    if (s->count == (size_t)s->until)
        snprintf(s->ended, sizeof s->ended, "%d change%s tried, the most that --until allows",
                 s->until, s->until == 1 ? " was" : "s were");
    else if (series_late(s))
        snprintf(s->ended, sizeof s->ended, "the time of --max-time is over");
    else if (prepare(s, t, &s->at[s->count], e) == 0)
        return true;
    else if (!trial_interrupted())
        snprintf(s->ended, sizeof s->ended, "%s", e->text);
    return false;
}

int series_try(struct series *s, struct err *e)
{
    if (run_first(s->at, e) < 0)
        return -1;
    do {
        struct trial *t = &s->at[s->count];
        int rc = trial_compare(t, e);
        if (rc < 0 && s->count && !trial_interrupted())
            snprintf(s->ended, sizeof s->ended, "%s", e->text);
        if (rc < 0 || (trial_interrupted() && !trial_compared(t)))
            return s->count ? 0 : rc;
        s->count++;
        store(s, t);
        if (s->until && decide(s, t, e) < 0)
            return -1;
    } while (go_on(s, e));
    return 0;
}
