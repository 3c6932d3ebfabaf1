/* Operators and modules with the kernels that they launched, as a graph of nested names and as a
 * table. Only if ranges were recorded around the launches. */
#include "report/page/flame.h"
#include "report/page/page.h"
#include "report/page/xml.h"
#include "report/words/text.h"

#include <stdlib.h>

enum { ROWS = 60, KERNELS = 3 };

struct operator
{
    uint32_t name;
    int64_t own_ns, ops;
    /* Names of the kernels with most time, the first the largest; 0: none. */
    uint32_t kernel[KERNELS];
    int64_t kernel_ns[KERNELS];
    int64_t longest_ns; /* longest single operation */
    uint32_t shapes;    /* string id of its launch's inputs; 0: unknown */
};

struct operators VEC(struct operator);

static struct operator* operator_of(struct operators *v, struct keymap *by_name, uint32_t name)
{
    struct key key = {{name}};
    uint32_t found = keymap_get(by_name, key);
    if (found != KEYMAP_NONE)
        return &v->at[found];
    struct operator* o = vec_push(v);
    if (!o || keymap_put(by_name, key, (uint32_t)v->n - 1))
        return NULL;
    *o = (struct operator){.name = name};
    return o;
}

/* Adds a kernel's time to the operator's largest kernels. The same kernel comes several times if
 * the operator has several places. */
static void keep_kernel(struct operator* o, uint32_t name, int64_t ns)
{
    int at = KERNELS;
    for (int i = 0; i < KERNELS && at == KERNELS; i++)
        if (o->kernel[i] == name)
            at = i;
    if (at < KERNELS)
        ns += o->kernel_ns[at];
    else if (ns > o->kernel_ns[KERNELS - 1])
        at = KERNELS - 1;
    else
        return;
    for (; at > 0 && ns > o->kernel_ns[at - 1]; at--) {
        o->kernel[at] = o->kernel[at - 1];
        o->kernel_ns[at] = o->kernel_ns[at - 1];
    }
    o->kernel[at] = name;
    o->kernel_ns[at] = ns;
}

static int most_first(const void *a, const void *b)
{
    const struct operator* x = a, *y = b;
    if (x->own_ns != y->own_ns)
        return x->own_ns > y->own_ns ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static void keep_shapes(const struct timeline *t, struct operator* o, const struct work_node *n)
{
    int64_t ns = t->ops[n->longest].end_ns - t->ops[n->longest].start_ns;
    if (!n->shapes || (o->shapes && ns <= o->longest_ns))
        return;
    o->shapes = n->shapes;
    o->longest_ns = ns;
}

/* Collects the operators that launched work themselves. -1: out of memory. */
static int collect(const struct timeline *t, const struct work_tree *w, struct operators *out)
{
    struct keymap by_name = {0};
    int rc = 0;
    for (size_t i = 1; rc == 0 && i < w->nodes.n; i++) {
        const struct work_node *n = &w->nodes.at[i], *p = &w->nodes.at[n->parent];
        if (n->kind != WORK_OP || n->parent == 0)
            continue;
        struct operator* o = operator_of(out, &by_name, p->name);
        rc = o ? 0 : -1;
        if (!o)
            continue;
        o->own_ns += n->total_ns;
        o->ops += n->ops;
        keep_kernel(o, n->name, n->total_ns);
        keep_shapes(t, o, n);
    }
    keymap_release(&by_name);
    if (rc == 0 && out->n)
        qsort(out->at, out->n, sizeof *out->at, most_first);
    return rc;
}

static void write_operator(const struct page *p, const struct operator* o, int64_t all_ns,
                           bool shapes)
{
    const struct facts *f = p->a->facts;
    struct text t;
    double steps = f->steps.used ? (double)f->steps.used : 1;
    page_put(p, "<tr><th scope=\"row\" class=\"name\">");
    page_name(p, tl_text(p->t, o->name), NULL);
    fprintf(p->f, "</th><td data-v=\"%.9g\">", (double)o->ops);
    page_put(p, "%s</td>", text_mean_count(&t, (double)o->ops / steps));
    fprintf(p->f, "<td data-v=\"%.9g\">%.3f</td><td data-v=\"%.9g\">%.1f %%</td>",
            (double)o->own_ns, (double)facts_per_step(f, o->own_ns) / 1e6, (double)o->own_ns,
            percent_of(o->own_ns, all_ns));
    page_put(p, "<td class=\"name\">");
    for (int i = 0; i < KERNELS && o->kernel[i]; i++)
        page_name(p, tl_text(p->t, o->kernel[i]), NULL);
    page_put(p, "</td>");
    if (shapes)
        page_put(p, "<td class=\"l wide\">%s</td>", tl_text(p->t, o->shapes));
    page_put(p, "</tr>\n");
}

static void write_table(const struct page *p, const struct operators *v, int64_t all_ns)
{
    bool shapes = false;
    for (size_t i = 0; i < v->n && i < ROWS; i++)
        shapes |= v->at[i].shapes != 0;
    page_put(p, "<div class=\"scroll tall\" role=\"region\" tabindex=\"0\" "
                "aria-label=\"Operators\"><table class=\"data sortable\" id=\"operatortable\">"
                "<caption>By the innermost range around the launch, per used step</caption><thead>"
                "<tr><th scope=\"col\" class=\"l\">operator</th><th scope=\"col\">launches</th>"
                "<th scope=\"col\">GPU ms</th><th scope=\"col\">share</th>"
                "<th scope=\"col\" class=\"l\">most time in</th>");
    if (shapes)
        page_put(p, "<th scope=\"col\" class=\"l\">inputs of the longest</th>");
    page_put(p, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < v->n && i < ROWS; i++)
        write_operator(p, &v->at[i], all_ns, shapes);
    page_put(p, "</tbody></table></div>\n");
    if (v->n > ROWS)
        fprintf(p->f, "<p class=\"dim\">The %d that take most; %zu more take less.</p>\n", ROWS,
                v->n - ROWS);
}

void page_operators(const struct page *p)
{
    struct work_tree w;
    struct operators v = {0};
    if (work_tree_build(&w, p->a->facts) == 0 && collect(p->t, &w, &v) == 0) {
        int64_t all = w.nodes.at[0].total_ns;
        page_put(p, "<section id=\"operators\"><h2>What launches the work</h2>\n<p class=\"dim\">"
                    "GPU time by the operators, modules and ranges around the launches, the "
                    "outermost on top");
        fprintf(p->f, "; operators launched %.1f %% of it.</p>\n", percent_of(w.inside_ns, all));
        flame_write(p, &w, "GPU time by nested operators; the table below has the largest", NULL);
        write_table(p, &v, all);
        page_put(p, "</section>\n");
    }
    work_tree_release(&w);
    vec_release(&v);
}
