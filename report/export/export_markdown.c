/* Markdown for pull requests and job summaries: the verdict and the tables, without folded
 * parts. */
#include "report/export.h"
#include "report/page/xml.h"
#include "report/words/comparison.h"
#include "report/words/text.h"

#include <string.h>

static void write_notice(FILE *f, const char *notice)
{
    if (notice)
        markdown_printf(f, "> **%s**\n\n", notice);
}

static void paragraph(FILE *f, const char *label, const char *text)
{
    fprintf(f, "**%s:** ", label);
    markdown_text(f, text);
    fputs("\n\n", f);
}

/* Below the table: what was tried of the findings, and how past trials widened their intervals. */
static void write_trials(const struct advice *a, const struct export_options *o, FILE *f)
{
    const struct outcome *x;
    struct text t;
    bool any = false;
    for (size_t i = 0; (x = shown_finding(a, o, i)); i++) {
        const struct kept_trial *kept = shown_trial(o, x);
        if (kept)
            markdown_printf(f, "- `%s`, tried: %s\n", x->rule->id, text_trial(&t, x, kept));
        if (text_widened(&t, x))
            markdown_printf(f, "- `%s`: %s\n", x->rule->id, t.s);
        any = any || kept || x->widened_ns > 0;
    }
    const struct kept_trial *other;
    for (size_t i = 0; (other = other_trial(a, o, i)); i++, any = true) {
        markdown_printf(f, "- tried: %s\n", text_trial(&t, NULL, other));
    }
    if (any)
        fputc('\n', f);
}

/* What the findings save one after another, or why that is unknown. */
static void write_together(const struct advice *a, const struct export_options *o, FILE *f)
{
    const struct whatif *w = &a->whatif;
    struct text from, to;
    if (o->rule)
        return;
    if (a->stack_count > 1) {
        fprintf(f, "Applied in this order: %s", text_ms(&from, a->facts->step_ns));
        for (size_t i = 0; i < a->stack_count; i++)
            fprintf(f, " -> %s (`%s`)", text_ms(&to, a->stack[i].step_ns),
                    a->stack[i].outcome->rule->id);
        fputs("\n\n", f);
    }
    if (!w->trusted && w->why_not) {
        fputs("No predictions, ", f);
        markdown_text(f, w->why_not);
        fputs(".\n\n", f);
    }
    if (w->trusted && w->wider) {
        fputs("Wider intervals: ", f);
        markdown_text(f, w->wider);
        fputs(".\n\n", f);
    }
}

static void write_findings(const struct advice *a, const struct export_options *o, FILE *f)
{
    const struct outcome *x = shown_finding(a, o, 0);
    if (!x) {
        fprintf(f, "%s\n\n", text_no_findings(a, false));
        write_trials(a, o, f);
        return;
    }
    fprintf(f,
            "| # | what to change | saves %s | kind | evidence | how |\n"
            "|--:|---|--:|---|---|---|\n",
            scope_words(a->facts)->per);
    for (size_t i = 0; (x = shown_finding(a, o, i)); i++) {
        struct text saving, v;
        fprintf(f, "| %zu | ", i + 1);
        markdown_text(f, x->title);
        fprintf(f, " (`%s`) | %s | %s | ", x->rule->id, text_saving(&saving, a->facts, x),
                text_outcome_kind(x));
        for (size_t k = 0; k < x->evidence_count; k++) {
            fputs(k ? "; " : "", f);
            const struct evidence *e = &x->evidence[k];
            markdown_text(f, e->text);
            fprintf(f, "%s%s: %s", evidence_gap(e), evidence_scope(a->facts, e),
                    text_value(&v, e->value, e->unit));
        }
        fputs(" | ", f);
        markdown_text(f, outcome_remedy(a->facts, x));
        fputs(" |\n", f);
    }
    fputc('\n', f);
    write_together(a, o, f);
    write_trials(a, o, f);
}

static void write_parts(const struct advice *a, FILE *f)
{
    fputs("| part | ms | % |\n|---|--:|--:|\n", f);
    for (int i = 0; i < PART_COUNT; i++)
        if (a->facts->breakdown_ns[i] >= 500) /* would read as 0.00 ms */
            fprintf(f, "| %s | %.2f | %.1f |\n", analysis_part_title(a->facts, i),
                    (double)a->facts->breakdown_ns[i] / 1e6,
                    percent_of(a->facts->breakdown_ns[i], a->facts->step_ns));
    fputc('\n', f);
}

static void write_breakdown(const struct advice *a, FILE *f)
{
    struct text m, p;
    const char *word = scope_words(a->facts)->unit;
    if (!text_has_parts(a))
        return;
    if (analysis_of_window(a->facts)) {
        fprintf(f, "### Where the window goes\n\n%s (%s).\n\n", text_ms(&m, a->facts->step_ns),
                a->facts->steps.source_text);
        write_parts(a, f);
        return;
    }
    fprintf(f, "### Where a %s goes\n\n%s median, %s at p95", word,
            text_ms(&m, a->facts->steps.median_ns), text_ms(&p, a->facts->steps.p95_ns));
    if (analysis_by_mean(a->facts))
        fprintf(f, ", %s on average with long steps, which this table describes",
                text_ms(&m, a->facts->step_ns));
    fprintf(f, "; %zu of %zu %s used.\n\n", a->facts->steps.used, a->facts->steps.count,
            scope_words(a->facts)->units);
    if (text_covers(&m, a))
        fprintf(f, "Careful: %s.\n\n", m.s);
    if (text_stacks(&m, a))
        fprintf(f, "Careful: %s.\n\n", m.s);
    if (text_profiler(&m, a))
        fprintf(f, "Careful: %s.\n\n", m.s);
    if (text_rate(&m, a))
        fprintf(f, "%s.\n\n", m.s);
    if (text_hardware(&m, a))
        fprintf(f, "Hardware: %s.\n\n", m.s);
    if (text_memory(&m, a))
        fprintf(f, "Memory: %s.\n\n", m.s);
    write_parts(a, f);
}

static void write_others(const struct advice *a, const struct export_options *o, enum verdict v,
                         const char *title, FILE *f)
{
    bool any = false;
    size_t gpu = v == RULE_CANNOT_TELL ? count_about_gpu(a, o) : 0;
    if (gpu)
        fprintf(f, "%zu rules check GPU work, and this run had none.\n\n", gpu);
    for (size_t i = 0; i < a->outcome_count; i++) {
        const struct outcome *x = shown_outcome(a, o, i, v);
        if (!x || outcome_wants_gpu(a->facts, x))
            continue;
        if (!any)
            fprintf(f, "<details><summary>%s</summary>\n\n", title);
        any = true;
        fprintf(f, "- `%s`: ", x->rule->id);
        markdown_text(f, x->why);
        fputc('\n', f);
    }
    if (any)
        fputs("\n</details>\n\n", f);
}

static void write_health(const struct advice *a, FILE *f)
{
    char unexplained[48] = "";
    struct text lost, overhead;
    if (!a->facts->on_cpu)
        snprintf(unexplained, sizeof unexplained, "unexplained %.1f %%; ",
                 a->facts->health.unexplained_pct);
    fprintf(f, "### Health\n\n%s; %sprofiler overhead %s.\n", text_lost(&lost, a), unexplained,
            text_overhead(&overhead, a));
    if (a->facts->health.recorded_text)
        markdown_printf(f, "\nRecorded: %s.\n", a->facts->health.recorded_text);
    for (size_t i = 0; i < a->facts->tl->health_count; i++) {
        if (a->facts->tl->healths[i].severity < 1)
            continue;
        fputs("\n- ", f);
        markdown_text(f, tl_text(a->facts->tl, a->facts->tl->healths[i].text));
    }
    fputc('\n', f);
}

static int markdown_analysis(const struct advice *a, const struct export_options *o, FILE *f,
                             struct err *e)
{
    struct text notice;
    fputs("## gpuprof: ", f);
    markdown_text(f, o->title ? o->title : o->source);
    fputs("\n\n", f);
    write_notice(f, text_virtual(&notice, a));
    if (text_ended(&notice, a))
        paragraph(f, "Ended", notice.s);
    paragraph(f, "Verdict", a->verdict);
    paragraph(f, "Why", a->why);
    paragraph(f, "Next", a->next);
    write_findings(a, o, f);
    write_breakdown(a, f);
    write_others(a, o, RULE_SUPPRESSED, "Present, but not worth changing now", f);
    write_others(a, o, RULE_CANNOT_TELL, "Cannot tell", f);
    write_others(a, o, RULE_SILENT, "Checked and fine", f);
    write_health(a, f);
    return export_done(f, e);
}

static void write_changes(const struct diff *d, const struct export_options *o, FILE *f)
{
    size_t n = o->top > 0 ? (size_t)o->top : 20;
    if (d->comparable)
        paragraph(f, "Careful", d->comparable);
    struct sentence advice;
    if (comparison_advice(&advice, d))
        paragraph(f, "Advice", advice.s);
    if (d->change_count == 0)
        return;
    fputs("| kind | what moved | base ms | new ms | change ms |\n|---|---|--:|--:|--:|\n", f);
    for (size_t i = 0; i < d->change_count && i < n; i++) {
        const struct change *c = &d->changes[i];
        if (!comparison_lists(c))
            continue;
        fprintf(f, "| %s | ", c->kind);
        markdown_text(f, change_words(c));
        fprintf(f, " | %.3f | %.3f | %+.3f |\n", (double)c->base_ns / 1e6, (double)c->new_ns / 1e6,
                (double)(c->new_ns - c->base_ns) / 1e6);
    }
}

static void write_notice_of(const struct export_options *o, FILE *f)
{
    struct text b;
    if (o->virtual_gpu)
        write_notice(f, text_virtual_name(&b, o->virtual_gpu));
}

/* No step repeats in either recording: one number each, without an interval. */
static void write_windows(const struct diff *d, FILE *f)
{
    struct text b, n;
    if (d->comparable) {
        fprintf(f, "%s and %s were recorded: not compared. Careful: ", text_ms(&b, d->base_ns),
                text_ms(&n, d->new_ns));
        markdown_text(f, d->comparable);
        fputs(".\n\n", f);
        return;
    }
    fprintf(f,
            "**%s -> %s** for the same work: %+.1f %%. No step repeats: each was measured once, "
            "and the interval is unknown.\n\n",
            text_ms(&b, d->base_ns), text_ms(&n, d->new_ns), (d->ratio - 1) * 100);
}

/* The step of both, with its interval. */
static void write_step(const struct diff *d, FILE *f)
{
    struct text b, n;
    fprintf(f, "**%s -> %s** per step (%s): %+.1f %%", text_ms(&b, d->base_ns),
            text_ms(&n, d->new_ns), d->by_mean ? "average" : "median", (d->ratio - 1) * 100);
    if (d->enough)
        fprintf(f, ", 95 %% interval %+.1f to %+.1f %%.\n\n", (d->ratio_low - 1) * 100,
                (d->ratio_high - 1) * 100);
    else
        fputs(". One side has too few steps: the interval is unknown.\n\n", f);
    if (d->enough && !d->by_mean)
        fprintf(f,
                "Mean step, long steps included: %s -> %s, %+.1f %%, 95 %% interval %+.1f to %+.1f "
                "%%.\n\n",
                text_ms(&b, d->pace.base_ns), text_ms(&n, d->pace.new_ns),
                (d->pace.ratio - 1) * 100, (d->pace.ratio_low - 1) * 100,
                (d->pace.ratio_high - 1) * 100);
}

static int markdown_diff(const struct diff *d, const struct export_options *o, FILE *f,
                         struct err *e)
{
    struct sentence said;
    fputs("## gpuprof: what moved\n\n", f);
    write_notice_of(o, f);
    if (comparison_says(&said, d)) {
        markdown_text(f, said.s);
        fputs("\n\n", f);
    }
    if (d->of_windows) {
        write_windows(d, f);
        if (!d->comparable)
            write_changes(d, o, f);
        return export_done(f, e);
    }
    if (d->base_ns <= 0 || d->new_ns <= 0) {
        fprintf(f, "Not compared: %s.\n", d->comparable);
        return export_done(f, e);
    }
    write_step(d, f);
    write_changes(d, o, f);
    return export_done(f, e);
}

/* Of what became slower: the advice that has grown most with its line, and the diff that makes it. */
static void write_slower(const struct diff *d, const struct export_options *o, FILE *f)
{
    const struct outcome *x = diff_grown(d);
    if (!x)
        return;
    const char *place = outcome_place(x);
    struct text saving;
    fputs("**Cause:** ", f);
    markdown_text(f, x->title);
    fprintf(f, " (`%s`)", x->rule->id);
    if (place)
        markdown_printf(f, ", at %s", place);
    fprintf(f, ". Saves %s: ", text_saving(&saving, d->now->facts, x));
    markdown_text(f, outcome_remedy(d->now->facts, x));
    fputs("\n\n", f);
    if (o->mend)
        markdown_code(f, "diff", o->mend);
}

static int markdown_gate(const struct gate *g, const struct export_options *o, FILE *f,
                         struct err *e)
{
    struct sentence said;
    fprintf(f, "## gpuprof gate: %s\n\n", comparison_verdict(g));
    if (comparison_gate(&said, g)) {
        markdown_text(f, said.s);
        fputs("\n\n", f);
    }
    write_notice_of(o, f);
    if (g->diff && !g->diff->comparable && !g->diff->of_windows && g->diff->base_ns > 0)
        write_step(g->diff, f);
    if (g->diff && g->verdict == GATE_SLOWER)
        write_slower(g->diff, o, f);
    fputs("| verdict | check | measured | allowed | why |\n|---|---|--:|--:|---|\n", f);
    for (size_t i = 0; i < g->check_count; i++) {
        const struct gate_check *c = &g->checks[i];
        struct text m, al;
        fprintf(f, "| %s | ", text_check_verdict(c));
        markdown_text(f, c->name);
        fprintf(f, " | %s | %s | ", *c->unit ? text_value(&m, c->measured, c->unit) : "",
                *c->unit ? text_value(&al, c->allowed, c->unit) : "");
        markdown_text(f, c->why);
        fputs(" |\n", f);
    }
    fputc('\n', f);
    if (g->diff)
        write_changes(g->diff, o, f);
    return export_done(f, e);
}

const struct exporter export_markdown = {
    .name = "markdown",
    .suffix = ".md",
    .help = "tables for a pull request or a job summary",
    .analysis = markdown_analysis,
    .diff = markdown_diff,
    .gate = markdown_gate,
};
