/* The terminal: verdict, why and next first, then what to change, then where a step goes, then what
 * was checked and what could not be told, then whether the numbers can be trusted. */
#include "report/export.h"
#include "report/terminal.h"
#include "report/text.h"

#include <stdlib.h>
#include <string.h>

static void write_virtual(const struct terminal *t, const char *notice)
{
    if (!notice)
        return;
    term_ink(t, INK_WARN);
    term_wrap(t, 0, 0, notice);
    term_ink(t, INK_PLAIN);
    fputc('\n', t->f);
}

static enum ink verdict_ink(const struct analysis *a)
{
    return a->ranked_count ? INK_BAD : INK_GOOD;
}

static void write_evidence(const struct terminal *t, const struct outcome *o, int indent)
{
    char line[1024];
    size_t n = 0;
    line[0] = 0;
    for (size_t i = 0; i < o->evidence_count && n < sizeof line; i++) {
        struct text v;
        const struct evidence *e = &o->evidence[i];
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%s: %s", n ? "; " : "", e->text,
                              text_value(&v, e->value, e->unit));
    }
    if (o->evidence_count == 0)
        return;
    fprintf(t->f, "%*s", indent, "");
    term_ink(t, INK_DIM);
    term_wrap(t, indent, indent, line);
    term_ink(t, INK_PLAIN);
}

static void write_findings(const struct terminal *t, const struct analysis *a,
                           const struct export_options *o)
{
    const struct outcome *x = shown_finding(a, o, 0);
    if (!x) {
        bool blind = a->verdict_class && strcmp(a->verdict_class, "not-enough-data") == 0;
        fputs(blind     ? "No advice: too little was recorded to give any.\n\n"
              : o->rule ? "Nothing to change was found by this rule.\n\n"
                        : "Nothing to change was found.\n\n",
              t->f);
        return;
    }
    int title = t->width - 36 < 24 ? 24 : t->width - 36 > 60 ? 60 : t->width - 36;
    term_ink(t, INK_BOLD);
    fprintf(t->f, " #  %-*s  %s\n", title, "what to change", "saves per step");
    term_ink(t, INK_PLAIN);
    for (size_t i = 0; (x = shown_finding(a, o, i)); i++) {
        struct text saving;
        fprintf(t->f, "%2zu  ", i + 1);
        term_ink(t, INK_BOLD);
        term_fit(t, x->rule->title, title, true);
        term_ink(t, INK_PLAIN);
        fprintf(t->f, "  %s\n    ", text_saving(&saving, x, a->steps.median_ns));
        if (x->summary)
            term_wrap(t, 4, 4, x->summary);
        write_evidence(t, x, 4);
        fprintf(t->f, "    try: ");
        term_wrap(t, 9, 9, outcome_remedy(a, x));
        const struct kept_trial *kept = shown_trial(o, x);
        if (kept) {
            fprintf(t->f, "    tried: ");
            term_wrap(t, 11, 11, text_trial(&saving, kept));
        }
        if (text_widened(&saving, x)) {
            fputs("    ", t->f);
            term_wrap(t, 4, 4, saving.s);
        }
        fprintf(t->f, "    ");
        term_ink(t, INK_DIM);
        fprintf(t->f, "gpuprof explain %s", x->rule->id);
        if (x->knob)
            fprintf(t->f, "    GPUPROF_APPLY=\"%s\"", x->knob);
        fputc('\n', t->f);
        term_ink(t, INK_PLAIN);
    }
    const struct whatif *w = &a->whatif;
    if (w->stack_count > 1) {
        struct text from, to;
        fprintf(t->f, "\nOne after the other: %s", text_ms(&from, a->steps.median_ns));
        for (size_t i = 0; i < w->stack_count; i++)
            fprintf(t->f, " -> %s (%s)", text_ms(&to, w->stack[i].step_ns),
                    w->stack[i].outcome->rule->id);
        fputs(".\n", t->f);
    } else if (a->ranked_count > 1) {
        fputs("\nSavings overlap: together they are less than their sum.\n", t->f);
    }
    if (a->ranked_count && !w->trusted && w->why_not)
        fprintf(t->f, "\nNo predictions, %s.\n", w->why_not);
    fputc('\n', t->f);
}

/* One line: who is late. */
static void write_ranks(const struct terminal *t, const struct ranks *r)
{
    struct text line, m;
    if (r->count < 2)
        return;
    const struct rank_facts *late = &r->at[r->late];
    snprintf(line.s, sizeof line.s,
             "%zu ranks compared over %lld collectives; rank %lld comes last for %lld of them and "
             "keeps the others waiting %s per step%s",
             r->count, (long long)r->collectives, (long long)late->rank,
             (long long)late->late_count, text_ms(&m, late->late_ns),
             r->left_out ? " (some ranks match no other and are left out)" : "");
    term_labelled(t, "Ranks", INK_BOLD, line.s);
}

static void write_breakdown(const struct terminal *t, const struct analysis *a)
{
    struct text m, p, line;
    if (a->steps.used == 0)
        return;
    char pace[48] = "";
    if (steps_uneven(&a->steps))
        snprintf(pace, sizeof pace, ", %s on average with the long ones",
                 text_time(&m, a->steps.pace_ns));
    snprintf(line.s, sizeof line.s, "%s median, %s at p95%s; %zu of %zu steps used (%s)",
             text_time(&m, a->steps.median_ns), text_time(&p, a->steps.p95_ns), pace, a->steps.used,
             a->steps.count, a->steps.source_text ? a->steps.source_text : "");
    term_labelled(t, "Step", INK_BOLD, line.s);
    if (a->tl->op_count == 0) { /* the parts are about a GPU */
        fputc('\n', t->f);
        return;
    }
    int room = t->width - 58 > 40 ? 40 : t->width - 58;
    for (int i = 0; i < PART_COUNT; i++) {
        double pct = percent_of(a->breakdown_ns[i], a->steps.median_ns);
        if (a->breakdown_ns[i] < 500) /* reads as 0.00 ms */
            continue;
        fprintf(t->f, "  %-36s %9s %5.1f %%  ", part_title[i], text_ms(&m, a->breakdown_ns[i]),
                pct);
        for (int c = 0; c < (int)(pct / 100 * room + 0.5); c++)
            fputc(i < PART_IDLE_INPUT ? '#' : '.', t->f);
        fputc('\n', t->f);
    }
    snprintf(line.s, sizeof line.s, "busy %.1f %%, compute %.1f %%, exposed communication %.1f %%",
             a->gpu.busy_pct, a->gpu.compute_pct, a->gpu.comm_exposed_pct);
    term_labelled(t, "GPU", INK_BOLD, line.s);
    write_ranks(t, &a->ranks);
    fputc('\n', t->f);
}

static bool same_reason(const struct outcome *x, const struct outcome *y)
{
    return strcmp(x->why ? x->why : "", y->why ? y->why : "") == 0;
}

/* Rules that share a reason share a line: without steps, most of them do. */
static void write_reasons(const struct terminal *t, const struct analysis *a,
                          const struct export_options *o, enum verdict v, const char *label)
{
    for (size_t i = 0; i < a->outcome_count; i++) {
        const struct outcome *x = shown_outcome(a, o, i, v), *y;
        char line[1024];
        size_t n = 0, k = 0;
        while (x && k < i && !((y = shown_outcome(a, o, k, v)) && same_reason(x, y)))
            k++;
        if (!x || k < i) /* told with an earlier one */
            continue;
        for (k = i; k < a->outcome_count && n < sizeof line; k++)
            if ((y = shown_outcome(a, o, k, v)) && same_reason(x, y))
                n +=
                    (size_t)snprintf(line + n, sizeof line - n, "%s%s", n ? ", " : "", y->rule->id);
        if (n < sizeof line)
            snprintf(line + n, sizeof line - n, ": %s", x->why ? x->why : "");
        term_labelled(t, label, INK_DIM, line);
    }
}

/* Without any GPU work most rules lack the same thing: one line instead of a list of records. */
static void write_unknown(const struct terminal *t, const struct analysis *a,
                          const struct export_options *o)
{
    char line[160];
    unsigned n = 0;
    for (size_t i = 0; i < a->outcome_count; i++)
        n += shown_outcome(a, o, i, RULE_CANNOT_TELL) != NULL;
    if (a->tl->op_count || o->rule || n < 2) {
        write_reasons(t, a, o, RULE_CANNOT_TELL, "Unknown");
        return;
    }
    snprintf(line, sizeof line, "%u rules look at GPU work, of which none was recorded", n);
    term_labelled(t, "Unknown", INK_DIM, line);
}

static void write_others(const struct terminal *t, const struct analysis *a,
                         const struct export_options *o)
{
    char line[1024] = "";
    write_reasons(t, a, o, RULE_SUPPRESSED, "Not now");
    write_unknown(t, a, o);
    if (o->rule) {
        write_reasons(t, a, o, RULE_SILENT, "Fine");
        return;
    }
    for (size_t i = 0; i < a->outcome_count; i++) {
        const struct outcome *x = shown_outcome(a, o, i, RULE_SILENT);
        size_t n = strlen(line);
        if (x)
            snprintf(line + n, sizeof line - n, "%s%s", n ? ", " : "", x->rule->id);
    }
    if (*line)
        term_labelled(t, "Fine", INK_DIM, line);
}

static void write_health(const struct terminal *t, const struct analysis *a)
{
    struct text n, line;
    char overhead[48] = "not measured";
    if (a->health.overhead_pct >= 0)
        snprintf(overhead, sizeof overhead, "%.2f %%", a->health.overhead_pct);
    snprintf(line.s, sizeof line.s,
             "%s records lost; unexplained %.1f %% of the step; profiler's own cost %s",
             text_count(&n, a->health.dropped), a->health.unexplained_pct, overhead);
    term_labelled(t, "Health", a->health.dropped ? INK_BAD : INK_DIM, line.s);
    if (text_replay(&line, &a->whatif))
        term_labelled(t, "Replay", a->whatif.trusted ? INK_DIM : INK_WARN, line.s);
    if (a->health.recorded_text)
        term_labelled(t, "Recorded", INK_DIM, a->health.recorded_text);
    for (size_t i = 0; i < a->tl->health_count; i++)
        if (a->tl->healths[i].severity > 0)
            term_labelled(t, "", INK_WARN, tl_text(a->tl, a->tl->healths[i].text));
}

static int term_analysis(const struct analysis *a, const struct export_options *o, FILE *f,
                         struct err *e)
{
    struct terminal t = terminal_open(f, o->width, o->color);
    struct text notice;
    write_virtual(&t, text_virtual(&notice, a));
    term_labelled(&t, "Verdict", verdict_ink(a), a->verdict);
    term_labelled(&t, "Why", INK_BOLD, a->why);
    term_labelled(&t, "Next", INK_BOLD, a->next);
    fputc('\n', f);
    write_findings(&t, a, o);
    write_breakdown(&t, a);
    write_others(&t, a, o);
    write_health(&t, a);
    return export_done(f, e);
}

static void write_diff_head(const struct terminal *t, const struct diff *d)
{
    struct text b, n, line;
    char within[64];
    snprintf(within, sizeof within, "95 %% interval %+.1f to %+.1f %%", (d->ratio_low - 1) * 100,
             (d->ratio_high - 1) * 100);
    snprintf(line.s, sizeof line.s, "%s -> %s per step (median): %+.1f %%, %s",
             text_time(&b, d->base_ns), text_time(&n, d->new_ns), (d->ratio - 1) * 100,
             d->enough ? within : "interval not known");
    enum ink ink = !d->enough          ? INK_BOLD
                   : d->ratio_low > 1  ? INK_BAD
                   : d->ratio_high < 1 ? INK_GOOD
                                       : INK_BOLD;
    term_labelled(t, "Step", ink, line.s);
    if (d->comparable)
        term_labelled(t, "Careful", INK_WARN, d->comparable);
    if (!d->enough)
        term_labelled(t, "Careful", INK_WARN, "too few steps on one side to be sure");
}

static void write_changes(const struct terminal *t, const struct diff *d, int top)
{
    size_t n = top > 0 && (size_t)top < d->change_count ? (size_t)top : d->change_count;
    if (n == 0)
        return;
    int what = t->width - 46 < 20 ? 20 : t->width - 46;
    term_ink(t, INK_BOLD);
    fprintf(t->f, "\n%-8s  %-*s %10s %10s %10s\n", "kind", what, "what moved", "base", "new",
            "change");
    term_ink(t, INK_PLAIN);
    for (size_t i = 0; i < n; i++) {
        const struct change *c = &d->changes[i];
        struct text b, w, m;
        fprintf(t->f, "%-8s  ", c->kind);
        term_fit(t, c->what, what, true);
        text_ms(&m, c->new_ns - c->base_ns);
        fprintf(t->f, " %10s %10s %s%9s\n", text_ms(&b, c->base_ns), text_ms(&w, c->new_ns),
                c->new_ns > c->base_ns ? "+" : " ", m.s);
    }
}

static void notice_of(const struct terminal *t, const struct export_options *o)
{
    struct text b;
    if (o->virtual_gpu)
        write_virtual(t, text_virtual_name(&b, o->virtual_gpu));
}

static int term_diff(const struct diff *d, const struct export_options *o, FILE *f, struct err *e)
{
    struct terminal t = terminal_open(f, o->width, o->color);
    notice_of(&t, o);
    write_diff_head(&t, d);
    write_changes(&t, d, o->top ? o->top : 20);
    return export_done(f, e);
}

static int term_gate(const struct gate *g, const struct export_options *o, FILE *f, struct err *e)
{
    static const enum ink inks[] = {
        [GATE_PASS] = INK_GOOD, [GATE_SLOWER] = INK_BAD, [GATE_INCONCLUSIVE] = INK_WARN};
    struct terminal t = terminal_open(f, o->width, o->color);
    notice_of(&t, o);
    for (size_t i = 0; i < g->check_count; i++) {
        const struct gate_check *c = &g->checks[i];
        struct text m, al, low, high;
        term_ink(&t, inks[c->verdict]);
        fprintf(f, "%-12s ", text_gate_verdict(c->verdict));
        term_ink(&t, INK_PLAIN);
        fprintf(f, "%s: measured %s, allowed %s", c->name, text_value(&m, c->measured, c->unit),
                text_value(&al, c->allowed, c->unit));
        if (c->low < c->high)
            fprintf(f, ", interval %s to %s", text_value(&low, c->low, c->unit),
                    text_value(&high, c->high, c->unit));
        fputc('\n', f);
        if (c->why) {
            fprintf(f, "%13s", "");
            term_wrap(&t, 13, 13, c->why);
        }
    }
    if (g->diff)
        write_changes(&t, g->diff, o->top ? o->top : 10);
    fputc('\n', f);
    term_labelled(&t, "Gate", inks[g->verdict], text_gate_verdict(g->verdict));
    return export_done(f, e);
}

const struct exporter export_term = {
    .name = "term",
    .suffix = ".txt",
    .help = "text for a terminal",
    .analysis = term_analysis,
    .diff = term_diff,
    .gate = term_gate,
};
