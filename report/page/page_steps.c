/* The parts of a step (bars), all steps (strip), and the GPU's idle times (histogram, list). */
#include "report/page/page.h"
#include "report/page/svg.h"
#include "report/page/xml.h"
#include "report/words/text.h"

#include <math.h>
#include <stdlib.h>

static int64_t length(const struct step *s)
{
    return s->to_ns - s->from_ns;
}

uint32_t page_step_at(const struct advice *a, double quantile)
{
    int64_t want = quantile >= 1    ? a->facts->steps.max_ns
                   : quantile > 0.5 ? a->facts->steps.p95_ns
                                    : a->facts->step_ns;
    uint32_t best = TL_NONE;
    for (size_t i = 0; i < a->facts->steps.count; i++) {
        const struct step *s = &a->facts->steps.at[i];
        if (!s->used)
            continue;
        if (best == TL_NONE ||
            llabs(length(s) - want) < llabs(length(&a->facts->steps.at[best]) - want))
            best = (uint32_t)i;
    }
    return best;
}

/* One bar. Its segments are percentages of its own step; `scale` is the bar's share of the
 * width. */
static void write_bar(const struct page *p, const char *label, const int64_t *parts,
                      int64_t total_ns, double scale)
{
    struct text m;
    page_put(p,
             "<div class=\"barrow\"><span class=\"barlabel\">%s</span><span class=\"bartime\">%s",
             label, text_ms(&m, total_ns));
    page_put(p, "</span><div class=\"bar\" role=\"img\" aria-label=\"%s:", label);
    for (int i = 0; i < PART_COUNT; i++)
        if (parts[i] > 0)
            page_put(p, " %s %s,", analysis_part_title(p->a->facts, i), text_ms(&m, parts[i]));
    fprintf(p->f, "\" style=\"width:%.2f%%\">", scale * 100);
    for (int i = 0; i < PART_COUNT; i++) {
        double pct = percent_of(parts[i], total_ns);
        if (parts[i] <= 0)
            continue;
        fprintf(p->f, "<i class=\"p%d\" style=\"width:%.3f%%\" title=\"", i, pct);
        page_put(p, "%s: %s\">", analysis_part_title(p->a->facts, i), text_ms(&m, parts[i]));
        if (pct * scale >= 9)
            fprintf(p->f, "<b>%.0f %%</b>", pct);
        page_put(p, "</i>");
    }
    page_put(p, "</div></div>\n");
}

static void write_legend(const struct page *p)
{
    struct text ms;
    page_put(p, "<ul class=\"legend\">\n");
    for (int i = 0; i < PART_COUNT; i++) {
        if (p->a->facts->breakdown_ns[i] < 500) /* would read as 0.00 ms */
            continue;
        fprintf(p->f, "<li><i class=\"swatch p%d\"></i>", i);
        page_put(p, "<span>%s</span>", analysis_part_title(p->a->facts, i));
        fprintf(p->f, "<b>%s</b><em>%.1f %%</em></li>\n",
                text_ms(&ms, p->a->facts->breakdown_ns[i]),
                percent_of(p->a->facts->breakdown_ns[i], p->a->facts->step_ns));
    }
    page_put(p, "</ul>\n");
}

void page_breakdown(const struct page *p)
{
    const char *word = scope_words(p->a->facts)->unit;
    char label[32];
    bool window = analysis_of_window(p->a->facts);
    snprintf(label, sizeof label, "%s %s",
             window                          ? "recorded"
             : analysis_by_mean(p->a->facts) ? "average"
                                             : "median",
             word);
    page_put(p, "<section id=\"breakdown\"><h2>Where %s %s goes</h2>\n", window ? "the" : "a",
             word);
    write_bar(p, label, p->a->facts->breakdown_ns, p->a->facts->step_ns, 1);
    write_legend(p);
    struct text line;
    if (text_hardware(&line, p->a))
        page_put(p, "<p class=\"dim\">Hardware: %s.</p>\n", line.s);
    if (text_memory(&line, p->a))
        page_put(p, "<p class=\"dim\">Memory: %s.</p>\n", line.s);
    page_put(p, "</section>\n");
}

/* Bars for other steps on the same scale, and room for the chosen one. */
static void write_other_bars(const struct page *p)
{
    const struct steps *s = &p->a->facts->steps;
    uint32_t p95 = page_step_at(p->a, 0.95), worst = page_step_at(p->a, 1);
    if (p95 == TL_NONE || worst == TL_NONE || !p->a->facts->step_parts || s->used < 2 ||
        !text_has_parts(p->a))
        return;
    double most = fmax((double)length(&s->at[worst]), (double)p->a->facts->step_ns);
    write_bar(p, analysis_by_mean(p->a->facts) ? "average" : "median", p->a->facts->breakdown_ns,
              p->a->facts->step_ns, (double)p->a->facts->step_ns / most);
    write_bar(p, "p95", p->a->facts->step_parts[p95], length(&s->at[p95]),
              (double)length(&s->at[p95]) / most);
    write_bar(p, "longest", p->a->facts->step_parts[worst], length(&s->at[worst]),
              (double)length(&s->at[worst]) / most);
    fprintf(p->f, "<div id=\"chosenbar\" data-most=\"%.0f\"></div>\n", most);
}

void page_steps(const struct page *p)
{
    const struct steps *s = &p->a->facts->steps;
    struct text m, top, q;
    char label[300];
    double most = svg_nice(1.15 * (double)(s->used ? s->max_ns : length(&s->at[0])));
    if (s->used && most > 4 * (double)s->p95_ns)
        most = svg_nice(2 * (double)s->p95_ns);
    snprintf(label, sizeof label, "%zu %s, %zu used; median %s, p95 %s", s->count,
             scope_units(scope_words(p->a->facts), s->count), s->used, text_ms(&m, s->median_ns),
             text_ms(&q, s->p95_ns));
    page_put(p, "<section id=\"steps\"><h2>Every %s</h2>\n<p class=\"dim\">%s. Source: %s.",
             scope_words(p->a->facts)->unit, label, s->source_text ? s->source_text : "");
    page_put(
        p, analysis_by_mean(p->a->facts)
               ? " The median excludes the pale bars; the average includes long steps that "
                 "recur.</p>\n"
               : " All numbers exclude the pale bars (warm-up, outliers, incomplete steps).</p>\n");
    if (s->doubt)
        page_put(p, "<p>Careful: %s.</p>\n", s->doubt);
    if (p->a->facts->step_parts && text_has_parts(p->a))
        page_put(p, "<p class=\"dim\">Colours as under \"Where a %s goes\".</p>\n",
                 scope_words(p->a->facts)->unit);
    int64_t unrecorded = page_run_steps(p->a) - (int64_t)s->count;
    if (unrecorded > 0)
        page_put(p,
                 "<p class=\"dim\">Hatched, and narrower: %s steps of the run of which only the "
                 "times were recorded; dark up to their mean, pale up to the longest.</p>\n",
                 text_count(&q, unrecorded));
    page_put(p, "<div class=\"plot\"><span class=\"ytop\">%s</span>",
             text_time(&top, (int64_t)most));
    page_strip_tops(p, most);
    page_strip_open(p);
    svg_open(p->f, 1000, 100, "strip", label);
    page_strip(p, most);
    if (s->used)
        svg_line(p->f, "median", 0, 100 - 100 * fmin(1, (double)s->median_ns / most), 1000,
                 100 - 100 * fmin(1, (double)s->median_ns / most));
    svg_close(p->f);
    fprintf(p->f,
            "</div><span class=\"xfrom\">step %lld</span><span class=\"xto\">step %lld</span>",
            (long long)1, (long long)page_run_steps(p->a));
    page_put(p, "</div>\n");
    page_outliers(p);
    write_other_bars(p);
    page_put(p, "</section>\n");
}

enum { BINS = 12 }; /* 1 us .. 4 s by factors of 4 */

static int bin_of(int64_t ns)
{
    int b = 0;
    for (int64_t limit = 4000; ns >= limit && b < BINS - 1; limit *= 4)
        b++;
    return b;
}

static void write_histogram(const struct page *p)
{
    int64_t ns[BINS][PART_COUNT] = {{0}}, total[BINS] = {0}, most = 0;
    for (size_t i = 0; i < p->a->facts->gap_count; i++) {
        const struct gap *g = &p->a->facts->gaps[i];
        int b = bin_of(g->end_ns - g->start_ns);
        for (int part = 0; part < PART_COUNT; part++)
            ns[b][part] += gap_ns(p->a->facts, g, (enum part)part);
        total[b] += g->end_ns - g->start_ns;
        most = total[b] > most ? total[b] : most;
    }
    if (most == 0)
        return;
    struct text top;
    page_put(p, "<div class=\"plot\"><span class=\"ytop\">tallest bar %s</span>",
             text_time(&top, most));
    svg_open(p->f, BINS * 10, 100, "histogram",
             "Idle time of the GPU by length of the gap; the table below has the longest");
    for (int b = 0; b < BINS; b++) {
        double y = 100;
        for (int i = 0; i < PART_COUNT; i++) {
            double h = 100 * (double)ns[b][i] / (double)most;
            char class[8];
            if (ns[b][i] == 0)
                continue;
            snprintf(class, sizeof class, "p%d", i);
            svg_rect(p->f, class, b * 10 + 0.5, y - h, 9, h);
            y -= h;
        }
    }
    svg_close(p->f);
    page_put(p, "<div class=\"bins\" aria-hidden=\"true\">");
    int64_t low = 0, high = 4000;
    for (int b = 0; b < BINS; b++, low = high, high *= 4) {
        struct text t;
        page_put(p, "<span>%s</span>", b == 0 ? "0" : text_time(&t, low));
    }
    page_put(p, "</div></div>\n");
}

static int longest_first(const void *a, const void *b)
{
    const struct gap *x = *(const struct gap *const *)a, *y = *(const struct gap *const *)b;
    int64_t lx = x->end_ns - x->start_ns, ly = y->end_ns - y->start_ns;
    return lx != ly ? (lx > ly ? -1 : 1) : x->start_ns < y->start_ns ? -1 : 1;
}

static void write_gap(const struct page *p, const struct gap *g)
{
    struct text m;
    page_put(p, "<tr><td>%s</td>", text_time(&m, g->end_ns - g->start_ns));
    fprintf(p->f, "<td><i class=\"swatch p%d\"></i>", g->part);
    page_put(p, "%s</td><td class=\"name\">", part_title[g->part]);
    page_name(p, page_during(p, g), NULL);
    page_put(p, "</td><td class=\"name\">");
    if (g->before_op != TL_NONE) {
        const struct op *op = &p->t->ops[g->before_op];
        page_name(p, tl_text(p->t, op->name), tl_text(p->t, op->full_name));
    }
    page_put(p, "</td>");
    if (analysis_of_window(p->a->facts))
        page_put(p, "<td>");
    else if (g->step != TL_NONE)
        fprintf(p->f, "<td>%lld</td><td>", (long long)facts_step_number(p->a->facts, g->step));
    else
        page_put(p, "<td></td><td>");
    page_zoom_button(p, g->start_ns, g->end_ns, g->step, "show");
    page_put(p, "</td></tr>\n");
}

const struct gap **page_longest_gaps(const struct page *p, size_t *n)
{
    const struct facts *f = p->a->facts;
    const struct gap **order = malloc((f->gap_count + 1) * sizeof *order);
    *n = 0;
    for (size_t i = 0; order && i < f->gap_count; i++)
        if (f->gaps[i].step != TL_NONE && f->steps.at[f->gaps[i].step].used)
            order[(*n)++] = &f->gaps[i];
    if (order)
        qsort(order, *n, sizeof *order, longest_first);
    return order;
}

void page_idle(const struct page *p)
{
    struct text t;
    size_t n;
    const struct gap **order = page_longest_gaps(p, &n);
    page_put(p, "<section id=\"idle\"><h2>When the GPU idles</h2>\n");
    if (n == 0) {
        page_put(p, "<p>Every gap in the analysed time is shorter than %s.</p></section>\n",
                 text_time(&t, GAP_LISTED_NS));
        free(order);
        return;
    }
    page_put(p,
             "<p class=\"dim\">Idle time of %s by the length of the gap, coloured "
             "by cause. It shows whether many short gaps or a few long ones cost the most.</p>\n",
             p->a->facts->window_count ? "what was recorded" : "the whole recording");
    write_histogram(p);
    page_put(p, "<div class=\"scroll tall\" role=\"region\" tabindex=\"0\" aria-label=\"Longest "
                "gaps\"><table class=\"data\"><caption>Longest gaps in the analysed "
                "time</caption><thead><tr><th>length</th><th class=\"l\">cause</th><th "
                "class=\"l\">during</th><th class=\"l\">ended by</th>");
    if (!analysis_of_window(p->a->facts))
        page_put(p, "<th>step</th>");
    page_put(p, "<th>where</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < n && i < PAGE_GAPS; i++)
        write_gap(p, order[i]);
    page_put(p, "</tbody></table></div></section>\n");
    free(order);
}
