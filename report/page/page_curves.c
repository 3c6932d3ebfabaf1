/* Curves of what was sampled of the GPUs over the run: utilisation, memory, clock, power. */
#include "analyzer/facts/recorded.h"
#include "report/page/page.h"
#include "report/page/svg.h"
#include "report/page/xml.h"
#include "report/words/text.h"

#include <math.h>
#include <stdlib.h>

enum { POINTS = 400, DEVICES = 8 };

enum curve { CURVE_UTIL, CURVE_MEMORY, CURVE_CLOCK, CURVE_POWER, CURVE_COUNT };
static const char *const curve_name[CURVE_COUNT] = {"GPU utilisation", "memory used", "SM clock",
                                                    "power"};

/* The sample in the unit that is shown; below 0: not sampled. */
static double value_of(const struct row_gpu_sample *s, int curve)
{
    switch ((enum curve)curve) {
    case CURVE_UTIL:
        return (double)s->util_pct;
    case CURVE_MEMORY:
        return (double)s->memory_used_bytes;
    case CURVE_CLOCK:
        return (double)s->sm_clock_mhz;
    case CURVE_POWER:
        return s->power_mw < 0 ? -1 : (double)s->power_mw / 1000;
    case CURVE_COUNT:
        break;
    }
    return -1;
}

static const char *value_text(struct text *b, double v, int curve)
{
    return curve == CURVE_MEMORY  ? text_bytes(b, (int64_t)v)
           : curve == CURVE_CLOCK ? text_value(b, v, "MHz")
           : curve == CURVE_POWER ? text_value(b, v, "W")
                                  : text_value(b, v, "%");
}

struct curve_points {
    double sum[POINTS], most;
    size_t n[POINTS], all;
    double total;
};

static void collect(struct curve_points *c, const struct page *p, size_t device, int curve)
{
    const struct timeline *t = p->t;
    double span = (double)(t->end_ns - t->start_ns);
    *c = (struct curve_points){0};
    for (size_t i = 0; i < t->gpu_sample_count && span > 0; i++) {
        const struct row_gpu_sample *s = &t->gpu_samples[i];
        double v = value_of(s, curve), at = (double)(s->time_ns - t->start_ns) / span * POINTS;
        if (v < 0 || timeline_device_index(t, s->device) != device || at < 0 || at > POINTS)
            continue;
        size_t k = at < POINTS ? (size_t)at : POINTS - 1;
        c->sum[k] += v;
        c->n[k]++;
        c->total += v;
        c->all++;
        c->most = fmax(c->most, v);
    }
}

static void write_band(const struct page *p, int64_t from, int64_t to)
{
    double span = (double)(p->t->end_ns - p->t->start_ns);
    if (from < to && span > 0)
        svg_rect(p->f, "band", 1000 * (double)(from - p->t->start_ns) / span, 0,
                 1000 * (double)(to - from) / span, 100);
}

void page_band(const struct page *p)
{
    const struct facts *f = p->a->facts;
    const struct steps *s = &f->steps;
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t i = 0; i < s->count; i++) {
        if (s->at[i].used && s->at[i].start_ns < from)
            from = s->at[i].start_ns;
        if (s->at[i].used && s->at[i].to_ns > to)
            to = s->at[i].to_ns;
    }
    for (size_t i = 0; i < f->window_count && from < to; i++) {
        struct span part = recorded_part(&f->windows[i], from, to);
        write_band(p, part.start_ns, part.end_ns);
    }
    if (!f->window_count && from < to)
        write_band(p, from, to);
}

static void write_curve(const struct page *p, const struct curve_points *c, int curve)
{
    struct text mean, most, top;
    char label[300];
    double ceiling = curve == CURVE_UTIL ? 100 : svg_nice(1.05 * c->most);
    snprintf(label, sizeof label, "%s: mean %.60s, highest %.60s", curve_name[curve],
             value_text(&mean, c->total / (double)c->all, curve),
             value_text(&most, c->most, curve));
    page_put(p, "<figure><figcaption>%s</figcaption><div class=\"plot\"><span class=\"ytop\">%s",
             label, value_text(&top, ceiling, curve));
    page_put(p, "</span>");
    svg_open(p->f, 1000, 100, "curve", label);
    page_band(p);
    fputs("<path d=\"", p->f);
    const char *next = "M";
    for (size_t k = 0; k < POINTS; k++) {
        if (!c->n[k])
            continue;
        fprintf(p->f, "%s%.5g %.4g", next, 1000 * ((double)k + 0.5) / POINTS,
                100 - 100 * c->sum[k] / (double)c->n[k] / ceiling);
        next = "L";
    }
    fputs("\"/>", p->f);
    svg_close(p->f);
    page_put(p, "<span class=\"xfrom\">0</span><span class=\"xto\">%s</span></div></figure>\n",
             text_time(&top, p->t->end_ns - p->t->start_ns));
}

static size_t write_device(const struct page *p, size_t device, bool name_it)
{
    struct curve_points *c = malloc(sizeof *c);
    size_t written = 0;
    for (int curve = 0; c && curve < CURVE_COUNT; curve++) {
        collect(c, p, device, curve);
        if (c->all < 2)
            continue;
        const struct row_device *d = &p->t->devices[device];
        uint32_t process = timeline_process_index(p->t, d->process);
        if (written++ == 0 && name_it) {
            fputs("<h3>", p->f);
            if (process != TL_NONE && p->t->processes[process].rank >= 0)
                fprintf(p->f, "rank %lld, ", (long long)p->t->processes[process].rank);
            fprintf(p->f, "GPU %lld</h3>\n", (long long)d->ordinal);
        }
        if (written == 1)
            page_put(p, "<div class=\"curves\">\n");
        write_curve(p, c, curve);
    }
    if (written)
        page_put(p, "</div>\n");
    free(c);
    return written;
}

bool page_has_curves(const struct page *p)
{
    size_t known[CURVE_COUNT] = {0};
    for (size_t i = 0; i < p->t->gpu_sample_count; i++)
        for (int curve = 0; curve < CURVE_COUNT; curve++)
            if (value_of(&p->t->gpu_samples[i], curve) >= 0 && ++known[curve] >= 2 &&
                timeline_device_index(p->t, p->t->gpu_samples[i].device) != TL_NONE)
                return true;
    return false;
}

struct place { /* order of a device among the curves */
    int64_t rank, ordinal;
    size_t device;
};

static int by_rank(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static struct place *places_of(const struct timeline *t)
{
    struct place *at = calloc(t->device_count + 1, sizeof *at);
    for (size_t i = 0; at && i < t->device_count; i++) {
        uint32_t process = timeline_process_index(t, t->devices[i].process);
        at[i] = (struct place){process != TL_NONE ? t->processes[process].rank : -1,
                               t->devices[i].ordinal, i};
    }
    if (at)
        qsort(at, t->device_count, sizeof *at, by_rank);
    return at;
}

void page_curves(const struct page *p)
{
    struct place *place = places_of(p->t);
    size_t shown = 0, left = 0;
    page_put(p,
             "<section id=\"curves\"><h2>The GPU over time</h2>\n<p class=\"dim\">Samples of the "
             "whole recording; the tinted part holds the steps that count.</p>\n");
    for (size_t i = 0; place && i < p->t->device_count; i++) {
        if (shown < DEVICES)
            shown += write_device(p, place[i].device, p->t->device_count > 1) > 0;
        else
            left++;
    }
    if (left)
        fprintf(p->f, "<p class=\"dim\">%zu more device%s not drawn.</p>\n", left,
                left > 1 ? "s are" : " is");
    free(place);
    page_put(p, "</section>\n");
}
