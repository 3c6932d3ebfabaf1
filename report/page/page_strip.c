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

int64_t page_run_steps(const struct advice *a)
{
    const struct facts *f = a->facts;
    int64_t n = (int64_t)f->steps.count, last = 0;
    bool numbered = f->window_count > 0;
    for (size_t i = 0; numbered && i < f->steps.count; i++) {
        int64_t number = facts_step_number(f, i);
        numbered = number > last;
        last = number;
    }
    return !numbered ? n : f->health.run_steps > last ? f->health.run_steps : last;
}

/* The strip: bars of `each` neighbouring recorded steps, and between them, narrower, the steps of
 * which only the times are known. */
struct strip {
    const struct page *p;
    const struct steps *s;
    double most;
    int64_t others;       /* steps that were not recorded */
    double width, narrow; /* of a step, in 1/1000 of the strip: recorded, not recorded */
    size_t each;
};

static struct strip strip_of(const struct page *p, double most)
{
    const struct steps *s = &p->a->facts->steps;
    int64_t run = page_run_steps(p->a), n = (int64_t)s->count;
    struct strip x = {.p = p, .s = s, .most = most, .others = run - n};
    x.width = 1000 * fmax(x.others ? PAGE_STRIP_RECORDED : 1, (double)n / (double)run) / (double)n;
    x.narrow = x.others ? (1000 - x.width * (double)n) / (double)x.others : 0;
    x.each = (s->count + BARS - 1) / BARS;
    return x;
}

static int64_t number_of(const struct strip *x, size_t step)
{
    return facts_step_number(x->p->a->facts, step);
}

/* Where a recorded step stands; script: place in report.js. */
static double place_of(const struct strip *x, size_t step)
{
    return (double)step * x->width + (double)(number_of(x, step) - 1 - (int64_t)step) * x->narrow;
}

/* True if the numbers count the step: it is used, and its length is known. */
static bool step_counts(const struct step *s)
{
    return s->used && s->length_ns > 0;
}

/* The step to show among those that share a bar: the longest one that counts; without one, the
 * longest. */
static size_t shown_step(const struct steps *s, size_t from, size_t end)
{
    size_t best = from;
    for (size_t i = from; i < end; i++) {
        bool better = step_counts(&s->at[i]) != step_counts(&s->at[best])
                          ? step_counts(&s->at[i])
                          : length(&s->at[i]) > length(&s->at[best]);
        if (better)
            best = i;
    }
    return best;
}

/* A bar of recorded steps: where it stands, and the step that it shows. */
struct bar {
    double at, width;
    size_t step;
};

/* *next: the first step behind the last bar, at first 0. */
static bool next_bar(const struct strip *x, size_t *next, struct bar *out)
{
    size_t from = *next, end = from;
    if (from >= x->s->count)
        return false;
    while (end < x->s->count && end - from < x->each &&
           (!x->others || number_of(x, end) - number_of(x, from) == (int64_t)(end - from)))
        end++;
    *next = end;
    *out = (struct bar){place_of(x, from), x->width * (double)(end - from),
                        shown_step(x->s, from, end)};
    return true;
}

/* One path that draws one part in all bars. A step above the top is as high as the plot, and its
 * parts keep their proportions. */
static void write_part(const struct strip *x, int part, bool used)
{
    const struct steps *s = x->s;
    char class[8];
    snprintf(class, sizeof class, "p%d", part);
    bool any = false;
    struct bar bar;
    for (size_t i = 0; next_bar(x, &i, &bar);) {
        const struct step *step = &s->at[bar.step];
        double scale = 100 / fmax(x->most, (double)length(step)), below = 0;
        const int64_t *parts =
            x->p->a->facts->step_parts ? x->p->a->facts->step_parts[bar.step] : NULL;
        double height = scale * (double)(parts ? parts[part] : length(step));
        if (step_counts(step) != used || height < 0.3)
            continue;
        for (int q = 0; parts && q < part; q++)
            below += scale * (double)parts[q];
        if (!any)
            svg_bars_begin(x->p->f, class);
        any = true;
        svg_bar(x->p->f, bar.at + bar.width * 0.06, 100 - below - height, bar.width * 0.88, height);
    }
    if (any)
        svg_bars_end(x->p->f);
}

/* The time of the steps [first, last] that were not recorded: the longest one's, or the mean of
 * their blocks. *block: where to search on, because steps are asked for in their order. */
static double block_time(const struct strip *x, int64_t first, int64_t last, bool longest,
                         size_t *block)
{
    const struct timeline *t = x->p->t;
    int64_t most = 0, sum = 0, steps = 0;
    for (; *block < t->step_block_count; ++*block) {
        const struct row_step_block *b = &t->step_blocks[*block];
        if (b->process != t->processes[x->s->process].id || b->first_step + b->steps <= first)
            continue;
        if (b->first_step > last)
            break;
        most = b->max_ns > most ? b->max_ns : most;
        sum += b->end_ns - b->start_ns;
        steps += b->steps;
        if (b->first_step + b->steps > last + 1)
            break; /* the next steps are in it as well */
    }
    return longest ? (double)most : steps > 0 ? (double)sum / (double)steps : 0;
}

/* Hatched bars, as tall as the longest of their steps or as the mean. */
static void write_unrecorded(const struct strip *x, const char *class, bool longest)
{
    int64_t each = (x->others + BARS - 1) / BARS, last = 0;
    size_t block = 0;
    svg_bars_begin(x->p->f, class);
    for (size_t i = 0; i <= x->s->count; i++) {
        int64_t stop = i < x->s->count ? number_of(x, i) : page_run_steps(x->p->a) + 1;
        double at = i ? place_of(x, i - 1) + x->width : 0;
        for (int64_t n = last + 1; n < stop; n += each) {
            int64_t steps = n + each < stop ? each : stop - n;
            double ns = block_time(x, n, n + steps - 1, longest, &block);
            double width = x->narrow * (double)steps, height = 100 * fmin(1, ns / x->most);
            svg_bar(x->p->f, at, 100 - height, width, height);
            at += width;
        }
        last = stop;
    }
    svg_bars_end(x->p->f);
}

/* Draws a gap into bars that exceed the top. */
static void write_cuts(const struct strip *x)
{
    bool any = false;
    struct bar bar;
    for (size_t i = 0; next_bar(x, &i, &bar);) {
        if ((double)length(&x->s->at[bar.step]) <= x->most)
            continue;
        if (!any)
            svg_bars_begin(x->p->f, "cut");
        any = true;
        svg_bar(x->p->f, bar.at, 6, bar.width, 3);
        svg_bar(x->p->f, bar.at, 12, bar.width, 3);
    }
    if (any)
        svg_bars_end(x->p->f);
}

void page_strip_tops(const struct page *p, double most)
{
    enum { LABELS = 4, APART = 16 }; /* in percent of the width */
    struct strip x = strip_of(p, most);
    struct bar bar;
    size_t n = 0;
    double last = -APART;
    struct text t;
    for (size_t i = 0; n < LABELS && next_bar(&x, &i, &bar);) {
        int64_t ns = length(&x.s->at[bar.step]);
        double at = bar.at / 10;
        if ((double)ns <= most || at < last + APART)
            continue;
        n++;
        last = at;
        fprintf(p->f, "<span class=\"top\" style=\"left:clamp(7rem,%.1f%%,100%% - 8rem)\">", at);
        fprintf(p->f, "step %lld: ", (long long)number_of(&x, bar.step));
        page_put(p, "%s</span>", text_time(&t, ns));
    }
}

void page_strip_open(const struct page *p)
{
    struct strip x = strip_of(p, 1);
    fprintf(p->f, "<div id=\"strip\" data-width=\"%.9g\" data-narrow=\"%.9g\">", x.width, x.narrow);
}

void page_strip(const struct page *p, double most)
{
    struct strip x = strip_of(p, most);
    if (x.others)
        fputs("<defs><pattern id=\"hatch\" width=\"5\" height=\"10\" "
              "patternUnits=\"userSpaceOnUse\"><path d=\"M0 10L5 0\"/></pattern></defs>",
              p->f);
    for (int longest = 1; x.others && longest >= 0; longest--)
        write_unrecorded(&x, longest ? "unrecorded longest" : "unrecorded", longest);
    for (int used = 1; used >= 0; used--) {
        fprintf(p->f, "<g class=\"%s\">", used ? "used" : "unused");
        for (int part = 0; part < PART_COUNT; part++)
            /* One colour if the parts are unknown. */
            if (p->a->facts->step_parts || part == PART_IDLE_LAUNCH)
                write_part(&x, part, used);
        fputs("</g>", p->f);
    }
    write_cuts(&x);
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
