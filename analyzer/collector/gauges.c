/* Reads the GPU's gauges through NVML. */
#include "analyzer/collector/gauges.h"

#include <dlfcn.h>

/* Values from NVML's public interface. */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

int gauges_open(struct gauges *g, const char *library, struct err *e)
{
    int (*init)(void) = NULL;
    *g = (struct gauges){0};
    const char *name = library ? library : "libnvidia-ml.so.1";
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return err_set(e, "cannot load %s", name);
    *(void **)&init = dlsym(lib, "nvmlInit_v2");
    int rc = init ? init() : -1;
    if (rc != 0) {
        dlclose(lib);
        return err_set(e, "NVML does not start (%d)", rc);
    }
    *(void **)&g->device_by_uuid = dlsym(lib, "nvmlDeviceGetHandleByUUID");
    *(void **)&g->utilization = dlsym(lib, "nvmlDeviceGetUtilizationRates");
    *(void **)&g->memory = dlsym(lib, "nvmlDeviceGetMemoryInfo");
    *(void **)&g->clock = dlsym(lib, "nvmlDeviceGetClockInfo");
    *(void **)&g->power = dlsym(lib, "nvmlDeviceGetPowerUsage");
    *(void **)&g->temperature = dlsym(lib, "nvmlDeviceGetTemperature");
    /* The function's newer name; older drivers have only the second name. */
    *(void **)&g->reasons = dlsym(lib, "nvmlDeviceGetCurrentClocksEventReasons");
    if (!g->reasons)
        *(void **)&g->reasons = dlsym(lib, "nvmlDeviceGetCurrentClocksThrottleReasons");
    return 0;
}

void *gauges_find(const struct gauges *g, const char *uuid)
{
    void *device = NULL;
    return g->device_by_uuid && g->device_by_uuid(uuid, &device) == 0 ? device : NULL;
}

static int64_t clock_of(const struct gauges *g, void *device, unsigned type)
{
    unsigned mhz;
    return g->clock && g->clock(device, type, &mhz) == 0 ? (int64_t)mhz : -1;
}

bool gauges_read(const struct gauges *g, void *device, struct row_gpu_sample *s)
{
    struct gauges_utilization u;
    struct gauges_memory m;
    unsigned n;
    unsigned long long bits;
    s->util_pct = g->utilization && g->utilization(device, &u) == 0 ? (int64_t)u.gpu : -1;
    s->memory_used_bytes = g->memory && g->memory(device, &m) == 0 ? (int64_t)m.used : -1;
    s->sm_clock_mhz = clock_of(g, device, CLOCK_SM);
    s->memory_clock_mhz = clock_of(g, device, CLOCK_MEMORY);
    s->power_mw = g->power && g->power(device, &n) == 0 ? (int64_t)n : -1;
    s->temperature_c =
        g->temperature && g->temperature(device, SENSOR_GPU, &n) == 0 ? (int64_t)n : -1;
    s->throttle_reasons = g->reasons && g->reasons(device, &bits) == 0 ? (int64_t)bits : -1;
    s->pcie_tx_bytes_per_s = s->pcie_rx_bytes_per_s = -1;
    return s->util_pct >= 0 || s->memory_used_bytes >= 0 || s->sm_clock_mhz >= 0 ||
           s->memory_clock_mhz >= 0 || s->power_mw >= 0 || s->temperature_c >= 0 ||
           s->throttle_reasons >= 0;
}
