/* Tables: kernels, copies, host calls. Every number is per used step unless its heading says
 * otherwise. */
#include "report/page/page.h"

#include "analyzer/timeline/classify.h"
#include "report/page/xml.h"
#include "report/words/text.h"

#include <stdlib.h>

static double steps_of(const struct page *p)
{
    return p->a->facts->steps.used ? (double)p->a->facts->steps.used : 1;
}

static void head(const struct page *p, const char *text, bool left)
{
    fprintf(p->f, "<th scope=\"col\"%s>", left ? " class=\"l\"" : "");
    page_put(p, "%s</th>", text);
}

/* A cell that is sorted by `v`, whatever its text. */
static void number(const struct page *p, double v, const char *text)
{
    fprintf(p->f, "<td data-v=\"%.9g\">", v);
    page_put(p, "%s</td>", text);
}

static void plain(const struct page *p, double v, const char *format)
{
    char text[48];
    snprintf(text, sizeof text, format, v); /* all formats are literals in this file */
    number(p, v, text);
}

/* What the numbers of a table are about. */
static const char *caption(const struct page *p)
{
    return analysis_of_window(p->a->facts) ? "in all that was recorded" : "per used step";
}

static void whole(const struct page *p, int64_t n)
{
    struct text t;
    number(p, (double)n, text_count(&t, n));
}

static void per_step(const struct page *p, double n)
{
    struct text t;
    number(p, n, text_mean_count(&t, n));
}

/* Blocks or threads; 0: not recorded, as for a CUDA graph. */
static void whole_or_none(const struct page *p, int64_t n)
{
    if (n > 0)
        whole(p, n);
    else
        number(p, 0, "-");
}

static void write_kernel(const struct page *p, const struct kernel_total *k)
{
    struct text t;
    const struct op *op = &p->t->ops[k->longest];
    double n = steps_of(p);
    page_put(p, "<tr><th scope=\"row\" class=\"name\" title=\"%s\">", tl_text(p->t, op->full_name));
    page_name(p, tl_text(p->t, k->name), tl_text(p->t, op->full_name));
    page_put(p, "</th><td class=\"l\">%s", family_text(k->class.family));
    page_put(p, k->class.tensor == TRI_YES ? ", tensor cores</td>" : "</td>");
    per_step(p, (double)k->count / n);
    plain(p, (double)facts_per_step(p->a->facts, k->total_ns) / 1e6, "%.3f");
    plain(p, percent_of(k->total_ns, p->a->facts->totals.kernel_ns), "%.1f %%");
    number(p, (double)k->total_ns / (double)k->count, text_time(&t, k->total_ns / k->count));
    number(p, (double)k->max_ns, text_time(&t, k->max_ns));
    if (k->sized_ns > 0)
        plain(p, 100 * k->peak_ns / (double)k->sized_ns, "%.0f %%");
    else
        number(p, 0, "-");
    whole_or_none(p, (int64_t)op->grid[0] * op->grid[1] * op->grid[2]);
    whole_or_none(p, (int64_t)op->block[0] * op->block[1] * op->block[2]);
    page_put(p, "<td>");
    uint32_t shown = p->events->longest(p, k);
    if (shown != TL_NONE)
        page_zoom_button(p, p->t->ops[shown].start_ns, p->t->ops[shown].end_ns,
                         p->events->step_of(p, shown), "show");
    page_put(p, "</td></tr>\n");
}

void page_kernels(const struct page *p)
{
    enum { SHOWN = PAGE_KERNELS };
    const struct totals *t = &p->a->facts->totals;
    page_put(p, "<section id=\"kernels\"><h2>Kernels</h2>\n");
    page_treemap(p);
    page_put(p,
             "<p class=\"js\"><label>Filter "
             "<input type=\"search\" id=\"kernelfilter\" placeholder=\"part of a name\">"
             "</label> <span id=\"kernelcount\" role=\"status\"></span></p>\n"
             "<div class=\"scroll tall\" role=\"region\" tabindex=\"0\" aria-label=\"Kernels\">"
             "<table class=\"data sortable\" id=\"kerneltable\">"
             "<caption>%s</caption><thead><tr>",
             caption(p));
    head(p, "kernel", true);
    head(p, "kind", true);
    head(p, "calls", false);
    head(p, "ms", false);
    head(p, "share", false);
    head(p, "mean", false);
    head(p, "longest", false);
    head(p, "of peak", false);
    head(p, "blocks", false);
    head(p, "threads", false);
    page_put(p, "<th>where</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < t->kernel_count && i < SHOWN; i++)
        if (t->kernels[i].count > 0)
            write_kernel(p, &t->kernels[i]);
    page_put(p, "</tbody></table></div>\n");
    if (t->kernel_count > SHOWN)
        fprintf(p->f,
                "<p class=\"dim\">The table shows the %d that take the most time; %zu more take "
                "less.</p>\n",
                SHOWN, t->kernel_count - SHOWN);
    page_put(p, "</section>\n");
}

void page_copies(const struct page *p)
{
    const struct totals *t = &p->a->facts->totals;
    double n = steps_of(p);
    page_put(p,
             "<section id=\"copies\"><h2>Copies</h2>\n<div class=\"scroll\">"
             "<table class=\"data sortable\"><caption>%s</caption><thead><tr>",
             caption(p));
    head(p, "way", true);
    head(p, "calls", false);
    head(p, "bytes", false);
    head(p, "ms", false);
    head(p, "GB/s", false);
    head(p, "overlapped with kernels", false);
    head(p, "blocks the host, ms", false);
    page_put(p, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < t->copy_count; i++) {
        const struct copy_total *c = &t->copies[i];
        struct text b;
        page_put(p, "<tr><th scope=\"row\" class=\"name\">%s</th>", text_copy(&b, c));
        per_step(p, (double)c->count / n);
        number(p, (double)c->bytes, text_bytes(&b, (int64_t)((double)c->bytes / n)));
        plain(p, (double)facts_per_step(p->a->facts, c->total_ns) / 1e6, "%.3f");
        plain(p, c->total_ns ? (double)c->bytes / (double)c->total_ns : 0, "%.2f");
        plain(p, c->total_ns ? 100 - percent_of(c->exposed_ns, c->total_ns) : 0, "%.0f %%");
        plain(p, (double)facts_per_step(p->a->facts, c->host_blocked_ns) / 1e6, "%.3f");
        page_put(p, "</tr>\n");
    }
    page_put(p, "</tbody></table></div></section>\n");
}

static void fact(const struct page *p, const char *name, const char *value)
{
    page_put(p, "<dt>%s</dt><dd>%s</dd>\n", name, value);
}

static void write_host_facts(const struct page *p)
{
    const struct host_facts *h = &p->a->facts->host;
    struct text b;
    char text[32];
    page_put(p, "<dl class=\"facts\">\n");
    if (h->usable_cores > 0) {
        snprintf(text, sizeof text, "%d", h->usable_cores);
        fact(p, "usable CPU cores", text);
    }
    if (h->loader_workers >= 0) {
        snprintf(text, sizeof text, "%d", h->loader_workers);
        fact(p, "data-loading workers", h->loader_workers ? text : "none: the training thread");
    }
    if (h->fetch_ns > 0)
        fact(p, "time to make one batch", text_time(&b, h->fetch_ns));
    if (h->fetch_cpu_ns > 0)
        fact(p, "CPU time to make one batch", text_time(&b, h->fetch_cpu_ns));
    if (h->wait_ns > 0) {
        snprintf(text, sizeof text, "waiting for data%s", scope_words(p->a->facts)->per_of);
        fact(p, text, text_time(&b, h->wait_ns));
    }
    const char *memory = timeline_meta(p->t, "cgroup_memory_bytes");
    const char *quota = timeline_meta(p->t, "cgroup_cpu_quota");
    if (quota)
        fact(p, "CPU limit of the container, in cores", quota);
    if (memory)
        fact(p, "memory limit of the container", text_bytes(&b, atoll(memory)));
    page_put(p, "</dl>\n");
}

void page_host(const struct page *p)
{
    enum { SHOWN = 30 };
    const struct totals *t = &p->a->facts->totals;
    double n = steps_of(p);
    page_put(p, "<section id=\"host\"><h2>Host</h2>\n");
    write_host_facts(p);
    if (t->api_count) {
        page_put(
            p,
            "<div class=\"scroll tall\" role=\"region\" tabindex=\"0\" aria-label=\"CUDA calls\">"
            "<table class=\"data sortable\"><caption>CUDA calls: %s</caption><thead><tr>",
            caption(p));
        head(p, "call", true);
        head(p, "calls", false);
        head(p, "ms", false);
        head(p, "mean", false);
        head(p, "longest", false);
        page_put(p, "</tr></thead><tbody>\n");
    }
    for (size_t i = 0; i < t->api_count && i < SHOWN; i++) {
        const struct api_total *x = &t->apis[i];
        struct text b;
        page_put(p, "<tr><th scope=\"row\" class=\"name\">");
        page_name(p, tl_text(p->t, x->name), NULL);
        page_put(p, "</th>");
        per_step(p, (double)x->count / n);
        plain(p, (double)facts_per_step(p->a->facts, x->total_ns) / 1e6, "%.3f");
        int64_t mean = x->count ? x->total_ns / x->count : 0;
        number(p, (double)mean, text_time(&b, mean));
        number(p, (double)x->max_ns, text_time(&b, x->max_ns));
        page_put(p, "</tr>\n");
    }
    if (t->api_count)
        page_put(p, "</tbody></table></div>\n");
    page_threads(p);
    page_put(p, "</section>\n");
}
