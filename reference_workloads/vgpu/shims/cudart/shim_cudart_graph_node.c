/* What nodes do: each from the parameters that the program gives, which it may ask for later. */
#include "reference_workloads/vgpu/shims/cudart/shim_cudart_graph.h"

#include <stdlib.h>
#include <string.h>

enum { BODIES = VG_NODE_GIVEN / sizeof(struct vg_graph *) };

static void keep(struct vg_node *n, const void *given, size_t bytes)
{
    memcpy(n->given, given, bytes < VG_NODE_GIVEN ? bytes : VG_NODE_GIVEN);
}

struct vg_node *node_add(cudaGraph_t graph, enum vg_node_kind kind, const cudaGraphNode_t *deps,
                         size_t count, int *bad)
{
    struct vg_graph *g = graph_of(graph);
    *bad = !g || (count && !deps) ? (int)cudaErrorInvalidValue : VG_OK;
    if (*bad)
        return NULL;
    struct vg_node *n = vg_graph_add(g, kind, (struct vg_node *const *)deps, count);
    if (!n)
        *bad = cudaErrorMemoryAllocation;
    return n;
}

int node_done(struct vg_node *n, int bad, cudaGraph_t graph, cudaGraphNode_t *out)
{
    if (bad && n) {
        graph_of(graph)->count--; /* it was the last */
        if (n->child)
            vg_graph_free(n->child);
        free(n->deps);
        free(n);
        return bad;
    }
    if (!bad)
        *out = (cudaGraphNode_t)n;
    return bad;
}

int node_set_kernel(struct vg_node *n, const struct cudaKernelNodeParams *p)
{
    struct vg_function *f = function_find(p->func);
    if (!f)
        return cudaErrorInvalidDeviceFunction;
    keep(n, p, sizeof *p);
    n->kernel = (struct vg_kernel){.name = f->name,
                                   .grid = {p->gridDim.x, p->gridDim.y, p->gridDim.z},
                                   .block = {p->blockDim.x, p->blockDim.y, p->blockDim.z},
                                   .smem_dynamic = p->sharedMemBytes,
                                   .registers = 32};
    n->kernel.duration_ns = vg_cost_user_kernel(here(), f->name, n->kernel.grid, n->kernel.block);
    n->record.kind = VG_REC_KERNEL;
    return VG_OK;
}

int node_set_copy(struct vg_node *n, const struct cudaMemcpy3DParms *p)
{
    struct vg_copy c;
    keep(n, p, sizeof *p);
    return box_of(p, true, &c) == 0 ? vg_copy_node(n, vg_current_device(), &c)
                                    : (int)cudaErrorInvalidValue;
}

int node_set_copy_1d(struct vg_node *n, void *dst, const void *src, size_t bytes, int kind)
{
    struct cudaMemcpy3DParms p = {
        .srcPtr = {(void *)(uintptr_t)src, bytes, bytes, 1},
        .dstPtr = {dst, bytes, bytes, 1},
        .extent = {bytes, 1, 1},
        .kind = (enum cudaMemcpyKind)kind,
    };
    return node_set_copy(n, &p);
}

int node_set_memset(struct vg_node *n, const struct cudaMemsetParams *p)
{
    struct vg_set set = {p->dst,    p->value, p->elementSize, p->width * p->elementSize,
                         p->height, p->pitch};
    keep(n, p, sizeof *p);
    if (vg_pointer(p->dst).kind == VG_MEM_PAGEABLE)
        return cudaErrorInvalidValue;
    vg_set_node(n, vg_current_device(), &set);
    return VG_OK;
}

int node_set_host(struct vg_node *n, const struct cudaHostNodeParams *p)
{
    keep(n, p, sizeof *p);
    n->host = p->fn;
    n->host_arg = p->userData;
    return p->fn ? VG_OK : (int)cudaErrorInvalidValue;
}

int node_set_event(struct vg_node *n, cudaEvent_t event)
{
    n->event = (struct vg_event *)event;
    return vg_event_check(n->event);
}

int node_set_child(struct vg_node *n, cudaGraph_t child)
{
    struct vg_graph *g = graph_of(child), *before = n->child;
    n->child = g ? vg_graph_clone(g) : NULL;
    if (before)
        vg_graph_free(before);
    return n->child ? VG_OK : (int)cudaErrorInvalidValue;
}

int node_set_alloc(struct vg_node *n, struct cudaMemAllocNodeParams *p)
{
    int device = p->poolProps.location.type == cudaMemLocationTypeDevice ? p->poolProps.location.id
                                                                         : vg_current_device();
    if (device < 0 || device >= vg_device_count())
        return cudaErrorInvalidValue;
    struct vg_graph_memory *m = n->memory ? NULL : calloc(1, sizeof *m);
    int bad = m ? vg_malloc(device, &p->dptr, p->bytesize) : (int)cudaErrorInvalidValue;
    if (bad) {
        free(m);
        return bad;
    }
    *m = (struct vg_graph_memory){p->dptr, 1, false};
    vg_hold_memory(p->dptr, true);
    n->memory = m;
    keep(n, p, sizeof *p);
    return VG_OK;
}

int node_set_free(struct vg_node *n, const struct vg_graph *g, void *ptr)
{
    keep(n, &ptr, sizeof ptr);
    for (size_t i = 0; g && i < g->count; i++)
        if (g->nodes[i]->memory && g->nodes[i]->memory->ptr == ptr)
            g->nodes[i]->memory->freed_inside = true;
    return vg_pointer(ptr).kind == VG_MEM_DEVICE ? VG_OK : (int)cudaErrorInvalidValue;
}

/* Its bodies are graphs that the program fills afterwards. */
int node_set_condition(struct vg_node *n, struct cudaConditionalNodeParams *p)
{
    struct vg_graph *body[BODIES] = {0};
    if (p->size < 1 || p->size > BODIES)
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < p->size; i++)
        if (!(body[i] = vg_graph_new()))
            return cudaErrorMemoryAllocation;
    n->child = body[0];
    keep(n, body, sizeof body);
    p->phGraph_out = (cudaGraph_t *)(void *)n->given;
    return VG_OK;
}
