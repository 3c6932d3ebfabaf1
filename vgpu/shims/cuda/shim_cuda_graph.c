/* Graphs by the driver: made, captured, instantiated, launched and updated as a whole. Handles are
 * the runtime's. */
#include "shims/cuda/shim_cuda_graph.h"

#include <string.h>

enum { INSTANTIATE_NS = 30000, INSTANTIATE_NODE_NS = 1500 };

CUresult cuGraphCreate(CUgraph *out, unsigned flags)
{
    (void)flags;
    OPEN(api, cuGraphCreate);
    *out = (CUgraph)vg_graph_new();
    CLOSE(api, *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuGraphDestroy(CUgraph graph)
{
    OPEN(api, cuGraphDestroy);
    struct vg_graph *g = graph_of(graph);
    if (g)
        vg_graph_free(g);
    CLOSE(api, g ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphClone(CUgraph *out, CUgraph graph)
{
    OPEN(api, cuGraphClone);
    struct vg_graph *g = graph_of(graph);
    *out = g ? (CUgraph)vg_graph_clone(g) : NULL;
    CLOSE(api, *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

static int instantiate(struct vg_api *api, CUgraphExec *out, CUgraph graph)
{
    struct vg_graph *g = graph_of(graph);
    if (!g)
        return CUDA_ERROR_INVALID_VALUE;
    api->host_ns = INSTANTIATE_NS + (int64_t)g->count * INSTANTIATE_NODE_NS;
    return vg_exec_new(g, (struct vg_exec **)out);
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    (void)flags;
    OPEN(api, cuGraphInstantiateWithFlags);
    CLOSE(api, instantiate(&api, out, graph));
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
    OPEN(api, cuGraphInstantiateWithParams);
    int bad = instantiate(&api, out, graph);
    p->result_out = bad ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    CLOSE(api, bad);
}

/* Its form before CUDA 12. */
CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *bad_node, char *log,
                               size_t log_bytes);
CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *bad_node, char *log,
                               size_t log_bytes)
{
    if (bad_node)
        *bad_node = NULL;
    if (log && log_bytes)
        *log = 0;
    OPEN(api, cuGraphInstantiate_v2);
    CLOSE(api, instantiate(&api, out, graph));
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
    OPEN(api, cuGraphExecGetFlags);
    *flags = 0;
    CLOSE(api, exec_of(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    OPEN(api, cuGraphExecDestroy);
    struct vg_exec *x = exec_of(exec);
    CLOSE(api, x ? vg_exec_free(x) : (int)CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    OPEN(api, cuGraphExecUpdate_v2);
    struct vg_exec *x = exec_of(exec);
    struct vg_graph *g = graph_of(graph);
    int bad = x && g ? vg_exec_update(x, g) : (int)CUDA_ERROR_INVALID_VALUE;
    if (info)
        *info = (CUgraphExecUpdateResultInfo){.result =
                                                  bad ? CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
                                                      : CU_GRAPH_EXEC_UPDATE_SUCCESS};
    CLOSE(api, bad);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    OPEN_ON(api, cuGraphLaunch, stream, s);
    struct vg_exec *x = exec_of(exec);
    CLOSE(api, x ? vg_exec_launch(x, s) : (int)CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    OPEN_ON(api, cuGraphUpload, stream, s);
    (void)s;
    CLOSE(api, exec_of(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ---- capture ---- */

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    OPEN_ON(api, cuStreamBeginCapture_v2, stream, s);
    CLOSE(api, vg_capture_begin(s, (int)mode, NULL, NULL, 0));
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *deps,
                                     const CUgraphEdgeData *edges, size_t n,
                                     CUstreamCaptureMode mode)
{
    (void)edges;
    OPEN_ON(api, cuStreamBeginCaptureToGraph, stream, s);
    struct vg_graph *g = graph_of(graph);
    CLOSE(api, g ? vg_capture_begin(s, (int)mode, g, (struct vg_node *const *)deps, n)
                 : (int)CUDA_ERROR_INVALID_VALUE);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *out)
{
    OPEN_ON(api, cuStreamEndCapture, stream, s);
    CLOSE(api, vg_capture_end(s, (struct vg_graph **)out));
}

static CUstreamCaptureStatus status_of(const struct vg_stream *s)
{
    return !s->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
           : s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                 : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    OPEN_ON(api, cuStreamIsCapturing, stream, s);
    *status = status_of(s);
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                CUgraph *graph, const CUgraphNode **deps,
                                const CUgraphEdgeData **edges, size_t *n)
{
    OPEN_ON(api, cuStreamGetCaptureInfo_v3, stream, s);
    if (status)
        *status = status_of(s);
    if (id)
        *id = s->capture ? s->capture->id : 0;
    if (graph)
        *graph = (CUgraph)s->capture;
    if (edges)
        *edges = NULL;
    if (deps)
        *deps = (const CUgraphNode *)s->frontier;
    if (n)
        *n = s->frontier_n;
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *deps,
                                           const CUgraphEdgeData *edges, size_t n, unsigned flags)
{
    (void)edges;
    OPEN_ON(api, cuStreamUpdateCaptureDependencies_v2, stream, s);
    bool add = flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES;
    CLOSE(api, vg_capture_depend(s, (struct vg_node *const *)deps, n, add));
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    OPEN(api, cuThreadExchangeStreamCaptureMode);
    *mode = (CUstreamCaptureMode)vg_capture_thread_mode((int)*mode);
    CLOSE(api, CUDA_SUCCESS);
}
