/* Attributes of devices, for the runtime and the driver. */
#include "core/core_attributes.h"

#include <cuda.h> /* the runtime uses its numbers */
#include <driver_types.h>

size_t vg_shared_per_sm(const struct vg_profile *p)
{
    if (p->cc_major >= 9 && p->cc_major < 12)
        return 228 * 1024;
    if (p->cc_major == 12)
        return 100 * 1024;
    if (p->cc_major == 8)
        return p->cc_minor == 0 ? 164 * 1024 : 100 * 1024;
    return p->cc_minor == 5 ? 64 * 1024 : 96 * 1024;
}

size_t vg_shared_optin(const struct vg_profile *p)
{
    return p->cc_major == 7 && p->cc_minor == 5 ? 64 * 1024 : vg_shared_per_sm(p) - 1024;
}

int vg_threads_per_sm(const struct vg_profile *p)
{
    if (p->cc_major == 7 && p->cc_minor == 5)
        return 1024;
    return (p->cc_major == 8 && p->cc_minor > 0) || p->cc_major == 12 ? 1536 : 2048;
}

size_t vg_persisting_l2(const struct vg_profile *p)
{
    return p->cc_major >= 8 ? (size_t)(p->l2_bytes * 3 / 4) : 0;
}

int vg_bus_width(const struct vg_profile *p)
{
    double bits = p->memory_bytes_per_s * 8 / (2 * p->memory_clock_mhz * 1e6);
    return p->memory_clock_mhz > 0 ? (int)(bits / 64 + 0.5) * 64 : 0;
}

/* Attributes with the same value on all cards. */
static const struct {
    int attr, value;
} common[] = {
    {cudaDevAttrMaxPitch, 2147483647},
    {cudaDevAttrTextureAlignment, 512},
    {cudaDevAttrTexturePitchAlignment, 32},
    {cudaDevAttrSurfaceAlignment, 512},
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrEccEnabled, 1},
    {cudaDevAttrMaxTexture1DWidth, 131072},
    {cudaDevAttrMaxTexture1DLinearWidth, 268435456},
    {cudaDevAttrMaxTexture1DMipmappedWidth, 32768},
    {cudaDevAttrMaxTexture1DLayeredWidth, 32768},
    {cudaDevAttrMaxTexture1DLayeredLayers, 2048},
    {cudaDevAttrMaxTexture2DWidth, 131072},
    {cudaDevAttrMaxTexture2DHeight, 65536},
    {cudaDevAttrMaxTexture2DLinearWidth, 131072},
    {cudaDevAttrMaxTexture2DLinearHeight, 65000},
    {cudaDevAttrMaxTexture2DLinearPitch, 2097120},
    {cudaDevAttrMaxTexture2DMipmappedWidth, 32768},
    {cudaDevAttrMaxTexture2DMipmappedHeight, 32768},
    {cudaDevAttrMaxTexture2DGatherWidth, 32768},
    {cudaDevAttrMaxTexture2DGatherHeight, 32768},
    {cudaDevAttrMaxTexture2DLayeredWidth, 32768},
    {cudaDevAttrMaxTexture2DLayeredHeight, 32768},
    {cudaDevAttrMaxTexture2DLayeredLayers, 2048},
    {cudaDevAttrMaxTexture3DWidth, 16384},
    {cudaDevAttrMaxTexture3DHeight, 16384},
    {cudaDevAttrMaxTexture3DDepth, 16384},
    {cudaDevAttrMaxTextureCubemapWidth, 32768},
    {cudaDevAttrMaxTextureCubemapLayeredWidth, 32768},
    {cudaDevAttrMaxTextureCubemapLayeredLayers, 2046},
    {cudaDevAttrMaxSurface1DWidth, 32768},
    {cudaDevAttrMaxSurface1DLayeredWidth, 32768},
    {cudaDevAttrMaxSurface1DLayeredLayers, 2048},
    {cudaDevAttrMaxSurface2DWidth, 131072},
    {cudaDevAttrMaxSurface2DHeight, 65536},
    {cudaDevAttrMaxSurface2DLayeredWidth, 32768},
    {cudaDevAttrMaxSurface2DLayeredHeight, 32768},
    {cudaDevAttrMaxSurface2DLayeredLayers, 2048},
    {cudaDevAttrMaxSurface3DWidth, 16384},
    {cudaDevAttrMaxSurface3DHeight, 16384},
    {cudaDevAttrMaxSurface3DDepth, 16384},
    {cudaDevAttrMaxSurfaceCubemapWidth, 32768},
    {cudaDevAttrGlobalL1CacheSupported, 1},
    {cudaDevAttrLocalL1CacheSupported, 1},
    {cudaDevAttrComputePreemptionSupported, 1},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
    {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
    {cudaDevAttrHostRegisterReadOnlySupported, 1},
    {cudaDevAttrIpcEventSupport, 1},
    {cudaDevAttrHostNumaId, -1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {cudaDevAttrMaxThreadsPerBlock, 1024},
    {cudaDevAttrMaxBlockDimX, 1024},
    {cudaDevAttrMaxBlockDimY, 1024},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, 2147483647},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024},
    {cudaDevAttrTotalConstantMemory, 65536},
    {cudaDevAttrWarpSize, 32},
    {cudaDevAttrMaxRegistersPerBlock, 65536},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
    {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrStreamPrioritiesSupported, 1},
    {cudaDevAttrManagedMemory, 1},
    {cudaDevAttrConcurrentManagedAccess, 1},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrMemoryPoolsSupported, 1},
    {cudaDevAttrHostRegisterSupported, 1},
};

int vg_device_attribute(const struct vg_profile *p, int device, int attribute)
{
    const struct {
        int attr, value;
    } known[] = {
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)vg_shared_optin(p)},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (int)vg_shared_per_sm(p)},
        {cudaDevAttrClockRate, (int)(p->clock_mhz * 1000)},
        {cudaDevAttrMemoryClockRate, (int)(p->memory_clock_mhz * 1000)},
        {cudaDevAttrGlobalMemoryBusWidth, vg_bus_width(p)},
        {cudaDevAttrMultiProcessorCount, p->sm_count},
        {cudaDevAttrL2CacheSize, (int)p->l2_bytes},
        {cudaDevAttrMaxThreadsPerMultiProcessor, vg_threads_per_sm(p)},
        {cudaDevAttrAsyncEngineCount, p->copy_engines},
        {cudaDevAttrComputeCapabilityMajor, p->cc_major},
        {cudaDevAttrComputeCapabilityMinor, p->cc_minor},
        {cudaDevAttrPciBusId, device + 1},
        {cudaDevAttrMaxPersistingL2CacheSize, (int)vg_persisting_l2(p)},
        {cudaDevAttrMaxAccessPolicyWindowSize, p->cc_major >= 8 ? 134213632 : 0},
        {cudaDevAttrClusterLaunch, p->cc_major >= 9},
        {cudaDevAttrMemSyncDomainCount, p->cc_major >= 9 ? 4 : 1},
        {CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, p->cc_major >= 8},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].attr == attribute)
            return known[i].value;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (common[i].attr == attribute)
            return common[i].value;
    return 0;
}
