/* Prints the answer of a trial, for people and for programs (try.h). */
#include "cli/try/try.h"

#include "cli/common/command.h"
#include "report/json/json_tree.h"
#include "report/terminal/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* True if the trial was stopped before there were enough runs for a verdict. */
static bool cut_short(const struct tried *c)
{
    return trial_interrupted() && c->result.verdict == AB_UNDERPOWERED;
}

const char *trial_verdict(const struct tried *c)
{
    if (c->refused)
        return "REFUSED";
    return cut_short(c) ? "INTERRUPTED" : ab_verdict_text[c->result.verdict];
}

const char *trial_why(const struct tried *c)
{
    if (c->refused)
        return "the program does not apply the setting: nothing was tried";
    return cut_short(c) ? "interrupted before there were enough runs to decide" : c->result.why;
}

static void range_json(struct json_tree *j, const char *key, bool known, double low, double mid,
                       double high)
{
    if (!known) {
        tree_null(j, key);
        return;
    }
    tree_begin(j, key, '{');
    tree_num(j, "low", 100 * low, 3);
    tree_num(j, "mid", 100 * mid, 3);
    tree_num(j, "high", 100 * high, 3);
    tree_end(j);
}

static void change_json(struct json_tree *j, const struct tried *c)
{
    const struct ab_prediction *p = &c->predicted;
    const struct ab_result *r = &c->result;
    tree_begin(j, NULL, '{');
    tree_str(j, "apply", c->patch ? NULL : c->settings);
    tree_str(j, "patch", c->patch ? c->settings : NULL);
    tree_str(j, "rule", *c->rule ? c->rule : NULL);
    tree_bool(j, "together", c->together);
    tree_str(j, "verdict", trial_verdict(c));
    tree_str(j, "why", trial_why(c));
    tree_int(j, "runs_with", (int64_t)c->arm.count);
    if (r->a_ns)
        tree_ms(j, "with_ms", r->b_ns);
    else
        tree_null(j, "with_ms");
    range_json(j, "measured_pct", r->a_ns > 0, r->low, r->saved, r->high);
    range_json(j, "predicted_pct", p->known, p->low, p->mid, p->high);
    if (c->at_most > 0)
        tree_num(j, "at_most_pct", 100 * c->at_most, 3);
    else
        tree_null(j, "at_most_pct");
    trial_losses_json(j, &c->computes);
    tree_int(j, "runs_acknowledged", (int64_t)c->acknowledged);
    tree_str(j, "refused", *c->refusal ? c->refusal : NULL);
    tree_str(j, "silent", *c->silent ? c->silent : NULL);
    tree_end(j);
}

/* Step time without a change, as used in the comparison; 0: unknown. */
static int64_t without_ns(const struct trial *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->change[i].result.a_ns)
            return t->change[i].result.a_ns;
    return 0;
}

/* True if fewer changes were tried than --top wanted. */
static bool fewer(const struct trial *t)
{
    return t->asked > 1 && *t->fewer;
}

void trial_print_json(const struct trial *t)
{
    struct json_tree j;
    tree_start(&j, '{');
    j.one_line = true;
    tree_int(&j, "schema", 2);
    tree_str(&j, "virtual_gpu", *t->gpu ? t->gpu : NULL);
    tree_bool(&j, "interrupted", trial_interrupted());
    tree_int(&j, "runs_without", (int64_t)t->without.count);
    if (without_ns(t))
        tree_ms(&j, "without_ms", without_ns(t));
    else
        tree_null(&j, "without_ms");
    tree_str(&j, "no_predictions", *t->why_not ? t->why_not : NULL);
    tree_str(&j, "reruns_record", t->marks ? "steps" : "all");
    tree_begin(&j, "tried", '[');
    for (size_t i = 0; i < t->count; i++)
        change_json(&j, &t->change[i]);
    tree_end(&j);
    if (t->asked)
        tree_int(&j, "asked", t->asked);
    else
        tree_null(&j, "asked");
    tree_str(&j, "fewer", fewer(t) ? t->fewer : NULL);
    tree_begin(&j, "not_tried", '[');
    for (size_t i = 0; i < t->passed_count; i++)
        tree_str(&j, NULL, t->passed[i].rule);
    tree_end(&j);
    tree_print(&j, stdout);
}

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
    print_words(c);
}

static const char *range_text(char text[48], bool known, double low, double mid, double high,
                              double at_most)
{
    if (known)
        snprintf(text, 48, "%5.1f %% (%.1f to %.1f)", 100 * mid, 100 * low, 100 * high);
    else if (at_most > 0)
        snprintf(text, 48, "at most %.1f %%", 100 * at_most);
    else
        snprintf(text, 48, "    -");
    return text;
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
        const struct ab_prediction *p = &c->predicted;
        const struct ab_result *r = &c->result;
        printf("%-*.*s  %-24s %-24s %s\n", wide, wide, c->together ? "all together" : c->settings,
               range_text(predicted, p->known, p->low, p->mid, p->high, c->at_most),
               range_text(measured, r->a_ns > 0, r->low, r->saved, r->high, 0), trial_verdict(c));
    }
    putchar('\n');
    if (without_ns(t))
        put(0,
            "The step takes %.2f ms without a change: the mean of the steady steps of %zu runs. "
            "Each change got as many runs, recorded %s.",
            (double)without_ns(t) / 1e6, t->without.count,
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

void trial_print(const struct trial *t)
{
    if (trial_interrupted())
        put(0, "Interrupted: the results up to now follow.");
    if (t->count == 1)
        print_one(t, &t->change[0]);
    else if (t->count)
        print_table(t);
    if (fewer(t)) {
        size_t alone = t->count - (t->count && t->change[t->count - 1].together);
        put(0, "%zu of %d tried: %s.", alone, t->asked, t->fewer);
    }
    for (size_t i = 0; i < t->passed_count; i++) {
        const struct passed *p = &t->passed[i];
        if (*p->setting)
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
