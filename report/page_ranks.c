/* The ranks: who communicates how long, who waits, who comes last. Only where several were
 * compared. */
#include "report/page.h"

#include "report/xml.h"

static void cell(const struct page *p, double value, const char *format)
{
    fprintf(p->f, "<td data-v=\"%.9g\">", value);
    fprintf(p->f, format, value); /* formats are literals of this file */
    page_put(p, "</td>");
}

static void write_rank(const struct page *p, const struct rank_facts *r, bool late)
{
    fprintf(p->f, "<tr><th scope=\"row\" class=\"name\">rank %lld%s</th>", (long long)r->rank,
            late ? " (late)" : "");
    if (r->step_median_ns > 0)
        cell(p, (double)r->step_median_ns / 1e6, "%.2f");
    else
        page_put(p, "<td data-v=\"0\">not known</td>");
    cell(p, (double)r->comm_ns / 1e6, "%.3f");
    cell(p, (double)r->wait_ns / 1e6, "%.3f");
    cell(p, (double)r->wait_exposed_ns / 1e6, "%.3f");
    cell(p, (double)r->late_ns / 1e6, "%.3f");
    cell(p, (double)r->late_count, "%.0f");
    cell(p, (double)r->offset_ns / 1e6, "%.3f");
    page_put(p, "</tr>\n");
}

void page_ranks(const struct page *p)
{
    static const char *const heads[] = {"step, ms",
                                        "in collectives, ms",
                                        "of that waiting, ms",
                                        "waiting, computing nothing, ms",
                                        "kept others, ms",
                                        "came last, times",
                                        "clock, ms ahead of the first"};
    const struct ranks *r = &p->a->ranks;
    if (r->count < 2)
        return;
    page_put(p, "<section id=\"ranks\"><h2>Ranks</h2>\n");
    fprintf(p->f,
            "<p>%zu ranks compared over %lld collectives. Until the last rank has arrived a "
            "collective is waiting, after that transfer: %.3f ms per step.</p>\n",
            r->count, (long long)r->collectives, (double)r->transfer_ns / 1e6);
    page_put(p, "<div class=\"scroll\"><table class=\"data sortable\"><caption>Ranks, per used "
                "step</caption><thead><tr><th scope=\"col\" class=\"l\">rank</th>");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        page_put(p, "<th scope=\"col\">%s</th>", heads[i]);
    page_put(p, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < r->count; i++)
        write_rank(p, &r->at[i], i == r->late && r->at[i].late_ns > 0);
    page_put(p, "</tbody></table></div>\n</section>\n");
}
