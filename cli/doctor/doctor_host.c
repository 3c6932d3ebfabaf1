/* What doctor checks of the host: the agent, the virtual GPU, stacks, cores, room for files. */
#include "cli/doctor/doctor.h"
#include "cli/run/run.h"

#include "analyzer/unwind/unwind.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void check_agent(struct doctor *d)
{
    char path[PATH_MAX];
    if (run_file_agent(path, sizeof path, NULL) == 0)
        doctor_add(d, DOCTOR_OK, "agent", "", "agent: %.200s", path);
    else
        doctor_add(
            d, DOCTOR_MISSING, "agent",
            "build it with CUDA's headers, which `GPUPROF_SETUP=yes make` fetches; traces are read "
            "without it",
            "no recorder (libgpuprof_agent.so) beside this program: `gpuprof run` cannot record");
}

static void check_virtual(struct doctor *d)
{
    char path[PATH_MAX], models[160] = "";
    glob_t g;
    if (run_folder_virtual_gpu(path, sizeof path)) {
        doctor_add(d, DOCTOR_NOTE, "virtual-gpu", "build gpuprof with the CUDA headers",
                   "no virtual GPU beside this program");
        return;
    }
    snprintf(path + strlen(path), sizeof path - strlen(path), "/profiles/*.ini");
    if (glob(path, 0, NULL, &g) == 0) {
        for (size_t i = 0; i < g.gl_pathc; i++) {
            const char *name = strrchr(g.gl_pathv[i], '/') + 1;
            size_t n = strlen(models);
            snprintf(models + n, sizeof models - n, "%s%.*s", n ? ", " : "",
                     (int)(strlen(name) - 4), name);
        }
        globfree(&g);
    }
    doctor_add(d, *models ? DOCTOR_OK : DOCTOR_NOTE, "virtual-gpu", "", "virtual GPU: %s",
               *models ? models : "no models");
}

static void check_stacks(struct doctor *d)
{
    const char *why = unwind_missing();
    if (!why)
        doctor_add(d, DOCTOR_OK, "stacks", "",
                   "libdw: gpuprof names the lines of C and C++ programs that wait for the GPU");
    else
        doctor_add(d, DOCTOR_NOTE, "stacks",
                   "install libdw1; to build gpuprof with it: libdw-dev (elfutils-devel)",
                   "no lines of C and C++ programs: %s", why);
}

void doctor_self(struct doctor *d)
{
    check_agent(d);
    check_stacks(d);
    check_virtual(d);
}

static void check_cores(struct doctor *d)
{
    cpu_set_t set;
    double quota = host_cgroup_cpus();
    int usable = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (quota > 0 && quota < usable)
        doctor_add(d, DOCTOR_NOTE, "cores", "advice uses the smaller number",
                   "%d usable cores, but the cgroup grants %.1f", usable, quota);
    else
        doctor_add(d, DOCTOR_OK, "cores", "", "%d usable cores of %ld", usable, online);
}

static void check_room(struct doctor *d, const char *id, const char *path, double least_gb,
                       const char *cure)
{
    struct statvfs v;
    if (statvfs(path, &v)) {
        doctor_add(d, DOCTOR_NOTE, id, cure, "%s: %s", path, strerror(errno));
        return;
    }
    double gb = (double)v.f_bavail * (double)v.f_frsize / 1e9;
    int writable = access(path, W_OK) == 0;
    doctor_add(d, gb < least_gb || !writable ? DOCTOR_NOTE : DOCTOR_OK, id,
               gb < least_gb || !writable ? cure : "", "%s: %.1f GB free%s", path, gb,
               writable ? "" : ", not writable");
}

void doctor_host(struct doctor *d)
{
    const char *job = getenv("SLURM_TMPDIR"), *tmp = job && *job ? job : getenv("TMPDIR");
    check_cores(d);
    check_room(d, "disk", ".", 1, "write the profile elsewhere: -o FILE");
    check_room(d, "spool", tmp && *tmp ? tmp : "/tmp", 1,
               "set TMPDIR to a local folder with room: profiles that belong on a network file "
               "system grow there");
}
