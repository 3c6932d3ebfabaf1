/* The page: one HTML file that needs no network. It can be read without JavaScript, in print, and
 * by a screen reader. The data of the timeline come last, so that the text stands first. */
#include "report/page/events/page_data.h"
#include "report/page/page.h"
#include "report/page/ranks/page_ranks.h"
#include "report/page/work_tree.h"
#include "report/page/xml.h"
#include "report/words/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const char asset_report_css[], asset_common_js[], asset_timeline_js[],
    asset_timeline_draw_js[], asset_timeline_find_js[], asset_timeline_input_js[],
    asset_timeline_after_js[], asset_minimap_js[], asset_unrecorded_js[], asset_outline_js[],
    asset_tables_js[], asset_heat_js[], asset_flame_js[], asset_details_js[], asset_report_js[];

/* default-src 'none' forbids every request; the page needs only its own script and style. */
static const char policy[] = "default-src 'none'; script-src 'unsafe-inline'; "
                             "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
                             "form-action 'none'";

static void write_top(const struct page *p)
{
    const char *title = p->o->title ? p->o->title : "profile";
    page_put(p,
             "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n"
             "<meta name=\"generator\" content=\"gpuprof " GPUPROF_VERSION "\">\n"
             "<title>%s - gpuprof</title>\n<style>\n",
             policy, title);
    fputs(asset_report_css, p->f);
    page_put(p, "</style>\n</head>\n<body>\n");
}

static void write_date(const struct page *p)
{
    const char *text = timeline_meta(p->t, "start_realtime_ns");
    time_t seconds = text ? (time_t)(strtoll(text, NULL, 10) / 1000000000) : 0;
    struct tm tm;
    char date[48];
    if (seconds > 0 && gmtime_r(&seconds, &tm) &&
        strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &tm))
        page_put(p, " &middot; %s", date);
}

static void write_trust(const struct page *p)
{
    const struct health_facts *h = &p->a->facts->health;
    struct text n;
    fprintf(p->f, "<p class=\"%s\">", h->dropped ? "trust bad" : "trust");
    if (h->dropped)
        page_put(p, "<strong>%s records were lost: the numbers below are too small.</strong> ",
                 text_count(&n, h->dropped));
    else
        page_put(p, "%s", text_lost(&n, p->a));
    if (h->overhead_pct >= 0)
        page_put(p, " &middot; profiler overhead %s", text_overhead(&n, p->a));
    if (!p->a->facts->on_cpu && text_has_parts(p->a))
        fprintf(p->f, " &middot; unexplained %.1f %% %s", h->unexplained_pct,
                scope_words(p->a->facts)->of);
    if (h->recorded_text)
        page_put(p, " &middot; recorded: %s", h->recorded_text);
    if (h->warnings)
        fprintf(p->f, " &middot; <a href=\"#health\">%zu warning%s</a>", h->warnings,
                h->warnings > 1 ? "s" : "");
    page_put(p, "</p>\n");
}

/* Number of ranks in the recording; 0: no process tells its rank. */
static size_t count_ranks(const struct page *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->t->process_count; i++) {
        size_t k = 0;
        while (k < i && p->t->processes[k].rank != p->t->processes[i].rank)
            k++;
        n += p->t->processes[i].rank >= 0 && k == i;
    }
    return n;
}

/* The rank that the steps and their parts belong to; -1: unknown. */
static int64_t analysed_rank(const struct page *p)
{
    const struct steps *s = &p->a->facts->steps;
    const struct ranks *r = &p->a->facts->ranks;
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].process == s->process && r->at[i].device == s->device)
            return r->at[i].rank;
    return s->process < p->t->process_count ? p->t->processes[s->process].rank : -1;
}

/* With several ranks: says how many there are, and which one the numbers are about. */
static void write_ranks(const struct page *p)
{
    size_t told = count_ranks(p), compared = p->a->facts->ranks.count;
    size_t ranks = told > compared ? told : compared;
    int64_t rank = analysed_rank(p);
    if (ranks > 1 && rank >= 0)
        fprintf(p->f, " &middot; %zu ranks; the numbers are of rank %lld unless they name another",
                ranks, (long long)rank);
}

/* The recorded command, else the file, else the number of files. */
static void write_title(const struct page *p)
{
    const char *title = p->o->title ? p->o->title : "profile";
    const char *source = p->o->source ? p->o->source : "", *slash = strrchr(source, '/');
    page_put(p, "<header>\n<h1>%s", title);
    if (p->o->file_count > 1 && strcmp(title, slash ? slash + 1 : source) == 0)
        fprintf(p->f, " and %zu more file%s", p->o->file_count - 1,
                p->o->file_count > 2 ? "s" : "");
    page_put(p, "</h1>\n");
}

static void write_header(const struct page *p)
{
    struct text notice, device, covers;
    const struct steps *s = &p->a->facts->steps;
    if (text_virtual(&notice, p->a))
        page_put(p, "<aside class=\"virtual\">%s</aside>\n", text_virtual(&notice, p->a));
    write_title(p);
    if (text_ended(&notice, p->a))
        page_put(p, "<p>Ended: %s.</p>\n", notice.s);
    snprintf(device.s, sizeof device.s, "%.150s", /* a virtual GPU is named above */
             facts_virtual(p->a->facts) ? "" : text_device(p->a));
    page_put(p, "<p class=\"sub\">%s", device.s);
    fputs(device.s[0] && s->count ? " &middot; " : "", p->f);
    if (analysis_of_window(p->a->facts))
        page_put(p, "%s", s->source_text);
    else if (s->count)
        fprintf(p->f, "%zu of %zu %s used", s->used, s->count,
                scope_units(scope_words(p->a->facts), s->count));
    if (text_covers(&covers, p->a))
        page_put(p, "; %s", covers.s);
    if (text_stacks(&covers, p->a))
        page_put(p, "; %s", covers.s);
    if (text_profiler(&covers, p->a))
        page_put(p, "; %s", covers.s);
    if (p->a->facts->on_cpu)
        page_put(p, " &middot; no GPU was used");
    write_ranks(p);
    write_date(p);
    page_put(p, "</p>\n");
    write_trust(p);
    page_put(p, "</header>\n");
}

static bool has_steps(const struct page *p)
{
    return p->a->facts->steps.count > 0 && !analysis_of_window(p->a->facts);
}

static bool has_parts(const struct page *p)
{
    return text_has_parts(p->a);
}

static bool has_events(const struct page *p)
{
    return count_events(p->t) > 0;
}

static bool has_work(const struct page *p)
{
    return p->t->op_count > 0;
}

static bool has_kernels(const struct page *p)
{
    return p->a->facts->totals.kernel_count > 0;
}

/* True if a used step has work launched within a range that is not a step mark. */
static bool has_operators(const struct page *p)
{
    return work_tree_any(p->a->facts);
}

static bool has_copies(const struct page *p)
{
    return p->a->facts->totals.copy_count > 0;
}

static bool has_ranks(const struct page *p)
{
    return p->a->facts->ranks.count > 1 || p->a->facts->cpu_ranks.count > 1;
}

static bool has_host(const struct page *p)
{
    const struct host_facts *h = &p->a->facts->host;
    return p->a->facts->totals.api_count > 0 || h->usable_cores > 0 || h->fetch_ns > 0 ||
           h->wait_ns > 0;
}

static void tile(const struct page *p, const char *name, const char *value, const char *more)
{
    page_put(p, "<div><dt>%s</dt><dd>%s<small>%s</small></dd></div>\n", name, value, more);
}

static void write_memory_tile(const struct page *p)
{
    struct text used, more;
    int64_t peak = 0;
    for (size_t i = 0; i < p->t->gpu_sample_count; i++)
        if (p->t->gpu_samples[i].memory_used_bytes > peak)
            peak = p->t->gpu_samples[i].memory_used_bytes;
    if (peak == 0) {
        tile(p, "GPU memory, peak", "-", "not recorded");
        return;
    }
    more.s[0] = 0;
    if (p->a->facts->device && p->a->facts->device->memory_bytes > 0)
        snprintf(more.s, sizeof more.s, "%.0f %% of the GPU's",
                 percent_of(peak, p->a->facts->device->memory_bytes));
    tile(p, "GPU memory, peak", text_bytes(&used, peak), more.s);
}

/* Shares of the step, as in the breakdown below; without steps, of the whole recording. */
static void write_busy_tile(const struct page *p)
{
    const struct facts *f = p->a->facts;
    struct text v, m;
    double busy = f->gpu.busy_pct, compute = f->gpu.compute_pct;
    if (!has_work(p)) {
        tile(p, "GPU busy", "-", "no work recorded");
        return;
    }
    if (has_parts(p)) {
        const int64_t *part = f->breakdown_ns;
        compute = percent_of(part[PART_COMPUTE], f->step_ns);
        busy = percent_of(part[PART_COMPUTE] + part[PART_COMM] + part[PART_COPY], f->step_ns);
    }
    snprintf(v.s, sizeof v.s, "%.1f %%", busy);
    snprintf(m.s, sizeof m.s, "computing %.1f %%", compute);
    tile(p, "GPU busy", v.s, m.s);
}

/* The share of communication time that is hidden behind computing: in the step, else in the whole
 * recording. */
static double hidden_pct(const struct page *p)
{
    const struct facts *f = p->a->facts;
    int64_t all = 0;
    for (size_t i = 0; i < f->totals.kernel_count; i++)
        if (f->totals.kernels[i].class.family == FAMILY_COMM)
            all += f->totals.kernels[i].total_ns;
    double exposed = has_parts(p) && all
                         ? percent_of(f->breakdown_ns[PART_COMM], facts_per_step(f, all))
                         : 100 * f->gpu.comm_exposed_pct / f->gpu.comm_pct;
    return exposed < 100 ? 100 - exposed : 0;
}

/* Exposed communication if there is any; else whichever takes most: copies, or a cause of idle
 * time. */
static void write_waiting_tile(const struct page *p)
{
    const struct advice *a = p->a;
    const struct gpu_facts *g = &a->facts->gpu;
    struct text v, m;
    int most = PART_COPY;
    for (int i = 0; i < PART_COUNT; i++)
        if (part_in(i, GPU_IDLE_PARTS) && a->facts->breakdown_ns[i] > a->facts->breakdown_ns[most])
            most = i;
    if (g->comm_pct > 0) {
        snprintf(v.s, sizeof v.s, "%.1f %%",
                 has_parts(p) ? percent_of(a->facts->breakdown_ns[PART_COMM], a->facts->step_ns)
                              : g->comm_exposed_pct);
        snprintf(m.s, sizeof m.s, "%.0f %% of all communication is hidden", hidden_pct(p));
        tile(p, "exposed communication", v.s, m.s);
    } else if (has_parts(p) && a->facts->breakdown_ns[most] > 0) {
        snprintf(v.s, sizeof v.s, "%.1f %%",
                 percent_of(a->facts->breakdown_ns[most], a->facts->step_ns));
        tile(p, most == PART_COPY ? "exposed copies" : "largest cause of idle time", v.s,
             most == PART_COPY ? "not overlapped" : part_what[most]);
    }
}

static void write_numbers(const struct page *p)
{
    const struct advice *a = p->a;
    struct text v, m, q;
    if (a->facts->on_cpu) {
        page_cpu_numbers(p);
        return;
    }
    page_put(p, "<dl class=\"tiles\">\n");
    if (analysis_of_window(a->facts)) {
        tile(p, "window", text_ms(&v, a->facts->step_ns), "no step repeats");
    } else if (a->facts->steps.used) {
        bool mean = analysis_by_mean(a->facts);
        snprintf(m.s, sizeof m.s, mean ? "median %s" : "p95 %s",
                 text_ms(&q, mean ? a->facts->steps.median_ns : a->facts->steps.p95_ns));
        tile(p, mean ? "step, average" : "step, median", text_ms(&v, a->facts->step_ns), m.s);
        text_value(&v, 1e9 / (double)a->facts->step_ns, "");
        tile(p, "steps per second", v.s, "");
    } else {
        tile(p, "step, median", "-", "no steps found");
        tile(p, "steps per second", "-", "");
    }
    write_busy_tile(p);
    write_waiting_tile(p);
    write_memory_tile(p);
    page_put(p, "</dl>\n");
}

/* Red is for lost time: not if the GPU is the limit, or nothing is. */
static const char *tone(const struct advice *a)
{
    if (advice_blind(a))
        return "unknown";
    bool lost = a->class != VERDICT_GPU && a->class != VERDICT_BALANCED;
    return a->ranked_count || lost ? "slow" : "fine";
}

static void write_verdict(const struct page *p)
{
    const struct advice *a = p->a;
    page_put(p,
             "<section id=\"verdict\" class=\"%s\">\n<p class=\"verdict\">%s</p>\n"
             "<p><b>Why</b> %s</p>\n<p><b>Next</b> %s</p>\n</section>\n",
             tone(a), a->verdict ? a->verdict : "", a->why ? a->why : "", a->next ? a->next : "");
}

/* In the page's order. Sections without data are left out, also of the navigation. */
static const struct section {
    const char *id, *title;
    void (*write)(const struct page *);
    bool (*has)(const struct page *); /* NULL: always */
} sections[] = {
    {"breakdown", "Breakdown", page_breakdown, has_parts},
    {"findings", "What to change", page_findings, NULL},
    {"steps", "Steps", page_steps, has_steps},
    {"timeline", "Timeline", page_timeline, has_events},
    {"lines", "Lines", page_lines, page_has_lines},
    {"idle", "Idle", page_idle, has_work},
    {"curves", "Over time", page_curves, page_has_curves},
    {"memory", "Memory", page_memory, page_has_memory},
    {"kernels", "Kernels", page_kernels, has_kernels},
    {"operators", "Operators", page_operators, has_operators},
    {"copies", "Copies", page_copies, has_copies},
    {"ranks", "Ranks", page_ranks, has_ranks},
    {"host", "Host", page_host, has_host},
    {"health", "Trust", page_about, NULL},
};

static void write_sections(const struct page *p)
{
    size_t n = sizeof sections / sizeof *sections;
    page_put(p, "<nav aria-label=\"Sections\">");
    for (size_t i = 0; i < n; i++)
        if (!sections[i].has || sections[i].has(p))
            page_put(p, "<a href=\"#%s\">%s</a> ", sections[i].id, sections[i].title);
    page_put(p, "</nav>\n");
    for (size_t i = 0; i < n; i++)
        if (!sections[i].has || sections[i].has(p))
            sections[i].write(p);
}

static int html_analysis(const struct advice *a, const struct export_options *o, FILE *f,
                         struct err *e)
{
    struct page p = {.f = f, .a = a, .t = a->facts->tl, .o = o};
    if (page_data_open(&p, e))
        return -1;
    write_top(&p);
    write_header(&p);
    page_put(&p, "<main>\n");
    write_verdict(&p);
    write_numbers(&p);
    write_sections(&p);
    page_put(&p, "</main>\n<script type=\"application/octet-stream\" id=\"data\">");
    int rc = page_data_write(&p, e);
    page_data_close(p.data);
    if (rc)
        return -1;
    page_put(&p, "</script>\n<script>\n");
    const char *const scripts[] = {
        asset_common_js,        asset_timeline_js,       asset_timeline_draw_js,
        asset_timeline_find_js, asset_timeline_input_js, asset_timeline_after_js,
        asset_unrecorded_js,    asset_outline_js,        asset_minimap_js,
        asset_tables_js,        asset_heat_js,           asset_flame_js,
        asset_details_js,       asset_report_js};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        fputs(scripts[i], f);
    page_put(&p, "</script>\n</body>\n</html>\n");
    return export_done(f, e);
}

const struct exporter export_html = {
    .name = "html",
    .suffix = ".html",
    .help = "the page: one file, no network",
    .analysis = html_analysis,
};
