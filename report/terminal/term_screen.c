/* The answer on one screen of 80 columns and 24 lines: the verdict, the three best findings with
 * what each saves and the line to change, and what to type next. `analyze -v` shows everything
 * else. */
#include "report/terminal/term_parts.h"
#include "report/words/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    FINDINGS = 3,
    LINES = 22, /* besides the profile's name above and a prompt below */
    LEVELS = 4  /* levels of detail: if one does not fit, the next one prints less */
};

/* Number of findings with only a bound, which no sum contains. */
static size_t bounds_left_out(const struct advice *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->ranked_count; i++)
        n += a->ranked[i]->upper_bound;
    for (size_t i = 0; i < a->stack_count && n > 0; i++)
        n -= a->stack[i].outcome->upper_bound;
    return n;
}

/* How fast the program becomes with the predicted changes, and what that leaves out. */
static void write_possible(const struct terminal *t, const struct advice *a)
{
    struct text from, to;
    char line[256], gain[40];
    if (a->stack_count == 0)
        return;
    int64_t step_ns = a->facts->step_ns, then_ns = a->stack[a->stack_count - 1].step_ns;
    if (then_ns <= 0 || then_ns * 100 > step_ns * 99)
        return;
    double times = (double)step_ns / (double)then_ns;
    if (times < 1.2)
        snprintf(gain, sizeof gain, "%.0f %% shorter", 100 - 100 / times);
    else
        snprintf(gain, sizeof gain, "%.1f times as fast", times);
    size_t left = bounds_left_out(a);
    int n = snprintf(line, sizeof line, "%.60s -> %.60s %s, %s, with %zu change%s",
                     text_ms(&from, step_ns), text_ms(&to, then_ns), scope_words(a->facts)->per,
                     gain, a->stack_count, a->stack_count == 1 ? "" : "s");
    if (left && n > 0 && (size_t)n < sizeof line)
        snprintf(line + n, sizeof line - (size_t)n, "; %zu \"up to\" left out", left);
    term_labelled(t, "Possible", INK_BOLD, line);
}

static void write_step(const struct terminal *t, const struct advice *a)
{
    const struct steps *s = &a->facts->steps;
    struct text median, late, line;
    if (s->used == 0)
        return;
    if (analysis_of_window(a->facts))
        snprintf(line.s, sizeof line.s, "%.60s (no step repeats)",
                 text_ms(&median, a->facts->step_ns));
    else if (s->used == 1)
        snprintf(line.s, sizeof line.s, "%.60s; 1 of %zu used", text_ms(&median, s->median_ns),
                 s->count);
    else
        snprintf(line.s, sizeof line.s, "%.60s median, %.60s at p95; %zu of %zu used",
                 text_ms(&median, s->median_ns), text_ms(&late, s->p95_ns), s->used, s->count);
    term_labelled(t, scope_words(a->facts)->label, INK_BOLD, line.s);
    if (text_rate(&line, a))
        term_labelled(t, "Rate", INK_BOLD, line.s);
}

static size_t write_rows(const struct terminal *t, const struct advice *a,
                         const struct export_options *o, int level)
{
    size_t most = o->top > 0 && o->top < FINDINGS ? (size_t)o->top : FINDINGS, i = 0;
    const struct outcome *x = shown_finding(a, o, 0);
    if (!x) {
        bool blind = advice_blind(a);
        if (blind || a->ranked_count) /* there are findings, but none that the options want */
            fprintf(t->f, "%s\n", text_no_findings(a, false));
        if (blind || !a->ranked_count)
            term_labelled(t, "Next", INK_BOLD, a->next);
        return 0;
    }
    term_head(t, a);
    for (; i < most && (x = shown_finding(a, o, i)); i++) {
        term_title(t, a, x, i + 1);
        fputs("    ", t->f);
        term_wrap_most(t, 4, 4, outcome_remedy(a->facts, x), level < 2 ? 2 : 1);
    }
    return i;
}

/* Why a larger number stands below a smaller one, among the findings on the screen. */
static void write_order(const struct terminal *t, const struct advice *a,
                        const struct export_options *o)
{
    struct export_options first = *o;
    struct text order;
    if (first.top == 0 || first.top > FINDINGS)
        first.top = FINDINGS;
    if (text_order(&order, a, &first))
        term_wrap(t, 0, 0, order.s);
}

/* What makes the numbers above less certain than a reader would think. */
static void write_doubts(const struct terminal *t, const struct advice *a, int level)
{
    struct text lost;
    char line[512];
    if (text_covers(&lost, a))
        term_labelled(t, "Careful", INK_WARN, lost.s);
    if (text_stacks(&lost, a))
        term_labelled(t, "Careful", INK_WARN, lost.s);
    if (text_profiler(&lost, a))
        term_labelled(t, "Careful", INK_WARN, lost.s);
    if (a->facts->health.unseen_text)
        term_labelled(t, "Careful", INK_WARN, a->facts->health.unseen_text);
    if (a->facts->steps.doubt)
        term_labelled(t, "Careful", INK_WARN, a->facts->steps.doubt);
    if (a->facts->health.dropped)
        term_labelled(t, "Careful", INK_BAD, text_lost(&lost, a));
    if (!a->whatif.trusted && a->whatif.why_not && a->ranked_count) {
        snprintf(line, sizeof line, "no predictions, %s", a->whatif.why_not);
        term_labelled(t, "Careful", INK_WARN, line);
    }
    for (size_t i = 0; i < a->facts->tl->health_count; i++)
        if (a->facts->tl->healths[i].severity > 0) {
            term_ink(t, INK_WARN);
            fprintf(t->f, "%-9s", "Careful");
            term_ink(t, INK_PLAIN);
            term_wrap_most(t, 9, 9, tl_text(a->facts->tl, a->facts->tl->healths[i].text),
                           level < 1 ? 4 : 2);
        }
}

/* A command to type, with its purpose beside it if that fits. */
static void write_command(const struct terminal *t, const char *label, const char *command,
                          const char *why)
{
    char line[PATH_MAX + 128];
    size_t n = (size_t)snprintf(line, sizeof line, "%s", command);
    if (n < sizeof line && 9 + n + 3 + strlen(why) <= (size_t)t->width)
        snprintf(line + n, sizeof line - n, "  (%s)", why);
    term_labelled(t, label, *label ? INK_BOLD : INK_DIM, line);
}

/* Does the advice name a line of a Python file, which `gpuprof fix` may be able to change? */
static bool of_python(const struct outcome *x)
{
    const char *place = x->remedy.object.place;
    return place && strstr(place, ".py:") && !strchr(place, '/');
}

static void write_next(const struct terminal *t, const struct advice *a,
                       const struct export_options *o, size_t shown)
{
    char line[PATH_MAX + 64], why[64];
    struct text setting;
    const char *try = NULL;
    size_t more = a->ranked_count - shown;
    const char *file = o->source ? o->source : o->title;
    snprintf(line, sizeof line, "gpuprof analyze -v %s", file);
    snprintf(why, sizeof why, "%zu more, and all evidence", more);
    write_command(t, "Then", line, more ? why : "all evidence");
    snprintf(line, sizeof line, "gpuprof report %s", file);
    write_command(t, "", line, "the page");
    for (size_t i = 0; i < shown && !try; i++)
        try = text_setting(&setting, a, shown_finding(a, o, i));
    if (try)
        write_command(t, "", try, "measures it");
    for (size_t i = 0; i < shown; i++)
        if (of_python(shown_finding(a, o, i))) {
            snprintf(line, sizeof line, "gpuprof fix %s", file);
            write_command(t, "", line, "the change as a diff");
            break;
        }
}

static void write_screen(const struct terminal *t, const struct advice *a,
                         const struct export_options *o, int level)
{
    struct text line;
    if (text_virtual(&line, a)) {
        term_ink(t, INK_WARN);
        term_wrap(t, 0, 0, line.s);
        term_ink(t, INK_PLAIN);
    }
    if (text_ended(&line, a))
        term_labelled(t, "Ended", INK_BAD, line.s);
    term_labelled(t, "Verdict", a->ranked_count ? INK_BAD : INK_GOOD, a->verdict);
    if (level < 2)
        term_labelled(t, "Why", INK_BOLD, a->why);
    if (level < 3)
        write_step(t, a);
    if (a->facts->health.recorded_short)
        term_labelled(t, "Recorded", INK_BOLD, a->facts->health.recorded_short);
    write_possible(t, a);
    if (level < 1 && text_groups(&line, a))
        term_labelled(t, "In all", INK_BOLD, line.s);
    fputc('\n', t->f);
    size_t shown = write_rows(t, a, o, level);
    write_order(t, a, o);
    fputc('\n', t->f);
    write_doubts(t, a, level);
    write_next(t, a, o, shown);
}

static int lines_of(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

int term_screen(const struct terminal *t, const struct advice *a, const struct export_options *o,
                struct err *e)
{
    for (int level = 0; level < LEVELS; level++) {
        char *text = NULL;
        size_t n = 0;
        struct terminal in_memory = *t;
        in_memory.f = open_memstream(&text, &n);
        if (!in_memory.f)
            return err_set(e, "out of memory");
        write_screen(&in_memory, a, o, level);
        bool whole = fclose(in_memory.f) == 0;
        bool last = level == LEVELS - 1 || (whole && lines_of(text) <= LINES);
        if (whole && last)
            fputs(text, t->f);
        free(text);
        if (!whole)
            return err_set(e, "out of memory");
        if (last)
            break;
    }
    return 0;
}
