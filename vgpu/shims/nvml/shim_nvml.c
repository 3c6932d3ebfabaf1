/* libnvidia-ml of the virtual GPU. It answers from the device's profile (memory, clocks, bus) and
 * from the memory and busy time of this process and of the other processes that publish theirs
 * (core_gauges.c). Power, energy and temperature are not modelled: these calls return
 * NOT_SUPPORTED, as on many real devices. The build needs no header of NVML: the numbers are those
 * of its published interface. */
#include "core/core_state.h"

#include <stdio.h>
#include <string.h>

enum {
    NVML_OK = 0,
    NVML_BAD_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
    NVML_NO_DRIVER = 9
};

enum { NVML_POWER_CAP = 0x4 }; /* a reason why the clock is lowered */

typedef struct vg_device *nvmlDevice_t;
struct nvml_utilization {
    unsigned gpu, memory;
};
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct nvml_field {
    unsigned id, scope;
    long long timestamp, latency_us;
    unsigned type, result;
    unsigned long long value;
};

int nvmlInit_v2(void);
int nvmlInitWithFlags(unsigned flags);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlSystemGetDriverVersion(char *text, unsigned n);
int nvmlSystemGetNVMLVersion(char *text, unsigned n);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out);
int nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out);
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *out);
int nvmlDeviceGetName(nvmlDevice_t d, char *text, unsigned n);
int nvmlDeviceGetUUID(nvmlDevice_t d, char *text, unsigned n);
int nvmlDeviceGetIndex(nvmlDevice_t d, unsigned *index);
int nvmlDeviceGetUtilizationRates(nvmlDevice_t d, struct nvml_utilization *out);
int nvmlDeviceGetMemoryInfo(nvmlDevice_t d, struct nvml_memory *out);
int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, struct nvml_memory_v2 *out);
int nvmlDeviceGetClock(nvmlDevice_t d, unsigned type, unsigned id, unsigned *mhz);
int nvmlDeviceGetClockInfo(nvmlDevice_t d, unsigned type, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, unsigned type, unsigned *mhz);
int nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t d, unsigned *gen);
int nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t d, unsigned *width);
int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *reasons);
int nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *mw);
int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *mw);
int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, unsigned long long *mj);
int nvmlDeviceGetTemperature(nvmlDevice_t d, unsigned sensor, unsigned *celsius);
int nvmlDeviceGetPcieThroughput(nvmlDevice_t d, unsigned counter, unsigned *kb);
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *count, void *infos);
int nvmlDeviceGetSamples(nvmlDevice_t d, unsigned type, unsigned long long last,
                         unsigned *value_type, unsigned *count, void *samples);
int nvmlDeviceGetFieldValues(nvmlDevice_t d, int count, struct nvml_field *fields);

int nvmlInit_v2(void)
{
    return vg_open() == VG_OK ? NVML_OK : NVML_NO_DRIVER;
}

int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return nvmlInit_v2();
}

int nvmlShutdown(void)
{
    return NVML_OK;
}

const char *nvmlErrorString(int result)
{
    switch (result) {
    case NVML_OK:
        return "Success";
    case NVML_BAD_ARGUMENT:
        return "Invalid Argument";
    case NVML_NOT_SUPPORTED:
        return "Not Supported";
    case NVML_NOT_FOUND:
        return "Not Found";
    case NVML_NO_DRIVER:
        return "Driver Not Loaded";
    default:
        return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *text, unsigned n)
{
    /* Programs parse it, so it is a plausible number; the device's name tells that the GPU is
     * virtual. */
    snprintf(text, n, "580.0.0");
    return NVML_OK;
}

int nvmlSystemGetNVMLVersion(char *text, unsigned n)
{
    snprintf(text, n, "13.virtual");
    return NVML_OK;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = (unsigned)vg_core.device_count;
    return NVML_OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out)
{
    if (index >= (unsigned)vg_core.device_count)
        return NVML_BAD_ARGUMENT;
    *out = &vg_core.device[index];
    return NVML_OK;
}

int nvmlDeviceGetUUID(nvmlDevice_t d, char *text, unsigned n)
{
    /* NVML's spelling of the bytes in the runtime's cudaDeviceProp.uuid ("vgpu-N" and zeros). */
    snprintf(text, n, "GPU-76677075-2d%02x-0000-0000-000000000000", '0' + d->index);
    return NVML_OK;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out)
{
    char text[96];
    for (int i = 0; i < vg_core.device_count; i++) {
        nvmlDeviceGetUUID(&vg_core.device[i], text, sizeof text);
        if (strcmp(text, uuid) == 0)
            return nvmlDeviceGetHandleByIndex_v2((unsigned)i, out);
    }
    return NVML_NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *out)
{
    unsigned domain, bus, device;
    if (sscanf(id, "%x:%x:%x", &domain, &bus, &device) != 3 || bus == 0)
        return NVML_BAD_ARGUMENT;
    return nvmlDeviceGetHandleByIndex_v2(bus - 1, out) == NVML_OK ? NVML_OK : NVML_NOT_FOUND;
}

int nvmlDeviceGetName(nvmlDevice_t d, char *text, unsigned n)
{
    snprintf(text, n, "%s", d->profile.name);
    return NVML_OK;
}

int nvmlDeviceGetIndex(nvmlDevice_t d, unsigned *index)
{
    *index = (unsigned)d->index;
    return NVML_OK;
}

/* The share of busy time since the previous call, in percent. */
int nvmlDeviceGetUtilizationRates(nvmlDevice_t d, struct nvml_utilization *out)
{
    static struct {
        int64_t asked_ns, busy_ns;
    } last[VG_MAX_DEVICES];
    pthread_mutex_lock(&vg_core.lock);
    int64_t now = vg_now_ns(), busy = vg_gauges_read(d).busy_ns;
    int64_t span = now - last[d->index].asked_ns;
    int64_t share = span > 0 ? (busy - last[d->index].busy_ns) * 100 / span : 0;
    last[d->index].asked_ns = now;
    last[d->index].busy_ns = busy;
    pthread_mutex_unlock(&vg_core.lock);
    *out = (struct nvml_utilization){share < 0 ? 0 : share > 100 ? 100 : (unsigned)share, 0};
    return NVML_OK;
}

/* What all programs on the device use that publish their use. */
int nvmlDeviceGetMemoryInfo(nvmlDevice_t d, struct nvml_memory *out)
{
    pthread_mutex_lock(&vg_core.lock);
    unsigned long long used = (unsigned long long)vg_gauges_read(d).used, all = d->capacity;
    pthread_mutex_unlock(&vg_core.lock);
    *out = (struct nvml_memory){all, used < all ? all - used : 0, used < all ? used : all};
    return NVML_OK;
}

int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, struct nvml_memory_v2 *out)
{
    struct nvml_memory m;
    nvmlDeviceGetMemoryInfo(d, &m);
    *out = (struct nvml_memory_v2){out->version, m.total, 0, m.free, m.used};
    return NVML_OK;
}

int nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, unsigned type, unsigned *mhz)
{
    if (type > 2)
        return NVML_NOT_SUPPORTED;
    *mhz = (unsigned)(type == 2 ? d->profile.memory_clock_mhz : d->profile.clock_mhz);
    return NVML_OK;
}

static double clock_share(const struct vg_device *d)
{
    pthread_mutex_lock(&vg_core.lock);
    double share = vg_clock_share(vg_now_ns(), vg_gauges_read(d).started_ns);
    pthread_mutex_unlock(&vg_core.lock);
    return share;
}

int nvmlDeviceGetClock(nvmlDevice_t d, unsigned type, unsigned id, unsigned *mhz)
{
    (void)id;
    if (nvmlDeviceGetMaxClockInfo(d, type, mhz) != NVML_OK)
        return NVML_NOT_SUPPORTED;
    if (type != 2)
        *mhz = (unsigned)(*mhz * clock_share(d));
    return NVML_OK;
}

int nvmlDeviceGetClockInfo(nvmlDevice_t d, unsigned type, unsigned *mhz)
{
    return nvmlDeviceGetClock(d, type, 0, mhz);
}

int nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t d, unsigned *gen)
{
    *gen = (unsigned)d->profile.pcie_gen;
    return NVML_OK;
}

int nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t d, unsigned *width)
{
    *width = (unsigned)d->profile.pcie_width;
    return NVML_OK;
}

int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, unsigned long long *reasons)
{
    *reasons = clock_share(d) < 1 ? NVML_POWER_CAP : 0;
    return NVML_OK;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *reasons)
{
    return nvmlDeviceGetCurrentClocksEventReasons(d, reasons);
}

int nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *mw)
{
    (void)d, (void)mw;
    return NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *mw)
{
    (void)d, (void)mw;
    return NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, unsigned long long *mj)
{
    (void)d, (void)mj;
    return NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetTemperature(nvmlDevice_t d, unsigned sensor, unsigned *celsius)
{
    (void)d, (void)sensor, (void)celsius;
    return NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetPcieThroughput(nvmlDevice_t d, unsigned counter, unsigned *kb)
{
    (void)d, (void)counter, (void)kb;
    return NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *count, void *infos)
{
    (void)d, (void)infos;
    *count = 0;
    return NVML_OK;
}

int nvmlDeviceGetSamples(nvmlDevice_t d, unsigned type, unsigned long long last,
                         unsigned *value_type, unsigned *count, void *samples)
{
    (void)d, (void)type, (void)last, (void)value_type, (void)count, (void)samples;
    return NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetFieldValues(nvmlDevice_t d, int count, struct nvml_field *fields)
{
    (void)d;
    for (int i = 0; i < count; i++)
        fields[i].result = NVML_NOT_SUPPORTED;
    return NVML_OK;
}
