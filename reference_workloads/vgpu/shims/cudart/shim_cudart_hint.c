/* Calls whose effect the model does not need: they are checked, recorded and believed. Pools: one
 * per device, and stream-ordered allocation costs the same whatever their settings. */
#include "reference_workloads/vgpu/shims/cudart/shim_cudart.h"

#include <stdio.h>
#include <stdlib.h>

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

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    OPEN(api, cudaDeviceGetDefaultMemPool_v11020);
    if (device < 0 || device >= vg_device_count())
        CLOSE(api, cudaErrorInvalidDevice);
    *pool = (cudaMemPool_t)(void *)&vg_core.device[device];
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value)
{
    (void)attr, (void)value;
    OPEN(api, cudaMemPoolSetAttribute_v11020);
    CLOSE(api, pool ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes)
{
    (void)bytes;
    OPEN(api, cudaMemPoolTrimTo_v11020);
    CLOSE(api, pool ? cudaSuccess : cudaErrorInvalidValue);
}

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
