/* The driver's graphs: the rows that it shares with the runtime, the functions that read a node's
 * parameters, and the instantiation calls, whose forms only the driver has. */
#include "shims/cuda/shim_cuda.h"

#define CONTEXT , CUcontext context UNUSED
typedef CUgraphEdgeData call_edge;
typedef CUgraphNodeType call_kind;
typedef CUgraphNodeParams call_params;
typedef CUgraphExecUpdateResultInfo call_update;
typedef CUgraphConditionalHandle call_handle;
typedef CUkernelNodeAttrID call_attribute;
typedef CUkernelNodeAttrValue call_attribute_value;
typedef CUDA_KERNEL_NODE_PARAMS call_kernel;
typedef CUDA_MEMCPY3D call_copy;
typedef CUDA_MEMSET_NODE_PARAMS call_memset;
typedef CUDA_HOST_NODE_PARAMS call_host;
typedef CUDA_MEM_ALLOC_NODE_PARAMS call_alloc;
typedef CUDA_CONDITIONAL_NODE_PARAMS call_condition;
typedef CUdeviceptr call_pointer;

static int set_kernel(struct vg_node *n, const CUDA_KERNEL_NODE_PARAMS *p)
{
    struct vg_kernel k;
    const void *f = p->func ? (const void *)p->func : (const void *)p->kern;
    struct vg_shape shape = {.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                             .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                             .smem = p->sharedMemBytes,
                             .args = p->kernelParams};
    launch_block(&shape, p->extra);
    int bad = vg_function_kernel(vg_function_of(f), here(), &shape, &k);
    vg_node_keep(n, p, sizeof *p);
    return bad ? bad : vg_node_kernel(n, &k);
}

static int set_copy(struct vg_node *n, const CUDA_MEMCPY3D *p)
{
    struct vg_copy c;
    vg_node_keep(n, p, sizeof *p);
    int bad = box_of(p, true, &c);
    return bad ? bad : vg_copy_node(n, vg_current_device(), &c);
}

static int set_memset(struct vg_node *n, const CUDA_MEMSET_NODE_PARAMS *p)
{
    void *at = (void *)(uintptr_t)p->dst; /* NOLINT: device pointers are addresses here */
    struct vg_set set = {
        at, p->value, p->elementSize, p->width * p->elementSize, p->height, p->pitch, 0, 0};
    vg_node_keep(n, p, sizeof *p);
    return vg_node_memset(n, &set);
}

static int set_host(struct vg_node *n, const CUDA_HOST_NODE_PARAMS *p)
{
    vg_node_keep(n, p, sizeof *p);
    return vg_node_host(n, p->fn, p->userData);
}

static int set_alloc(struct vg_node *n, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    void *at = NULL;
    bool named = p->poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    int device = named ? p->poolProps.location.id : vg_current_device();
    int bad = vg_node_alloc(n, device, p->bytesize, &at);
    if (!bad) {
        p->dptr = (CUdeviceptr)(uintptr_t)at;
        vg_node_keep(n, p, sizeof *p);
    }
    return bad;
}

static int set_free(struct vg_node *n, CUgraph graph, CUdeviceptr p)
{
    return vg_node_free(n, graph_of(graph), (void *)(uintptr_t)p); /* NOLINT: an address */
}

#include "shims/calls/graph.h"

ROW(cuGraphInstantiate, WithFlags,
    (CUgraphExec * out, CUgraph graph, unsigned long long flags UNUSED),
    instantiate(&api, out, graph))

CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
    OPEN(api, cuGraphInstantiateWithParams);
    int bad = instantiate(&api, out, graph);
    p->result_out = bad ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    CLOSE(api, bad);
}

/* The form of the call before CUDA 12. */
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

ROW(cuGraphExecGetFlags, , (CUgraphExec exec, cuuint64_t *flags),
    (*flags = 0, exec_of(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE))
