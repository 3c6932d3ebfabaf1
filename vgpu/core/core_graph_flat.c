/* Flattens an executable graph: nodes of child graphs and of the bodies of conditions become nodes
 * of the graph, and the node that held them ends with the last of them. A kernel would compute a
 * condition's value; since kernels compute nothing, the first body runs once. */
#include "core/core_graph.h"

#include <stdlib.h>

/* Adds the child's nodes behind the dependencies of the node that holds it. -1: no memory. */
static int lay_child(struct vg_graph *flat, struct vg_node *holder)
{
    const struct vg_graph *child = holder->child;
    size_t first = flat->count;
    holder->child = NULL;
    holder->child_first = first;
    for (size_t i = 0; i < child->count; i++) {
        const struct vg_node *from = child->nodes[i];
        struct vg_node *const *deps = from->deps_n ? from->deps : holder->deps;
        size_t n = from->deps_n ? from->deps_n : holder->deps_n;
        struct vg_node *to = vg_graph_add(flat, from->kind, deps, n);
        if (!to)
            return -1;
        struct vg_node made = *to;
        *to = *from;
        to->id = made.id;
        to->index = made.index;
        to->deps = made.deps;
        to->deps_n = made.deps_n;
        if (to->memory)
            to->memory->refs++;
    }
    /* By node of the child: another one of the child depends on it. */
    bool *inner = calloc(child->count + 1, sizeof *inner);
    int rc = inner ? 0 : -1;
    for (size_t i = 0; inner && i < child->count; i++)
        for (size_t k = 0; k < child->nodes[i]->deps_n; k++) {
            size_t on = child->nodes[i]->deps[k]->index;
            flat->nodes[first + i]->deps[k] = flat->nodes[first + on];
            inner[on] = true;
        }
    for (size_t i = 0; inner && rc == 0 && i < child->count; i++)
        if (!inner[i])
            rc = vg_node_depend(holder, flat->nodes[first + i]) == VG_OK ? 0 : -1;
    free(inner);
    return rc;
}

static bool in_order(const struct vg_graph *g)
{
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < g->nodes[i]->deps_n; k++)
            if (g->nodes[i]->deps[k]->index >= i)
                return false;
    return true;
}

static bool all_placed(const struct vg_node *n, const bool *placed)
{
    for (size_t k = 0; k < n->deps_n; k++)
        if (!placed[n->deps[k]->index])
            return false;
    return true;
}

/* Orders nodes behind their dependencies. -1: no memory, or a cycle. */
static int put_in_order(struct vg_graph *g)
{
    bool *placed = calloc(g->count + 1, sizeof *placed);
    g->order = calloc(g->count + 1, sizeof *g->order);
    size_t n = 0, before = 1;
    while (placed && g->order && n < g->count && before != n) {
        before = n;
        for (size_t i = 0; i < g->count; i++)
            if (!placed[i] && all_placed(g->nodes[i], placed)) {
                placed[i] = true;
                g->order[n++] = i;
            }
        if (n == 0)
            break;
    }
    free(placed);
    return n == g->count ? 0 : -1;
}

struct vg_graph *vg_graph_flat(const struct vg_graph *g)
{
    struct vg_graph *flat = vg_graph_copy(g);
    int bad = flat ? 0 : -1;
    for (size_t i = 0; !bad && i < flat->count; i++)
        if (flat->nodes[i]->child)
            bad = lay_child(flat, flat->nodes[i]);
    if (!bad && !in_order(flat))
        bad = put_in_order(flat);
    for (size_t i = 0; bad && flat && i < flat->count; i++)
        flat->nodes[i]->child = NULL; /* the child graphs belong to the program */
    if (bad && flat)
        vg_graph_free(flat);
    return bad ? NULL : flat;
}
