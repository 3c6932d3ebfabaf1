/* Graphs: nodes with dependencies, their executable copies, and the launch, which places every node
 * behind those it depends on with the graph's small gap. All nodes share the launch's correlation.
 */
#include "reference_workloads/vgpu/core/core_graph.h"

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
    node->id = (uint64_t)g->id << 32 | (g->count + 1); /* as CUPTI's: graph id above, node below */
    node->deps = own;
    node->deps_n = n;
    g->nodes[g->count++] = node;
    return node;
}

void vg_graph_free(struct vg_graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        free(g->nodes[i]->deps);
        free(g->nodes[i]);
    }
    free(g->nodes);
    g->magic = 0;
    free(g);
}

struct vg_graph *vg_graph_clone(const struct vg_graph *g)
{
    struct vg_graph *copy = vg_graph_new();
    for (size_t i = 0; copy && i < g->count; i++) {
        const struct vg_node *from = g->nodes[i];
        struct vg_node *to = vg_graph_add(copy, from->kind, from->deps, from->deps_n);
        if (!to) {
            vg_graph_free(copy);
            return NULL;
        }
        struct vg_node made = *to;
        *to = *from;
        to->id = made.id;
        to->deps = made.deps;
        for (size_t k = 0; k < to->deps_n; k++)
            to->deps[k] = copy->nodes[from->deps[k]->index];
    }
    return copy;
}

int vg_exec_new(struct vg_graph *g, struct vg_exec **out)
{
    struct vg_exec *x = calloc(1, sizeof *x);
    struct vg_graph *own = vg_graph_clone(g);
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

int vg_exec_update(struct vg_exec *x, const struct vg_graph *g)
{
    if (x->graph->count != g->count)
        return VG_GRAPH_UPDATE_FAILURE;
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i]->kind != x->graph->nodes[i]->kind ||
            g->nodes[i]->deps_n != x->graph->nodes[i]->deps_n)
            return VG_GRAPH_UPDATE_FAILURE;
    for (size_t i = 0; i < g->count; i++) {
        struct vg_node *to = x->graph->nodes[i];
        struct vg_node kept = *to;
        *to = *g->nodes[i];
        to->id = kept.id;
        to->deps = kept.deps;
    }
    return VG_OK;
}

/* Work that was launched goes on: the timeline holds no pointer into the graph. */
int vg_exec_free(struct vg_exec *x)
{
    vg_graph_free(x->graph);
    x->magic = 0;
    free(x);
    return VG_OK;
}

static struct vg_work node_work(const struct vg_profile *p, const struct vg_node *n)
{
    if (n->kind == VG_NODE_KERNEL)
        return vg_kernel_work(p, &n->kernel);
    if (n->kind == VG_NODE_COPY || n->kind == VG_NODE_MEMSET)
        return (struct vg_work){.engine = n->kind == VG_NODE_COPY ? n->engine : VG_ENGINE_COMPUTE,
                                .duration_ns = vg_scaled(n->duration_ns, p->copy_fixed_ns)};
    return (struct vg_work){.engine = VG_ENGINE_NONE};
}

/* Nodes in order (dependencies come first); returns when the last one ends. */
static int64_t place_nodes_locked(struct vg_device *d, const struct vg_graph *g, int64_t from_ns,
                                  struct vg_span *span)
{
    int64_t last = from_ns;
    for (size_t i = 0; i < g->count; i++) {
        const struct vg_node *n = g->nodes[i];
        struct vg_work w = node_work(&d->profile, n);
        int64_t start = from_ns;
        for (size_t k = 0; k < n->deps_n; k++) {
            int64_t after = span[n->deps[k]->index].end_ns + (int64_t)d->profile.graph_gap_ns;
            start = after > start ? after : start;
        }
        bool engine = w.engine != VG_ENGINE_NONE && !w.shares_engine && !n->disabled;
        if (engine && d->engine_free_ns[w.engine] > start)
            start = d->engine_free_ns[w.engine];
        span[i] = (struct vg_span){start, start + (n->disabled ? 0 : w.duration_ns)};
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
        vg_copy_bytes(&n->copy);
    else if (n->kind == VG_NODE_MEMSET)
        vg_set_bytes(&n->set);
    else if (n->kind == VG_NODE_HOST)
        return vg_host_at(s, when_ns, n->host, n->host_arg);
    return VG_OK;
}

static int emit_nodes(struct vg_stream *s, const struct vg_exec *x, const struct vg_span *span)
{
    static const enum vg_record_kind kinds[] = {VG_REC_KERNEL, VG_REC_COPY, VG_REC_MEMSET};
    int result = VG_OK;
    for (size_t i = 0; i < x->graph->count && result == VG_OK; i++) {
        const struct vg_node *n = x->graph->nodes[i];
        if (n->disabled)
            continue;
        result = run_side(s, n, span[i].start_ns);
        if (n->kind > VG_NODE_MEMSET)
            continue;
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
    if (s->capture)
        return VG_CAPTURE_UNSUPPORTED; /* child graphs by capture are not modelled */
    if (api)
        api->host_ns = (int64_t)(p->graph_launch_host_ns + nodes * p->graph_launch_node_host_ns);
    struct vg_span *span = malloc((x->graph->count + 1) * sizeof *span);
    if (!span)
        return VG_NO_MEMORY;
    vg_settle(s);
    vg_settle_legacy(s);
    pthread_mutex_lock(&vg_core.lock);
    vg_queue_locked(s);
    struct vg_work w = {.earliest_ns = now + (int64_t)p->start_latency_ns,
                        .gap_ns = (int64_t)p->kernel_gap_ns};
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
