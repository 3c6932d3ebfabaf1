/* The record of the decisions, for a pull request or a log of changes (try.h). */
#include "cli/try/try.h"

#include "report/page/xml.h"
#include "report/words/text.h"

#include <stdio.h>
#include <string.h>

static const char *name_of(const struct tried *c)
{
    return c->together ? "all together" : *c->title ? c->title : c->settings;
}

static void write_row(size_t number, const struct tried *c, FILE *f)
{
    char predicted[48], measured[48];
    fprintf(f, "| %zu | ", number);
    if (*c->rule)
        markdown_printf(f, "`%s`: ", c->rule);
    markdown_text(f, name_of(c));
    fprintf(f, " | %s | %s | ", trial_predicted(predicted, c), trial_measured(measured, c));
    if (c->result.a_ns)
        fprintf(f, "%.2f -> %.2f", (double)c->result.a_ns / 1e6, (double)c->result.b_ns / 1e6);
    fprintf(f, " | %s | %s |\n", losses_verdict_text[c->computes.verdict],
            trial_decision[trial_kept(c)]);
}

static void write_change(size_t number, const struct trial *t, const struct tried *c, FILE *f)
{
    char losses[TRY_TEXT], judged[TRY_TEXT];
    fprintf(f, "### %zu. ", number);
    markdown_printf(f, "%s: %s\n\nIt is %s, because %s (%s). ", name_of(c),
                    trial_decision[trial_kept(c)], trial_decision[trial_kept(c)], trial_decides(c),
                    trial_judged(judged, c));
    if (c->refused)
        markdown_printf(f, "What it said: %s", c->refusal);
    else {
        fprintf(f, "Runs: %zu without, %zu with the change. ", t->without.count, c->arm.count);
        markdown_printf(f, "Losses: %s.", trial_losses_text(t, &c->computes, losses));
    }
    fputs("\n\n", f);
    if (c->diff)
        markdown_code(f, "diff", c->diff);
}

void series_markdown(const struct series *s, FILE *f)
{
    struct text b;
    size_t number = 0, kept = 0;
    for (size_t k = 0; k < s->count; k++)
        for (size_t i = 0; i < s->at[k].count; i++, number++)
            kept += trial_kept(&s->at[k].change[i]);
    fprintf(f, "## gpuprof try: %zu of %zu change%s kept\n\n", kept, number,
            number == 1 ? "" : "s");
    if (*s->at->gpu)
        markdown_printf(f, "> **%s**\n\n", text_virtual_name(&b, s->at->gpu));
    if (s->kept)
        fprintf(f,
                "What was kept saves **%.1f %%** of the step (the measured savings, one on top of "
                "another).\n\n",
                100 * series_saved(s));
    if (*s->ended)
        markdown_printf(f, "It ended: %s.\n\n", s->ended);
    fputs("| | finding | predicted (80 %) | measured (95 %) | step ms | losses | decision |\n"
          "|--:|---|---|---|--:|---|---|\n",
          f);
    for (size_t k = number = 0; k < s->count; k++)
        for (size_t i = 0; i < s->at[k].count; i++)
            write_row(++number, &s->at[k].change[i], f);
    fputc('\n', f);
    for (size_t k = number = 0; k < s->count; k++)
        for (size_t i = 0; i < s->at[k].count; i++)
            write_change(++number, &s->at[k], &s->at[k].change[i], f);
}
