/* Parts of the HTML page, each one section. The page is complete without JavaScript: verdict,
 * numbers, findings and tables are markup. The script adds sorting, choosing a step, and the
 * timeline. */
#ifndef GPUPROF_REPORT_PAGE_PAGE_H
#define GPUPROF_REPORT_PAGE_PAGE_H

#include "report/export.h"

struct data; /* the timeline's data */
struct page;

/* Questions of the other sections about the events on the page. report/page/events/ chooses these
 * events. */
struct page_events {
    /* Are the events of a step on the page? Without a step (TL_NONE): those around a moment? */
    bool (*has)(const struct page *p, uint32_t step, int64_t start_ns);
    /* The op that is a kernel's longest call; if that is not on the page, its longest call on the
     * page; TL_NONE: none is. */
    uint32_t (*longest)(const struct page *p, const struct kernel_total *k);
    uint32_t (*step_of)(const struct page *p, uint32_t op); /* TL_NONE: none */
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

/* Writes markup from a literal format, and escapes its %s arguments. Use fprintf(p->f, ...) for
 * numbers. */
#define page_put(p, ...) xml_printf((p)->f, __VA_ARGS__)

void page_findings(const struct page *p);
void page_after(const struct page *p);     /* the step after one change after another */
void page_breakdown(const struct page *p); /* bars: the parts of the median, p95 and longest step */
void page_steps(const struct page *p);     /* the strip */
void page_strip_open(const struct page *p); /* its element, which the script makes a slider */
void page_strip(const struct page *p, double most_ns); /* the strip's bars, within an open plot */
void page_strip_tops(const struct page *p, double most_ns); /* lengths of the bars that are cut */
void page_outliers(const struct page *p);                   /* what the long steps have more of */
void page_timeline(const struct page *p);                   /* the elements around the canvas */
bool page_has_curves(const struct page *p);
void page_curves(const struct page *p); /* sampled: utilisation, memory, clock, power */
void page_memory(const struct page *p); /* pieces that an allocator gave out */
bool page_has_memory(const struct page *p);
/* In a plot of 1000 x 100 over the recording: marks the span of the used steps, so that start-up is
 * not taken for them. */
void page_band(const struct page *p);
void page_idle(const struct page *p);
void page_kernels(const struct page *p);
void page_treemap(const struct page *p);   /* of the kernels, within their section */
void page_operators(const struct page *p); /* nothing without ranges around launches */
bool page_has_lines(const struct page *p);
void page_lines(const struct page *p); /* time by line of the user's Python, as graphs */
void page_copies(const struct page *p);
/* page_cpu.c: for a run without a GPU, the numbers on top of the page, and the ranks. */
void page_cpu_numbers(const struct page *p);
void page_cpu_ranks(const struct page *p);
void page_host(const struct page *p);
void page_threads(const struct page *p); /* within page_host; nothing without samples */
void page_about(const struct page *p);

/* Lengths of the lists: rows of the table of kernels, longest gaps, longest steps. */
enum { PAGE_KERNELS = 150, PAGE_GAPS = 20, PAGE_OUTLIERS = 4 };
/* Fills `shown` with the indices of the longest steps that stand out, and returns how many. *all:
 * how many stand out in all. */
size_t page_long_steps(const struct advice *a, size_t shown[PAGE_OUTLIERS], size_t *all);
/* Gaps of used steps, the longest first; malloc'ed, NULL without memory. */
const struct gap **page_longest_gaps(const struct page *p, size_t *n);

/* Writes a name that is shortened in its middle if there is no room. The tooltip and the clipboard
 * get `full`; NULL: the same name. */
void page_name(const struct page *p, const char *shown, const char *full);
const char *page_during(const struct page *p, const struct gap *g); /* "" if unknown */

/* A button that shows a span of a step on the timeline; step TL_NONE: the script finds the step.
 * Hidden without JavaScript. Writes nothing if the events are not on the page. */
void page_zoom_button(const struct page *p, int64_t start_ns, int64_t end_ns, uint32_t step,
                      const char *text);

/* Steps of the run, recorded or not, as the recorded ones are numbered. */
int64_t page_run_steps(const struct advice *a);
/* Of the strip, at least so much belongs to the recorded steps, however few they are. */
#define PAGE_STRIP_RECORDED 0.6

/* Index of the used step whose length is nearest to this quantile; TL_NONE without used steps. */
uint32_t page_step_at(const struct advice *a, double quantile);

#endif
