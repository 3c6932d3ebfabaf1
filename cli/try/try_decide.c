/* What is said of a trial everywhere: its verdict, its numbers, and whether the change is kept
 * (try.h). */
#include "cli/try/try.h"

#include <stdio.h>

/* By hand: the order in which numbers are added differs between one kernel and another, and changes
 * the first losses by less than a thousandth; other samples, or other weights, change them by
 * more. */
#define ROUNDING 0.001

const char *const trial_decision[2] = {"taken back", "kept"};

/* True if the trial was stopped before there were enough runs for a verdict. */
static bool cut_short(const struct tried *c)
{
    return trial_interrupted() && c->result.verdict == AB_UNDERPOWERED;
}

const char *trial_verdict(const struct tried *c)
{
    if (c->refused)
        return c->failed ? "FAILED" : "REFUSED";
    return cut_short(c) ? "INTERRUPTED" : ab_verdict_text[c->result.verdict];
}

const char *trial_why(const struct tried *c)
{
    if (c->refused)
        return c->failed ? "the program fails with the change"
                         : "the program does not apply the setting: nothing was tried";
    return cut_short(c) ? "interrupted before there were enough runs to decide" : c->result.why;
}

const char *trial_judged(char text[TRY_TEXT], const struct tried *c)
{
    bool said = trial_decides(c) == trial_why(c);
    snprintf(text, TRY_TEXT, "%s%s%s", trial_verdict(c), said ? "" : ": ",
             said ? "" : trial_why(c));
    return text;
}

static bool saves(const struct tried *c)
{
    return !c->refused && c->result.verdict != AB_UNDERPOWERED && c->result.low > 0;
}

bool trial_kept(const struct tried *c)
{
    return saves(c) && (c->computes.verdict != LOSSES_CHANGED || c->computes.apart <= ROUNDING);
}

const char *trial_decides(const struct tried *c)
{
    static const char *const losses[] = {
        [LOSSES_UNKNOWN] = "it saves time; the losses were not compared",
        [LOSSES_EQUAL] = "it saves time, and the losses are equal",
        [LOSSES_WITHIN] = "it saves time, and the losses differ no more than without it",
        [LOSSES_CHANGED] = "it saves time, and the losses differ by no more than rounding",
    };
    if (!saves(c))
        return trial_why(c);
    return trial_kept(c) ? losses[c->computes.verdict] : "it saves time, but the losses changed";
}

const char *trial_range(char text[48], bool known, double low, double mid, double high,
                        double at_most)
{
    if (known)
        snprintf(text, 48, "%.1f %% (%.1f to %.1f)", 100 * mid, 100 * low, 100 * high);
    else if (at_most > 0)
        snprintf(text, 48, "at most %.1f %%", 100 * at_most);
    else
        snprintf(text, 48, "-");
    return text;
}

const char *trial_predicted(char text[48], const struct tried *c)
{
    const struct ab_prediction *p = &c->predicted;
    return trial_range(text, p->known, p->low, p->mid, p->high, c->at_most);
}

const char *trial_measured(char text[48], const struct tried *c)
{
    const struct ab_result *r = &c->result;
    return trial_range(text, r->a_ns > 0, r->low, r->saved, r->high, 0);
}

int64_t trial_without_ns(const struct trial *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->change[i].result.a_ns)
            return t->change[i].result.a_ns;
    return 0;
}
