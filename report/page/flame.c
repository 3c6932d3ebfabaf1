/* Writes a tree of times as boxes in markup, parents before their children, from left to right. */
#include "report/page/flame.h"
#include "report/page/xml.h"
#include "report/words/text.h"
#include "wire/python_owner.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 24, FINEST = 2000, MOST = 800, LABELLED = 50 };

struct box {
    const struct work_node *node;
    int64_t left_ns;
};

static bool shown(const struct work_node *n, int64_t least_ns)
{
    return n->total_ns > least_ns && n->depth <= LAYERS;
}

static size_t count_shown(const struct work_tree *w, int64_t least_ns)
{
    size_t n = 0;
    for (size_t i = 1; i < w->nodes.n; i++)
        n += shown(&w->nodes.at[i], least_ns);
    return n;
}

/* Nodes with no more time than this are left out, so that at most MOST boxes remain. */
static int64_t least_shown(const struct work_tree *w)
{
    int64_t least_ns = w->nodes.at[0].total_ns / FINEST;
    while (count_shown(w, least_ns) > MOST)
        least_ns = least_ns * 2 + 1;
    return least_ns;
}

static int from_left(const void *a, const void *b)
{
    const struct box *x = a, *y = b;
    if (x->left_ns != y->left_ns)
        return x->left_ns < y->left_ns ? -1 : 1;
    return (x->node->depth > y->node->depth) - (x->node->depth < y->node->depth);
}

/* Places children side by side within their parent, in the order of the tree. NULL: no memory. */
static struct box *place(const struct work_tree *w, size_t *count)
{
    int64_t *left = calloc(2 * w->nodes.n, sizeof *left), *used = left ? left + w->nodes.n : NULL;
    struct box *boxes = calloc(w->nodes.n, sizeof *boxes);
    int64_t least_ns = least_shown(w);
    *count = 0;
    for (size_t i = 1; left && boxes && i < w->nodes.n; i++) {
        const struct work_node *n = &w->nodes.at[i];
        left[i] = left[n->parent] + used[n->parent];
        used[n->parent] += n->total_ns;
        if (shown(n, least_ns))
            boxes[(*count)++] = (struct box){n, left[i]};
    }
    free(left);
    if (boxes)
        qsort(boxes, *count, sizeof *boxes, from_left);
    return boxes;
}

/* True for "train.py:9" in "train.py:9 (Net.forward)", false in "train.py:90". */
static bool begins_with(const char *text, const char *place)
{
    size_t n = strlen(place);
    return text && strncmp(text, place, n) == 0 && !isdigit((unsigned char)text[n]);
}

static bool finding_names(const struct outcome *o, const char *place)
{
    bool names = begins_with(o->remedy.object.place, place);
    for (size_t i = 0; i < o->example_count; i++)
        names |= begins_with(o->examples[i].caller, place);
    return names;
}

static void write_findings(const struct page *p, const struct row_stack *s)
{
    const struct outcome *o;
    size_t n = 0;
    char place[512];
    snprintf(place, sizeof place, "%.400s:%lld", python_short_file(tl_text(p->t, s->file)),
             (long long)s->line);
    for (size_t i = 0; (o = shown_finding(p->a, p->o, i)); i++)
        if (finding_names(o, place))
            fprintf(p->f, "%s%zu", n++ ? " " : " data-findings=\"", i + 1);
    if (n)
        fputc('"', p->f);
}

static void write_box(const struct page *p, const struct box *b, int64_t all, const char *per)
{
    const struct work_node *n = b->node;
    char name[1024];
    const char *text = work_text(p->t, n, name, sizeof name);
    struct text t;
    int64_t ns = per ? n->total_ns : facts_per_step(p->a->facts, n->total_ns);
    bool is_odd = n->kind == WORK_RANGE ? n->depth % 2 : n->kind == WORK_FUNCTION;
    fprintf(p->f, "<i class=\"%s\" style=\"left:%.3f%%;width:%.3f%%;top:%.2frem\"",
            n->kind == WORK_OP ? "work"
            : is_odd           ? "odd"
                               : "even",
            percent_of(b->left_ns, all), percent_of(n->total_ns, all), 1.3 * (n->depth - 1));
    if (n->kind >= WORK_LINE)
        write_findings(p, &p->t->stacks[n->name]);
    page_put(p, " title=\"%s: %s %s, ", text, text_ms(&t, ns),
             per ? per : scope_words(p->a->facts)->per);
    fprintf(p->f, "%.1f %%\">", percent_of(n->total_ns, all));
    if (n->total_ns > all / LABELLED)
        page_put(p, "%s", text);
    page_put(p, "</i>\n");
}

void flame_write(const struct page *p, const struct work_tree *w, const char *label,
                 const char *per)
{
    size_t count;
    struct box *boxes = place(w, &count);
    uint32_t deepest = 0;
    for (size_t i = 0; boxes && i < count; i++)
        if (boxes[i].node->depth > deepest)
            deepest = boxes[i].node->depth;
    fprintf(p->f, "<div class=\"flame\" role=\"img\" style=\"height:%.2frem\"", 1.3 * deepest);
    page_put(p, " aria-label=\"%s\">\n", label);
    for (size_t i = 0; boxes && i < count; i++)
        write_box(p, &boxes[i], w->nodes.at[0].total_ns, per);
    page_put(p, "</div>\n");
    free(boxes);
}
