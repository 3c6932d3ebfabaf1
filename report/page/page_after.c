/* The step after changes: the recorded step, and its predicted length after one finding after
 * another, by the replay. */
#include "report/page/page.h"

#include "report/page/xml.h"
#include "report/words/text.h"

/* A change that saves nothing before other changes is not listed as a finding, and has no
 * picture. */
static bool is_listed(const struct page *p, const struct outcome *one)
{
    const struct outcome *o;
    for (size_t i = 0; (o = shown_finding(p->a, p->o, i)); i++)
        if (o == one)
            return true;
    return false;
}

static void write_row(const struct page *p, const char *what, bool listed, int64_t step_ns,
                      int64_t low_ns, int64_t high_ns)
{
    struct text t;
    double share = percent_of(step_ns, p->a->facts->step_ns);
    page_put(p, "<tr><th scope=\"row\">%s%s</th><td>%s</td>", what,
             listed ? "" : " (only after the ones above)", text_ms(&t, step_ns));
    if (high_ns > low_ns)
        page_put(p, "<td class=\"dim\">%s</td>", text_between(&t, low_ns, high_ns));
    else
        page_put(p, "<td></td>");
    fprintf(p->f, "<td class=\"left\"><i class=\"p6\" style=\"width:%.2f%%\"></i></td></tr>\n",
            share < 100 ? share : 100);
}

void page_after(const struct page *p)
{
    const struct advice *a = p->a;
    if (a->stack_count == 0 || p->o->rule)
        return;
    page_put(p, "<table class=\"after\"><caption>Replayed time of a step as you add one change "
                "after another. The next is the one that saves most on top of those above; CUDA "
                "graphs come behind the rest.</caption><tbody>\n");
    write_row(p, "as recorded", true, p->a->facts->step_ns, 0, 0);
    for (size_t i = 0; i < a->stack_count; i++)
        write_row(p, a->stack[i].outcome->title, is_listed(p, a->stack[i].outcome),
                  a->stack[i].step_ns, a->stack[i].step_low_ns, a->stack[i].step_high_ns);
    page_put(p, "</tbody></table>\n");
}
