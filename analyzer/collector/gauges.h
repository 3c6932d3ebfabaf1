/* The GPU's own gauges, read through NVML from outside the target. NVML is loaded when the first
 * real device is seen; a reading costs some ten microseconds, because PCIe throughput, which blocks
 * for 20 ms, is left out. A gauge that the device does not answer is -1. Devices are found by UUID:
 * a slice of a GPU (MIG) has none that NVML knows, and gets no readings. A virtual GPU has an NVML
 * of its own, which is told by its path. */
#ifndef GPUPROF_COLLECTOR_GAUGES_H
#define GPUPROF_COLLECTOR_GAUGES_H

#include "analyzer/profile/rows.h"

#include <stdbool.h>

struct gauges_utilization { /* nvmlUtilization_t */
    unsigned gpu, memory;
};
struct gauges_memory { /* nvmlMemory_t */
    unsigned long long total, free, used;
};

/* What is used of NVML; NULL where the library lacks it. All return 0 for success. */
struct gauges {
    int (*device_by_uuid)(const char *uuid, void **device);
    int (*utilization)(void *device, struct gauges_utilization *out);
    int (*memory)(void *device, struct gauges_memory *out);
    int (*clock)(void *device, unsigned type, unsigned *mhz);
    int (*power)(void *device, unsigned *mw);
    int (*temperature)(void *device, unsigned sensor, unsigned *celsius);
    int (*reasons)(void *device, unsigned long long *bits);
};

/* Loads and starts NVML: `library`, NULL = the driver's. -1 with *e set. It stays loaded until the
 * process ends. */
int gauges_open(struct gauges *g, const char *library, struct err *e);
/* The device of this UUID, NULL when NVML does not know it. */
void *gauges_find(const struct gauges *g, const char *uuid);
/* Fills all but id, device and time_ns. False when no gauge answered. */
bool gauges_read(const struct gauges *g, void *device, struct row_gpu_sample *s);

#endif
