/* Devices and their attributes, versions, occupancy, and the calls that switch profilers on and
 * off. */
#include "shims/cudart/shim_cudart.h"
#include "core/core_attributes.h"

#include <cuda_profiler_api.h>
#include <stdio.h>
#include <string.h>

enum { DRIVER_VERSION = CUDART_VERSION };

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = DRIVER_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 0;
    OPEN(api, cudaGetDeviceCount_v3020);
    *count = vg_device_count();
    CLOSE(api, cudaSuccess);
}

ROW(cudaGetDevice, v3020, (int *device), (*device = vg_current_device(), cudaSuccess))

cudaError_t cudaSetDevice(int device)
{
    OPEN(api, cudaSetDevice_v3020);
    if (device < 0 || device >= vg_device_count())
        CLOSE(api, cudaErrorInvalidDevice);
    vg_set_current_device(device);
    CLOSE(api, cudaSuccess);
}

ROW(cudaInitDevice, v12000, (int device, unsigned device_flags UNUSED, unsigned flags UNUSED),
    device >= 0 && device < vg_device_count() ? cudaSuccess : cudaErrorInvalidDevice)

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    OPEN(api, cudaSetDeviceFlags_v3020);
    vg_core.device[vg_current_device()].sync_flags = flags & cudaDeviceScheduleMask;
    CLOSE(api, cudaSuccess);
}

ROW(cudaGetDeviceFlags, v7000, (unsigned *flags),
    (*flags = vg_core.device[vg_current_device()].sync_flags, cudaSuccess))

cudaError_t cudaDeviceReset(void)
{
    OPEN(api, cudaDeviceReset_v3020);
    vg_sleep_until(vg_device_tail(vg_current_device()));
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    OPEN(api, cudaDeviceGetAttribute_v5000);
    if (device < 0 || device >= vg_device_count())
        CLOSE(api, cudaErrorInvalidDevice);
    *value = vg_device_attribute(vg_profile(device), device, (int)attr);
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int n, int device)
{
    OPEN(api, cudaDeviceGetPCIBusId_v4010);
    if (device < 0 || device >= vg_device_count())
        CLOSE(api, cudaErrorInvalidDevice);
    snprintf(text, (size_t)n, "0000:%02X:00.0", device + 1);
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    OPEN(api, cudaDeviceCanAccessPeer_v4000);
    int n = vg_device_count();
    if (device < 0 || device >= n || peer < 0 || peer >= n)
        CLOSE(api, cudaErrorInvalidDevice);
    *can = device != peer;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)flags;
    OPEN(api, cudaDeviceEnablePeerAccess_v4000);
    if (peer < 0 || peer >= vg_device_count() || peer == vg_current_device())
        CLOSE(api, cudaErrorInvalidDevice);
    uint64_t *peers = &vg_core.device[vg_current_device()].peers;
    bool had = *peers >> peer & 1;
    *peers |= (uint64_t)1 << peer;
    CLOSE(api, had ? cudaErrorPeerAccessAlreadyEnabled : cudaSuccess);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    OPEN(api, cudaDeviceDisablePeerAccess_v4000);
    if (peer < 0 || peer >= vg_device_count())
        CLOSE(api, cudaErrorInvalidDevice);
    vg_core.device[vg_current_device()].peers &= ~((uint64_t)1 << peer);
    CLOSE(api, cudaSuccess);
}

ROW(cudaDeviceGetLimit, v3020, (size_t * value, enum cudaLimit limit),
    (*value = limit == cudaLimitStackSize        ? 1024
              : limit == cudaLimitMallocHeapSize ? 8u << 20
                                                 : 0,
     cudaSuccess))
ROW(cudaDeviceSetLimit, v3020, (enum cudaLimit limit UNUSED, size_t value UNUSED), cudaSuccess)
ROW(cudaDeviceSetCacheConfig, v3020, (enum cudaFuncCache config UNUSED), cudaSuccess)

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *fun,
                                                                   int block_size, size_t smem,
                                                                   unsigned flags)
{
    (void)flags;
    OPEN(api, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000);
    if (!function_find(fun) || block_size <= 0)
        CLOSE(api, block_size > 0 ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
    int by_threads = vg_threads_per_sm(here()) / ((block_size + 31) / 32 * 32);
    int by_shared = smem ? (int)(vg_shared_per_sm(here()) / (smem + 1024)) : 32;
    *blocks = by_threads < by_shared ? by_threads : by_shared;
    if (*blocks > 32)
        *blocks = 32;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *fun,
                                                          int block_size, size_t smem)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, fun, block_size, smem, 0);
}

ROW(cudaProfilerStart, v4000, (void), cudaSuccess)
ROW(cudaProfilerStop, v4000, (void), cudaSuccess)
