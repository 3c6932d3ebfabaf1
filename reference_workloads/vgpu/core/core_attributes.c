/* Attributes of devices, for the runtime and the driver. */
#include "reference_workloads/vgpu/core/core_attributes.h"

#include <driver_types.h>

size_t vg_shared_per_sm(const struct vg_profile *p)
{
    if (p->cc_major >= 9)
        return 228 * 1024;
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
    return p->cc_major == 8 && p->cc_minor > 0 ? 1536 : 2048;
}

int vg_bus_width(const struct vg_profile *p)
{
    double bits = p->memory_bytes_per_s * 8 / (2 * p->memory_clock_mhz * 1e6);
    return p->memory_clock_mhz > 0 ? (int)(bits / 64 + 0.5) * 64 : 0;
}

int vg_device_attribute(const struct vg_profile *p, int device, int attribute)
{
    const struct {
        enum cudaDeviceAttr attr;
        int value;
    } known[] = {
        {cudaDevAttrMaxThreadsPerBlock, 1024},
        {cudaDevAttrMaxBlockDimX, 1024},
        {cudaDevAttrMaxBlockDimY, 1024},
        {cudaDevAttrMaxBlockDimZ, 64},
        {cudaDevAttrMaxGridDimX, 2147483647},
        {cudaDevAttrMaxGridDimY, 65535},
        {cudaDevAttrMaxGridDimZ, 65535},
        {cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)vg_shared_optin(p)},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (int)vg_shared_per_sm(p)},
        {cudaDevAttrTotalConstantMemory, 65536},
        {cudaDevAttrWarpSize, 32},
        {cudaDevAttrMaxRegistersPerBlock, 65536},
        {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
        {cudaDevAttrClockRate, (int)(p->clock_mhz * 1000)},
        {cudaDevAttrMemoryClockRate, (int)(p->memory_clock_mhz * 1000)},
        {cudaDevAttrGlobalMemoryBusWidth, vg_bus_width(p)},
        {cudaDevAttrMultiProcessorCount, p->sm_count},
        {cudaDevAttrL2CacheSize, (int)p->l2_bytes},
        {cudaDevAttrMaxThreadsPerMultiProcessor, vg_threads_per_sm(p)},
        {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
        {cudaDevAttrAsyncEngineCount, p->copy_engines},
        {cudaDevAttrUnifiedAddressing, 1},
        {cudaDevAttrComputeCapabilityMajor, p->cc_major},
        {cudaDevAttrComputeCapabilityMinor, p->cc_minor},
        {cudaDevAttrStreamPrioritiesSupported, 1},
        {cudaDevAttrManagedMemory, 1},
        {cudaDevAttrConcurrentManagedAccess, 1},
        {cudaDevAttrCooperativeLaunch, 1},
        {cudaDevAttrConcurrentKernels, 1},
        {cudaDevAttrCanMapHostMemory, 1},
        {cudaDevAttrMemoryPoolsSupported, 1},
        {cudaDevAttrPciBusId, device + 1},
        {cudaDevAttrHostRegisterSupported, 1},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((int)known[i].attr == attribute)
            return known[i].value;
    return 0;
}
