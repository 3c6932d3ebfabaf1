/* Handles of graphs, and what a program gives for a node. */
#ifndef VGPU_SHIM_CUDART_GRAPH_H
#define VGPU_SHIM_CUDART_GRAPH_H

#include "shims/cudart/shim_cudart_array.h"

static inline struct vg_graph *graph_of(cudaGraph_t g)
{
    return vg_graph_check((struct vg_graph *)g);
}
static inline struct vg_exec *exec_of(cudaGraphExec_t x)
{
    return vg_exec_check((struct vg_exec *)x);
}
static inline struct vg_node *exec_node(cudaGraphExec_t exec, cudaGraphNode_t node)
{
    return vg_exec_node((struct vg_exec *)exec, (struct vg_node *)node);
}

/* Makes the node do what the parameters say; a cudaError_t number. */
int node_set_kernel(struct vg_node *n, const struct cudaKernelNodeParams *p);
int node_set_copy(struct vg_node *n, const struct cudaMemcpy3DParms *p);
int node_set_copy_1d(struct vg_node *n, void *dst, const void *src, size_t bytes, int kind);
int node_set_memset(struct vg_node *n, const struct cudaMemsetParams *p);
int node_set_host(struct vg_node *n, const struct cudaHostNodeParams *p);
int node_set_event(struct vg_node *n, cudaEvent_t event);
int node_set_child(struct vg_node *n, cudaGraph_t child);
int node_set_alloc(struct vg_node *n, struct cudaMemAllocNodeParams *p);
int node_set_free(struct vg_node *n, const struct vg_graph *g, void *ptr);
int node_set_condition(struct vg_node *n, struct cudaConditionalNodeParams *p);
static inline struct vg_node *node_add(cudaGraph_t graph, enum vg_node_kind kind,
                                       const cudaGraphNode_t *deps, size_t count, int *bad)
{
    return vg_node_new((struct vg_graph *)graph, kind, (struct vg_node *const *)deps, count, bad);
}
static inline int node_done(struct vg_node *n, int bad, cudaGraph_t graph, cudaGraphNode_t *out)
{
    return vg_node_done(n, bad, (struct vg_graph *)graph, (struct vg_node **)out);
}

#endif
