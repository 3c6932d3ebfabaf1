/* Prints the answer of `try` for people (try.h). */
#include "cli/try/try.h"

#include "cli/common/command.h"
#include "report/terminal/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Wraps at words. Lines after the first begin at column `indent`. */
static void wrap(int column, int indent, const char *fmt, va_list ap)
{
    char text[2048];
    struct terminal t = terminal_open(stdout, terminal_width(), false);
    vsnprintf(text, sizeof text, fmt, ap);
    term_wrap(&t, column, indent, text);
}

/* Prints a paragraph. */
__attribute__((format(printf, 2, 3))) static void put(int indent, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    wrap(printf("%*s", (int)strspn(fmt, " "), ""), indent, fmt, ap);
    va_end(ap);
}

/* Prints a paragraph behind a label: "  measured   ...". */
__attribute__((format(printf, 2, 3))) static void put_labelled(const char *label, const char *fmt,
                                                               ...)
{
    va_list ap;
    int column = printf("  %-11s", label);
    va_start(ap, fmt);
    wrap(column, column, fmt, ap);
    va_end(ap);
}

static void print_words(const struct tried *c)
{
    if (c->refused)
        put(2, "  The program did not apply it: %s", c->refusal);
    else if (*c->silent)
        put(2,
            "  The program did not confirm that it applied %s: a program that does not read "
            "GPUPROF_APPLY runs as before.",
            c->silent);
}

static void print_predicted(const struct trial *t, const struct tried *c)
{
    const struct ab_prediction *p = &c->predicted;
    if (p->known)
        put_labelled("predicted", "saves %.1f %% of the step (%.1f to %.1f %%)", 100 * p->mid,
                     100 * p->low, 100 * p->high);
    else if (c->at_most > 0)
        put_labelled("predicted", "saves at most %.1f %% of the step: %s", 100 * c->at_most,
                     *t->why_not ? t->why_not : "a bound, no prediction");
    else
        put_labelled("predicted", "nothing: %s",
                     *t->why_not ? t->why_not
                     : c->patch  ? "gpuprof does not know what a patch changes"
                                 : "no rule advises this change");
}

static void print_one(const struct trial *t, const struct tried *c)
{
    const struct ab_result *r = &c->result;
    char text[TRY_TEXT];
    put(0, "%s: %s", c->settings, trial_verdict(c));
    put(2, "  %s", trial_why(c));
    if (*t->gpu)
        put(2, "  on a virtual GPU: %s", t->gpu);
    print_predicted(t, c);
    if (*c->advised)
        put_labelled("advised", "%s", c->advised);
    if (r->a_ns)
        put_labelled("measured",
                     "saves %.1f %% of the step (95 %%: %.1f to %.1f %%), %.2f -> %.2f ms (means "
                     "of the steady steps)",
                     100 * r->saved, 100 * r->low, 100 * r->high, (double)r->a_ns / 1e6,
                     (double)r->b_ns / 1e6);
    if (!c->refused)
        put_labelled("runs", "%zu without, %zu with the change, recorded %s", t->without.count,
                     c->arm.count, t->marks ? "as step marks only" : "in full");
    if (!c->refused)
        put_labelled("losses", "%s", trial_losses_text(t, &c->computes, text));
    if (c->patch)
        put_labelled("decision", "%s, because %s", trial_decision[trial_kept(c)], trial_decides(c));
    print_words(c);
}

static int widest(const struct trial *t)
{
    size_t wide = strlen("all together");
    for (size_t i = 0; i < t->count; i++)
        if (!t->change[i].together && strlen(t->change[i].settings) > wide)
            wide = strlen(t->change[i].settings);
    return wide > 40 ? 40 : (int)wide;
}

/* One line for all changes if their losses are all equal, or none was compared. */
static void print_losses(const struct trial *t)
{
    char text[TRY_TEXT];
    size_t of[LOSSES_CHANGED + 1] = {0}, tried = 0;
    for (size_t i = 0; i < t->count; i++) {
        of[t->change[i].computes.verdict] += !t->change[i].refused;
        tried += !t->change[i].refused;
    }
    bool alike = of[LOSSES_EQUAL] == tried || of[LOSSES_UNKNOWN] == tried;
    for (size_t i = 0, said = 0; i < t->count; i++) {
        const struct tried *c = &t->change[i];
        if (c->refused || (alike && said++))
            continue;
        put(0, "Losses%s%s: %s.", alike ? "" : " with ",
            alike         ? ""
            : c->together ? "all together"
                          : c->settings,
            trial_losses_text(t, &c->computes, text));
    }
}

static void print_table(const struct trial *t)
{
    int wide = widest(t);
    char predicted[48], measured[48];
    printf("%-*s  %-24s %-24s %s\n", wide, "saved of the step", "predicted (80 %)",
           "measured (95 %)", "verdict");
    for (size_t i = 0; i < t->count; i++) {
        const struct tried *c = &t->change[i];
        printf("%-*.*s  %-24s %-24s %s\n", wide, wide, c->together ? "all together" : c->settings,
               trial_predicted(predicted, c), trial_measured(measured, c), trial_verdict(c));
    }
    putchar('\n');
    if (trial_without_ns(t))
        put(0,
            "The step takes %.2f ms without a change: the mean of the steady steps of %zu runs. "
            "Each change got as many runs, recorded %s.",
            (double)trial_without_ns(t) / 1e6, t->without.count,
            t->marks ? "as step marks only" : "in full");
    if (*t->gpu)
        put(0, "On a virtual GPU: %s", t->gpu);
    print_losses(t);
    if (*t->why_not)
        put(0, "No predictions, %s.", t->why_not);
    for (size_t i = 0; i < t->count; i++) {
        const struct tried *c = &t->change[i];
        if (c->refused || *c->silent || c->result.verdict == AB_UNDERPOWERED)
            put(0, "%s: %s", c->together ? "all together" : c->settings, trial_why(c));
        print_words(c);
    }
}

/* Of a series: a line for each change, and why it was kept or taken back. */
static void print_rounds(const struct series *s)
{
    char predicted[48], measured[48], losses[TRY_TEXT], judged[TRY_TEXT];
    int wide = 0;
    for (size_t i = 0; i < s->count; i++)
        if ((int)strlen(s->at[i].change->rule) > wide)
            wide = (int)strlen(s->at[i].change->rule);
    printf("%-*s %-21s %-21s decision\n", wide + 2, "change", "predicted (80 %)",
           "measured (95 %)");
    for (size_t i = 0; i < s->count; i++) {
        const struct tried *c = s->at[i].change;
        printf("%zu %-*s %-21s %-21s %s\n", i + 1, wide, c->rule, trial_predicted(predicted, c),
               trial_measured(measured, c), trial_decision[trial_kept(c)]);
    }
    putchar('\n');
    if (*s->at->gpu)
        put(0, "On a virtual GPU: %s", s->at->gpu);
    for (size_t i = 0; i < s->count; i++) {
        const struct tried *c = s->at[i].change;
        put(2, "%zu %s: %s (%s). %s: %s.", i + 1, c->rule, trial_decides(c),
            trial_judged(judged, c), c->refused ? "What it said" : "Losses",
            c->refused ? c->refusal : trial_losses_text(&s->at[i], &c->computes, losses));
    }
    if (s->kept)
        put(0,
            "What was kept saves %.1f %% of the step (the measured savings, one on top of "
            "another): `git apply %s` makes it.",
            100 * series_saved(s), s->fix);
    else
        put(0, "Nothing was kept, and %s is not written.", s->fix);
    if (*s->ended)
        put(0, "It ended: %s.", s->ended);
}

static void print_trial(const struct series *s)
{
    const struct trial *t = s->at;
    if (t->count == 1)
        print_one(t, t->change);
    else if (t->count)
        print_table(t);
    if (s->top > 1 && *t->fewer) {
        size_t alone = t->count - (t->count && t->change[t->count - 1].together);
        put(0, "%zu of %d tried: %s.", alone, s->top, t->fewer);
    }
}

void series_print(const struct series *s)
{
    const struct trial *last = series_last(s);
    if (trial_interrupted())
        put(0, "Interrupted: the results up to now follow.");
    (s->until ? print_rounds : print_trial)(s);
    for (size_t i = 0; i < last->passed_count; i++) {
        const struct passed *p = &last->passed[i];
        if (s->fix)
            put(0,
                "%s: not tried, because gpuprof leaves it to you: `gpuprof explain %s` shows what "
                "to edit",
                p->rule, p->rule);
        else if (*p->setting)
            put(0,
                "%s: not tried, because it changes the computed numbers: request it with --apply "
                "%s",
                p->rule, p->setting);
        else
            put(0,
                "%s: not tried, because no setting applies it: `gpuprof explain %s` shows what to "
                "edit",
                p->rule, p->rule);
    }
}
