/* Makes nodes from what the program gives, for the runtime and the driver, and lists a graph's
 * nodes and dependencies. */
#include "core/core_graph.h"

#include <stdlib.h>
#include <string.h>

enum { BODIES = VG_NODE_GIVEN / sizeof(struct vg_graph *) };

void vg_node_keep(struct vg_node *n, const void *given, size_t bytes)
{
    memcpy(n->given, given, bytes < VG_NODE_GIVEN ? bytes : VG_NODE_GIVEN);
}

struct vg_node *vg_node_new(struct vg_graph *g, enum vg_node_kind kind, struct vg_node *const *deps,
                            size_t count, int *bad)
{
    struct vg_graph *graph = vg_graph_check(g);
    *bad = !graph || (count && !deps) ? VG_INVALID_VALUE : VG_OK;
    if (*bad)
        return NULL;
    struct vg_node *n = vg_graph_add(graph, kind, deps, count);
    if (!n)
        *bad = VG_NO_MEMORY;
    return n;
}

int vg_node_done(struct vg_node *n, int bad, struct vg_graph *g, struct vg_node **out)
{
    if (bad && n) {
        g->count--; /* it was the last one */
        if (n->child)
            vg_graph_free(n->child);
        free(n->deps);
        free(n);
    } else if (!bad) {
        *out = n;
    }
    return bad;
}

int vg_node_kernel(struct vg_node *n, const struct vg_kernel *k)
{
    n->kernel = *k;
    n->record.kind = VG_REC_KERNEL;
    return VG_OK;
}

int vg_node_memset(struct vg_node *n, const struct vg_set *set)
{
    if (vg_pointer(set->ptr).kind == VG_MEM_PAGEABLE)
        return VG_INVALID_VALUE;
    vg_set_node(n, vg_current_device(), set);
    return VG_OK;
}

int vg_node_host(struct vg_node *n, void (*fn)(void *), void *arg)
{
    n->host = fn;
    n->host_arg = arg;
    return fn ? VG_OK : VG_INVALID_VALUE;
}

int vg_node_event(struct vg_node *n, struct vg_event *event)
{
    n->event = event;
    return vg_event_check(event);
}

int vg_node_child(struct vg_node *n, const struct vg_graph *child)
{
    struct vg_graph *before = n->child;
    n->child = child ? vg_graph_clone(child) : NULL;
    if (before)
        vg_graph_free(before);
    return n->child ? VG_OK : VG_INVALID_VALUE;
}

int vg_node_alloc(struct vg_node *n, int device, size_t bytes, void **out)
{
    if (device < 0 || device >= vg_device_count())
        return VG_INVALID_VALUE;
    struct vg_graph_memory *m = n->memory ? NULL : calloc(1, sizeof *m);
    int bad = m ? vg_malloc(device, out, bytes) : VG_INVALID_VALUE;
    if (bad) {
        free(m);
        return bad;
    }
    *m = (struct vg_graph_memory){*out, 1, false};
    vg_hold_memory(*out, true);
    n->memory = m;
    return VG_OK;
}

int vg_node_free(struct vg_node *n, const struct vg_graph *g, void *ptr)
{
    vg_node_keep(n, &ptr, sizeof ptr);
    for (size_t i = 0; g && i < g->count; i++)
        if (g->nodes[i]->memory && g->nodes[i]->memory->ptr == ptr)
            g->nodes[i]->memory->freed_inside = true;
    return vg_pointer(ptr).kind == VG_MEM_DEVICE ? VG_OK : VG_INVALID_VALUE;
}

int vg_node_condition(struct vg_node *n, size_t bodies)
{
    struct vg_graph *body[BODIES] = {0};
    if (bodies < 1 || bodies > BODIES)
        return VG_INVALID_VALUE;
    for (size_t i = 0; i < bodies; i++)
        if (!(body[i] = vg_graph_new()))
            return VG_NO_MEMORY;
    n->child = body[0];
    vg_node_keep(n, body, sizeof body);
    return VG_OK;
}

/* ---- lists: with a list, as many entries as fit are written; with NULL, they are counted ---- */

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
