/* Handles of graphs, as the driver's calls get them. */
#ifndef VGPU_SHIM_CUDA_GRAPH_H
#define VGPU_SHIM_CUDA_GRAPH_H

#include "shims/cuda/shim_cuda.h"

static inline struct vg_graph *graph_of(CUgraph g)
{
    return vg_graph_check((struct vg_graph *)g);
}
static inline struct vg_exec *exec_of(CUgraphExec x)
{
    return vg_exec_check((struct vg_exec *)x);
}
static inline struct vg_node *node_of(CUgraphNode n)
{
    return (struct vg_node *)n;
}

#endif
