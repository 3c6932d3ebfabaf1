/* NVML calls that PyTorch looks up before it reports that it ran out of memory, and JAX when it
 * starts: the list of processes by its older name, NVLink and fabric. The virtual GPU reports no
 * links and no fabric. */
#include "core/core_state.h"

#include <string.h>

enum { NVML_OK = 0, NVML_INVALID_ARGUMENT = 2, NVML_NOT_SUPPORTED = 3, DRIVER_VERSION = 13000 };

int nvmlSystemGetCudaDriverVersion(int *version);
int nvmlSystemGetCudaDriverVersion_v2(int *version);
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, void *infos);
int nvmlDeviceGetComputeRunningProcesses(void *d, unsigned *count, void *infos);
int nvmlDeviceGetNvLinkState(void *d, unsigned link, unsigned *active);
int nvmlDeviceGetNvLinkRemoteDeviceType(void *d, unsigned link, unsigned *type);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned link, void *pci);
int nvmlDeviceGetGpuFabricInfoV(void *d, void *info);

int nvmlSystemGetCudaDriverVersion(int *version)
{
    *version = DRIVER_VERSION;
    return NVML_OK;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return nvmlSystemGetCudaDriverVersion(version);
}

int nvmlDeviceGetComputeRunningProcesses(void *d, unsigned *count, void *infos)
{
    return nvmlDeviceGetComputeRunningProcesses_v3(d, count, infos);
}

int nvmlDeviceGetNvLinkState(void *d, unsigned link, unsigned *active)
{
    (void)d, (void)link, (void)active;
    return NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void *d, unsigned link, unsigned *type)
{
    (void)d, (void)link, (void)type;
    return NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned link, void *pci)
{
    (void)d, (void)link, (void)pci;
    return NVML_NOT_SUPPORTED;
}

/* The card belongs to no fabric of several machines: all fields behind the version are set to 0.
 * The low bits of the version are the size of the caller's struct. */
int nvmlDeviceGetGpuFabricInfoV(void *d, void *info)
{
    enum { SIZE = 0xffffff, MOST = 64 };
    unsigned version;
    if (!d || !info)
        return NVML_INVALID_ARGUMENT;
    memcpy(&version, info, sizeof version);
    if ((version & SIZE) < sizeof version || (version & SIZE) > MOST)
        return NVML_INVALID_ARGUMENT;
    memset((char *)info + sizeof version, 0, (version & SIZE) - sizeof version);
    return NVML_OK;
}
