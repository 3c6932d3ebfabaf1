/* The terminal's text: first verdict, why and next; then what to change; then the parts of a step;
 * then what was checked and what cannot be decided; then whether the numbers are reliable. */
#include "report/export.h"
#include "report/terminal/term_parts.h"
#include "report/words/comparison.h"
#include "report/words/text.h"

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

static enum ink verdict_ink(const struct advice *a)
{
    return a->ranked_count ? INK_BAD : INK_GOOD;
}

/* A line for each kind of group, if ranks exchange data in several. */
static void write_groups(const struct terminal *t, const struct advice *a)
{
    const struct ranks *r = &a->facts->ranks;
    for (size_t i = 0; i < r->group_kinds && r->group_kinds > 1; i++) {
        const struct rank_group *g = &r->groups[i];
        struct text line, comm, wait;
        char ranks[32] = "several";
        if (g->ranks)
            snprintf(ranks, sizeof ranks, "%zu", g->ranks);
        snprintf(line.s, sizeof line.s,
                 "%.60s: %zu group%s of %s ranks (%.40s%s); per step and rank %s in %s, of that %s "
                 "waiting",
                 g->name ? g->name : "not named", g->groups, g->groups == 1 ? "" : "s", ranks,
                 g->members, g->groups > 1 ? "; ..." : "", text_ms(&comm, g->comm_ns),
                 g->pairs ? "sends and receives" : "collectives", text_ms(&wait, g->wait_ns));
        term_labelled(t, i ? "" : "Groups", INK_BOLD, line.s);
    }
}

/* " (...)" with the rank that all other numbers belong to; "" if unknown. */
static const char *whose(const struct facts *f, struct text *out)
{
    const struct ranks *r = &f->ranks;
    out->s[0] = '\0';
    for (size_t i = 0; i < r->count; i++)
        if (facts_of_rank(f, &r->at[i]))
            snprintf(out->s, sizeof out->s,
                     " (all numbers that name no rank are of rank %lld; --rank N: of another)",
                     (long long)r->at[i].rank);
    return out->s;
}

/* One line: which rank is late. */
static void write_ranks(const struct terminal *t, const struct advice *a)
{
    const struct ranks *r = &a->facts->ranks;
    int64_t step_ns = a->facts->step_ns;
    struct text line, m;
    if (r->count < 2)
        return;
    const struct rank_facts *late = &r->at[r->late];
    const char *left_out = r->left_out ? " (without the ranks that match no other)" : "";
    bool missing = a->facts->tl->missing_ranks > 0;
    const char *each = scope_words(a->facts)->per;
    if (r->group_size && r->group_ns * 200 >= step_ns)
        snprintf(
            line.s, sizeof line.s,
            "%zu ranks compared over %lld collectives; ranks %s are late together and keep the "
            "others waiting %s %s%s",
            r->count, (long long)r->collectives, r->group_text, text_ms(&m, r->group_ns), each,
            left_out);
    else if (late->late_ns * 200 < step_ns)
        snprintf(line.s, sizeof line.s,
                 "%zu ranks compared over %lld collectives; none %sis late%s", r->count,
                 (long long)r->collectives, missing ? "of them " : "", left_out);
    else
        snprintf(line.s, sizeof line.s,
                 "%zu ranks compared over %lld collectives; rank %lld arrives last in %lld of them "
                 "and keeps the others waiting %s %s%s",
                 r->count, (long long)r->collectives, (long long)late->rank,
                 (long long)late->late_count, text_ms(&m, late->late_ns), each, left_out);
    char all[2 * sizeof line.s];
    snprintf(all, sizeof all, "%s%s", line.s, whose(a->facts, &m));
    term_labelled(t, "Ranks", INK_BOLD, all);
    write_groups(t, a);
}

static void write_parts(const struct terminal *t, const struct advice *a)
{
    struct text m;
    int room = t->width - 58 > 40 ? 40 : t->width - 58, title = room < 0 ? 36 + room : 36;
    for (int i = 0; i < PART_COUNT; i++) {
        double pct = percent_of(a->facts->breakdown_ns[i], a->facts->step_ns);
        int bars = (int)(pct / 100 * room + 0.5);
        if (a->facts->breakdown_ns[i] < 500) /* would read as 0.00 ms */
            continue;
        fputs("  ", t->f);
        term_fit(t, analysis_part_title(a->facts, i), title, true);
        fprintf(t->f, " %9s %5.1f %%%s", text_ms(&m, a->facts->breakdown_ns[i]), pct,
                bars > 0 ? "  " : "");
        for (int c = 0; c < bars; c++)
            fputc(part_in(i, GPU_IDLE_PARTS | CPU_INPUT_PARTS) ? '.' : '#', t->f);
        fputc('\n', t->f);
    }
}

static void write_breakdown(const struct terminal *t, const struct advice *a, enum detail detail)
{
    struct text m, p, line;
    if (a->facts->steps.used == 0)
        return;
    char pace[48] = "";
    if (analysis_by_mean(a->facts))
        snprintf(pace, sizeof pace, ", %s on average%s", text_ms(&m, a->facts->steps.pace_ns),
                 a->facts->steps.slow ? " with long steps" : "");
    const char *source = a->facts->steps.source_text ? a->facts->steps.source_text : "";
    const struct scope_words *scope = scope_words(a->facts);
    if (analysis_of_window(a->facts))
        snprintf(line.s, sizeof line.s, "%s (%s)", text_ms(&m, a->facts->step_ns), source);
    else if (a->facts->steps.used == 1) /* one step has no spread */
        snprintf(line.s, sizeof line.s, "%s; 1 of %zu step%s used (%s)",
                 text_ms(&m, a->facts->steps.median_ns), a->facts->steps.count,
                 a->facts->steps.count == 1 ? "" : "s", source);
    else
        snprintf(line.s, sizeof line.s, "%s median, %s at p95%s; %zu of %zu %s used (%s)",
                 text_ms(&m, a->facts->steps.median_ns), text_ms(&p, a->facts->steps.p95_ns), pace,
                 a->facts->steps.used, a->facts->steps.count, scope->units, source);
    term_labelled(t, scope->label, INK_BOLD, line.s);
    if (text_covers(&line, a))
        term_labelled(t, "Careful", INK_WARN, line.s);
    if (text_stacks(&line, a))
        term_labelled(t, "Careful", INK_WARN, line.s);
    if (text_profiler(&line, a))
        term_labelled(t, "Careful", INK_WARN, line.s);
    if (a->facts->steps.doubt)
        term_labelled(t, "Careful", INK_WARN, a->facts->steps.doubt);
    if (a->facts->long_text)
        term_labelled(t, "Long", INK_BOLD, a->facts->long_text);
    if (text_rate(&line, a))
        term_labelled(t, "Rate", INK_BOLD, line.s);
    if (text_hardware(&line, a))
        term_labelled(t, "Hardware", INK_BOLD, line.s);
    if (text_memory(&line, a))
        term_labelled(t, "Memory", INK_BOLD, line.s);
    if (!text_has_parts(a)) {
        write_ranks(t, a);
        fputc('\n', t->f);
        return;
    }
    write_parts(t, a);
    term_lines(t, a, detail == DETAIL_ALL ? 10 : 3);
    write_ranks(t, a);
    fputc('\n', t->f);
}
/* What the critical path consists of, by class, and what each class is worth. A share alone would
 * mislead, since another path may be hardly shorter. */
static void write_path(const struct terminal *t, const struct whatif *w)
{
    char line[1024];
    size_t n = 0;
    for (int i = 0; i < PATH_CLASSES && n < sizeof line; i++) {
        struct text path, worth;
        if (w->path[i].path_ns * 200 < w->step_ns || w->step_ns == 0)
            continue;
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%s %s (worth %s)", n ? "; " : "",
                              path_title[i], text_ms(&path, w->path[i].path_ns),
                              text_ms(&worth, w->path[i].worth_ns));
    }
    if (n)
        term_labelled(t, "Path", INK_DIM, line);
}

static void write_health(const struct terminal *t, const struct advice *a, enum detail detail)
{
    struct text n, line, overhead;
    char unexplained[48] = "";
    if (a->facts->health.unexplained_pct >= 0.05)
        snprintf(unexplained, sizeof unexplained, "; unexplained %.1f %% %s",
                 a->facts->health.unexplained_pct, scope_words(a->facts)->of);
    snprintf(line.s, sizeof line.s, "%.100s%s; profiler overhead %s", text_lost(&n, a), unexplained,
             text_overhead(&overhead, a));
    term_labelled(t, "Health", a->facts->health.dropped ? INK_BAD : INK_DIM, line.s);
    if (a->facts->tl->op_count && text_replay(&line, &a->whatif))
        term_labelled(t, "Replay", a->whatif.trusted ? INK_DIM : INK_WARN, line.s);
    if (detail == DETAIL_ALL && a->facts->tl->op_count)
        write_path(t, &a->whatif);
    if (a->facts->health.recorded_text)
        term_labelled(t, "Recorded", INK_DIM, a->facts->health.recorded_text);
}

static void write_warnings(const struct terminal *t, const struct advice *a)
{
    for (size_t i = 0; i < a->facts->tl->health_count; i++)
        if (a->facts->tl->healths[i].severity > 0)
            term_labelled(t, "", INK_WARN, tl_text(a->facts->tl, a->facts->tl->healths[i].text));
}

static int term_analysis(const struct advice *a, const struct export_options *o, FILE *f,
                         struct err *e)
{
    struct terminal t = terminal_open(f, o->width, o->color);
    struct text notice;
    if (o->detail == DETAIL_BRIEF)
        return term_screen(&t, a, o, e) < 0 ? -1 : export_done(f, e);
    write_virtual(&t, text_virtual(&notice, a));
    if (text_ended(&notice, a))
        term_labelled(&t, "Ended", INK_BAD, notice.s);
    term_labelled(&t, "Verdict", verdict_ink(a), a->verdict);
    term_labelled(&t, "Why", INK_BOLD, a->why);
    term_labelled(&t, "Next", INK_BOLD, a->next);
    fputc('\n', f);
    term_findings(&t, a, o);
    write_breakdown(&t, a, o->detail);
    term_others(&t, a, o);
    write_health(&t, a, o->detail);
    write_warnings(&t, a);
    return export_done(f, e);
}

/* No step repeats in either recording: one number each, without an interval. */
static void write_windows_head(const struct terminal *t, const struct diff *d)
{
    struct text b, n, line;
    if (d->comparable)
        snprintf(line.s, sizeof line.s, "%s and %s were recorded: not compared",
                 text_ms(&b, d->base_ns), text_ms(&n, d->new_ns));
    else
        snprintf(line.s, sizeof line.s, "%s -> %s for the same work: %+.1f %%, interval unknown",
                 text_ms(&b, d->base_ns), text_ms(&n, d->new_ns), (d->ratio - 1) * 100);
    term_labelled(t, "Window", INK_BOLD, line.s);
    term_labelled(t, "Careful", INK_WARN,
                  d->comparable ? d->comparable
                                : "no step repeats: each was measured once, which chance may move");
}

static void write_diff_head(const struct terminal *t, const struct diff *d)
{
    struct text b, n, line;
    if (d->of_windows) {
        write_windows_head(t, d);
        return;
    }
    if (d->base_ns <= 0 || d->new_ns <= 0) {
        term_labelled(t, "Step", INK_BOLD, "not compared");
        term_labelled(t, "Careful", INK_WARN, d->comparable);
        return;
    }
    char within[64];
    snprintf(within, sizeof within, "95 %% interval %+.1f to %+.1f %%", (d->ratio_low - 1) * 100,
             (d->ratio_high - 1) * 100);
    snprintf(line.s, sizeof line.s, "%s -> %s per step (%s): %+.1f %%%s, %s",
             text_ms(&b, d->base_ns), text_ms(&n, d->new_ns), d->by_mean ? "average" : "median",
             (d->ratio - 1) * 100, d->per_sample ? " per sample" : "",
             d->enough ? within : "interval unknown");
    enum ink ink = !d->enough          ? INK_BOLD
                   : d->ratio_low > 1  ? INK_BAD
                   : d->ratio_high < 1 ? INK_GOOD
                                       : INK_BOLD;
    term_labelled(t, "Step", ink, line.s);
    if (d->enough && !d->by_mean) {
        const struct pace_change *p = &d->pace;
        snprintf(line.s, sizeof line.s,
                 "%s -> %s per mean step, long steps included: %+.1f %%, 95 %% interval %+.1f to "
                 "%+.1f %%",
                 text_ms(&b, p->base_ns), text_ms(&n, p->new_ns), (p->ratio - 1) * 100,
                 (p->ratio_low - 1) * 100, (p->ratio_high - 1) * 100);
        term_labelled(t, "Pace", INK_BOLD, line.s);
    }
    if (d->comparable)
        term_labelled(t, "Careful", INK_WARN, d->comparable);
    if (!d->enough)
        term_labelled(t, "Careful", INK_WARN, "too few steps on one side");
}

static void write_changes(const struct terminal *t, const struct diff *d, int top)
{
    struct sentence advice;
    size_t n = 0, left = top > 0 ? (size_t)top : d->change_count;
    for (size_t i = 0; i < d->change_count; i++)
        n += comparison_lists(&d->changes[i]);
    if (d->change_count == 0 || (d->of_windows && d->comparable))
        return;
    if (comparison_advice(&advice, d))
        term_labelled(t, "Advice", INK_BOLD, advice.s);
    if (n == 0)
        return;
    int what = t->width - 46 < 12 ? 12 : t->width - 46;
    term_ink(t, INK_BOLD);
    fprintf(t->f, "\n%-8s  %-*s %10s %10s %10s\n", "kind", what, "what moved", "base", "new",
            "change");
    term_ink(t, INK_PLAIN);
    for (size_t i = 0; i < d->change_count && left > 0; i++) {
        const struct change *c = &d->changes[i];
        struct text b, w, m;
        if (!comparison_lists(c))
            continue;
        left--;
        fprintf(t->f, "%-8s  ", c->kind);
        term_fit(t, change_words(c), what, true);
        fprintf(t->f, " %10s %10s %10s\n", text_ms(&b, c->base_ns), text_ms(&w, c->new_ns),
                text_change(&m, c->new_ns - c->base_ns));
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
    struct sentence said;
    notice_of(&t, o);
    if (comparison_says(&said, d))
        term_wrap(&t, 0, 0, said.s);
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
        char line[512];
        term_ink(&t, inks[c->verdict]);
        fprintf(f, "%-12s ", text_check_verdict(c));
        term_ink(&t, INK_PLAIN);
        int n = snprintf(line, sizeof line, "%s", c->name);
        if (*c->unit && n > 0 && (size_t)n < sizeof line)
            n += snprintf(line + n, sizeof line - (size_t)n, ": measured %s, allowed %s",
                          text_value(&m, c->measured, c->unit),
                          text_value(&al, c->allowed, c->unit));
        if (c->low < c->high && n > 0 && (size_t)n < sizeof line)
            snprintf(line + n, sizeof line - (size_t)n, ", interval %s to %s",
                     text_value(&low, c->low, c->unit), text_value(&high, c->high, c->unit));
        term_wrap(&t, 13, 13, line);
        if (c->why) {
            fprintf(f, "%13s", "");
            term_wrap(&t, 13, 13, c->why);
        }
    }
    if (g->diff)
        write_changes(&t, g->diff, o->top ? o->top : 10);
    fputc('\n', f);
    struct sentence said;
    char whole[sizeof said.s + 32];
    snprintf(whole, sizeof whole, "%s. %s", comparison_verdict(g),
             comparison_gate(&said, g) ? said.s : "");
    term_labelled(&t, "Gate", inks[g->verdict], whole);
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
