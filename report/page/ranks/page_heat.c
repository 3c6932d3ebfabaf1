/* Heat maps of which rank is late when: one picture with a row for each rank and a column for each
 * step, and one with a column for each collective of a step. A late node shows as a band, a rank
 * that is late once as a dot. */
#include "report/page/ranks/page_ranks.h"

#include "report/page/ranks/png.h"
#include "report/page/xml.h"
#include "report/words/text.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 512, HEIGHT = 480, LABELS = 8, COLOUR = 0xe0431b };

/* The lateness that gets the full colour: the largest one, but at least 2 % of the step, so that
 * noise stays pale. */
static int64_t scale_of(const struct page *p, const struct rank_heat *h)
{
    int64_t most = p->a->facts->step_ns / 50;
    for (size_t i = 0; i < p->a->facts->ranks.count * h->columns; i++)
        most = h->late_ns[i] > most ? h->late_ns[i] : most;
    return most > 0 ? most : 1;
}

/* Levels of colour. If several ranks share a row, the latest one counts. The exponent 0.7 keeps
 * small values visible. */
static unsigned char *levels_of(const struct page *p, const struct rank_heat *h, size_t per,
                                size_t rows, int64_t most)
{
    const struct ranks *r = &p->a->facts->ranks;
    unsigned char *levels = calloc(rows * h->columns + 1, 1);
    for (size_t i = 0; levels && i < r->count; i++)
        for (size_t c = 0; c < h->columns; c++) {
            double share = (double)h->late_ns[i * h->columns + c] / (double)most;
            unsigned char level = (unsigned char)lround(255 * pow(share > 0 ? share : 0, 0.7));
            unsigned char *at = &levels[i / per * h->columns + c];
            *at = level > *at ? level : *at;
        }
    return levels;
}

static void write_rows_axis(const struct page *p, size_t height)
{
    const struct ranks *r = &p->a->facts->ranks;
    fprintf(p->f, "<div class=\"heatrows\" style=\"height:%zupx\" aria-hidden=\"true\">", height);
    for (size_t k = 0; k < LABELS; k++) {
        size_t i = r->count * k / LABELS;
        fprintf(p->f, "<span style=\"top:%.2f%%\">rank %lld</span>",
                100.0 * (double)i / (double)r->count, (long long)r->at[i].rank);
    }
    page_put(p, "</div>");
}

/* Numbers of the columns' steps or places: "index:number" of each from which on they have no gap. */
static void write_numbers(const struct page *p, const struct rank_heat *h, bool steps)
{
    int64_t last = -1;
    for (size_t i = 0; i < h->of; i++) {
        int64_t number = steps ? facts_step_number(p->a->facts, i) : (int64_t)i + 1;
        if (i == 0 || number != last + 1)
            fprintf(p->f, i ? " %zu:%lld" : "%zu:%lld", i, (long long)number);
        last = number;
    }
}

static int write_map(const struct page *p, const struct rank_heat *h, const char *title,
                     const char *column, bool steps)
{
    const struct ranks *r = &p->a->facts->ranks;
    size_t per = (r->count + ROWS - 1) / ROWS, rows = (r->count + per - 1) / per;
    size_t high = HEIGHT / rows > 12 ? 12 : HEIGHT / rows < 1 ? 1 : HEIGHT / rows;
    int64_t most = scale_of(p, h);
    unsigned char *levels = levels_of(p, h, per, rows, most);
    struct text t;
    if (!levels)
        return -1;
    page_put(p, "<figure class=\"heat\"><figcaption><b>%s</b>", title);
    if (h->per > 1)
        fprintf(p->f, ", %zu in a column", h->per);
    if (per > 1)
        fprintf(p->f, ", %zu ranks in a line: the latest", per);
    page_put(p, "</figcaption><div class=\"heatplot\">");
    write_rows_axis(p, rows * high);
    fprintf(p->f,
            "<img class=\"heatmap\" width=\"%zu\" height=\"%zu\" style=\"height:%zupx\" "
            "data-of=\"%zu\" data-per=\"%zu\" data-most=\"%lld\" data-numbers=\"",
            h->columns, rows, rows * high, h->of, h->per, (long long)most);
    write_numbers(p, h, steps);
    fputs("\" data-ranks=\"", p->f);
    for (size_t i = 0; i < r->count; i++)
        fprintf(p->f, i ? " %lld" : "%lld", (long long)r->at[i].rank);
    page_put(p, "\" data-column=\"%s\" alt=\"%s, up to %s late\" src=\"data:image/png;base64,",
             column, title, text_ms(&t, most));
    int rc = png_levels(p->f, COLOUR, levels, h->columns, rows);
    page_put(p, "\"></div><div class=\"heatcolumns\" aria-hidden=\"true\">");
    page_put(p, "<span>%s ", column);
    fprintf(p->f, "%lld</span><span>%lld</span></div>",
            (long long)(steps ? facts_step_number(p->a->facts, 0) : 1),
            (long long)(steps ? facts_step_number(p->a->facts, h->of - 1) : (int64_t)h->of));
    page_put(p,
             "<p class=\"heatscale\"><span>in time</span><i></i><span>%s late</span>"
             "<output></output></p></figure>\n",
             text_ms(&t, most));
    free(levels);
    return rc;
}

int page_heat(const struct page *p)
{
    const struct ranks *r = &p->a->facts->ranks;
    if (r->by_step.columns == 0 || r->by_place.columns == 0)
        return 0;
    page_put(
        p,
        "<p>A line for each rank. The colour says how late a rank comes to the collectives "
        "of a column, behind the median rank of its group, per step.</p>\n<div class=\"heats\">\n");
    int rc = write_map(p, &r->by_step,
                       p->a->facts->window_count ? "Ranks and recorded steps" : "Ranks and steps",
                       "step", true);
    if (rc == 0)
        rc = write_map(p, &r->by_place, "Ranks and the collectives of a step", "collective", false);
    page_put(p, "</div>\n");
    return rc;
}
