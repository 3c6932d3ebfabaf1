/* The strip of all steps, each bar coloured by its parts, and what the longest steps have more of
 * than the median one. */
#include "report/page/page.h"
#include "report/page/svg.h"
#include "report/page/xml.h"
#include "report/words/text.h"

#include <math.h>

enum { BARS = 400 };

static int64_t length(const struct step *s)
{
    return s->to_ns - s->from_ns;
}

/* How many steps share one bar. */
static size_t steps_in_bar(const struct steps *s)
{
    return (s->count + BARS - 1) / BARS;
}

/* True if the numbers count the step: it is used, and its length is known. */
static bool step_counts(const struct step *s)
{
    return s->used && s->length_ns > 0;
}

/* The step to show among those that share a bar: the longest one that counts; without one, the
 * longest. */
static size_t shown_step(const struct steps *s, size_t from, size_t n)
{
    size_t best = from;
    for (size_t i = from; i < from + n && i < s->count; i++) {
        bool better = step_counts(&s->at[i]) != step_counts(&s->at[best])
                          ? step_counts(&s->at[i])
                          : length(&s->at[i]) > length(&s->at[best]);
        if (better)
            best = i;
    }
    return best;
}

/* One path that draws one part in all bars. A step above the top is as high as the plot, and its
 * parts keep their proportions. */
static void write_part(const struct page *p, int part, bool used, double most)
{
    const struct steps *s = &p->a->facts->steps;
    size_t each = steps_in_bar(s);
    double width = 1000.0 * (double)each / (double)s->count;
    char class[8];
    snprintf(class, sizeof class, "p%d", part);
    bool any = false;
    for (size_t i = 0; i < s->count; i += each) {
        size_t k = shown_step(s, i, each);
        double scale = 100 / fmax(most, (double)length(&s->at[k])), below = 0;
        const int64_t *parts = p->a->facts->step_parts ? p->a->facts->step_parts[k] : NULL;
        double height = scale * (double)(parts ? parts[part] : length(&s->at[k]));
        if (step_counts(&s->at[k]) != used || height < 0.3)
            continue;
        for (int q = 0; parts && q < part; q++)
            below += scale * (double)parts[q];
        if (!any)
            svg_bars_begin(p->f, class);
        any = true;
        svg_bar(p->f, 1000.0 * (double)i / (double)s->count + width * 0.06, 100 - below - height,
                width * 0.88, height);
    }
    if (any)
        svg_bars_end(p->f);
}

/* Draws a gap into bars that exceed the top. */
static void write_cuts(const struct page *p, double most)
{
    const struct steps *s = &p->a->facts->steps;
    size_t each = steps_in_bar(s);
    double width = 1000.0 * (double)each / (double)s->count;
    bool any = false;
    for (size_t i = 0; i < s->count; i += each) {
        if ((double)length(&s->at[shown_step(s, i, each)]) <= most)
            continue;
        if (!any)
            svg_bars_begin(p->f, "cut");
        any = true;
        svg_bar(p->f, 1000.0 * (double)i / (double)s->count, 6, width, 3);
        svg_bar(p->f, 1000.0 * (double)i / (double)s->count, 12, width, 3);
    }
    if (any)
        svg_bars_end(p->f);
}

void page_strip_tops(const struct page *p, double most)
{
    enum { LABELS = 4, APART = 16 }; /* in percent of the width */
    const struct steps *s = &p->a->facts->steps;
    size_t each = steps_in_bar(s), n = 0;
    double last = -APART;
    struct text t;
    for (size_t i = 0; i < s->count && n < LABELS; i += each) {
        size_t k = shown_step(s, i, each);
        double at = 100.0 * (double)i / (double)s->count;
        if ((double)length(&s->at[k]) <= most || at < last + APART)
            continue;
        n++;
        last = at;
        fprintf(p->f, "<span class=\"top\" style=\"left:clamp(7rem,%.1f%%,100%% - 8rem)\">", at);
        fprintf(p->f, "step %lld: ", (long long)facts_step_number(p->a->facts, k));
        page_put(p, "%s</span>", text_time(&t, length(&s->at[k])));
    }
}

void page_strip(const struct page *p, double most)
{
    for (int used = 1; used >= 0; used--) {
        fprintf(p->f, "<g class=\"%s\">", used ? "used" : "unused");
        for (int part = 0; part < PART_COUNT; part++)
            /* One colour if the parts are unknown. */
            if (p->a->facts->step_parts || part == PART_IDLE_LAUNCH)
                write_part(p, part, used, most);
        fputs("</g>", p->f);
    }
    write_cuts(p, most);
}

/* The part in which a step exceeds the median step most; -1: none. */
static int grown_part(const struct facts *f, size_t step, size_t median, int64_t *extra_ns)
{
    int best = -1;
    *extra_ns = 0;
    for (int i = 0; f->step_parts && i < PART_COUNT; i++) {
        int64_t more = f->step_parts[step][i] - f->step_parts[median][i];
        if (more > *extra_ns) {
            *extra_ns = more;
            best = i;
        }
    }
    return best;
}

static const struct gap *longest_gap(const struct facts *f, size_t step, int part)
{
    const struct gap *best = NULL;
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->step == step && g->part == part &&
            (!best || g->end_ns - g->start_ns > best->end_ns - best->start_ns))
            best = g;
    }
    return best;
}

static void write_outlier(const struct page *p, size_t i, size_t median)
{
    const struct facts *f = p->a->facts;
    const struct step *s = &f->steps.at[i];
    struct text t;
    int64_t extra;
    int part = text_has_parts(p->a) ? grown_part(f, i, median, &extra) : -1;
    fprintf(p->f, "<li>%s %lld: ", scope_words(f)->label, (long long)facts_step_number(f, i));
    page_put(p, "%s, ", text_ms(&t, length(s)));
    fprintf(p->f, "%.1f times the median%s", (double)length(s) / (double)f->steps.median_ns,
            step_counts(s) ? "" : ", left out of the numbers");
    const struct gap *g = part >= 0 ? longest_gap(f, i, part) : NULL;
    if (part >= 0)
        page_put(p, ": %s more <i class=\"swatch p", text_ms(&t, extra));
    if (part >= 0)
        fprintf(p->f, "%d\"></i>", part);
    if (part >= 0)
        page_put(p, "%s", analysis_part_title(f, part));
    if (g) {
        const char *during = page_during(p, g);
        page_put(p, ", its longest gap %s", text_ms(&t, g->end_ns - g->start_ns));
        page_put(p, *during ? ", during <code>%s</code> " : " ", during);
        page_zoom_button(p, g->start_ns, g->end_ns, (uint32_t)i, "show");
    }
    page_put(p, "</li>\n");
}

/* Steps of at least 1.2 times the median length. */
size_t page_long_steps(const struct advice *a, size_t shown[PAGE_OUTLIERS], size_t *all)
{
    const struct steps *s = &a->facts->steps;
    size_t n = 0;
    *all = 0;
    if (page_step_at(a, 0.5) == TL_NONE || s->used < 2 || s->median_ns <= 0)
        return 0;
    for (size_t i = 0; i < s->count; i++) {
        if (length(&s->at[i]) < s->median_ns / 5 * 6 || s->at[i].estimated)
            continue;
        ++*all;
        size_t at = n < PAGE_OUTLIERS ? n++ : PAGE_OUTLIERS;
        for (; at > 0 && length(&s->at[i]) > length(&s->at[shown[at - 1]]); at--)
            if (at < PAGE_OUTLIERS)
                shown[at] = shown[at - 1];
        if (at < PAGE_OUTLIERS)
            shown[at] = i;
    }
    return n;
}

void page_outliers(const struct page *p)
{
    size_t shown[PAGE_OUTLIERS], all, n = page_long_steps(p->a, shown, &all);
    if (n == 0)
        return;
    fprintf(p->f, "<h3>%s</h3>\n<ul class=\"outliers\">\n",
            all > n ? "The longest steps"
            : n > 1 ? "The long steps"
                    : "The long step");
    for (size_t i = 0; i < n; i++)
        write_outlier(p, shown[i], page_step_at(p->a, 0.5));
    if (all > n)
        fprintf(p->f, "<li>%zu more take at least 1.2 times the median.</li>\n", all - n);
    page_put(p, "</ul>\n");
}
