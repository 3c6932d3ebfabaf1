/* Calls whose effect the model does not need (hints, prefetches): they check their arguments, are
 * recorded and report success. */
#include "shims/cudart/shim_cudart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool known(const void *ptr)
{
    return vg_pointer(ptr).kind != VG_MEM_PAGEABLE;
}

ROW(cudaMemAdvise, v12020,
    (const void *ptr, size_t bytes UNUSED, enum cudaMemoryAdvise advice UNUSED,
     struct cudaMemLocation where UNUSED),
    known(ptr) ? cudaSuccess : cudaErrorInvalidValue)

TWIN_ON(cudaMemPrefetchAsync, v12020, _ptsz, v12020,
        (const void *ptr, size_t bytes UNUSED, struct cudaMemLocation where UNUSED,
         unsigned flags UNUSED, cudaStream_t stream),
        stream, ((void)s, known(ptr) ? VG_OK : VG_INVALID_VALUE))

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text)
{
    unsigned domain, bus, slot;
    OPEN(api, cudaDeviceGetByPCIBusId_v4010);
    bool found = sscanf(text, "%x:%x:%x", &domain, &bus, &slot) == 3 && bus > 0 &&
                 (int)bus <= vg_device_count();
    if (found)
        *device = (int)bus - 1;
    CLOSE(api, found ? cudaSuccess : cudaErrorInvalidValue);
}

TWIN_ON(cudaStreamAttachMemAsync, v6000, _ptsz, v7000,
        (cudaStream_t stream, void *ptr, size_t bytes UNUSED, unsigned flags UNUSED), stream,
        ((void)s, known(ptr) ? VG_OK : VG_INVALID_VALUE))

/* Answers for a range of managed memory that no advice was given and that it was never moved. */
static int range_attribute(void *out, size_t size, const void *ptr)
{
    if (vg_pointer(ptr).kind != VG_MEM_MANAGED || !out || size % sizeof(int) != 0)
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < size / sizeof(int); i++)
        ((int *)out)[i] = size > sizeof(int) ? cudaInvalidDeviceId : 0;
    return VG_OK;
}

static bool is_location(enum cudaMemRangeAttribute attr)
{
    return attr == cudaMemRangeAttributePreferredLocation ||
           attr == cudaMemRangeAttributeLastPrefetchLocation;
}

cudaError_t cudaMemRangeGetAttribute(void *out, size_t size, enum cudaMemRangeAttribute attr,
                                     const void *ptr, size_t bytes)
{
    (void)bytes;
    OPEN(api, cudaMemRangeGetAttribute_v8000);
    int bad = range_attribute(out, size, ptr);
    if (!bad && is_location(attr))
        *(int *)out = cudaInvalidDeviceId;
    CLOSE(api, bad);
}

cudaError_t cudaMemRangeGetAttributes(void **out, size_t *sizes, enum cudaMemRangeAttribute *attrs,
                                      size_t n, const void *ptr, size_t bytes)
{
    (void)bytes;
    OPEN(api, cudaMemRangeGetAttributes_v8000);
    int bad = VG_OK;
    for (size_t i = 0; i < n && !bad; i++) {
        bad = range_attribute(out[i], sizes[i], ptr);
        if (!bad && is_location(attrs[i]))
            *(int *)out[i] = cudaInvalidDeviceId;
    }
    CLOSE(api, bad);
}

static int all_known(void **ptrs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!known(ptrs[i]))
            return VG_INVALID_VALUE;
    return VG_OK;
}
TWIN_ON(cudaMemPrefetchBatchAsync, v13000, _ptsz, v13000,
        (void **ptrs, size_t *sizes UNUSED, size_t n, struct cudaMemLocation *places UNUSED,
         size_t *place_of UNUSED, size_t place_count UNUSED, unsigned long long flags UNUSED,
         cudaStream_t stream),
        stream, ((void)s, all_known(ptrs, n)))

static int copy_all(struct vg_stream *s, void *const *dsts, const void *const *srcs,
                    const size_t *sizes, size_t n)
{
    int bad = VG_OK;
    for (size_t i = 0; i < n && !bad; i++) {
        struct vg_copy c = {
            .dst = dsts[i], .src = srcs[i], .bytes = sizes[i], .kind = 4, .async = true};
        bad = vg_copy(s, &c);
    }
    return bad;
}
TWIN_ON(cudaMemcpyBatchAsync, v13000, _ptsz, v13000,
        (void *const *dsts, const void *const *srcs, const size_t *sizes, size_t n,
         struct cudaMemcpyAttributes *attrs UNUSED, size_t *attr_of UNUSED,
         size_t attr_count UNUSED, cudaStream_t stream),
        stream, copy_all(s, dsts, srcs, sizes, n))

ROW(cudaCtxResetPersistingL2Cache, v11000, (void), cudaSuccess)
ROW(cudaFuncSetSharedMemConfig, v4020, (const void *fun, enum cudaSharedMemConfig config UNUSED),
    function_find(fun) ? cudaSuccess : cudaErrorInvalidDeviceFunction)
ROW(cudaDeviceSetSharedMemConfig, v4020, (enum cudaSharedMemConfig config UNUSED), cudaSuccess)
ROW(cudaDeviceGetSharedMemConfig, v4020, (enum cudaSharedMemConfig * config),
    (*config = cudaSharedMemBankSizeFourByte, cudaSuccess))
ROW(cudaDeviceGetCacheConfig, v3020, (enum cudaFuncCache * config),
    (*config = cudaFuncCachePreferNone, cudaSuccess))

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *fun,
                                                 const cudaLaunchConfig_t *config)
{
    (void)config;
    OPEN(api, cudaOccupancyMaxPotentialClusterSize_v11070);
    if (!function_find(fun))
        CLOSE(api, cudaErrorInvalidDeviceFunction);
    *size = here()->cc_major >= 9 ? 8 : 1;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *fun,
                                           const cudaLaunchConfig_t *config)
{
    unsigned size = 1;
    OPEN(api, cudaOccupancyMaxActiveClusters_v11070);
    if (!function_find(fun))
        CLOSE(api, cudaErrorInvalidDeviceFunction);
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
            size = config->attrs[i].val.clusterDim.x * config->attrs[i].val.clusterDim.y *
                   config->attrs[i].val.clusterDim.z;
    *clusters = here()->sm_count / (int)(size ? size : 1);
    CLOSE(api, cudaSuccess);
}
