/* What nodes do: each from the parameters that the program gives, which it may ask for later. */
#include "shims/cudart/shim_cudart_graph.h"

int node_set_kernel(struct vg_node *n, const struct cudaKernelNodeParams *p)
{
    struct vg_kernel k;
    struct vg_shape shape = {.grid = {p->gridDim.x, p->gridDim.y, p->gridDim.z},
                             .block = {p->blockDim.x, p->blockDim.y, p->blockDim.z},
                             .smem = p->sharedMemBytes,
                             .args = p->kernelParams};
    int bad = vg_function_kernel(function_find(p->func), here(), &shape, &k);
    vg_node_keep(n, p, sizeof *p);
    return bad ? bad : vg_node_kernel(n, &k);
}

int node_set_copy(struct vg_node *n, const struct cudaMemcpy3DParms *p)
{
    struct vg_copy c;
    vg_node_keep(n, p, sizeof *p);
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
    vg_node_keep(n, p, sizeof *p);
    return vg_node_memset(n, &set);
}

int node_set_host(struct vg_node *n, const struct cudaHostNodeParams *p)
{
    vg_node_keep(n, p, sizeof *p);
    return vg_node_host(n, p->fn, p->userData);
}

int node_set_event(struct vg_node *n, cudaEvent_t event)
{
    return vg_node_event(n, (struct vg_event *)event);
}

int node_set_child(struct vg_node *n, cudaGraph_t child)
{
    return vg_node_child(n, graph_of(child));
}

int node_set_alloc(struct vg_node *n, struct cudaMemAllocNodeParams *p)
{
    bool named = p->poolProps.location.type == cudaMemLocationTypeDevice;
    int device = named ? p->poolProps.location.id : vg_current_device();
    int bad = vg_node_alloc(n, device, p->bytesize, &p->dptr);
    if (!bad)
        vg_node_keep(n, p, sizeof *p);
    return bad;
}

int node_set_free(struct vg_node *n, const struct vg_graph *g, void *ptr)
{
    return vg_node_free(n, g, ptr);
}

int node_set_condition(struct vg_node *n, struct cudaConditionalNodeParams *p)
{
    int bad = vg_node_condition(n, p->size);
    p->phGraph_out = bad ? NULL : (cudaGraph_t *)(void *)n->given;
    return bad;
}
