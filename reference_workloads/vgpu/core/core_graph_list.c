/* What a graph consists of: its nodes and what they depend on. Lists are of unknown length: with
 * room, as many as fit are filled in; without (NULL), they are counted. */
#include "reference_workloads/vgpu/core/core_graph.h"

struct answer {
    struct vg_node **a, **b;
    size_t room, count;
};

static void put(struct answer *w, struct vg_node *a, struct vg_node *b)
{
    if (w->count < w->room && w->a)
        w->a[w->count] = a;
    if (w->count < w->room && w->b)
        w->b[w->count] = b;
    w->count++;
}

static int answered(const struct answer *w, size_t *count)
{
    bool asked = w->a || w->b;
    for (size_t i = w->count; i < w->room && w->a; i++)
        w->a[i] = NULL;
    *count = asked && w->room < w->count ? w->room : w->count;
    return VG_OK;
}

int vg_graph_nodes(const struct vg_graph *g, struct vg_node **out, size_t *count)
{
    if (!g || !count)
        return VG_INVALID_VALUE;
    struct answer w = {out, NULL, out ? *count : 0, 0};
    for (size_t i = 0; i < g->count; i++)
        put(&w, g->nodes[i], NULL);
    return answered(&w, count);
}

int vg_graph_roots(const struct vg_graph *g, struct vg_node **out, size_t *count)
{
    if (!g || !count)
        return VG_INVALID_VALUE;
    struct answer w = {out, NULL, out ? *count : 0, 0};
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i]->deps_n == 0)
            put(&w, g->nodes[i], NULL);
    return answered(&w, count);
}

int vg_graph_edges(const struct vg_graph *g, struct vg_node **from, struct vg_node **to,
                   size_t *count)
{
    if (!g || !count)
        return VG_INVALID_VALUE;
    struct answer w = {from, to, from || to ? *count : 0, 0};
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < g->nodes[i]->deps_n; k++)
            put(&w, g->nodes[i]->deps[k], g->nodes[i]);
    return answered(&w, count);
}

int vg_node_list(const struct vg_node *n, struct vg_node **deps, size_t *count)
{
    if (!n || !count)
        return VG_INVALID_VALUE;
    struct answer w = {deps, NULL, deps ? *count : 0, 0};
    for (size_t i = 0; i < n->deps_n; i++)
        put(&w, n->deps[i], NULL);
    return answered(&w, count);
}

int vg_graph_connect(const struct vg_graph *g, struct vg_node *const *from,
                     struct vg_node *const *to, size_t n, bool add)
{
    if (!g || (n && (!from || !to)))
        return VG_INVALID_VALUE;
    int bad = VG_OK;
    for (size_t i = 0; i < n && !bad; i++) {
        if (add && vg_node_depends(to[i], from[i]))
            bad = VG_INVALID_VALUE;
        else if (add)
            bad = vg_node_depend(to[i], from[i]);
        else
            vg_node_release(to[i], from[i]);
    }
    return bad;
}
