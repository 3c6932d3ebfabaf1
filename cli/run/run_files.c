/* Finds the files that a run needs: the agent, the hook, the virtual GPU. */
#include "cli/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int run_file_beside(const char *relative, char *out, size_t n)
{
    char own[PATH_MAX], path[PATH_MAX * 2];
    ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);
    if (len <= 0)
        return -1;
    own[len] = 0;
    char *slash = strrchr(own, '/');
    if (slash)
        *slash = 0;
    snprintf(path, sizeof path, "%s/%s", own, relative);
    char *real = realpath(path, NULL);
    int rc = real && strlen(real) < n ? 0 : -1;
    if (rc == 0)
        strcpy(out, real);
    free(real);
    return rc;
}

int run_file_script(const char *name, char *out, size_t n, struct err *e)
{
    static const char *const places[] = {"../lib", "../lib/gpuprof",
                                         "../lib/x86_64-linux-gnu/gpuprof",
                                         "../lib/aarch64-linux-gnu/gpuprof"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char inside[PATH_MAX];
        snprintf(inside, sizeof inside, "%s/%s", places[i], name);
        if (run_file_beside(inside, out, n) == 0)
            return 0;
    }
    return err_set(e, "%s is not beside this gpuprof: install gpuprof again", name);
}

int run_folder_virtual_gpu(char *out, size_t n)
{
    if (run_file_beside("../lib/vgpu", out, n) == 0)
        return 0;
    return run_file_beside("../lib/gpuprof/vgpu", out, n);
}

int run_file_preloadable(const char *path, struct err *e)
{
    if (!strpbrk(path, " :"))
        return 0;
    return err_set(e,
                   "%s: the system cannot preload a library from a path with a space or a colon; "
                   "move gpuprof to another folder",
                   path);
}

int run_file_agent(char *out, size_t n, struct err *e)
{
    static const char *const places[] = {"../lib/libgpuprof_agent.so",
                                         "../lib/gpuprof/libgpuprof_agent.so",
                                         "../lib/x86_64-linux-gnu/gpuprof/libgpuprof_agent.so"};
    const char *set = getenv("GPUPROF_AGENT");
    if (set && *set) {
        if (access(set, R_OK) != 0 || strlen(set) >= n)
            return err_set(e, "GPUPROF_AGENT names an agent that does not exist: %s", set);
        strcpy(out, set);
        return 0;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (run_file_beside(places[i], out, n) == 0)
            return 0;
    return err_set(e,
                   "this gpuprof has no recorder: libgpuprof_agent.so is not beside the program. "
                   "`GPUPROF_SETUP=yes make` fetches the headers that its build needs");
}

int run_folder_python(char *out, size_t n)
{
    static const char *const places[] = {"../lib/python", "../lib/gpuprof/python",
                                         "../lib/x86_64-linux-gnu/gpuprof/python"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char inside[PATH_MAX];
        snprintf(inside, sizeof inside, "%s/sitecustomize.py", places[i]);
        if (run_file_beside(inside, out, n) == 0)
            return run_file_beside(places[i], out, n);
    }
    return -1;
}
