/* Time by line of the user's own Python, as graphs: the lines that the GPU works for, and the lines
 * where the host is while the GPU idles. */
#include "analyzer/facts/lines.h"
#include "report/page/flame.h"
#include "report/page/page.h"
#include "report/page/xml.h"
#include "report/words/text.h"

bool page_has_lines(const struct page *p)
{
    return facts_gpu_lines(p->a->facts)->count > 0 ||
           facts_lines(p->a->facts, LINES_STEP)->count > 0 ||
           facts_lines(p->a->facts, LINES_WORKERS)->count > 0;
}

static void write_gpu(const struct page *p)
{
    struct work_tree w;
    const struct gpu_lines *g = facts_gpu_lines(p->a->facts);
    if (g->count == 0)
        return;
    if (work_tree_lines(&w, p->a->facts) == 0) {
        page_put(p, "<h3>What the GPU works for</h3>\n<p class=\"dim\">Its time by module, "
                    "function, line and "
                    "kernel. Work of a backward pass belongs to the line of its forward pass.");
        fprintf(p->f, " %.1f %% of it has a line.</p>\n", percent_of(g->lined_ns, g->ns));
        flame_write(p, &w, "GPU time by module, function, line and kernel",
                    scope_words(p->a->facts)->per);
    }
    work_tree_release(&w);
}

static void write_host(const struct page *p, enum lines_of which, const char *title,
                       const char *per)
{
    const struct lines *l = facts_lines(p->a->facts, which);
    struct work_tree w;
    struct text ms;
    if (l->count == 0 || l->ns <= 0)
        return;
    if (work_tree_stacks(&w, p->t, l->stack_ns) == 0 && w.nodes.n > 1) {
        page_put(p, "<h3>%s</h3>\n<p class=\"dim\">%s %s, by the frames that ", title,
                 text_ms(&ms, l->ns), per);
        fprintf(p->f, "%lld looks found, the outermost on top.</p>\n", (long long)l->looks);
        flame_write(p, &w, title, per);
    }
    work_tree_release(&w);
}

void page_lines(const struct page *p)
{
    const struct facts *f = p->a->facts;
    page_put(p, "<section id=\"lines\"><h2>Lines of the program</h2>\n");
    write_gpu(p);
    write_host(p, LINES_STEP,
               f->on_cpu ? "Where the step's time goes"
                         : "Where the program is while the GPU idles",
               scope_words(f)->per);
    write_host(p, LINES_WORKERS, "Where the loader's workers are", "per batch");
    page_put(p, "</section>\n");
}
