/* Calls in their forms of CUDA 12, without data of edges, to which CUDA 13's header gives other
 * names. Programs that were built with CUDA 12 call them (TensorFlow). */
#include "shims/cuda/shim_cuda.h"

#include <string.h>

/* Declares a CUDA 12 form and defines it by today's form. */
#define FORM(name, params, today)                                                                  \
    CUresult name params;                                                                          \
    CUresult name params                                                                           \
    {                                                                                              \
        return today;                                                                              \
    }

#undef cuEventElapsedTime
#undef cuGraphAddDependencies
#undef cuGraphRemoveDependencies
#undef cuGraphGetEdges
#undef cuGraphNodeGetDependencies
#undef cuGraphAddNode
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies

FORM(cuEventElapsedTime, (float *ms, CUevent first, CUevent last),
     cuEventElapsedTime_v2(ms, first, last))
FORM(cuGraphAddDependencies,
     (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n),
     cuGraphAddDependencies_v2(graph, from, to, NULL, n))
FORM(cuGraphRemoveDependencies,
     (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n),
     cuGraphRemoveDependencies_v2(graph, from, to, NULL, n))
FORM(cuGraphGetEdges, (CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n),
     cuGraphGetEdges_v2(graph, from, to, NULL, n))
FORM(cuGraphNodeGetDependencies, (CUgraphNode node, CUgraphNode *deps, size_t *n),
     cuGraphNodeGetDependencies_v2(node, deps, NULL, n))
FORM(cuGraphAddNode,
     (CUgraphNode * out, CUgraph graph, const CUgraphNode *deps, size_t n, CUgraphNodeParams *p),
     cuGraphAddNode_v2(out, graph, deps, NULL, n, p))
FORM(cuStreamGetCaptureInfo, (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id),
     cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL))
FORM(cuStreamGetCaptureInfo_v2,
     (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
      const CUgraphNode **deps, size_t *n),
     cuStreamGetCaptureInfo_v3(stream, status, id, graph, deps, NULL, n))
FORM(cuStreamUpdateCaptureDependencies,
     (CUstream stream, CUgraphNode *deps, size_t n, unsigned flags),
     cuStreamUpdateCaptureDependencies_v2(stream, deps, NULL, n, flags))

const char *form_of_12(const char *name)
{
    static const char *const changed[][2] = {
        {"cuCtxCreate", "cuCtxCreate_v2"},
        {"cuEventElapsedTime", "cuEventElapsedTime"},
        {"cuGraphAddDependencies", "cuGraphAddDependencies"},
        {"cuGraphRemoveDependencies", "cuGraphRemoveDependencies"},
        {"cuGraphGetEdges", "cuGraphGetEdges"},
        {"cuGraphNodeGetDependencies", "cuGraphNodeGetDependencies"},
        {"cuGraphAddNode", "cuGraphAddNode"},
        {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2"},
        {"cuStreamUpdateCaptureDependencies", "cuStreamUpdateCaptureDependencies"},
    };
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        if (strcmp(changed[i][0], name) == 0)
            return changed[i][1];
    return NULL;
}
