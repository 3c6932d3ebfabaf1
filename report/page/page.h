/* Parts of the HTML page, each one section. The page is whole without JavaScript: verdict, numbers,
 * findings and tables are markup; the script adds sorting, choosing a step and the timeline. */
#ifndef GPUPROF_REPORT_PAGE_PAGE_H
#define GPUPROF_REPORT_PAGE_PAGE_H

#include "report/export.h"

struct data; /* behind the timeline */
struct page;

/* What the rest of the page asks of the events on it. report/page/events/ chooses them. */
struct page_events {
    /* Are the events of a step there, or without one (TL_NONE) those around a moment? */
    bool (*has)(const struct page *p, uint32_t step, int64_t start_ns);
    /* The op that is a kernel's longest call, else the longest on the page; TL_NONE: none is. */
    uint32_t (*longest)(const struct page *p, const struct kernel_total *k);
    uint32_t (*step_of)(const struct page *p, uint32_t op); /* TL_NONE */
};

struct page {
    FILE *f;
    struct data *data;
    const struct page_events *events;
    const struct advice *a;
    const struct timeline *t;
    const struct export_options *o;
    const bool *several_gpus; /* by process: streams of more than one GPU have work */
};

/* Markup from a literal format whose %s arguments are escaped; fprintf(p->f, ...) for numbers. */
#define page_put(p, ...) xml_printf((p)->f, __VA_ARGS__)

void page_findings(const struct page *p);
void page_after(const struct page *p);     /* a step with one change after the other */
void page_breakdown(const struct page *p); /* bars: where the median, p95 and worst step go */
void page_steps(const struct page *p);     /* the strip */
void page_strip(const struct page *p, double most_ns);      /* its bars, within an open plot */
void page_strip_tops(const struct page *p, double most_ns); /* lengths of those that are cut */
void page_outliers(const struct page *p);                   /* what the long ones have more of */
void page_timeline(const struct page *p);                   /* what the canvas needs around it */
bool page_has_curves(const struct page *p);
void page_curves(const struct page *p); /* sampled: utilisation, memory, clock, power */
void page_idle(const struct page *p);
void page_kernels(const struct page *p);
void page_treemap(const struct page *p);   /* of the kernels, within their section */
void page_operators(const struct page *p); /* nothing without ranges around launches */
bool page_has_lines(const struct page *p);
void page_lines(const struct page *p); /* time by line of the user's Python, as graphs */
void page_copies(const struct page *p);
/* page_cpu.c: the numbers on top of the page, and the ranks, of a run without a GPU */
void page_cpu_numbers(const struct page *p);
void page_cpu_ranks(const struct page *p);
void page_host(const struct page *p);
void page_threads(const struct page *p); /* within it; nothing without samples */
void page_about(const struct page *p);

/* What the lists show: rows of the table of kernels, the longest gaps, the longest steps. */
enum { PAGE_KERNELS = 150, PAGE_GAPS = 20, PAGE_OUTLIERS = 4 };
/* Indices of the longest ones that stand out, how many of them; *all: how many there are. */
size_t page_long_steps(const struct advice *a, size_t shown[PAGE_OUTLIERS], size_t *all);
/* Gaps of used steps, the longest first; malloc'ed, NULL without memory. */
const struct gap **page_longest_gaps(const struct page *p, size_t *n);

/* A name that is shortened in its middle where it finds no room; `full`, or NULL for the same, is
 * what the pointer and the clipboard get. */
void page_name(const struct page *p, const char *shown, const char *full);
const char *page_during(const struct page *p, const struct gap *g); /* "" where nothing says it */

/* A button that shows a span of a step, or of one that is looked for (TL_NONE), on the timeline;
 * hidden without JavaScript. Nothing where its events are not on the page. */
void page_zoom_button(const struct page *p, int64_t start_ns, int64_t end_ns, uint32_t step,
                      const char *text);

/* Index of the used step nearest to this quantile of the used ones by length; TL_NONE without. */
uint32_t page_step_at(const struct advice *a, double quantile);

#endif
