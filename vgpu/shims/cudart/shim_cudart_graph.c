/* The runtime's graphs: the rows that it shares with the driver, the functions that read a node's
 * parameters, and the calls that only the runtime has. */
#include "shims/cudart/shim_cudart_array.h"

#define CONTEXT /* the driver's calls have a context parameter here */
typedef cudaGraphEdgeData call_edge;
typedef enum cudaGraphNodeType call_kind;
typedef struct cudaGraphNodeParams call_params;
typedef cudaGraphExecUpdateResultInfo call_update;
typedef cudaGraphConditionalHandle call_handle;
typedef cudaKernelNodeAttrID call_attribute;
typedef cudaKernelNodeAttrValue call_attribute_value;
typedef struct cudaKernelNodeParams call_kernel;
typedef struct cudaMemcpy3DParms call_copy;
typedef struct cudaMemsetParams call_memset;
typedef struct cudaHostNodeParams call_host;
typedef struct cudaMemAllocNodeParams call_alloc;
typedef struct cudaConditionalNodeParams call_condition;
typedef void *call_pointer;

static int set_kernel(struct vg_node *n, const struct cudaKernelNodeParams *p)
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

static int set_copy(struct vg_node *n, const struct cudaMemcpy3DParms *p)
{
    struct vg_copy c;
    vg_node_keep(n, p, sizeof *p);
    return box_of(p, true, &c) == 0 ? vg_copy_node(n, vg_current_device(), &c)
                                    : (int)cudaErrorInvalidValue;
}

static int set_memset(struct vg_node *n, const struct cudaMemsetParams *p)
{
    struct vg_set set = {
        p->dst, p->value, p->elementSize, p->width * p->elementSize, p->height, p->pitch, 0, 0};
    vg_node_keep(n, p, sizeof *p);
    return vg_node_memset(n, &set);
}

static int set_host(struct vg_node *n, const struct cudaHostNodeParams *p)
{
    vg_node_keep(n, p, sizeof *p);
    return vg_node_host(n, p->fn, p->userData);
}

static int set_alloc(struct vg_node *n, struct cudaMemAllocNodeParams *p)
{
    bool named = p->poolProps.location.type == cudaMemLocationTypeDevice;
    int device = named ? p->poolProps.location.id : vg_current_device();
    int bad = vg_node_alloc(n, device, p->bytesize, &p->dptr);
    if (!bad)
        vg_node_keep(n, p, sizeof *p);
    return bad;
}

static int set_free(struct vg_node *n, call_graph graph, void *ptr)
{
    return vg_node_free(n, graph_of(graph), ptr);
}

#include "shims/calls/graph.h"

ROW(cudaGraphInstantiate, v12000,
    (cudaGraphExec_t * out, cudaGraph_t graph, unsigned long long flags UNUSED),
    instantiate(&api, out, graph))
ROW(cudaGraphInstantiateWithFlags, v11040,
    (cudaGraphExec_t * out, cudaGraph_t graph, unsigned long long flags UNUSED),
    instantiate(&api, out, graph))

static cudaError_t instantiate_with(struct place at, cudaGraphExec_t *out, cudaGraph_t graph,
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
     (cudaGraphExec_t * out, cudaGraph_t graph, cudaGraphInstantiateParams *p),
     instantiate_with(at, out, graph, p))

static int set_copy_1d(struct vg_node *n, void *dst, const void *src, size_t bytes, int kind)
{
    struct cudaMemcpy3DParms p = {
        .srcPtr = {(void *)(uintptr_t)src, bytes, bytes, 1},
        .dstPtr = {dst, bytes, bytes, 1},
        .extent = {bytes, 1, 1},
        .kind = (enum cudaMemcpyKind)kind,
    };
    return set_copy(n, &p);
}

ROW(cudaGraphAddMemcpyNode1D, v11010,
    (cudaGraphNode_t * out, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t count, void *dst,
     const void *src, size_t bytes, enum cudaMemcpyKind kind),
    ADD(VG_NODE_COPY, set_copy_1d(n, dst, src, bytes, (int)kind)))
ROW(cudaGraphMemcpyNodeSetParams1D, v11010,
    (cudaGraphNode_t node, void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind),
    set_copy_1d(node_of(node), dst, src, bytes, (int)kind))
ROW(cudaGraphExecMemcpyNodeSetParams1D, v11010,
    (cudaGraphExec_t exec, cudaGraphNode_t node, void *dst, const void *src, size_t bytes,
     enum cudaMemcpyKind kind),
    IN_EXEC(set_copy_1d(n, dst, src, bytes, (int)kind)))

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *out)
{
    OPEN(api, cudaGraphMemFreeNodeGetParams_v11040);
    memcpy(out, ((struct vg_node *)node)->given, sizeof(void *));
    CLOSE(api, cudaSuccess);
}
