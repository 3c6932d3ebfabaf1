/* Graphs built by hand: a node of each kind is added, asked for its parameters, and given others,
 * in the graph or in an executable copy. */
#include "shims/cudart/shim_cudart_graph.h"

#include <string.h>

/* The four calls of one kind of node. */
#define NODE_CALLS(Kind, KIND, Params, set, exec_version)                                          \
    cudaError_t cudaGraphAdd##Kind##Node(cudaGraphNode_t *out, cudaGraph_t graph,                  \
                                         const cudaGraphNode_t *deps, size_t count,                \
                                         const struct Params *p)                                   \
    {                                                                                              \
        int bad;                                                                                   \
        OPEN(api, cudaGraphAdd##Kind##Node_v10000);                                                \
        struct vg_node *n = node_add(graph, VG_NODE_##KIND, deps, count, &bad);                    \
        bad = n ? set(n, p) : bad;                                                                 \
        CLOSE(api, node_done(n, bad, graph, out));                                                 \
    }                                                                                              \
    cudaError_t cudaGraph##Kind##NodeGetParams(cudaGraphNode_t node, struct Params *out)           \
    {                                                                                              \
        OPEN(api, cudaGraph##Kind##NodeGetParams_v10000);                                          \
        memcpy(out, ((struct vg_node *)node)->given, sizeof *out);                                 \
        CLOSE(api, cudaSuccess);                                                                   \
    }                                                                                              \
    cudaError_t cudaGraph##Kind##NodeSetParams(cudaGraphNode_t node, const struct Params *p)       \
    {                                                                                              \
        OPEN(api, cudaGraph##Kind##NodeSetParams_v10000);                                          \
        CLOSE(api, set((struct vg_node *)node, p));                                                \
    }                                                                                              \
    cudaError_t cudaGraphExec##Kind##NodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,     \
                                                   const struct Params *p)                         \
    {                                                                                              \
        OPEN(api, cudaGraphExec##Kind##NodeSetParams_##exec_version);                              \
        struct vg_node *n = exec_node(exec, node);                                                 \
        CLOSE(api, n ? set(n, p) : (int)cudaErrorInvalidValue);                                    \
    }

NODE_CALLS(Kernel, KERNEL, cudaKernelNodeParams, node_set_kernel, v10010)
NODE_CALLS(Memcpy, COPY, cudaMemcpy3DParms, node_set_copy, v10020)
NODE_CALLS(Memset, MEMSET, cudaMemsetParams, node_set_memset, v10020)
NODE_CALLS(Host, HOST, cudaHostNodeParams, node_set_host, v10020)

/* The same of one kind of node with an event. */
#define EVENT_CALLS(Kind, KIND)                                                                    \
    cudaError_t cudaGraphAddEvent##Kind##Node(cudaGraphNode_t *out, cudaGraph_t graph,             \
                                              const cudaGraphNode_t *deps, size_t count,           \
                                              cudaEvent_t event)                                   \
    {                                                                                              \
        int bad;                                                                                   \
        OPEN(api, cudaGraphAddEvent##Kind##Node_v11010);                                           \
        struct vg_node *n = node_add(graph, VG_NODE_##KIND, deps, count, &bad);                    \
        bad = n ? node_set_event(n, event) : bad;                                                  \
        CLOSE(api, node_done(n, bad, graph, out));                                                 \
    }                                                                                              \
    cudaError_t cudaGraphEvent##Kind##NodeGetEvent(cudaGraphNode_t node, cudaEvent_t *out)         \
    {                                                                                              \
        OPEN(api, cudaGraphEvent##Kind##NodeGetEvent_v11010);                                      \
        *out = (cudaEvent_t)((struct vg_node *)node)->event;                                       \
        CLOSE(api, cudaSuccess);                                                                   \
    }                                                                                              \
    cudaError_t cudaGraphEvent##Kind##NodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)        \
    {                                                                                              \
        OPEN(api, cudaGraphEvent##Kind##NodeSetEvent_v11010);                                      \
        CLOSE(api, node_set_event((struct vg_node *)node, event));                                 \
    }                                                                                              \
    cudaError_t cudaGraphExecEvent##Kind##NodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, \
                                                       cudaEvent_t event)                          \
    {                                                                                              \
        OPEN(api, cudaGraphExecEvent##Kind##NodeSetEvent_v11010);                                  \
        struct vg_node *n = exec_node(exec, node);                                                 \
        CLOSE(api, n ? node_set_event(n, event) : (int)cudaErrorInvalidValue);                     \
    }

EVENT_CALLS(Record, RECORD)
EVENT_CALLS(Wait, WAIT)

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *out, cudaGraph_t graph,
                                  const cudaGraphNode_t *deps, size_t count)
{
    int bad;
    OPEN(api, cudaGraphAddEmptyNode_v10000);
    struct vg_node *n = node_add(graph, VG_NODE_EMPTY, deps, count, &bad);
    CLOSE(api, node_done(n, bad, graph, out));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *out, cudaGraph_t graph,
                                     const cudaGraphNode_t *deps, size_t count, void *dst,
                                     const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
    int bad;
    OPEN(api, cudaGraphAddMemcpyNode1D_v11010);
    struct vg_node *n = node_add(graph, VG_NODE_COPY, deps, count, &bad);
    bad = n ? node_set_copy_1d(n, dst, src, bytes, (int)kind) : bad;
    CLOSE(api, node_done(n, bad, graph, out));
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src,
                                           size_t bytes, enum cudaMemcpyKind kind)
{
    OPEN(api, cudaGraphMemcpyNodeSetParams1D_v11010);
    CLOSE(api, node_set_copy_1d((struct vg_node *)node, dst, src, bytes, (int)kind));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node,
                                               void *dst, const void *src, size_t bytes,
                                               enum cudaMemcpyKind kind)
{
    OPEN(api, cudaGraphExecMemcpyNodeSetParams1D_v11010);
    struct vg_node *n = exec_node(exec, node);
    CLOSE(api, n ? node_set_copy_1d(n, dst, src, bytes, (int)kind) : (int)cudaErrorInvalidValue);
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *out, cudaGraph_t graph,
                                       const cudaGraphNode_t *deps, size_t count, cudaGraph_t child)
{
    int bad;
    OPEN(api, cudaGraphAddChildGraphNode_v10000);
    struct vg_node *n = node_add(graph, VG_NODE_GRAPH, deps, count, &bad);
    bad = n ? node_set_child(n, child) : bad;
    CLOSE(api, node_done(n, bad, graph, out));
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *out)
{
    OPEN(api, cudaGraphChildGraphNodeGetGraph_v10000);
    *out = (cudaGraph_t)((struct vg_node *)node)->child;
    CLOSE(api, *out ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *out, cudaGraph_t graph,
                                     const cudaGraphNode_t *deps, size_t count,
                                     struct cudaMemAllocNodeParams *p)
{
    int bad;
    OPEN(api, cudaGraphAddMemAllocNode_v11040);
    struct vg_node *n = node_add(graph, VG_NODE_ALLOC, deps, count, &bad);
    bad = n ? node_set_alloc(n, p) : bad;
    CLOSE(api, node_done(n, bad, graph, out));
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *out)
{
    OPEN(api, cudaGraphMemAllocNodeGetParams_v11040);
    memcpy(out, ((struct vg_node *)node)->given, sizeof *out);
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *out, cudaGraph_t graph,
                                    const cudaGraphNode_t *deps, size_t count, void *ptr)
{
    int bad;
    OPEN(api, cudaGraphAddMemFreeNode_v11040);
    struct vg_node *n = node_add(graph, VG_NODE_FREE, deps, count, &bad);
    bad = n ? node_set_free(n, graph_of(graph), ptr) : bad;
    CLOSE(api, node_done(n, bad, graph, out));
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *out)
{
    OPEN(api, cudaGraphMemFreeNodeGetParams_v11040);
    memcpy(out, ((struct vg_node *)node)->given, sizeof(void *));
    CLOSE(api, cudaSuccess);
}
