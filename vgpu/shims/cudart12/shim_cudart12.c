/* Calls that have another form in the runtime of CUDA 12 than in that of CUDA 13: without edge
 * data, with a device number instead of a location, with one more argument, or with a smaller
 * struct. */
#include "shims/cudart/shim_cudart.h"
#include "shims/vendor_call.h"

#include <string.h>

enum { RUNTIME_12 = 12080 };

#undef cudaPointerGetAttributes
#undef cudaRuntimeGetVersion
#undef cudaMemAdvise
#undef cudaMemPrefetchAsync
#undef cudaMemPrefetchAsync_ptsz
#undef cudaMemcpyBatchAsync
#undef cudaMemcpyBatchAsync_ptsz
#undef cudaGraphAddDependencies
#undef cudaGraphRemoveDependencies
#undef cudaGraphAddNode
#undef cudaGraphGetEdges
#undef cudaGraphNodeGetDependencies
#undef cudaStreamGetCaptureInfo
#undef cudaStreamGetCaptureInfo_ptsz
#undef cudaStreamUpdateCaptureDependencies
#undef cudaStreamUpdateCaptureDependencies_ptsz

CALL(cudaRuntimeGetVersion, int *version)
{
    if (!version)
        return cudaErrorInvalidValue;
    *version = RUNTIME_12;
    return cudaSuccess;
}

CALL(cudaPointerGetAttributes, void *out, const void *ptr)
{
    struct cudaPointerAttributes found;
    int bad = out ? (int)vg_runtime_pointer(&found, ptr) : (int)cudaErrorInvalidValue;
    if (!bad)
        memcpy(out, &found, offsetof(struct cudaPointerAttributes, reserved));
    return bad;
}

CALL(cudaEventElapsedTime_v2, float *ms, cudaEvent_t first, cudaEvent_t last)
{
    return (int)cudaEventElapsedTime(ms, first, last);
}

CALL(cudaThreadSynchronize, void)
{
    return (int)cudaDeviceSynchronize();
}

CALL(cudaThreadExit, void)
{
    return (int)cudaDeviceReset();
}

/* ---- memory: a device by its number, -1 for the host ---- */

static struct cudaMemLocation place(int device)
{
    return (struct cudaMemLocation){
        device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, device < 0 ? 0 : device};
}

CALL(cudaMemAdvise, const void *ptr, size_t bytes, enum cudaMemoryAdvise advice, int device)
{
    return (int)cudaMemAdvise_v2(ptr, bytes, advice, place(device));
}

CALL(cudaMemPrefetchAsync, const void *ptr, size_t bytes, int device, cudaStream_t stream)
{
    return (int)cudaMemPrefetchAsync_v2(ptr, bytes, place(device), 0, stream);
}

cudaError_t cudaMemPrefetchAsync_v2_ptsz(const void *ptr, size_t bytes,
                                         struct cudaMemLocation where, unsigned flags,
                                         cudaStream_t stream);
CALL(cudaMemPrefetchAsync_ptsz, const void *ptr, size_t bytes, int device, cudaStream_t stream)
{
    return (int)cudaMemPrefetchAsync_v2_ptsz(ptr, bytes, place(device), 0, stream);
}

/* `failed` should receive the index of a wrong copy; the shim cannot tell which one it was. */
CALL(cudaMemcpyBatchAsync, void **dsts, void **srcs, size_t *sizes, size_t n,
     struct cudaMemcpyAttributes *attrs, size_t *attr_of, size_t attr_count, size_t *failed,
     cudaStream_t stream)
{
    if (failed)
        *failed = SIZE_MAX;
    return (int)vg_runtime_copies((void *const *)dsts, (const void *const *)srcs, sizes, n, attrs,
                                  attr_of, attr_count, stream);
}

/* ---- graphs, without edge data ---- */

CALL(cudaGraphAddDependencies, cudaGraph_t graph, const cudaGraphNode_t *from,
     const cudaGraphNode_t *to, size_t n)
{
    return (int)cudaGraphAddDependencies_v2(graph, from, to, NULL, n);
}

CALL(cudaGraphRemoveDependencies, cudaGraph_t graph, const cudaGraphNode_t *from,
     const cudaGraphNode_t *to, size_t n)
{
    return (int)cudaGraphRemoveDependencies_v2(graph, from, to, NULL, n);
}

CALL(cudaGraphAddNode, cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *deps,
     size_t n, struct cudaGraphNodeParams *p)
{
    return (int)cudaGraphAddNode_v2(out, graph, deps, NULL, n, p);
}

CALL(cudaGraphGetEdges, cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *n)
{
    return (int)cudaGraphGetEdges_v2(graph, from, to, NULL, n);
}

CALL(cudaGraphNodeGetDependencies, cudaGraphNode_t node, cudaGraphNode_t *deps, size_t *n)
{
    return (int)cudaGraphNodeGetDependencies_v2(node, deps, NULL, n);
}

/* The capture calls, for both meanings of the default stream (`suffix`). */
#define CAPTURE(suffix)                                                                            \
    cudaError_t cudaStreamGetCaptureInfo_v3##suffix(                                               \
        cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,         \
        cudaGraph_t *graph, const cudaGraphNode_t **deps, const cudaGraphEdgeData **edges,         \
        size_t *n);                                                                                \
    cudaError_t cudaStreamUpdateCaptureDependencies_v2##suffix(                                    \
        cudaStream_t stream, cudaGraphNode_t *deps, const cudaGraphEdgeData *edges, size_t n,      \
        unsigned flags);                                                                           \
    CALL(cudaStreamGetCaptureInfo##suffix, cudaStream_t stream,                                    \
         enum cudaStreamCaptureStatus *status, unsigned long long *id)                             \
    {                                                                                              \
        return (int)cudaStreamGetCaptureInfo_v3##suffix(stream, status, id, NULL, NULL, NULL,      \
                                                        NULL);                                     \
    }                                                                                              \
    CALL(cudaStreamGetCaptureInfo_v2##suffix, cudaStream_t stream,                                 \
         enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,         \
         const cudaGraphNode_t **deps, size_t *n)                                                  \
    {                                                                                              \
        return (int)cudaStreamGetCaptureInfo_v3##suffix(stream, status, id, graph, deps, NULL, n); \
    }                                                                                              \
    CALL(cudaStreamUpdateCaptureDependencies##suffix, cudaStream_t stream, cudaGraphNode_t *deps,  \
         size_t n, unsigned flags)                                                                 \
    {                                                                                              \
        return (int)cudaStreamUpdateCaptureDependencies_v2##suffix(stream, deps, NULL, n, flags);  \
    }
CAPTURE()
CAPTURE(_ptsz)
