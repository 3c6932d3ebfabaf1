/* What to change, as a table for a terminal: title and saving in columns, evidence and remedy
 * below. */
#include "report/terminal/term_parts.h"
#include "report/words/text.h"

#include <string.h>

#define SAVING_COLUMNS 36 /* "0.955 ms (62.4 %), 0.938 to 0.972 ms" */

static void write_evidence(const struct terminal *t, const struct facts *f, const struct outcome *o)
{
    char line[1024];
    size_t n = 0;
    line[0] = 0;
    for (size_t i = 0; i < o->evidence_count && n < sizeof line; i++) {
        struct text v;
        const struct evidence *e = &o->evidence[i];
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%s%s%s: %s", n ? "; " : "", e->text,
                              evidence_gap(e), evidence_scope(f, e),
                              text_value(&v, e->value, e->unit));
    }
    if (o->evidence_count == 0)
        return;
    fputs("    ", t->f);
    term_ink(t, INK_DIM);
    term_wrap(t, 4, 4, line);
    term_ink(t, INK_PLAIN);
}

/* Where to read more, and how to measure the advice. */
static void write_more(const struct terminal *t, const struct advice *a, const struct outcome *x)
{
    struct text setting;
    const char *try = text_setting(&setting, a, x);
    fputs("    ", t->f);
    term_ink(t, INK_DIM);
    int n = fprintf(t->f, "gpuprof explain %s", x->rule->id);
    if (try)
        fprintf(t->f, "%s%s", 4 + n + 2 + (int)strlen(try) > t->width ? "\n    " : "  ", try);
    fputc('\n', t->f);
    term_ink(t, INK_PLAIN);
}

/* Columns for titles; 0: the terminal is too narrow for the savings beside them. */
static int title_columns(const struct terminal *t)
{
    int room = t->width - 6 - SAVING_COLUMNS;
    return room < 24 ? 0 : room > 60 ? 60 : room;
}

void term_head(const struct terminal *t, const struct advice *a)
{
    int title = title_columns(t);
    term_ink(t, INK_BOLD);
    if (title)
        fprintf(t->f, " #  %-*s  saves %s\n", title, "what to change", scope_words(a->facts)->per);
    else
        fprintf(t->f, " #  what to change, and what it saves %s\n", scope_words(a->facts)->per);
    term_ink(t, INK_PLAIN);
}

void term_title(const struct terminal *t, const struct advice *a, const struct outcome *x,
                size_t number)
{
    struct text saving;
    int title = title_columns(t);
    fprintf(t->f, "%2zu  ", number);
    term_ink(t, INK_BOLD);
    const char *rest = term_cell(t, x->title, title ? title : t->width - 4);
    term_ink(t, INK_PLAIN);
    fprintf(t->f, title ? "  %s\n" : "\n    saves %s\n", text_saving(&saving, a->facts, x));
    if (!*rest)
        return;
    fputs("    ", t->f);
    term_ink(t, INK_BOLD);
    term_wrap(t, 4, 4, rest);
    term_ink(t, INK_PLAIN);
}

static void write_finding(const struct terminal *t, const struct advice *a,
                          const struct export_options *o, const struct outcome *x)
{
    struct text text;
    if (x->summary) {
        fputs("    ", t->f);
        term_wrap(t, 4, 4, x->summary);
    }
    if (o->detail == DETAIL_ALL || o->rule)
        write_evidence(t, a->facts, x);
    fputs("    try: ", t->f);
    term_wrap(t, 9, 9, outcome_remedy(a->facts, x));
    const struct kept_trial *kept = shown_trial(o, x);
    if (kept) {
        fputs("    tried: ", t->f);
        term_wrap(t, 11, 11, text_trial(&text, x, kept));
    }
    if ((o->detail == DETAIL_ALL || o->rule) && text_interval(&text, a, x)) {
        fputs("    ", t->f);
        term_wrap(t, 4, 4, text.s);
    }
    if (text_widened(&text, x)) {
        fputs("    ", t->f);
        term_wrap(t, 4, 4, text.s);
    }
    write_more(t, a, x);
}

static void write_together(const struct terminal *t, const struct advice *a,
                           const struct export_options *o)
{
    char line[1024];
    struct text from, to;
    if (a->stack_count > 1) {
        size_t n = (size_t)snprintf(line, sizeof line, "Applied in this order: %s",
                                    text_ms(&from, a->facts->step_ns));
        for (size_t i = 0; i < a->stack_count && n < sizeof line; i++)
            n += (size_t)snprintf(line + n, sizeof line - n, " -> %s (%s)",
                                  text_ms(&to, a->stack[i].step_ns), a->stack[i].outcome->rule->id);
        term_wrap(t, 0, 4, line);
    }
    if (text_order(&to, a, o))
        term_wrap(t, 0, 0, to.s);
    if (a->ranked_count > 1 && a->stack_count < 2)
        term_wrap(t, 0, 0, "The savings overlap: together, the changes save less than the sum.");
}

/* Trials of settings that no finding advises, or no longer advises. */
static void write_trials(const struct terminal *t, const struct advice *a,
                         const struct export_options *o)
{
    const struct kept_trial *k;
    struct text text;
    for (size_t i = 0; !o->rule && (k = other_trial(a, o, i)); i++) {
        fputs("Tried ", t->f);
        term_wrap(t, 6, 6, text_trial(&text, NULL, k));
    }
}

/* Notes about all findings. */
static void write_about(const struct terminal *t, const struct advice *a,
                        const struct export_options *o, size_t shown)
{
    const struct whatif *w = &a->whatif;
    size_t more = a->ranked_count - shown;
    char line[512];
    if (o->rule)
        return;
    if (a->ranked_count > 1 || !w->trusted)
        fputc('\n', t->f);
    write_together(t, a, o);
    const char *about = w->trusted ? w->wider : w->why_not;
    if (about) {
        snprintf(line, sizeof line, "%s %s.", w->trusted ? "Wider intervals:" : "No predictions,",
                 about);
        term_wrap(t, 0, 0, line);
    }
    if (more)
        fprintf(t->f, "%zu finding%s more.\n", more, more == 1 ? "" : "s");
}

void term_findings(const struct terminal *t, const struct advice *a, const struct export_options *o)
{
    const struct outcome *x = shown_finding(a, o, 0);
    if (!x) {
        fprintf(t->f, "%s\n\n", text_no_findings(a, o->rule));
        write_trials(t, a, o);
        return;
    }
    size_t i = 0;
    term_head(t, a);
    for (; (x = shown_finding(a, o, i)); i++) {
        term_title(t, a, x, i + 1);
        write_finding(t, a, o, x);
    }
    write_about(t, a, o, i);
    write_trials(t, a, o);
    fputc('\n', t->f);
}
