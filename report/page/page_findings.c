/* The findings of the page: evidence, remedy, how certain each is, and the rules that found
 * nothing. */
#include "report/page/page.h"
#include "report/page/xml.h"
#include "report/words/text.h"
#include "wire/python_owner.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void page_zoom_button(const struct page *p, int64_t start_ns, int64_t end_ns, uint32_t step,
                      const char *text)
{
    if (!p->events->has(p, step, start_ns))
        return;
    fprintf(p->f, "<button class=\"js zoom\" data-from=\"%lld\" data-to=\"%lld\"",
            (long long)start_ns, (long long)end_ns);
    if (step != TL_NONE)
        fprintf(p->f, " data-step=\"%u\"", step);
    page_put(p, ">%s</button>\n", text);
}

static void write_evidence(const struct page *p, const struct outcome *o)
{
    struct text v;
    const struct facts *f = p->a->facts;
    if (o->evidence_count == 0)
        return;
    page_put(p, "<h3>Evidence</h3>\n<table class=\"evidence\"><tbody>\n");
    for (size_t i = 0; i < o->evidence_count; i++) {
        const struct evidence *e = &o->evidence[i];
        page_put(p, "<tr><th scope=\"row\">%s%s%s</th><td>%s</td></tr>\n", e->text, evidence_gap(e),
                 evidence_scope(f, e), text_value(&v, e->value, e->unit));
    }
    page_put(p, "</tbody></table>\n");
    for (size_t i = 0; i < o->evidence_count; i++) {
        const struct evidence *e = &o->evidence[i];
        if (e->sql)
            page_put(p,
                     "<details class=\"sql\"><summary>query for the rows: "
                     "%s%s%s</summary><pre>%s</pre></details>\n",
                     e->text, evidence_gap(e), evidence_scope(f, e), e->sql);
    }
    if (o->example_count)
        page_put(p, "<p class=\"js dim\">Longest examples, on the timeline:</p>\n");
    for (size_t i = 0; i < o->example_count; i++) {
        const struct example *x = &o->examples[i];
        char label[320];
        snprintf(label, sizeof label, "%s: %.120s%s%.160s", text_time(&v, x->end_ns - x->start_ns),
                 x->text ? x->text : "", x->caller ? ", called from " : "",
                 x->caller ? x->caller : "");
        if (p->events->has(p, TL_NONE, x->start_ns))
            page_zoom_button(p, x->start_ns, x->end_ns, TL_NONE, label);
        else
            page_put(p, "<p class=\"js dim\">%s (its events are not on this page)</p>\n", label);
    }
}

/* The remedy in the words of the recorded framework; those of other frameworks are folded. */
static void write_remedy(const struct page *p, const struct outcome *o)
{
    const char *const *words = o->words;
    char others[64] = "";
    const struct facts *f = p->a->facts;
    enum framework own = dialect_framework(f);
    if (!words[own] || !*words[own])
        own = FRAMEWORK_PYTORCH;
    if (words[own])
        page_put(p, "<dl class=\"remedy\">\n<dt>%s</dt><dd>%s</dd>\n</dl>\n", dialect_name(f, own),
                 words[own]);
    for (int i = 0; i < FRAMEWORKS; i++)
        if (i != (int)own && words[i] && *words[i])
            snprintf(others + strlen(others), sizeof others - strlen(others), "%s%s",
                     *others ? ", " : "", dialect_name(f, i));
    if (!*others)
        return;
    page_put(p, "<details class=\"remedies\"><summary>For %s</summary>\n<dl class=\"remedy\">\n",
             others);
    for (int i = 0; i < FRAMEWORKS; i++)
        if (i != (int)own && words[i] && *words[i])
            page_put(p, "<dt>%s</dt><dd>%s</dd>\n", dialect_name(f, i), words[i]);
    page_put(p, "</dl></details>\n");
}

/* The source line that the finding names. */
static void write_source(const struct page *p, const struct outcome *o)
{
    const char *place = outcome_place(o);
    for (size_t i = 0; place && i < p->t->stack_count; i++) {
        const struct row_stack *s = &p->t->stacks[i];
        char here[512];
        int n = snprintf(here, sizeof here, "%.400s:%lld",
                         python_short_file(tl_text(p->t, s->file)), (long long)s->line);
        if (!s->source || strncmp(place, here, (size_t)n) != 0 || isdigit((unsigned char)place[n]))
            continue;
        page_put(p, "<pre>%s  %s</pre>\n", here, tl_text(p->t, s->source));
        return;
    }
}

static const char *how_sure(const struct outcome *o)
{
    if (o->upper_bound)
        return "The saving is an upper bound: the time that only this cause takes. Another "
               "bottleneck may take over part of it.";
    if (o->error_class == ERROR_STRUCTURAL)
        return "gpuprof predicted the saving by replaying the recorded steps without the cause.";
    if (o->error_class == ERROR_KERNEL_MODEL)
        return "gpuprof predicted the saving by replaying the steps with modelled kernel times.";
    return "The prediction is rough: only a rerun decides.";
}

static void write_finding(const struct page *p, const struct outcome *o, size_t rank)
{
    struct text saving;
    const struct facts *f = p->a->facts;
    double pct =
        percent_of(o->upper_bound ? o->saves_high_ns : o->saves_mid_ns, outcome_of_ns(f, o));
    const char *weight = pct >= 10 ? "large" : pct >= 3 ? "medium" : "small";
    fprintf(p->f, "<li><details id=\"finding%zu\" class=\"finding\"%s><summary>", rank + 1,
            rank == 0 ? " open" : "");
    page_put(p, "<span class=\"title\">%s</span> <span class=\"saves %s\">saves %s %s</span>",
             o->title, weight, text_saving(&saving, f, o), outcome_scope(f, o)->per);
    page_put(p, "</summary>\n<div class=\"inside\">\n");
    if (o->summary)
        page_put(p, "<p>%s</p>\n", o->summary);
    write_source(p, o);
    const struct kept_trial *kept = shown_trial(p->o, o);
    if (kept)
        page_put(p, "<p><b>Tried.</b> %s.</p>\n", text_trial(&saving, o, kept));
    if (text_widened(&saving, o))
        page_put(p, "<p class=\"dim\">Its %s.</p>\n", saving.s);
    write_evidence(p, o);
    page_put(p, "<h3>What to change</h3>\n");
    write_remedy(p, o);
    page_put(p, "<p class=\"dim\">%s Rule <code>%s</code>.", how_sure(o), o->rule->id);
    if (text_setting(&saving, p->a, o))
        page_put(p, " To measure the saving: <code>%s</code>.", saving.s);
    page_put(p, "</p>\n</div></details></li>\n");
}

static void write_others(const struct page *p, enum verdict v, const char *title)
{
    size_t n = 0, gpu = count_about_gpu(p->a, p->o);
    for (size_t i = 0; i < p->a->outcome_count; i++)
        n += shown_outcome(p->a, p->o, i, v) != NULL;
    if (v == RULE_CANNOT_TELL && gpu) {
        fprintf(p->f, "<p class=\"dim\">%zu rules check GPU work, and this run had none.</p>\n",
                gpu);
        n -= gpu;
    }
    if (n == 0)
        return;
    fprintf(p->f, "<details class=\"others\"><summary>%s (%zu)</summary>\n<ul>\n", title, n);
    for (size_t i = 0; i < p->a->outcome_count; i++) {
        const struct outcome *o = shown_outcome(p->a, p->o, i, v);
        if (o && !outcome_wants_gpu(p->a->facts, o))
            page_put(p, "<li><b>%s</b> <code>%s</code> %s</li>\n", o->title, o->rule->id,
                     o->why ? o->why : "");
    }
    page_put(p, "</ul></details>\n");
}

/* Trials of settings that no finding advises, or no longer advises. */
static void write_trials(const struct page *p)
{
    const struct kept_trial *k;
    struct text text;
    for (size_t i = 0; (k = other_trial(p->a, p->o, i)); i++)
        page_put(p, "<p><b>Tried.</b> %s.</p>\n", text_trial(&text, NULL, k));
}

void page_findings(const struct page *p)
{
    const struct outcome *o;
    page_put(p, "<section id=\"findings\"><h2>What to change</h2>\n");
    if (!shown_finding(p->a, p->o, 0))
        page_put(p, "<p>%s</p>\n", text_no_findings(p->a, false));
    else
        page_put(p, "<ol class=\"findings\">\n");
    for (size_t i = 0; (o = shown_finding(p->a, p->o, i)); i++)
        write_finding(p, o, i);
    if (shown_finding(p->a, p->o, 0))
        page_put(p, "</ol>\n");
    struct text order;
    if (p->a->ranked_count > 1)
        page_put(
            p,
            "<p class=\"dim\">%s The savings overlap: together, the changes save less than the "
            "sum.</p>\n",
            text_order(&order, p->a, p->o) ? order.s : "");
    write_trials(p);
    page_after(p);
    if (p->a->ranked_count && !p->a->whatif.trusted && p->a->whatif.why_not)
        page_put(p, "<p class=\"dim\">No predictions, %s.</p>\n", p->a->whatif.why_not);
    if (p->a->ranked_count && p->a->whatif.trusted && p->a->whatif.wider)
        page_put(p, "<p class=\"dim\">Wider intervals: %s.</p>\n", p->a->whatif.wider);
    write_others(p, RULE_SUPPRESSED, "Present, but not worth changing now");
    write_others(p, RULE_CANNOT_TELL, "Cannot tell");
    write_others(p, RULE_SILENT, "Checked and fine");
    page_put(p, "</section>\n");
}
