/* cudaGetDeviceProperties: the answers of cudaDeviceGetAttribute as one struct. */
#include "core/core_attributes.h"
#include "shims/cudart/shim_cudart.h"
#include "shims/cudart12/properties.h"

#include <stdio.h>
#include <string.h>

#ifdef VGPU_RUNTIME_12
typedef struct properties12 properties;
cudaError_t cudaGetDeviceProperties_v2(properties *out, int device);
#define GET_PROPERTIES cudaGetDeviceProperties_v2
#else
typedef struct cudaDeviceProp properties;
#define GET_PROPERTIES cudaGetDeviceProperties
#endif

/* A member that holds one attribute. */
#define INT(member, attribute)                                                                     \
    {                                                                                              \
        offsetof(properties, member), cudaDevAttr##attribute                                       \
    }
static const struct {
    size_t at;
    enum cudaDeviceAttr attribute;
} ints[] = {
    INT(regsPerBlock, MaxRegistersPerBlock),
    INT(warpSize, WarpSize),
    INT(maxThreadsPerBlock, MaxThreadsPerBlock),
    INT(maxThreadsDim[0], MaxBlockDimX),
    INT(maxThreadsDim[1], MaxBlockDimY),
    INT(maxThreadsDim[2], MaxBlockDimZ),
    INT(maxGridSize[0], MaxGridDimX),
    INT(maxGridSize[1], MaxGridDimY),
    INT(maxGridSize[2], MaxGridDimZ),
    INT(major, ComputeCapabilityMajor),
    INT(minor, ComputeCapabilityMinor),
    INT(multiProcessorCount, MultiProcessorCount),
    INT(canMapHostMemory, CanMapHostMemory),
    INT(maxTexture1D, MaxTexture1DWidth),
    INT(maxTexture1DMipmap, MaxTexture1DMipmappedWidth),
    INT(maxTexture2D[0], MaxTexture2DWidth),
    INT(maxTexture2D[1], MaxTexture2DHeight),
    INT(maxTexture2DMipmap[0], MaxTexture2DMipmappedWidth),
    INT(maxTexture2DMipmap[1], MaxTexture2DMipmappedHeight),
    INT(maxTexture2DLinear[0], MaxTexture2DLinearWidth),
    INT(maxTexture2DLinear[1], MaxTexture2DLinearHeight),
    INT(maxTexture2DLinear[2], MaxTexture2DLinearPitch),
    INT(maxTexture2DGather[0], MaxTexture2DGatherWidth),
    INT(maxTexture2DGather[1], MaxTexture2DGatherHeight),
    INT(maxTexture3D[0], MaxTexture3DWidth),
    INT(maxTexture3D[1], MaxTexture3DHeight),
    INT(maxTexture3D[2], MaxTexture3DDepth),
    INT(maxTextureCubemap, MaxTextureCubemapWidth),
    INT(maxTexture1DLayered[0], MaxTexture1DLayeredWidth),
    INT(maxTexture1DLayered[1], MaxTexture1DLayeredLayers),
    INT(maxTexture2DLayered[0], MaxTexture2DLayeredWidth),
    INT(maxTexture2DLayered[1], MaxTexture2DLayeredHeight),
    INT(maxTexture2DLayered[2], MaxTexture2DLayeredLayers),
    INT(maxTextureCubemapLayered[0], MaxTextureCubemapLayeredWidth),
    INT(maxTextureCubemapLayered[1], MaxTextureCubemapLayeredLayers),
    INT(maxSurface1D, MaxSurface1DWidth),
    INT(maxSurface2D[0], MaxSurface2DWidth),
    INT(maxSurface2D[1], MaxSurface2DHeight),
    INT(maxSurface3D[0], MaxSurface3DWidth),
    INT(maxSurface3D[1], MaxSurface3DHeight),
    INT(maxSurface3D[2], MaxSurface3DDepth),
    INT(maxSurface1DLayered[0], MaxSurface1DLayeredWidth),
    INT(maxSurface1DLayered[1], MaxSurface1DLayeredLayers),
    INT(maxSurface2DLayered[0], MaxSurface2DLayeredWidth),
    INT(maxSurface2DLayered[1], MaxSurface2DLayeredHeight),
    INT(maxSurface2DLayered[2], MaxSurface2DLayeredLayers),
    INT(maxSurfaceCubemap, MaxSurfaceCubemapWidth),
    INT(concurrentKernels, ConcurrentKernels),
    INT(ECCEnabled, EccEnabled),
    INT(pciBusID, PciBusId),
    INT(asyncEngineCount, AsyncEngineCount),
    INT(unifiedAddressing, UnifiedAddressing),
    INT(memoryBusWidth, GlobalMemoryBusWidth),
    INT(l2CacheSize, L2CacheSize),
    INT(persistingL2CacheMaxSize, MaxPersistingL2CacheSize),
    INT(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor),
    INT(streamPrioritiesSupported, StreamPrioritiesSupported),
    INT(globalL1CacheSupported, GlobalL1CacheSupported),
    INT(localL1CacheSupported, LocalL1CacheSupported),
    INT(regsPerMultiprocessor, MaxRegistersPerMultiprocessor),
    INT(managedMemory, ManagedMemory),
    INT(concurrentManagedAccess, ConcurrentManagedAccess),
    INT(computePreemptionSupported, ComputePreemptionSupported),
    INT(canUseHostPointerForRegisteredMem, CanUseHostPointerForRegisteredMem),
    INT(cooperativeLaunch, CooperativeLaunch),
    INT(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor),
    INT(accessPolicyMaxWindowSize, MaxAccessPolicyWindowSize),
    INT(hostRegisterSupported, HostRegisterSupported),
    INT(hostRegisterReadOnlySupported, HostRegisterReadOnlySupported),
    INT(memoryPoolsSupported, MemoryPoolsSupported),
    INT(memoryPoolSupportedHandleTypes, MemoryPoolSupportedHandleTypes),
    INT(clusterLaunch, ClusterLaunch),
    INT(ipcEventSupported, IpcEventSupport),
#ifdef VGPU_RUNTIME_12
    INT(clockRate, ClockRate),
    INT(memoryClockRate, MemoryClockRate),
    INT(deviceOverlap, GpuOverlap),
    INT(maxTexture1DLinear, MaxTexture1DLinearWidth),
#endif
};

cudaError_t GET_PROPERTIES(properties *out, int device)
{
    OPEN(api, cudaGetDeviceProperties_v12000);
    if (device < 0 || device >= vg_device_count() || !out)
        CLOSE(api, out ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    const struct vg_profile *p = vg_profile(device);
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        *(int *)(void *)((char *)out + ints[i].at) =
            vg_device_attribute(p, device, (int)ints[i].attribute);
    snprintf(out->name, sizeof out->name, "%s", p->name);
    snprintf(out->uuid.bytes, sizeof out->uuid.bytes, "vgpu-%d", device);
    out->totalGlobalMem = vg_core.device[device].capacity;
    out->sharedMemPerBlock = 48 * 1024;
    out->sharedMemPerMultiprocessor = vg_shared_per_sm(p);
    out->sharedMemPerBlockOptin = vg_shared_optin(p);
    out->reservedSharedMemPerBlock = 1024;
    out->memPitch = 2147483647;
    out->totalConstMem = 65536;
    out->textureAlignment = out->surfaceAlignment = 512;
    out->texturePitchAlignment = 32;
    CLOSE(api, cudaSuccess);
}
