/* Graph calls in their forms of CUDA 11: a kernel node without a context, an instantiation with a
 * log. Programs that look calls up by their bare names (tinygrad) still get and use these. */
#include "shims/cuda/shim_cuda.h"

#include <string.h>

#undef cuGraphAddKernelNode
#undef cuGraphKernelNodeGetParams
#undef cuGraphKernelNodeSetParams
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphInstantiate

/* Today's parameters begin with the members of the old ones. */
_Static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS, kern) >= sizeof(CUDA_KERNEL_NODE_PARAMS_v1),
               "the context and the kernel come last");
static CUDA_KERNEL_NODE_PARAMS today(const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
    CUDA_KERNEL_NODE_PARAMS p = {0};
    memcpy(&p, old, sizeof *old);
    return p;
}

#define FORM(name, params)                                                                         \
    CUresult name params;                                                                          \
    CUresult name params

FORM(cuGraphAddKernelNode, (CUgraphNode * out, CUgraph graph, const CUgraphNode *deps, size_t n,
                            const CUDA_KERNEL_NODE_PARAMS_v1 *old))
{
    CUDA_KERNEL_NODE_PARAMS p = today(old);
    return cuGraphAddKernelNode_v2(out, graph, deps, n, &p);
}

FORM(cuGraphKernelNodeGetParams, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *old))
{
    CUDA_KERNEL_NODE_PARAMS p;
    CUresult bad = cuGraphKernelNodeGetParams_v2(node, &p);
    if (!bad)
        memcpy(old, &p, sizeof *old);
    return bad;
}

FORM(cuGraphKernelNodeSetParams, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *old))
{
    CUDA_KERNEL_NODE_PARAMS p = today(old);
    return cuGraphKernelNodeSetParams_v2(node, &p);
}

FORM(cuGraphExecKernelNodeSetParams,
     (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *old))
{
    CUDA_KERNEL_NODE_PARAMS p = today(old);
    return cuGraphExecKernelNodeSetParams_v2(exec, node, &p);
}

FORM(cuGraphInstantiate,
     (CUgraphExec * exec, CUgraph graph, CUgraphNode *error, char *log, size_t bytes))
{
    if (error)
        *error = NULL;
    if (log && bytes)
        *log = 0;
    return cuGraphInstantiateWithFlags(exec, graph, 0);
}
