/* Nodes by the driver: a node of each kind is added, asked for its parameters, and given others, in
 * the graph or in an executable copy. */
#include "shims/cuda/shim_cuda_graph.h"

#include <string.h>

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
    struct vg_set set = {at,        p->value, p->elementSize, p->width * p->elementSize,
                         p->height, p->pitch};
    vg_node_keep(n, p, sizeof *p);
    return vg_node_memset(n, &set);
}

static int set_host(struct vg_node *n, const CUDA_HOST_NODE_PARAMS *p)
{
    vg_node_keep(n, p, sizeof *p);
    return vg_node_host(n, p->fn, p->userData);
}

static int set_child(struct vg_node *n, CUgraph child)
{
    return vg_node_child(n, graph_of(child));
}

static int set_event(struct vg_node *n, CUevent event)
{
    return vg_node_event(n, (struct vg_event *)event);
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

static int set_condition(struct vg_node *n, CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    int bad = vg_node_condition(n, p->size);
    p->phGraph_out = bad ? NULL : (CUgraph *)(void *)n->given;
    return bad;
}

/* Adds a node; `set` says what it does. */
#define ADD(api, KIND, set)                                                                        \
    do {                                                                                           \
        int bad_;                                                                                  \
        struct vg_node *n = vg_node_new((struct vg_graph *)graph, VG_NODE_##KIND,                  \
                                        (struct vg_node *const *)deps, count, &bad_);              \
        bad_ = n ? (set) : bad_;                                                                   \
        CLOSE(api, vg_node_done(n, bad_, (struct vg_graph *)graph, (struct vg_node **)out));       \
    } while (0)
#define ADD_PARAMS CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t count

/* Gives the executable graph's copy of a node other parameters. */
#define SET_EXEC(api, set)                                                                         \
    do {                                                                                           \
        struct vg_node *n = vg_exec_node((struct vg_exec *)exec, node_of(node));                   \
        CLOSE(api, n ? (set) : (int)CUDA_ERROR_INVALID_VALUE);                                     \
    } while (0)

/* What the program gave a node last, and others. */
#define ASK_AND_SET(Kind, Params, form, set)                                                       \
    CUresult cuGraph##Kind##NodeGetParams(CUgraphNode node, Params *p)                             \
    {                                                                                              \
        OPEN(api, cuGraph##Kind##NodeGetParams##form);                                             \
        memcpy(p, node_of(node)->given, sizeof *p);                                                \
        CLOSE(api, CUDA_SUCCESS);                                                                  \
    }                                                                                              \
    CUresult cuGraph##Kind##NodeSetParams(CUgraphNode node, const Params *p)                       \
    {                                                                                              \
        OPEN(api, cuGraph##Kind##NodeSetParams##form);                                             \
        struct vg_node *n = node_of(node);                                                         \
        CLOSE(api, set);                                                                           \
    }
#define SET_IN_EXEC(Kind, Params, set)                                                             \
    CUresult cuGraphExec##Kind##NodeSetParams(CUgraphExec exec, CUgraphNode node, const Params *p) \
    {                                                                                              \
        OPEN(api, cuGraphExec##Kind##NodeSetParams);                                               \
        SET_EXEC(api, set);                                                                        \
    }
#define SET_IN_CONTEXT(Kind, Params, set)                                                          \
    CUresult cuGraphExec##Kind##NodeSetParams(CUgraphExec exec, CUgraphNode node, const Params *p, \
                                              CUcontext context)                                   \
    {                                                                                              \
        (void)context;                                                                             \
        OPEN(api, cuGraphExec##Kind##NodeSetParams);                                               \
        SET_EXEC(api, set);                                                                        \
    }

CUresult cuGraphAddKernelNode(ADD_PARAMS, const CUDA_KERNEL_NODE_PARAMS *p)
{
    OPEN(api, cuGraphAddKernelNode_v2);
    ADD(api, KERNEL, set_kernel(n, p));
}
ASK_AND_SET(Kernel, CUDA_KERNEL_NODE_PARAMS, _v2, set_kernel(n, p))
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS *p)
{
    OPEN(api, cuGraphExecKernelNodeSetParams_v2);
    SET_EXEC(api, set_kernel(n, p));
}

CUresult cuGraphAddMemcpyNode(ADD_PARAMS, const CUDA_MEMCPY3D *p, CUcontext context)
{
    (void)context;
    OPEN(api, cuGraphAddMemcpyNode);
    ADD(api, COPY, set_copy(n, p));
}
ASK_AND_SET(Memcpy, CUDA_MEMCPY3D, , set_copy(n, p))
SET_IN_CONTEXT(Memcpy, CUDA_MEMCPY3D, set_copy(n, p))

CUresult cuGraphAddMemsetNode(ADD_PARAMS, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
    (void)context;
    OPEN(api, cuGraphAddMemsetNode);
    ADD(api, MEMSET, set_memset(n, p));
}
ASK_AND_SET(Memset, CUDA_MEMSET_NODE_PARAMS, , set_memset(n, p))
SET_IN_CONTEXT(Memset, CUDA_MEMSET_NODE_PARAMS, set_memset(n, p))

CUresult cuGraphAddHostNode(ADD_PARAMS, const CUDA_HOST_NODE_PARAMS *p)
{
    OPEN(api, cuGraphAddHostNode);
    ADD(api, HOST, set_host(n, p));
}
ASK_AND_SET(Host, CUDA_HOST_NODE_PARAMS, , set_host(n, p))
SET_IN_EXEC(Host, CUDA_HOST_NODE_PARAMS, set_host(n, p))

CUresult cuGraphAddChildGraphNode(ADD_PARAMS, CUgraph child)
{
    OPEN(api, cuGraphAddChildGraphNode);
    ADD(api, GRAPH, set_child(n, child));
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *out)
{
    OPEN(api, cuGraphChildGraphNodeGetGraph);
    *out = (CUgraph)node_of(node)->child;
    CLOSE(api, *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphAddEmptyNode(ADD_PARAMS)
{
    OPEN(api, cuGraphAddEmptyNode);
    ADD(api, EMPTY, VG_OK);
}

CUresult cuGraphAddEventRecordNode(ADD_PARAMS, CUevent event)
{
    OPEN(api, cuGraphAddEventRecordNode);
    ADD(api, RECORD, set_event(n, event));
}

CUresult cuGraphAddEventWaitNode(ADD_PARAMS, CUevent event)
{
    OPEN(api, cuGraphAddEventWaitNode);
    ADD(api, WAIT, set_event(n, event));
}

CUresult cuGraphAddMemAllocNode(ADD_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    OPEN(api, cuGraphAddMemAllocNode);
    ADD(api, ALLOC, set_alloc(n, p));
}

CUresult cuGraphAddMemFreeNode(ADD_PARAMS, CUdeviceptr p)
{
    OPEN(api, cuGraphAddMemFreeNode);
    ADD(api, FREE, set_free(n, graph, p));
}

/* Parameters of the two forms lie alike up to the end of the shorter one. */
static int set_any(struct vg_node *n, CUgraph graph, CUgraphNodeParams *p)
{
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return set_kernel(n, (const CUDA_KERNEL_NODE_PARAMS *)(const void *)&p->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return set_copy(n, &p->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return set_memset(n, (const CUDA_MEMSET_NODE_PARAMS *)(const void *)&p->memset);
    case CU_GRAPH_NODE_TYPE_HOST:
        return set_host(n, (const CUDA_HOST_NODE_PARAMS *)(const void *)&p->host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return set_child(n, p->graph.graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return set_event(n, p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return set_event(n, p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return set_alloc(n, (CUDA_MEM_ALLOC_NODE_PARAMS *)(void *)&p->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return set_free(n, graph, p->free.dptr);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return set_condition(n, &p->conditional);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return VG_OK;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
                        const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *p)
{
    int bad;
    (void)edges;
    OPEN(api, cuGraphAddNode_v2);
    struct vg_node *n = vg_node_new((struct vg_graph *)graph, (enum vg_node_kind)p->type,
                                    (struct vg_node *const *)deps, count, &bad);
    bad = n ? set_any(n, graph, p) : bad;
    CLOSE(api, vg_node_done(n, bad, (struct vg_graph *)graph, (struct vg_node **)out));
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p)
{
    OPEN(api, cuGraphNodeSetParams);
    CLOSE(api, set_any(node_of(node), NULL, p));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
    OPEN(api, cuGraphExecNodeSetParams);
    SET_EXEC(api, set_any(n, NULL, p));
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph graph,
                                        CUcontext context, unsigned value, unsigned flags)
{
    (void)context, (void)value, (void)flags;
    OPEN(api, cuGraphConditionalHandleCreate);
    *out = vg_core.next_id++;
    CLOSE(api, graph_of(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
