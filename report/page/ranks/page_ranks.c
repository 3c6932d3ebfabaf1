/* The ranks: how long each communicates and waits, and which one is late. Only if several ranks
 * were compared. */
#include "report/page/ranks/page_ranks.h"

#include "report/page/ranks/page_shown.h"
#include "report/page/xml.h"
#include "report/words/text.h"

#include <stdlib.h>

static void cell(const struct page *p, double value, const char *format)
{
    fprintf(p->f, "<td data-v=\"%.9g\">", value);
    fprintf(p->f, format, value); /* formats are literals in this file */
    page_put(p, "</td>");
}

static void write_rank(const struct page *p, const struct rank_facts *r, bool late)
{
    fprintf(p->f, "<tr><th scope=\"row\" class=\"name\">rank %lld%s</th>", (long long)r->rank,
            late ? " (late)" : "");
    if (r->step_median_ns > 0)
        cell(p, (double)r->step_median_ns / 1e6, "%.2f");
    else
        page_put(p, "<td data-v=\"0\">unknown</td>");
    cell(p, (double)r->comm_ns / 1e6, "%.3f");
    cell(p, (double)r->wait_ns / 1e6, "%.3f");
    cell(p, (double)r->wait_exposed_ns / 1e6, "%.3f");
    cell(p, (double)r->late_ns / 1e6, "%.3f");
    cell(p, (double)r->late_count, "%.0f");
    cell(p, (double)r->offset_ns / 1e6, "%.3f");
    page_put(p, "</tr>\n");
}

/* The step of each rank on one scale: its own work, transfer, and waiting for other ranks. The late
 * rank is the one that does not wait. */
static void write_bar(const struct page *p, const struct rank_facts *r, const char *why,
                      int64_t most_ns)
{
    int64_t step = r->step_median_ns > 0 ? r->step_median_ns : p->a->facts->steps.median_ns;
    int64_t comm = r->comm_ns < step ? r->comm_ns : step;
    int64_t wait = r->wait_ns < comm ? r->wait_ns : comm;
    const struct {
        const char *title, *class;
        int64_t ns;
    } parts[] = {{"outside collectives", "p8", step - comm},
                 {"transfer", "p1", comm - wait},
                 {"waiting for other ranks", "p10", wait}};
    struct text t;
    if (step <= 0)
        return;
    fprintf(p->f, "<div class=\"barrow\"><span class=\"barlabel\">rank %lld", (long long)r->rank);
    page_put(p, *why ? " <small>%s</small></span>" : "%s</span>", why);
    bool known = r->step_median_ns > 0;
    page_put(p, "<span class=\"bartime\">%s</span><div class=\"bar\" role=\"img\" aria-label=\"",
             known ? text_ms(&t, step) : "");
    for (size_t i = 0; i < 3; i++)
        page_put(p, "%s %s%s", parts[i].title, text_ms(&t, parts[i].ns), i < 2 ? ", " : "");
    fprintf(p->f, "\" style=\"width:%.2f%%\">", percent_of(step, most_ns));
    for (size_t i = 0; i < 3; i++) {
        fprintf(p->f, "<i class=\"%s\" style=\"width:%.3f%%\" title=\"", parts[i].class,
                percent_of(parts[i].ns, step));
        page_put(p, "%s: %s\"></i>", parts[i].title, text_ms(&t, parts[i].ns));
    }
    page_put(p, "</div></div>\n");
}

static void write_bars(const struct page *p)
{
    const struct ranks *r = &p->a->facts->ranks;
    const char **why = page_shown(p);
    int64_t most = p->a->facts->step_ns;
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].step_median_ns > most)
            most = r->at[i].step_median_ns;
    page_put(p, r->count > PAGE_RANKS ? "<div class=\"bars many\">" : "<div class=\"bars\">");
    for (size_t i = 0; why && i < r->count; i++)
        if (why[i])
            write_bar(p, &r->at[i], why[i], most);
    page_put(p, "</div>\n");
    free(why);
    page_put(
        p, "<ul class=\"legend\"><li><i class=\"swatch p8\"></i><span>outside "
           "collectives</span></li><li><i class=\"swatch p1\"></i><span>transfer</span></li><li><i "
           "class=\"swatch p10\"></i><span>waiting for other ranks</span></li></ul>\n");
}

/* The groups that exchange data, unless it is one group of all ranks. */
static void write_groups(const struct page *p)
{
    static const char *const heads[] = {
        "groups",      "ranks in each",        "collectives",
        "in them, ms", "of that, waiting, ms", "late ranks cost, ms"};
    const struct ranks *r = &p->a->facts->ranks;
    if (r->group_kinds < 2 && (r->group_kinds == 0 || r->groups->groups < 2))
        return;
    page_put(p, "<div class=\"scroll\"><table class=\"data sortable\"><caption>Groups of ranks, "
                "per used step and rank</caption><thead><tr><th scope=\"col\" "
                "class=\"l\">group</th><th scope=\"col\" class=\"l\">ranks of the first</th>");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        page_put(p, "<th scope=\"col\">%s</th>", heads[i]);
    page_put(p, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < r->group_kinds; i++) {
        const struct rank_group *g = &r->groups[i];
        page_put(p, "<tr><th scope=\"row\" class=\"name\">%s%s</th><td class=\"l\">%s</td>",
                 g->name ? g->name : "not named", g->pairs ? ", sends and receives" : "",
                 g->members);
        cell(p, (double)g->groups, "%.0f");
        if (g->ranks)
            cell(p, (double)g->ranks, "%.0f");
        else
            page_put(p, "<td data-v=\"0\">differ</td>");
        cell(p, (double)g->collectives, "%.0f");
        cell(p, (double)g->comm_ns / 1e6, "%.3f");
        cell(p, (double)g->wait_ns / 1e6, "%.3f");
        cell(p, (double)g->late_ns / 1e6, "%.3f");
        page_put(p, "</tr>\n");
    }
    page_put(p, "</tbody></table></div>\n");
}

/* "0" for what would be printed as +0 or -0. */
static void difference(const struct page *p, double value, double least, const char *format)
{
    bool some = value >= least || value <= -least;
    cell(p, some ? value : 0, some ? format : "%.0f");
}

static void beside_row(const struct page *p, const char *name, const int64_t ns[2])
{
    page_put(p, "<tr><th scope=\"row\" class=\"name\">%s</th>", name);
    for (size_t i = 0; i < 2; i++)
        if (ns[i] >= 0)
            cell(p, (double)ns[i] / 1e6, "%.3f");
        else
            page_put(p, "<td data-v=\"0\">not among its longest</td>");
    if (ns[0] >= 0 && ns[1] >= 0)
        difference(p, (double)(ns[0] - ns[1]) / 1e6, 0.0005, "%+.3f");
    else
        page_put(p, "<td data-v=\"0\"></td>");
    page_put(p, "</tr>\n");
}

static void count_row(const struct page *p, const char *name, const double count[2])
{
    if (count[0] <= 0 && count[1] <= 0)
        return;
    page_put(p, "<tr><th scope=\"row\" class=\"name\">%s</th>", name);
    for (size_t i = 0; i < 2; i++)
        cell(p, count[i], "%.0f");
    difference(p, count[0] - count[1], 0.5, "%+.0f");
    page_put(p, "</tr>\n");
}

/* What the late rank does otherwise than one in time. */
static void write_beside(const struct page *p)
{
    const struct rank_beside *b = &p->a->facts->ranks.beside;
    if (!b->known)
        return;
    page_put(p, "<h3>What the late rank does otherwise</h3>\n<div class=\"scroll\"><table "
                "class=\"data sortable\" id=\"beside\"><caption>Per step, in ms where no number is "
                "counted. Ranges of the thread that launches most, with those nested in "
                "them</caption><thead><tr><th scope=\"col\" class=\"l\">what</th>");
    fprintf(p->f,
            "<th scope=\"col\">rank %lld, late</th><th scope=\"col\">rank %lld</th><th "
            "scope=\"col\">difference</th></tr></thead><tbody>\n",
            (long long)b->rank[0], (long long)b->rank[1]);
    beside_row(p, "kernels, while no collective runs", b->compute_ns);
    beside_row(p, "GPU idle", b->idle_ns);
    count_row(p, "number of kernels", b->kernels);
    count_row(p, "thread blocks of them", b->blocks);
    for (size_t i = 0; i < b->range_count; i++)
        beside_row(p, b->ranges[i].name, b->ranges[i].ns);
    page_put(p, "</tbody></table></div>\n");
}

/* How to get the page of another rank: the late one, if this page is not about it. */
static void write_how_to_another(const struct page *p)
{
    const struct ranks *r = &p->a->facts->ranks;
    size_t own = 0;
    while (own < r->count && !facts_of_rank(p->a->facts, &r->at[own]))
        own++;
    if (own == r->count)
        return;
    size_t other = own != r->late ? r->late : own ? 0 : r->count - 1;
    fprintf(p->f,
            "<p><code>gpuprof report --rank %lld</code> with the same files makes the page of rank "
            "%lld.</p>\n",
            (long long)r->at[other].rank, (long long)r->at[other].rank);
}

void page_ranks(const struct page *p)
{
    static const char *const heads[] = {
        "step, ms",          "in collectives, ms",      "of that, waiting, ms",
        "of that, idle, ms", "kept others waiting, ms", "came last",
        "clock ahead, ms"};
    const struct ranks *r = &p->a->facts->ranks;
    if (p->a->facts->cpu_ranks.count > 1) {
        page_cpu_ranks(p);
        return;
    }
    page_put(p, "<section id=\"ranks\"><h2>Ranks</h2>\n");
    fprintf(p->f,
            "<p>%zu ranks compared over %lld collectives. A collective waits until the last rank "
            "has arrived; the transfer after that takes %.3f ms per step. Clocks are relative to "
            "the clock of the first rank.</p>\n",
            r->count, (long long)r->collectives, (double)r->transfer_ns / 1e6);
    write_how_to_another(p);
    if (r->count > PAGE_RANKS && page_heat(p) < 0)
        page_put(p, "<p>out of memory: no picture of the ranks</p>");
    write_bars(p);
    page_put(p,
             "<div class=\"scroll tall\"><table class=\"data sortable\"><caption>Ranks, per used "
             "step</caption><thead><tr><th scope=\"col\" class=\"l\">rank</th>");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        page_put(p, "<th scope=\"col\">%s</th>", heads[i]);
    page_put(p, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < r->count; i++)
        write_rank(p, &r->at[i],
                   r->group_size ? r->in_group[i] : i == r->late && r->at[i].late_ns > 0);
    page_put(p, "</tbody></table></div>\n");
    write_beside(p);
    write_groups(p);
    page_put(p, "</section>\n");
}
