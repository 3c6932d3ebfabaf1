/* Graphs: made, instantiated, launched and updated as a whole. */
#include "shims/cudart/shim_cudart_graph.h"

enum { INSTANTIATE_NS = 30000, INSTANTIATE_NODE_NS = 1500 };

static int instantiate(struct vg_api *api, cudaGraphExec_t *out, cudaGraph_t graph)
{
    struct vg_graph *g = graph_of(graph);
    if (!g)
        return cudaErrorInvalidValue;
    api->host_ns = INSTANTIATE_NS + (int64_t)g->count * INSTANTIATE_NODE_NS;
    return vg_exec_new(g, (struct vg_exec **)out);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    OPEN(api, cudaGraphInstantiate_v12000);
    CLOSE(api, instantiate(&api, out, graph));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
                                          unsigned long long flags)
{
    (void)flags;
    OPEN(api, cudaGraphInstantiateWithFlags_v11040);
    CLOSE(api, instantiate(&api, out, graph));
}

static cudaError_t cudaGraphInstantiateWithParams_at(struct place at, cudaGraphExec_t *out,
                                                     cudaGraph_t graph,
                                                     cudaGraphInstantiateParams *p)
{
    struct vg_api api;
    int bad = vg_api_enter(&api, at.cbid);
    if (bad)
        return (cudaError_t)bad;
    bad = instantiate(&api, out, graph);
    p->result_out = bad ? cudaGraphInstantiateError : cudaGraphInstantiateSuccess;
    CLOSE(api, bad);
}
TWIN(cudaGraphInstantiateWithParams, v12000, _ptsz, v12000,
     (cudaGraphExec_t * out, cudaGraph_t graph, cudaGraphInstantiateParams *p), out, graph, p)

static cudaError_t cudaGraphLaunch_at(struct place at, cudaGraphExec_t exec, cudaStream_t stream)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    struct vg_exec *x = exec_of(exec);
    CLOSE(api, x ? vg_exec_launch(x, s) : (int)cudaErrorInvalidValue);
}
TWIN(cudaGraphLaunch, v10000, _ptsz, v10000, (cudaGraphExec_t exec, cudaStream_t stream), exec,
     stream)

static cudaError_t cudaGraphUpload_at(struct place at, cudaGraphExec_t exec, cudaStream_t stream)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    CLOSE(api, exec_of(exec) ? cudaSuccess : cudaErrorInvalidValue);
}
TWIN(cudaGraphUpload, v10000, _ptsz, v10000, (cudaGraphExec_t exec, cudaStream_t stream), exec,
     stream)

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *info)
{
    OPEN(api, cudaGraphExecUpdate_v10020);
    struct vg_exec *x = exec_of(exec);
    struct vg_graph *g = graph_of(graph);
    int bad = x && g ? vg_exec_update(x, g) : (int)cudaErrorInvalidValue;
    if (info)
        *info = (cudaGraphExecUpdateResultInfo){
            .result = bad ? cudaGraphExecUpdateErrorTopologyChanged : cudaGraphExecUpdateSuccess};
    CLOSE(api, bad);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    OPEN(api, cudaGraphExecDestroy_v10000);
    struct vg_exec *x = exec_of(exec);
    CLOSE(api, x ? vg_exec_free(x) : (int)cudaErrorInvalidValue);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    OPEN(api, cudaGraphDestroy_v10000);
    struct vg_graph *g = graph_of(graph);
    if (g)
        vg_graph_free(g);
    CLOSE(api, g ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphCreate(cudaGraph_t *out, unsigned flags)
{
    (void)flags;
    OPEN(api, cudaGraphCreate_v10000);
    *out = (cudaGraph_t)vg_graph_new();
    CLOSE(api, *out ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaGraphClone(cudaGraph_t *out, cudaGraph_t graph)
{
    OPEN(api, cudaGraphClone_v10000);
    struct vg_graph *g = graph_of(graph);
    *out = g ? (cudaGraph_t)vg_graph_clone(g) : NULL;
    CLOSE(api, *out ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    OPEN(api, cudaGraphGetNodes_v10000);
    CLOSE(api, vg_graph_nodes(graph_of(graph), (struct vg_node **)nodes, count));
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    OPEN(api, cudaGraphNodeGetType_v10000);
    *type = (enum cudaGraphNodeType)((struct vg_node *)node)->kind;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled)
{
    OPEN(api, cudaGraphNodeSetEnabled_v11060);
    struct vg_exec *x = exec_of(exec);
    size_t at = ((struct vg_node *)node)->index;
    if (!x || at >= x->graph->count)
        CLOSE(api, cudaErrorInvalidValue);
    x->graph->nodes[at]->disabled = !enabled;
    CLOSE(api, cudaSuccess);
}
