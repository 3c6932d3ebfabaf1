/* Builds the tree of ranges and the kernels and copies that were launched from within them. */
#include "report/page/work_tree.h"

#include "analyzer/measure/ranges.h"

#include <string.h>

enum { DEEPEST = 48 };

static uint32_t child_of(struct work_tree *w, uint32_t parent, uint32_t name, bool work)
{
    struct key key = {{parent, name, work}};
    uint32_t found = keymap_get(&w->child, key);
    if (found != KEYMAP_NONE)
        return found;
    uint32_t index = (uint32_t)w->nodes.n, depth = w->nodes.at[parent].depth + 1;
    struct work_node *n = vec_push(&w->nodes);
    if (!n || keymap_put(&w->child, key, index))
        return TL_NONE;
    *n = (struct work_node){.name = name, .parent = parent, .depth = depth, .work = work};
    n->longest = TL_NONE;
    return index;
}

/* Marks of steps are around everything and say nothing; of Python's frames the modules say enough.
 */
static bool passed_over(const struct timeline *t, const struct range *r)
{
    const char *name = tl_text(t, r->name);
    if (strcmp(tl_text(t, r->domain), "python") == 0)
        return strncmp(name, "nn.Module:", 10) != 0;
    return strncmp(name, "ProfilerStep#", 13) == 0 || strcmp(name, "step") == 0;
}

static bool counts(const struct facts *f, uint32_t op)
{
    uint32_t step = f->steps.op_step ? f->steps.op_step[op] : TL_NONE;
    return step < f->steps.count && f->steps.at[step].used;
}

bool work_tree_any(const struct facts *f)
{
    const struct timeline *t = f->tl;
    uint32_t *parents = t->range_count ? range_parents(t) : NULL;
    bool any = false;
    for (uint32_t i = 0; parents && !any && i < t->op_count; i++) {
        if (t->ops[i].api == TL_NONE || !counts(f, i))
            continue;
        const struct api *api = &t->apis[t->ops[i].api];
        uint32_t r = range_at(t, parents, api->thread, api->start_ns);
        while (r != TL_NONE && passed_over(t, &t->ranges[r]))
            r = parents[r];
        any = r != TL_NONE;
    }
    free(parents);
    return any;
}

static int add_op(struct work_tree *w, const struct timeline *t, const uint32_t *parents,
                  uint32_t op)
{
    uint32_t path[DEEPEST], n = 0, at = 0, shapes = 0;
    const struct op *o = &t->ops[op];
    const struct api *api = o->api == TL_NONE ? NULL : &t->apis[o->api];
    uint32_t r = api ? range_at(t, parents, api->thread, api->start_ns) : TL_NONE;
    for (; r != TL_NONE && n < DEEPEST; r = parents[r]) {
        shapes = shapes ? shapes : t->ranges[r].shapes;
        if (!passed_over(t, &t->ranges[r]))
            path[n++] = t->ranges[r].name;
    }
    int64_t ns = o->end_ns - o->start_ns;
    w->in_ranges_ns += n ? ns : 0;
    w->nodes.at[0].total_ns += ns;
    for (uint32_t k = n; k-- > 0;) {
        if ((at = child_of(w, at, path[k], false)) == TL_NONE)
            return -1;
        w->nodes.at[at].total_ns += ns;
        w->nodes.at[at].ops++;
    }
    w->nodes.at[at].own_ns += ns;
    if ((at = child_of(w, at, o->name, true)) == TL_NONE)
        return -1;
    struct work_node *leaf = &w->nodes.at[at];
    leaf->total_ns += ns;
    leaf->ops++;
    if (leaf->longest == TL_NONE ||
        ns > t->ops[leaf->longest].end_ns - t->ops[leaf->longest].start_ns) {
        leaf->longest = op;
        leaf->shapes = shapes;
    }
    return 0;
}

int work_tree_build(struct work_tree *w, const struct facts *f)
{
    const struct timeline *t = f->tl;
    *w = (struct work_tree){0};
    struct work_node *root = vec_push(&w->nodes);
    uint32_t *parents = range_parents(t);
    int rc = root && parents ? 0 : -1;
    if (root)
        *root = (struct work_node){.parent = TL_NONE, .longest = TL_NONE};
    for (uint32_t i = 0; rc == 0 && i < t->op_count; i++)
        if (counts(f, i))
            rc = add_op(w, t, parents, i);
    free(parents);
    return rc;
}

void work_tree_release(struct work_tree *w)
{
    vec_release(&w->nodes);
    keymap_release(&w->child);
}
