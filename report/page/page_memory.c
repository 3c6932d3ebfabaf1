/* The memory that a framework's allocator gave out: what it is for, as the hook recorded it; and, of
 * recordings that have each piece, a curve over the recording, and who holds it at the peak. */
#include "analyzer/facts/allocations.h"
#include "analyzer/facts/memory.h"
#include "report/page/page.h"
#include "report/page/svg.h"
#include "report/page/xml.h"
#include "report/words/text.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS = 800 };

bool page_has_memory(const struct page *p)
{
    return p->a->facts->allocations || facts_memory(p->a->facts).known;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When pieces are no longer recorded: the hook reads them once, often before the program ends. */
static int64_t pieces_end_ns(const struct timeline *t)
{
    int64_t end_ns = t->end_ns;
    for (size_t i = 0; i < t->range_count; i++)
        if (strcmp(tl_text(t, t->ranges[i].name), "gpuprof.memory") == 0 &&
            t->ranges[i].start_ns < end_ns)
            end_ns = t->ranges[i].start_ns;
    return end_ns;
}

/* The part of the recording that a time lies in. */
static size_t point_of(const struct timeline *t, int64_t ns)
{
    double share = (double)(ns - t->start_ns) / (double)(t->end_ns - t->start_ns);
    return share <= 0 ? 0 : share < 1 ? (size_t)(share * POINTS) : POINTS - 1;
}

/* The most that is in use in each part of the recording; what no piece changes stays. Returns how
 * many parts that is known of. */
static size_t collect(const struct page *p, int64_t most[POINTS])
{
    const struct facts *f = p->a->facts;
    const struct timeline *t = p->t;
    struct in_use u = {0};
    int64_t bytes, last = -1;
    size_t at = 0, known = point_of(t, pieces_end_ns(t)) + 1;
    for (size_t i = 0; i < t->allocation_count && t->end_ns > t->start_ns; i++) {
        const struct row_allocation *r = &t->allocations[i];
        if (!in_use_add(f, r, &u, &bytes))
            continue;
        size_t k = point_of(t, r->time_ns);
        if (last < 0)
            last = r->in_use_bytes >= 0 ? bytes - r->bytes : 0;
        for (; at < k; at++)
            most[at] = larger(most[at], last);
        most[k] = larger(most[k], larger(last, bytes));
        last = bytes;
    }
    for (; at < known; at++)
        most[at] = larger(most[at], last);
    return known;
}

static void write_curve(const struct page *p, const int64_t most[POINTS], size_t known)
{
    const struct allocations *a = p->a->facts->allocations;
    struct text peak, top;
    char label[120];
    double ceiling = svg_nice(1.05 * (double)a->peak_bytes);
    snprintf(label, sizeof label, "memory in use: highest %.60s", text_bytes(&peak, a->peak_bytes));
    page_put(p, "<figure><figcaption>%s</figcaption><div class=\"plot\"><span class=\"ytop\">%s",
             label, text_bytes(&top, (int64_t)ceiling));
    page_put(p, "</span>");
    svg_open(p->f, 1000, 100, "curve", label);
    page_band(p);
    fputs("<path d=\"", p->f);
    for (size_t k = 0; k < known; k++)
        fprintf(p->f, "%s%.5g %.4g", k ? "L" : "M", 1000 * ((double)k + 0.5) / POINTS,
                100 - 100 * (double)most[k] / ceiling);
    fputs("\"/>", p->f);
    svg_close(p->f);
    page_put(p, "<span class=\"xfrom\">0</span><span class=\"xto\">%s</span></div></figure>\n",
             text_time(&top, p->t->end_ns - p->t->start_ns));
}

static void write_row(const struct page *p, const char *name, const char *line, int64_t bytes,
                      int64_t pieces)
{
    struct text b;
    page_put(p, "<tr><th scope=\"row\" class=\"name\">%s</th><td class=\"l\">%s</td>", name, line);
    fprintf(p->f, "<td data-v=\"%lld\">", (long long)bytes);
    page_put(p, "%s</td>", text_bytes(&b, bytes));
    fprintf(p->f, "<td data-v=\"%.9g\">%.1f</td>",
            100 * (double)bytes / (double)p->a->facts->allocations->peak_bytes,
            100 * (double)bytes / (double)p->a->facts->allocations->peak_bytes);
    fprintf(p->f, "<td data-v=\"%lld\">", (long long)pieces);
    if (pieces)
        fprintf(p->f, "%lld", (long long)pieces);
    page_put(p, "</td></tr>\n");
}

static void write_holders(const struct page *p)
{
    const struct allocations *a = p->a->facts->allocations;
    char line[300];
    page_put(p, "<div class=\"scroll\"><table class=\"data sortable\" id=\"holders\"><caption>Who "
                "asked for what is in use at the peak: the outermost operator, and the line of the "
                "program that asked or, where that is not recorded, from which its thread launched "
                "then</caption><thead><tr><th "
                "scope=\"col\" class=\"l\">operator</th><th scope=\"col\" class=\"l\">line</th>"
                "<th scope=\"col\">bytes</th><th scope=\"col\">%% of the peak</th><th "
                "scope=\"col\">pieces</th></tr></thead><tbody>\n");
    if (a->before_bytes > 0)
        write_row(p, "before the recording", "", a->before_bytes, 0);
    for (size_t i = 0; i < a->holder_count; i++) {
        const struct holder *h = &a->holders[i];
        write_row(p,
                  h->name   ? h->name
                  : h->line ? ""
                            : "outside of operators",
                  h->line ? timeline_line_text(p->t, h->line, line, sizeof line) : "", h->bytes,
                  h->pieces);
    }
    if (a->others_bytes > 0)
        write_row(p, "others", "", a->others_bytes, 0);
    page_put(p, "</tbody></table></div>\n");
}

static void write_kind(const struct page *p, const char *what, int64_t bytes, int64_t total,
                       const char *class)
{
    struct text b;
    double share = percent_of(bytes, total);
    page_put(p, "<tr><th scope=\"row\">%s</th><td>%s</td>", what, text_bytes(&b, bytes));
    fprintf(p->f,
            "<td class=\"dim\">%.1f %%</td><td class=\"left\"><i class=\"%s\" "
            "style=\"width:%.2f%%\"></i></td></tr>\n",
            share, class, share < 100 ? share : 100);
}

/* What the hook recorded: kinds of memory at the peak. Gradients may be there after the peak only,
 * so the kinds need not sum to it. */
static void write_kinds(const struct page *p)
{
    struct memory_use m = facts_memory(p->a->facts);
    struct text line;
    text_memory(&line, p->a);
    page_put(p, "<p>%s.</p>\n", line.s);
    page_put(p, "<table class=\"after\" id=\"kinds\"><caption>Memory of PyTorch's allocator in the "
                "first 30 steps, and its share of the GPU's</caption><tbody>\n");
    write_kind(p, "in use at the peak", m.peak, m.total, "p6");
    write_kind(p, "weights", m.weights, m.total, "p0");
    write_kind(p, "their gradients", m.gradients, m.total, "p0");
    write_kind(p, "optimizer", m.optimizer, m.total, "p0");
    write_kind(p, "kept for backward", m.activations, m.total, "p0");
    if (m.reserved > 0)
        write_kind(p, "held by the allocator", m.reserved, m.total, "p6");
    write_kind(p, "what the process can get", m.available, m.total, "p8");
    page_put(
        p, "</tbody></table>\n<p class=\"dim\">Gradients may be there after the peak only.%s</p>\n",
        p->a->facts->allocations
            ? ""
            : " <code>gpuprof run --memory</code> records the lines that hold the memory.");
}

static void write_pieces(const struct page *p)
{
    const struct allocations *a = p->a->facts->allocations;
    int64_t *most = calloc(POINTS, sizeof *most);
    struct text line;
    page_put(p, "<p>%s",
             text_memory_has_kinds(p->a->facts) ? "The lines that asked for it are below"
                                                : text_pieces(&line, p->a->facts));
    if (a->step != TL_NONE)
        fprintf(p->f, ". The peak lies in step %lld",
                (long long)facts_step_number(p->a->facts, a->step));
    page_put(p, ".</p>\n");
    if (most) {
        size_t known = collect(p, most);
        page_put(p, "<div class=\"curves\">\n");
        write_curve(p, most, known);
        page_put(p, "</div>\n");
    }
    free(most);
    write_holders(p);
}

void page_memory(const struct page *p)
{
    page_put(p, "<section id=\"memory\"><h2>Memory</h2>\n");
    if (text_memory_has_kinds(p->a->facts))
        write_kinds(p);
    if (p->a->facts->allocations)
        write_pieces(p);
    page_put(p, "</section>\n");
}
