/* How a graph hangs together, the one call that adds any kind of node, and what goes beside graphs:
 * conditions, captures into a graph, their memory, objects that they keep. */
#include "shims/cudart/shim_cudart_graph.h"

#include <stdlib.h>
#include <string.h>

/* Parameters of the two forms lie alike up to the end of the shorter one. */
static int set_any(struct vg_node *n, const struct vg_graph *g, struct cudaGraphNodeParams *p)
{
    switch (p->type) {
    case cudaGraphNodeTypeKernel:
        return node_set_kernel(n, (const struct cudaKernelNodeParams *)(const void *)&p->kernel);
    case cudaGraphNodeTypeMemcpy:
        return node_set_copy(n, &p->memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
        return node_set_memset(n, (const struct cudaMemsetParams *)(const void *)&p->memset);
    case cudaGraphNodeTypeHost:
        return node_set_host(n, (const struct cudaHostNodeParams *)(const void *)&p->host);
    case cudaGraphNodeTypeGraph:
        return node_set_child(n, p->graph.graph);
    case cudaGraphNodeTypeWaitEvent:
        return node_set_event(n, p->eventWait.event);
    case cudaGraphNodeTypeEventRecord:
        return node_set_event(n, p->eventRecord.event);
    case cudaGraphNodeTypeMemAlloc:
        return node_set_alloc(n, (struct cudaMemAllocNodeParams *)(void *)&p->alloc);
    case cudaGraphNodeTypeMemFree:
        return node_set_free(n, g, p->free.dptr);
    case cudaGraphNodeTypeConditional:
        return node_set_condition(n, &p->conditional);
    case cudaGraphNodeTypeEmpty:
        return VG_OK;
    default:
        return cudaErrorNotSupported;
    }
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *deps,
                             const cudaGraphEdgeData *edges, size_t count,
                             struct cudaGraphNodeParams *p)
{
    int bad;
    (void)edges;
    OPEN(api, cudaGraphAddNode_v12030);
    struct vg_node *n = node_add(graph, (enum vg_node_kind)p->type, deps, count, &bad);
    bad = n ? set_any(n, graph_of(graph), p) : bad;
    CLOSE(api, node_done(n, bad, graph, out));
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *p)
{
    OPEN(api, cudaGraphNodeSetParams_v12020);
    CLOSE(api, set_any((struct vg_node *)node, NULL, p));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                       struct cudaGraphNodeParams *p)
{
    OPEN(api, cudaGraphExecNodeSetParams_v12020);
    struct vg_node *n = exec_node(exec, node);
    CLOSE(api, n ? set_any(n, NULL, p) : (int)cudaErrorInvalidValue);
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *out, cudaGraph_t graph,
                                             unsigned value, unsigned flags)
{
    (void)value, (void)flags;
    OPEN(api, cudaGraphConditionalHandleCreate_v12030);
    *out = vg_core.next_id++;
    CLOSE(api, graph_of(graph) ? cudaSuccess : cudaErrorInvalidValue);
}

static void clear(cudaGraphEdgeData *edges, const size_t *n)
{
    if (edges && n)
        memset(edges, 0, *n * sizeof *edges);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              cudaGraphEdgeData *edges, size_t *count)
{
    OPEN(api, cudaGraphGetEdges_v12030);
    clear(edges, count);
    CLOSE(api,
          vg_graph_edges(graph_of(graph), (struct vg_node **)from, (struct vg_node **)to, count));
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    OPEN(api, cudaGraphGetRootNodes_v10000);
    CLOSE(api, vg_graph_roots(graph_of(graph), (struct vg_node **)nodes, count));
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *deps,
                                         cudaGraphEdgeData *edges, size_t *count)
{
    OPEN(api, cudaGraphNodeGetDependencies_v12030);
    clear(edges, count);
    CLOSE(api, vg_node_list((struct vg_node *)node, (struct vg_node **)deps, count));
}

static int change_edges(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                        size_t n, bool add)
{
    return vg_graph_connect(graph_of(graph), (struct vg_node *const *)from,
                            (struct vg_node *const *)to, n, add);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
                                     size_t n)
{
    (void)edges;
    OPEN(api, cudaGraphAddDependencies_v12030);
    CLOSE(api, change_edges(graph, from, to, n, true));
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                        const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
                                        size_t n)
{
    (void)edges;
    OPEN(api, cudaGraphRemoveDependencies_v12030);
    CLOSE(api, change_edges(graph, from, to, n, false));
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *out, cudaGraphNode_t node, cudaGraph_t clone)
{
    OPEN(api, cudaGraphNodeFindInClone_v10000);
    struct vg_graph *g = graph_of(clone);
    size_t at = ((struct vg_node *)node)->index;
    if (!g || at >= g->count)
        CLOSE(api, cudaErrorInvalidValue);
    *out = (cudaGraphNode_t)g->nodes[at];
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *enabled)
{
    OPEN(api, cudaGraphNodeGetEnabled_v11060);
    struct vg_node *n = exec_node(exec, node);
    if (n)
        *enabled = !n->disabled;
    CLOSE(api, n ? cudaSuccess : cudaErrorInvalidValue);
}

static cudaError_t cudaStreamBeginCaptureToGraph_at(struct place at, cudaStream_t stream,
                                                    cudaGraph_t graph, const cudaGraphNode_t *deps,
                                                    size_t n, enum cudaStreamCaptureMode mode)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    struct vg_graph *g = graph_of(graph);
    CLOSE(api, g ? vg_capture_begin(s, (int)mode, g, (struct vg_node *const *)deps, n)
                 : (int)cudaErrorInvalidValue);
}
TWIN(cudaStreamBeginCaptureToGraph, v12030, _ptsz, v12030,
     (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *deps,
      const cudaGraphEdgeData *edges, size_t n, enum cudaStreamCaptureMode mode),
     stream, graph, deps, ((void)edges, n), mode)

static cudaError_t cudaStreamUpdateCaptureDependencies_at(struct place at, cudaStream_t stream,
                                                          const cudaGraphNode_t *deps, size_t n,
                                                          unsigned flags)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    bool add = flags == cudaStreamAddCaptureDependencies;
    CLOSE(api, vg_capture_depend(s, (struct vg_node *const *)deps, n, add));
}
TWIN(cudaStreamUpdateCaptureDependencies, v12030, _ptsz, v12030,
     (cudaStream_t stream, cudaGraphNode_t *deps, const cudaGraphEdgeData *edges, size_t n,
      unsigned flags),
     stream, deps, ((void)edges, n), flags)

cudaError_t cudaDeviceGraphMemTrim(int device)
{
    OPEN(api, cudaDeviceGraphMemTrim_v11040);
    CLOSE(api, device >= 0 && device < vg_device_count() ? cudaSuccess : cudaErrorInvalidDevice);
}

/* Memory of graphs is the device's like any other: what is in use counts as reserved. */
cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                           void *value)
{
    (void)attr;
    OPEN(api, cudaDeviceGetGraphMemAttribute_v11040);
    if (device < 0 || device >= vg_device_count())
        CLOSE(api, cudaErrorInvalidDevice);
    size_t free_bytes, total;
    vg_memory_info(device, &free_bytes, &total);
    *(uint64_t *)value = total - free_bytes;
    CLOSE(api, cudaSuccess);
}

/* Only the peaks may be set, and only to 0: what they forget was never kept. */
cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                           void *value)
{
    OPEN(api, cudaDeviceSetGraphMemAttribute_v11040);
    bool peak = attr == cudaGraphMemAttrUsedMemHigh || attr == cudaGraphMemAttrReservedMemHigh;
    bool good = device >= 0 && device < vg_device_count() && peak && value;
    CLOSE(api, good && *(uint64_t *)value == 0 ? cudaSuccess : cudaErrorInvalidValue);
}

/* ---- objects that graphs keep alive ---- */

struct CUuserObject_st {
    _Atomic unsigned count;
    cudaHostFn_t destroy;
    void *data;
};

static void release(struct CUuserObject_st *o, unsigned count)
{
    if ((o->count -= count) != 0)
        return;
    o->destroy(o->data);
    free(o);
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t *out, void *data, cudaHostFn_t destroy,
                                 unsigned count, unsigned flags)
{
    (void)flags;
    OPEN(api, cudaUserObjectCreate_v11030);
    struct CUuserObject_st *o = destroy && count ? malloc(sizeof *o) : NULL;
    if (!o)
        CLOSE(api, cudaErrorInvalidValue);
    *o = (struct CUuserObject_st){count, destroy, data};
    *out = o;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t o, unsigned count)
{
    OPEN(api, cudaUserObjectRetain_v11030);
    o->count += count;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t o, unsigned count)
{
    OPEN(api, cudaUserObjectRelease_v11030);
    release(o, count);
    CLOSE(api, cudaSuccess);
}

/* A graph keeps its references until the process ends: nothing asks when the object goes. */
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t o, unsigned count,
                                      unsigned flags)
{
    OPEN(api, cudaGraphRetainUserObject_v11030);
    if (graph_of(graph) && !(flags & cudaGraphUserObjectMove))
        o->count += count;
    CLOSE(api, graph_of(graph) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t o, unsigned count)
{
    OPEN(api, cudaGraphReleaseUserObject_v11030);
    if (graph_of(graph))
        release(o, count);
    CLOSE(api, graph_of(graph) ? cudaSuccess : cudaErrorInvalidValue);
}
