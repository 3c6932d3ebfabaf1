/* The GPU's own gauges, read through NVML from outside of the target. NVML is loaded when the first
 * real device is seen. A reading costs some ten microseconds, because PCIe throughput, which blocks
 * for 20 ms, is not read. A gauge that the device does not support is -1. Devices are found by
 * UUID: a slice of a GPU (MIG) has a UUID that NVML does not know, so it gets no readings. A
 * virtual GPU has an NVML of its own, given by its path. */
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

/* The functions of NVML that are used; NULL if the library lacks one. All return 0 for success. */
struct gauges {
    int (*device_by_uuid)(const char *uuid, void **device);
    int (*utilization)(void *device, struct gauges_utilization *out);
    int (*memory)(void *device, struct gauges_memory *out);
    int (*clock)(void *device, unsigned type, unsigned *mhz);
    int (*power)(void *device, unsigned *mw);
    int (*temperature)(void *device, unsigned sensor, unsigned *celsius);
    int (*reasons)(void *device, unsigned long long *bits);
};

/* Loads and starts NVML from the path `library`, or the driver's if NULL. It stays loaded until the
 * process ends. -1 with *e set. */
int gauges_open(struct gauges *g, const char *library, struct err *e);
/* NVML's device with this UUID, or NULL if NVML does not know it. */
void *gauges_find(const struct gauges *g, const char *uuid);
/* Fills all members except id, device and time_ns. False: no gauge has a value. */
bool gauges_read(const struct gauges *g, void *device, struct row_gpu_sample *s);

#endif
