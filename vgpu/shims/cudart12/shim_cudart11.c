/* Calls that have another form in the runtime of CUDA 11 than in that of CUDA 12. Some programs
 * bring CUDA 11's runtime along (CatBoost); libvgpu-reach.so replaces a call of it by the form
 * named ..._of_11 if there is one. cudaGetDeviceProperties has CUDA 11's form under its own name,
 * in CUDA 12's library, too. */
#include "shims/cudart/shim_cudart.h"
#include "shims/cudart12/properties.h"
#include "shims/vendor_call.h"

#include <string.h>

enum { RUNTIME_11 = 11080 };
/* The size of the properties struct in CUDA 11. */
enum { PROPERTIES_11 = offsetof(struct properties12, hostRegisterSupported) };

#undef cudaGetDeviceProperties
cudaError_t cudaGetDeviceProperties_v2(struct properties12 *out, int device);

CALL(cudaRuntimeGetVersion_of_11, int *version)
{
    if (!version)
        return cudaErrorInvalidValue;
    *version = RUNTIME_11;
    return cudaSuccess;
}

CALL(cudaGetDeviceProperties, void *out, int device)
{
    struct properties12 all;
    int bad = out ? (int)cudaGetDeviceProperties_v2(&all, device) : (int)cudaErrorInvalidValue;
    if (!bad)
        memcpy(out, &all, PROPERTIES_11);
    return bad;
}

CALL(cudaFuncGetAttributes_of_11, void *out, const void *function)
{
    struct cudaFuncAttributes all;
    int bad = out ? (int)cudaFuncGetAttributes(&all, function) : (int)cudaErrorInvalidValue;
    if (!bad)
        memcpy(out, &all, offsetof(struct cudaFuncAttributes, clusterDimMustBeSet));
    return bad;
}

CALL(cudaGraphInstantiate_of_11, cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *failed,
     char *log, size_t bytes)
{
    if (failed)
        *failed = NULL;
    if (log && bytes)
        *log = 0;
    return (int)cudaGraphInstantiate(exec, graph, 0);
}

CALL(cudaGraphExecUpdate_of_11, cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *failed,
     enum cudaGraphExecUpdateResult *result)
{
    cudaGraphExecUpdateResultInfo info = {0};
    int bad = (int)cudaGraphExecUpdate(exec, graph, &info);
    if (failed)
        *failed = info.errorNode;
    if (result)
        *result = info.result;
    return bad;
}
