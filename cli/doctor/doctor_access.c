/* What gpuprof may access: gauges, the driver's restriction of counters, limits of the
 * container. */
#include "cli/doctor/doctor.h"
#include "cli/run/run.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_gauges(struct doctor *d)
{
    int (*init)(void) = NULL;
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (lib)
        *(void **)&init = dlsym(lib, "nvmlInit_v2");
    int rc = init ? init() : -1;
    if (rc == 0)
        doctor_add(d, DOCTOR_OK, "nvml", "",
                   "NVML works: gpuprof samples clocks, memory and power");
    else if (lib)
        doctor_add(d, DOCTOR_NOTE, "nvml",
                   "the driver is not loaded or not visible: start a container with the capability "
                   "`utility` (NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
                   "NVML does not start (%d): no clocks, memory or power", rc);
    else
        doctor_add(d, DOCTOR_NOTE, "nvml",
                   "the driver includes it; start a container with the capability `utility` "
                   "(NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
                   "no NVML (libnvidia-ml.so.1): no clocks, memory or power of a real GPU");
}

/* The restriction is on hardware counters, which gpuprof does not read. With older versions of
 * libcupti it has also refused kernel traces. */
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
                   "gpuprof reads none of them; if kernels are missing anyway, set "
                   "NVreg_RestrictProfilingToAdminUsers=0 for the module nvidia, or give the "
                   "container CAP_SYS_ADMIN",
                   "the driver restricts hardware counters to administrators");
    else if (only == 0)
        doctor_add(d, DOCTOR_OK, "permission", "", "the driver lets all users profile");
}

/* Physical memory of the machine in bytes; 0: unknown. */
static double machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGE_SIZE);
    return pages > 0 && bytes > 0 ? (double)pages * (double)bytes : 0;
}

static void check_memory(struct doctor *d)
{
    double limit = host_cgroup_memory(), all = machine_memory();
    if (limit > 0 && (all <= 0 || limit < all))
        doctor_add(d, DOCTOR_NOTE, "memory",
                   "each loader worker uses part of it; start the container with more",
                   "the cgroup grants %.1f GB of memory, the machine has %.1f GB", limit / 1e9,
                   all / 1e9);
    else if (all > 0)
        doctor_add(d, DOCTOR_OK, "memory", "", "%.1f GB of memory", all / 1e9);
}

/* Loader workers pass their batches through /dev/shm. */
static void check_shared(struct doctor *d)
{
    struct statvfs v;
    if (statvfs("/dev/shm", &v) != 0) {
        doctor_add(d, DOCTOR_NOTE, "shared-memory",
                   "PyTorch's loader workers need it: mount a tmpfs there", "no /dev/shm");
        return;
    }
    double gb = (double)v.f_bavail * (double)v.f_frsize / 1e9;
    doctor_add(d, gb < 1 ? DOCTOR_NOTE : DOCTOR_OK, "shared-memory",
               gb < 1 ? "loader workers pass batches through it: start the container with "
                        "--shm-size=8g or --ipc=host"
                      : "",
               "/dev/shm: %.2f GB free", gb);
}

static const char *container(void)
{
    const char *named = getenv("container");
    if (access("/.dockerenv", F_OK) == 0)
        return "Docker";
    if (access("/run/.containerenv", F_OK) == 0)
        return "Podman";
    if (getenv("KUBERNETES_SERVICE_HOST"))
        return "Kubernetes";
    return named && *named ? named : NULL;
}

static void check_container(struct doctor *d)
{
    const char *kind = container(), *may = getenv("NVIDIA_DRIVER_CAPABILITIES");
    if (!kind)
        return;
    bool all = may && strstr(may, "all"), compute = may && strstr(may, "compute"),
         utility = may && strstr(may, "utility");
    if (may && !all && !(compute && utility))
        doctor_add(d, DOCTOR_NOTE, "container",
                   "start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility",
                   "a container (%.40s) with only the driver's capabilities %.80s", kind, may);
    else
        doctor_add(d, DOCTOR_OK, "container", "",
                   "a container (%.40s): tracing needs no extra privilege", kind);
}

/* gpuprof reads the stacks of Python out of the memory of the process that it started. */
static void check_reading(struct doctor *d)
{
    static char byte = 1;
    char got = 0;
    struct iovec own = {&got, 1}, other = {&byte, 1};
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    if (child < 0)
        return;
    bool reads = process_vm_readv(child, &own, 1, &other, 1, 0) == 1;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (reads)
        doctor_add(d, DOCTOR_OK, "reading", "", "gpuprof names the lines of Python programs");
    else
        doctor_add(d, DOCTOR_NOTE, "reading",
                   "start the container with --cap-add=SYS_PTRACE; elsewhere set "
                   "kernel.yama.ptrace_scope to 0 or 1",
                   "the kernel does not let gpuprof read the stacks of Python: no time by line");
}

void doctor_access(struct doctor *d)
{
    check_gauges(d);
    check_permission(d);
    check_container(d);
    check_reading(d);
    check_memory(d);
    check_shared(d);
}
