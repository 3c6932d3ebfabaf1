/* How a graph hangs together, by the driver. */
#include "shims/cuda/shim_cuda_graph.h"

#include <string.h>

static void clear(CUgraphEdgeData *edges, const size_t *n)
{
    if (edges && n)
        memset(edges, 0, *n * sizeof *edges);
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    OPEN(api, cuGraphGetNodes);
    CLOSE(api, vg_graph_nodes(graph_of(graph), (struct vg_node **)nodes, count));
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    OPEN(api, cuGraphGetRootNodes);
    CLOSE(api, vg_graph_roots(graph_of(graph), (struct vg_node **)nodes, count));
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges,
                         size_t *count)
{
    OPEN(api, cuGraphGetEdges_v2);
    clear(edges, count);
    CLOSE(api,
          vg_graph_edges(graph_of(graph), (struct vg_node **)from, (struct vg_node **)to, count));
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *deps, CUgraphEdgeData *edges,
                                    size_t *count)
{
    OPEN(api, cuGraphNodeGetDependencies_v2);
    clear(edges, count);
    CLOSE(api, vg_node_list(node_of(node), (struct vg_node **)deps, count));
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                const CUgraphEdgeData *edges, size_t n)
{
    (void)edges;
    OPEN(api, cuGraphAddDependencies_v2);
    CLOSE(api, vg_graph_connect(graph_of(graph), (struct vg_node *const *)from,
                                (struct vg_node *const *)to, n, true));
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t n)
{
    (void)edges;
    OPEN(api, cuGraphRemoveDependencies_v2);
    CLOSE(api, vg_graph_connect(graph_of(graph), (struct vg_node *const *)from,
                                (struct vg_node *const *)to, n, false));
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    OPEN(api, cuGraphNodeGetType);
    *type = (CUgraphNodeType)node_of(node)->kind;
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode node, CUgraph clone)
{
    OPEN(api, cuGraphNodeFindInClone);
    struct vg_graph *g = graph_of(clone);
    size_t at = node_of(node)->index;
    if (!g || at >= g->count)
        CLOSE(api, CUDA_ERROR_INVALID_VALUE);
    *out = (CUgraphNode)g->nodes[at];
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
    OPEN(api, cuGraphNodeSetEnabled);
    struct vg_node *n = vg_exec_node((struct vg_exec *)exec, node_of(node));
    if (n)
        n->disabled = !enabled;
    CLOSE(api, n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *enabled)
{
    OPEN(api, cuGraphNodeGetEnabled);
    const struct vg_node *n = vg_exec_node((struct vg_exec *)exec, node_of(node));
    if (n)
        *enabled = !n->disabled;
    CLOSE(api, n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Priorities and clusters of a node change no time here. */
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       const CUkernelNodeAttrValue *value)
{
    (void)attribute, (void)value;
    OPEN(api, cuGraphKernelNodeSetAttribute);
    CLOSE(api, node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
