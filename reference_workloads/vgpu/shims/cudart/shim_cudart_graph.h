/* Handles of graphs, and what a program gives for a node. */
#ifndef VGPU_SHIM_CUDART_GRAPH_H
#define VGPU_SHIM_CUDART_GRAPH_H

#include "reference_workloads/vgpu/shims/cudart/shim_cudart_array.h"

/* NULL: not one that lives. */
static inline struct vg_graph *graph_of(cudaGraph_t g)
{
    struct vg_graph *graph = (struct vg_graph *)g;
    return graph && graph->magic == VG_GRAPH_MAGIC ? graph : NULL;
}
static inline struct vg_exec *exec_of(cudaGraphExec_t x)
{
    struct vg_exec *exec = (struct vg_exec *)x;
    return exec && exec->magic == VG_EXEC_MAGIC ? exec : NULL;
}
/* The executable graph's copy of a node; NULL: it has none. */
static inline struct vg_node *exec_node(cudaGraphExec_t exec, cudaGraphNode_t node)
{
    struct vg_exec *x = exec_of(exec);
    struct vg_node *n = (struct vg_node *)node;
    return x && n && n->index < x->graph->count ? x->graph->nodes[n->index] : NULL;
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
/* A new node, or NULL with *bad set. */
struct vg_node *node_add(cudaGraph_t graph, enum vg_node_kind kind, const cudaGraphNode_t *deps,
                         size_t count, int *bad);
/* Ends the making of a node: hands it out, or takes it back. */
int node_done(struct vg_node *n, int bad, cudaGraph_t graph, cudaGraphNode_t *out);

#endif
