/* What may be asked: gauges, the driver's own restriction, limits of the container. */
#include "cli/doctor.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void check_gauges(struct doctor *d)
{
    int (*init)(void) = NULL;
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (lib)
        *(void **)&init = dlsym(lib, "nvmlInit_v2");
    int rc = init ? init() : -1;
    if (rc == 0)
        doctor_add(d, DOCTOR_OK, "nvml", "", "NVML answers: clocks, memory and power are sampled");
    else if (lib)
        doctor_add(d, DOCTOR_NOTE, "nvml",
                   "the driver is not loaded or not visible: in a container ask for the capability "
                   "`utility` (NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
                   "NVML does not start (%d): no clocks, memory or power", rc);
    else
        doctor_add(d, DOCTOR_NOTE, "nvml",
                   "it comes with the driver; in a container ask for the capability `utility` "
                   "(NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
                   "no NVML (libnvidia-ml.so.1): no clocks, memory or power of a real GPU");
}

/* The restriction is on hardware counters, which we do not read; kernel traces have been refused
 * with it too, by libcupti in its older versions. */
static void check_permission(struct doctor *d)
{
    char line[256];
    int only = -1;
    FILE *f = fopen("/proc/driver/nvidia/params", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RmProfilingAdminOnly: %d", &only) == 1)
            break;
    if (f)
        fclose(f);
    if (only > 0)
        doctor_add(d, DOCTOR_NOTE, "permission",
                   "none of them is read; if kernels are missing all the same, set "
                   "NVreg_RestrictProfilingToAdminUsers=0 for the module nvidia, or give the "
                   "container CAP_SYS_ADMIN",
                   "the driver keeps hardware counters for administrators");
    else if (only == 0)
        doctor_add(d, DOCTOR_OK, "permission", "", "the driver lets all users profile");
}

static void check_memory(struct doctor *d)
{
    double limit = 0;
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "r");
    if (!f)
        return;
    if (fscanf(f, "%lf", &limit) == 1 && limit > 0) /* "max" reads nothing */
        doctor_add(d, DOCTOR_OK, "memory", "", "the cgroup grants %.1f GB of memory", limit / 1e9);
    fclose(f);
}

void doctor_access(struct doctor *d)
{
    check_gauges(d);
    check_permission(d);
    check_memory(d);
}
