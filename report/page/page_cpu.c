/* Numbers and ranks on the page of a run without a GPU. */
#include "report/page/page.h"

#include "report/page/xml.h"
#include "report/words/text.h"
#include "wire/fact_keys.h"

static void tile(const struct page *p, const char *name, const char *value, const char *more)
{
    page_put(p, "<div><dt>%s</dt><dd>%s<small>%s</small></dd></div>\n", name, value, more);
}

/* A tile with the share of some parts in the step. */
static void share_tile(const struct page *p, const char *name, uint32_t parts)
{
    const struct advice *a = p->a;
    struct text v, m;
    int64_t ns = 0;
    for (int i = 0; i < PART_COUNT; i++)
        ns += parts >> i & 1 ? a->facts->breakdown_ns[i] : 0;
    snprintf(v.s, sizeof v.s, "%.1f %%", percent_of(ns, a->facts->step_ns));
    tile(p, name, v.s, text_ms(&m, ns));
}

static void threads_tile(const struct page *p)
{
    const char *threads = timeline_meta(p->t, FACT_TORCH_NUM_THREADS);
    char more[48] = "";
    if (p->a->facts->host.usable_cores > 0)
        snprintf(more, sizeof more, "%d usable cores", p->a->facts->host.usable_cores);
    if (threads)
        tile(p, "threads of PyTorch", threads, more);
}

void page_cpu_numbers(const struct page *p)
{
    const struct advice *a = p->a;
    const char *word = scope_words(a->facts)->unit;
    char name[48];
    struct text v, m, q;
    page_put(p, "<dl class=\"tiles\">\n");
    snprintf(name, sizeof name, "%s, %s", word, analysis_by_mean(a->facts) ? "average" : "median");
    if (!a->facts->steps.used || a->facts->step_ns <= 0) {
        tile(p, "step, median", "-", "no steps found");
        page_put(p, "</dl>\n");
        return;
    }
    if (analysis_by_mean(a->facts))
        snprintf(m.s, sizeof m.s, "median %s", text_ms(&q, a->facts->steps.median_ns));
    else
        snprintf(m.s, sizeof m.s, "p95 %s", text_ms(&q, a->facts->steps.p95_ns));
    tile(p, name, text_ms(&v, a->facts->step_ns), m.s);
    text_value(&v, 1e9 / (double)a->facts->step_ns, "");
    tile(p, a->facts->steps.batches ? "batches per second" : "steps per second", v.s,
         text_rate(&m, a) && a->facts->steps.batches ? m.s : "");
    share_tile(p, "computing", 1u << PART_FORWARD | 1u << PART_BACKWARD | 1u << PART_OPTIMIZER);
    share_tile(p, "data and its workers", CPU_INPUT_PARTS);
    threads_tile(p);
    page_put(p, "</dl>\n");
}

static void write_rank(const struct page *p, const struct cpu_rank *r, bool late)
{
    fprintf(p->f, "<tr><th scope=\"row\" class=\"name\">rank %lld%s</th>", (long long)r->rank,
            late ? " (late)" : "");
    fprintf(p->f, "<td data-v=\"%lld\">%.2f</td><td data-v=\"%lld\">%.2f</td>",
            (long long)r->step_ns, (double)r->step_ns / 1e6, (long long)r->own_ns,
            (double)r->own_ns / 1e6);
    for (int i = 0; i < PART_COUNT; i++)
        if (part_in(i, CPU_PARTS))
            fprintf(p->f, "<td data-v=\"%lld\">%.2f</td>", (long long)r->parts[i],
                    (double)r->parts[i] / 1e6);
    page_put(p, "</tr>\n");
}

void page_cpu_ranks(const struct page *p)
{
    const struct cpu_ranks *r = &p->a->facts->cpu_ranks;
    page_put(p, "<section id=\"ranks\"><h2>Ranks</h2>\n<p>%s.</p>\n", r->text ? r->text : "");
    page_put(p, "<div class=\"scroll\"><table class=\"data sortable\"><caption>Mean step of each "
                "rank, ms: its parts sum to it; everything except backward is its own "
                "work</caption><thead><tr><th scope=\"col\" class=\"l\">rank</th><th "
                "scope=\"col\">step</th><th scope=\"col\">own work</th>");
    for (int i = 0; i < PART_COUNT; i++)
        if (part_in(i, CPU_PARTS))
            page_put(p, "<th scope=\"col\">%s</th>", part_title[i]);
    page_put(p, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < r->count; i++)
        write_rank(p, &r->at[i], i == r->late);
    page_put(p, "</tbody></table></div>\n</section>\n");
}
