/* Calls whose effect the model does not need: they are checked, recorded and believed. */
#include "shims/cudart/shim_cudart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool known(const void *ptr)
{
    return vg_pointer(ptr).kind != VG_MEM_PAGEABLE;
}

cudaError_t cudaMemAdvise(const void *ptr, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation where)
{
    (void)bytes, (void)advice, (void)where;
    OPEN(api, cudaMemAdvise_v12020);
    CLOSE(api, known(ptr) ? cudaSuccess : cudaErrorInvalidValue);
}

static cudaError_t cudaMemPrefetchAsync_at(struct place at, const void *ptr, cudaStream_t stream)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    CLOSE(api, known(ptr) ? cudaSuccess : cudaErrorInvalidValue);
}
TWIN(cudaMemPrefetchAsync, v12020, _ptsz, v12020,
     (const void *ptr, size_t bytes, struct cudaMemLocation where, unsigned flags,
      cudaStream_t stream),
     ((void)bytes, (void)where, (void)flags, ptr), stream)

static cudaError_t cudaStreamGetDevice_at(struct place at, cudaStream_t stream, int *device)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    *device = s->device;
    CLOSE(api, cudaSuccess);
}
TWIN(cudaStreamGetDevice, v12080, _ptsz, v12080, (cudaStream_t stream, int *device), stream, device)

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

struct callback {
    cudaStreamCallback_t call;
    cudaStream_t stream;
    void *user;
};

static void run_callback(void *arg)
{
    struct callback c = *(struct callback *)arg;
    free(arg);
    c.call(c.stream, cudaSuccess, c.user);
}

static cudaError_t cudaStreamAddCallback_at(struct place at, cudaStream_t stream,
                                            cudaStreamCallback_t call, void *user)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    if (s->capture)
        CLOSE(api, cudaErrorStreamCaptureUnsupported);
    struct callback *c = malloc(sizeof *c);
    if (!c)
        CLOSE(api, cudaErrorMemoryAllocation);
    *c = (struct callback){call, stream, user};
    bad = vg_host_function(s, run_callback, c);
    if (bad)
        free(c);
    CLOSE(api, bad);
}
TWIN(cudaStreamAddCallback, v5000, _ptsz, v7000,
     (cudaStream_t stream, cudaStreamCallback_t call, void *user, unsigned flags), stream, call,
     ((void)flags, user))

static cudaError_t cudaStreamAttachMemAsync_at(struct place at, cudaStream_t stream, void *ptr)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    CLOSE(api, known(ptr) ? cudaSuccess : cudaErrorInvalidValue);
}
TWIN(cudaStreamAttachMemAsync, v6000, _ptsz, v7000,
     (cudaStream_t stream, void *ptr, size_t bytes, unsigned flags), stream,
     ((void)bytes, (void)flags, ptr))

/* Of a range of managed memory: nothing was advised, and it was not moved. */
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

static cudaError_t cudaMemPrefetchBatchAsync_at(struct place at, cudaStream_t stream, void **ptrs,
                                                size_t n)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    for (size_t i = 0; i < n && !bad; i++)
        bad = known(ptrs[i]) ? VG_OK : (int)cudaErrorInvalidValue;
    CLOSE(api, bad);
}
TWIN(cudaMemPrefetchBatchAsync, v13000, _ptsz, v13000,
     (void **ptrs, size_t *sizes, size_t n, struct cudaMemLocation *places, size_t *place_of,
      size_t place_count, unsigned long long flags, cudaStream_t stream),
     stream, ptrs, ((void)sizes, (void)places, (void)place_of, (void)place_count, (void)flags, n))

static cudaError_t cudaMemcpyBatchAsync_at(struct place at, cudaStream_t stream, void *const *dsts,
                                           const void *const *srcs, const size_t *sizes, size_t n)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    for (size_t i = 0; i < n && !bad; i++) {
        struct vg_copy c = {
            .dst = dsts[i], .src = srcs[i], .bytes = sizes[i], .kind = 4, .async = true};
        bad = vg_copy(s, &c);
    }
    CLOSE(api, bad);
}
TWIN(cudaMemcpyBatchAsync, v13000, _ptsz, v13000,
     (void *const *dsts, const void *const *srcs, const size_t *sizes, size_t n,
      struct cudaMemcpyAttributes *attrs, size_t *attr_of, size_t attr_count, cudaStream_t stream),
     stream, dsts, srcs, sizes, ((void)attrs, (void)attr_of, (void)attr_count, n))

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
    OPEN(api, cudaCtxResetPersistingL2Cache_v11000);
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaFuncSetSharedMemConfig(const void *fun, enum cudaSharedMemConfig config)
{
    (void)config;
    OPEN(api, cudaFuncSetSharedMemConfig_v4020);
    CLOSE(api, function_find(fun) ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    (void)config;
    OPEN(api, cudaDeviceSetSharedMemConfig_v4020);
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config)
{
    OPEN(api, cudaDeviceGetSharedMemConfig_v4020);
    *config = cudaSharedMemBankSizeFourByte;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
    OPEN(api, cudaDeviceGetCacheConfig_v3020);
    *config = cudaFuncCachePreferNone;
    CLOSE(api, cudaSuccess);
}

static cudaError_t cudaStreamSetAttribute_at(struct place at, cudaStream_t stream)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    CLOSE(api, cudaSuccess);
}
TWIN(cudaStreamSetAttribute, v11000, _ptsz, v11000,
     (cudaStream_t stream, cudaStreamAttrID attr, const cudaStreamAttrValue *value),
     ((void)attr, (void)value, stream))

static cudaError_t cudaStreamGetAttribute_at(struct place at, cudaStream_t stream,
                                             cudaStreamAttrID attr, cudaStreamAttrValue *value)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    memset(value, 0, sizeof *value);
    if (attr == cudaStreamAttributePriority)
        value->priority = s->priority;
    CLOSE(api, cudaSuccess);
}
TWIN(cudaStreamGetAttribute, v11000, _ptsz, v11000,
     (cudaStream_t stream, cudaStreamAttrID attr, cudaStreamAttrValue *value), stream, attr, value)

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attr,
                                            const cudaKernelNodeAttrValue *value)
{
    (void)attr, (void)value;
    OPEN(api, cudaGraphKernelNodeSetAttribute_v11000);
    CLOSE(api, node ? cudaSuccess : cudaErrorInvalidValue);
}

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
