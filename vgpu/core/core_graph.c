/* Graphs: nodes with dependencies, their executable copies, and the launch. A launch places each
 * node behind those on which it depends, with the graph's small gap. All nodes share the launch's
 * correlation id. */
#include "core/core_graph.h"

#include <stdlib.h>
#include <string.h>

struct vg_graph *vg_graph_new(void)
{
    struct vg_graph *g = calloc(1, sizeof *g);
    if (g) {
        g->magic = VG_GRAPH_MAGIC;
        g->id = vg_core.next_id++;
    }
    return g;
}

struct vg_node *vg_graph_add(struct vg_graph *g, enum vg_node_kind kind,
                             struct vg_node *const *deps, size_t n)
{
    if (g->count == g->capacity) {
        size_t cap = g->capacity ? g->capacity * 2 : 64;
        struct vg_node **grown = realloc(g->nodes, cap * sizeof *grown);
        if (!grown)
            return NULL;
        g->nodes = grown;
        g->capacity = cap;
    }
    struct vg_node *node = calloc(1, sizeof *node);
    struct vg_node **own = malloc((n + 1) * sizeof *own);
    if (!node || !own) {
        free(node);
        free(own);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        own[i] = deps[i];
    node->kind = kind;
    node->index = g->count;
    /* As CUPTI's ids: the graph's above, the node's below. */
    node->id = (uint64_t)g->id << 32 | (g->count + 1);
    node->deps = own;
    node->deps_n = n;
    g->nodes[g->count++] = node;
    return node;
}

static void release_memory(struct vg_graph_memory *m)
{
    if (!m || --m->refs > 0)
        return;
    if (m->freed_inside)
        vg_free(m->ptr);
    vg_hold_memory(m->ptr, false);
    free(m);
}

void vg_graph_free(struct vg_graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        struct vg_node *n = g->nodes[i];
        if (n->child)
            vg_graph_free(n->child);
        release_memory(n->memory);
        free(n->deps);
        free(n);
    }
    free(g->nodes);
    free(g->order);
    g->magic = 0;
    free(g);
}

struct vg_graph *vg_graph_copy(const struct vg_graph *g)
{
    struct vg_graph *copy = vg_graph_new();
    for (size_t i = 0; copy && i < g->count; i++) {
        const struct vg_node *from = g->nodes[i];
        struct vg_node *to = vg_graph_add(copy, from->kind, from->deps, from->deps_n);
        if (!to) {
            for (size_t k = 0; k < copy->count; k++)
                copy->nodes[k]->child = NULL;
            vg_graph_free(copy);
            return NULL;
        }
        struct vg_node made = *to;
        *to = *from;
        to->id = made.id;
        to->copy_of = from;
        to->deps = made.deps;
        if (to->memory)
            to->memory->refs++;
    }
    for (size_t i = 0; copy && i < g->count; i++)
        for (size_t k = 0; k < copy->nodes[i]->deps_n; k++)
            copy->nodes[i]->deps[k] = copy->nodes[g->nodes[i]->deps[k]->index];
    return copy;
}

struct vg_graph *vg_graph_clone(const struct vg_graph *g)
{
    struct vg_graph *copy = vg_graph_copy(g);
    for (size_t i = 0; copy && i < copy->count; i++)
        if (copy->nodes[i]->child)
            copy->nodes[i]->child = vg_graph_clone(copy->nodes[i]->child);
    return copy;
}

bool vg_node_depends(const struct vg_node *n, const struct vg_node *on)
{
    for (size_t i = 0; i < n->deps_n; i++)
        if (n->deps[i] == on)
            return true;
    return false;
}

int vg_node_depend(struct vg_node *n, struct vg_node *on)
{
    struct vg_node **grown = realloc(n->deps, (n->deps_n + 1) * sizeof *grown);
    if (!grown)
        return VG_NO_MEMORY;
    n->deps = grown;
    n->deps[n->deps_n++] = on;
    return VG_OK;
}

void vg_node_release(struct vg_node *n, const struct vg_node *on)
{
    size_t kept = 0;
    for (size_t i = 0; i < n->deps_n; i++)
        if (n->deps[i] != on)
            n->deps[kept++] = n->deps[i];
    n->deps_n = kept;
}

int vg_exec_new(struct vg_graph *g, struct vg_exec **out)
{
    struct vg_exec *x = calloc(1, sizeof *x);
    struct vg_graph *own = vg_graph_flat(g);
    if (!x || !own) {
        free(x);
        if (own)
            vg_graph_free(own);
        return VG_NO_MEMORY;
    }
    *x = (struct vg_exec){VG_EXEC_MAGIC, own->id, own};
    *out = x;
    return VG_OK;
}

static bool same_shape(const struct vg_graph *a, const struct vg_graph *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->nodes[i]->kind != b->nodes[i]->kind || a->nodes[i]->deps_n != b->nodes[i]->deps_n)
            return false;
    return true;
}

int vg_exec_update(struct vg_exec *x, const struct vg_graph *g)
{
    struct vg_graph *flat = vg_graph_flat(g);
    if (!flat)
        return VG_NO_MEMORY;
    bool same = same_shape(x->graph, flat);
    for (size_t i = 0; same && i < flat->count; i++) {
        struct vg_node *to = x->graph->nodes[i];
        struct vg_node kept = *to;
        *to = *flat->nodes[i];
        to->id = kept.id;
        to->deps = kept.deps;
        to->memory = kept.memory;
    }
    vg_graph_free(flat);
    return same ? VG_OK : VG_GRAPH_UPDATE_FAILURE;
}

/* Frees an executable graph. Launched work goes on: the timeline holds no pointer into the
 * graph. */
int vg_exec_free(struct vg_exec *x)
{
    vg_graph_free(x->graph);
    x->magic = 0;
    free(x);
    return VG_OK;
}

struct vg_work vg_node_work(const struct vg_profile *p, const struct vg_node *n)
{
    if (n->kind == VG_NODE_KERNEL)
        return vg_kernel_work(p, &n->kernel);
    if (n->kind == VG_NODE_COPY || n->kind == VG_NODE_MEMSET)
        return (struct vg_work){.engine = n->kind == VG_NODE_COPY ? n->engine : VG_ENGINE_COMPUTE,
                                .duration_ns = vg_scaled(n->duration_ns, p->copy_fixed_ns)};
    return (struct vg_work){.engine = VG_ENGINE_NONE};
}

/* Places all nodes. Returns when the last one ends. */
static int64_t place_nodes_locked(struct vg_device *d, const struct vg_graph *g, int64_t from_ns,
                                  struct vg_span *span)
{
    int64_t last = from_ns;
    for (size_t at = 0; at < g->count; at++) {
        size_t i = vg_node_at(g, at);
        const struct vg_node *n = g->nodes[i];
        struct vg_work w = vg_node_work(&d->profile, n);
        int64_t start = from_ns;
        if (n->kind == VG_NODE_WAIT && n->event->time_ns > start)
            start = n->event->time_ns;
        for (size_t k = 0; k < n->deps_n; k++) {
            int64_t after = span[n->deps[k]->index].end_ns + (int64_t)d->profile.graph_gap_ns;
            start = after > start ? after : start;
        }
        bool engine = w.engine != VG_ENGINE_NONE && !w.shares_engine && !n->disabled;
        if (engine && d->engine_free_ns[w.engine] > start)
            start = d->engine_free_ns[w.engine];
        span[i] = (struct vg_span){start, start + (n->disabled ? 0 : w.duration_ns)};
        if (n->kind == VG_NODE_RECORD) {
            n->event->recorded = true;
            n->event->time_ns = start;
        }
        if (engine)
            d->engine_free_ns[w.engine] = span[i].end_ns;
        if (w.engine == VG_ENGINE_COMPUTE)
            d->busy_ns += span[i].end_ns - span[i].start_ns;
        last = span[i].end_ns > last ? span[i].end_ns : last;
    }
    vg_gauges_put(d);
    return last;
}

static int run_side(struct vg_stream *s, const struct vg_node *n, int64_t when_ns)
{
    if (n->kind == VG_NODE_COPY)
        vg_copy_bytes(&n->copy, false);
    else if (n->kind == VG_NODE_MEMSET)
        vg_set_bytes(&n->set);
    else if (n->kind == VG_NODE_HOST)
        return vg_host_at(s, when_ns, n->host, n->host_arg);
    return VG_OK;
}

struct vg_record vg_node_record(const struct vg_exec *x, const struct vg_stream *s,
                                const struct vg_node *n)
{
    static const enum vg_record_kind kinds[] = {VG_REC_KERNEL, VG_REC_COPY, VG_REC_MEMSET};
    struct vg_record r = n->record;
    struct vg_record here = vg_record_on(s, kinds[n->kind]);
    if (n->kind == VG_NODE_KERNEL)
        r.kernel = n->kernel;
    r.kind = here.kind;
    r.device = here.device;
    r.stream_id = here.stream_id;
    r.context_id = here.context_id;
    r.correlation = here.correlation;
    r.graph_id = x->id;
    r.graph_node_id = n->id;
    return r;
}

static int emit_nodes(struct vg_stream *s, const struct vg_exec *x, const struct vg_span *span)
{
    int result = VG_OK;
    for (size_t at = 0; at < x->graph->count && result == VG_OK; at++) {
        size_t i = vg_node_at(x->graph, at);
        const struct vg_node *n = x->graph->nodes[i];
        if (n->disabled)
            continue;
        result = run_side(s, n, span[i].start_ns);
        if (n->kind > VG_NODE_MEMSET)
            continue;
        struct vg_record r = vg_node_record(x, s, n);
        r.start_ns = span[i].start_ns;
        r.end_ns = span[i].end_ns;
        vg_emit(&r);
    }
    return result;
}

int vg_exec_launch(struct vg_exec *x, struct vg_stream *s)
{
    struct vg_device *d = &vg_core.device[s->device];
    struct vg_api *api = vg_api_current();
    const struct vg_profile *p = &d->profile;
    int64_t now = api ? api->start_ns : vg_now_ns();
    double nodes = (double)x->graph->count;
    if (s->capture) {
        struct vg_node *child = vg_capture_node(s, VG_NODE_GRAPH);
        if (child)
            child->child = vg_graph_clone(x->graph);
        return child && child->child ? VG_OK : VG_NO_MEMORY;
    }
    if (api)
        api->host_ns = (int64_t)(p->graph_launch_host_ns + nodes * p->graph_launch_node_host_ns);
    struct vg_work w = {.earliest_ns = now + (int64_t)p->start_latency_ns,
                        .gap_ns = (int64_t)p->kernel_gap_ns};
    vg_settle_legacy(s);
    if (s->held || vg_exec_has_barrier(x))
        return vg_exec_hold(x, s, &w);
    struct vg_span *span = malloc((x->graph->count + 1) * sizeof *span);
    if (!span)
        return VG_NO_MEMORY;
    vg_settle(s);
    pthread_mutex_lock(&vg_core.lock);
    vg_queue_locked(s);
    struct vg_record r = vg_record_on(s, VG_REC_GRAPH);
    r.start_ns = vg_place_locked(s, &w).start_ns;
    r.end_ns = place_nodes_locked(d, x->graph, r.start_ns, span);
    r.graph_id = x->id;
    vg_extend_locked(s, r.end_ns);
    pthread_mutex_unlock(&vg_core.lock);
    int result = emit_nodes(s, x, span);
    vg_emit(&r);
    free(span);
    return result;
}
