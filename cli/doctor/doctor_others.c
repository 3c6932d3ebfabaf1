/* Other tools that use the same mechanisms: injections, preloads, running profilers. */
#include "cli/doctor/doctor.h"
#include "cli/run/run.h"

#include <dirent.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Checks a variable that may name another tool's library. */
static void check_tool(struct doctor *d, const char *name)
{
    const char *path = getenv(name);
    if (!path || !*path)
        return;
    if (access(path, R_OK) == 0)
        doctor_add(d, DOCTOR_NOTE, "injection",
                   "gpuprof keeps it and calls it too; if that tool takes CUPTI, gpuprof cannot "
                   "record GPU work: unset it then",
                   "%s names another tool: %.150s", name, path);
    else
        doctor_add(d, DOCTOR_NOTE, "injection", "unset it",
                   "%s names a file that does not exist: %.150s", name, path);
}

static void check_preload(struct doctor *d)
{
    const char *v = getenv("LD_PRELOAD");
    if (!v || !*v)
        return;
    if (strstr(v, "libasan") || strstr(v, "libtsan") || strstr(v, "clang_rt"))
        doctor_add(
            d, DOCTOR_NOTE, "preload",
            "gpuprof keeps it and makes it accept the agent; all times include the sanitizer",
            "LD_PRELOAD names a sanitizer: %.150s", v);
    else
        doctor_add(d, DOCTOR_OK, "preload", "", "gpuprof keeps LD_PRELOAD after its agent: %.150s",
                   v);
}

static void check_setting(struct doctor *d, const char *name, const char *cure)
{
    const char *v = getenv(name);
    if (v && *v)
        doctor_add(d, DOCTOR_NOTE, "environment", cure, "%s is set: %.150s", name, v);
}

/* Processes by the first 15 characters of their name, which is what the kernel keeps. */
static const struct other {
    const char *comm, *what, *cure;
} others[] = {
    {"nsys", "Nsight Systems is running",
     "gpuprof cannot record a program that runs under it: use one profiler at a time"},
    {"ncu", "Nsight Compute is running",
     "gpuprof cannot record a program that runs under it: use one profiler at a time"},
    {"cuda-gdb", "cuda-gdb is running",
     "a program under it produces no GPU records: leave it first"},
    {"nv-hostengine", "DCGM is running",
     "it reads hardware counters and gpuprof does not, so both work; its profiling metrics make "
     "kernels slightly slower (dcgmi profiling --pause)"},
    {"dcgm-exporter", "DCGM's exporter is running",
     "it reads hardware counters and gpuprof does not, so both work"},
};

static void check_processes(struct doctor *d)
{
    bool seen[sizeof others / sizeof *others] = {0};
    DIR *proc = opendir("/proc");
    if (!proc)
        return;
    for (struct dirent *e; (e = readdir(proc));) {
        char path[300], comm[32] = "";
        if (e->d_name[0] < '0' || e->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/comm", e->d_name);
        FILE *f = fopen(path, "r");
        if (!f || !fgets(comm, sizeof comm, f))
            comm[0] = 0;
        if (f)
            fclose(f);
        comm[strcspn(comm, "\n")] = 0;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            seen[i] |= strcmp(comm, others[i].comm) == 0;
    }
    closedir(proc);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (seen[i])
            doctor_add(d, DOCTOR_NOTE, "profiler", others[i].cure, "%s", others[i].what);
}

/* In a Python environment another distribution may also install a command `gpuprof`
 * (scripts/pack.py). */
static void check_namesake(struct doctor *d)
{
    char bin[PATH_MAX], pattern[PATH_MAX + 64];
    glob_t found;
    if (run_file_beside(".", bin, sizeof bin) != 0)
        return;
    snprintf(pattern, sizeof pattern, "%s/../lib/python3*/site-packages/gpuprof-[0-9]*.dist-info",
             bin);
    if (glob(pattern, 0, NULL, &found) == 0) {
        doctor_add(d, DOCTOR_NOTE, "namesake",
                   "both have a command `gpuprof`, and the one installed last has it: this one is "
                   "also `gpuprof-cuda`; or give each an environment of its own",
                   "another project's distribution gpuprof is installed here: %.150s",
                   strrchr(found.gl_pathv[0], '/') + 1);
        globfree(&found);
    }
}

void doctor_others(struct doctor *d)
{
    check_tool(d, "CUDA_INJECTION64_PATH");
    check_tool(d, "NVTX_INJECTION64_PATH");
    check_preload(d);
    check_setting(d, "NSYS_PROFILING_SESSION_ID", "Nsight Systems started this shell: leave it");
    check_setting(
        d, "CUDA_LAUNCH_BLOCKING",
        "it makes every launch wait for its kernel: unset it, or the profile shows little else");
    check_setting(d, "COMPUTE_PROFILE", "an old profiler may hold CUPTI: unset it");
    check_setting(d, "CUPTI_ENABLE_HW_TRACE",
                  "it selects another tracing method, which has bugs before CUDA 13.4: unset it");
    check_processes(d);
    check_namesake(d);
}
