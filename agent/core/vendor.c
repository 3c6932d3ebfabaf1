/* Opens CUPTI and fills the table of its functions. */
#include "agent/core/vendor.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "agent/core/agent.h"
#include "agent/core/resolve.h"

/* Newest first. CUDA 11 has the minor version in the file's name. */
static const struct soname {
    int cuda;
    const char *name;
} sonames[] = {{13, "libcupti.so.13"}, {12, "libcupti.so.12"}, {11, "libcupti.so.11.8"}};

/* The major version of CUDA that the driver supports, because a CUPTI newer than the driver does
 * not work. 0: unknown. */
static int driver_major(void)
{
    static const char *const from[][2] = {{"libcuda.so", "cuDriverGetVersion"},
                                          {"libcudart.so", "cudaDriverGetVersion"}};
    for (size_t i = 0; i < AGENT_ARRAY_LEN(from); i++) {
        char path[4096];
        int version = 0;
        if (resolve_path(from[i][0], path, sizeof path) != 0)
            continue;
        void *handle = resolve_loaded(path);
        int (*get)(int *) = (int (*)(int *))resolve_symbol(handle, from[i][1]);
        int failed = get ? get(&version) : -1;
        resolve_close(handle);
        if (failed == 0 && version > 0)
            return version / 1000;
    }
    return INT32_MAX;
}

static void *open_in(const char *dir, const char *below, int most, char *path, size_t size)
{
    for (size_t i = 0; i < AGENT_ARRAY_LEN(sonames); i++) {
        if (sonames[i].cuda > most)
            continue;
        int n = snprintf(path, size, "%s%s%s", dir, below, sonames[i].name);
        void *handle = n > 0 && (size_t)n < size ? resolve_open(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (handle)
            return handle;
    }
    return NULL;
}

/* Opens the CUPTI that lies beside a loaded CUDA library, where toolkits, the pip wheels for CUDA
 * 12, and those for CUDA 13 put it. NULL: none. */
static void *open_beside(const char *stem, int most, char *path, size_t size)
{
    static const char *const below[] = {"/", "/../extras/CUPTI/lib64/", "/../../cuda_cupti/lib/",
                                        "/../lib64/"};
    char dir[4096];
    if (resolve_path(stem, dir, sizeof dir) != 0)
        return NULL;
    char *slash = strrchr(dir, '/');
    if (!slash)
        return NULL;
    *slash = 0;
    for (size_t i = 0; i < AGENT_ARRAY_LEN(below); i++) {
        void *handle = open_in(dir, below[i], most, path, size);
        if (handle)
            return handle;
    }
    return NULL;
}

/* Opens the CUPTI beside any loaded CUDA library: the runtime itself may be linked into the
 * program. */
static void *open_beside_runtime(int most, char *path, size_t size)
{
    static const char *const stems[] = {"libcudart.so", "libcublas.so", "libcudnn.so",
                                        "libnvrtc.so", "libnccl.so"};
    void *handle = NULL;
    for (size_t i = 0; i < AGENT_ARRAY_LEN(stems) && !handle; i++)
        handle = open_beside(stems[i], most, path, size);
    return handle;
}

static void *open_installed(int most, char *path, size_t size)
{
    static const char *const dirs[] = {
        "", "/usr/local/cuda/extras/CUPTI/lib64/", "/usr/local/cuda/lib64/",
        "/usr/local/cuda-13/extras/CUPTI/lib64/", "/usr/local/cuda-12/extras/CUPTI/lib64/"};
    for (size_t i = 0; i < AGENT_ARRAY_LEN(dirs); i++) {
        void *handle = open_in(dirs[i], "", most, path, size);
        if (handle)
            return handle;
    }
    return NULL;
}

static void *open_cupti(char *path, size_t size)
{
    if (resolve_path("libcupti.so", path, size) == 0)
        return resolve_loaded(path);
    const char *asked = agent_env("GPUPROF_CUPTI");
    if (asked && *asked) {
        snprintf(path, size, "%s", asked);
        return resolve_open(asked, RTLD_NOW | RTLD_LOCAL);
    }
    int most = driver_major();
    void *handle = open_beside_runtime(most, path, size);
    return handle ? handle : open_installed(most, path, size);
}

int vendor_load_cupti(struct vendor_cupti *v, char *why, size_t size)
{
    void *handle = open_cupti(v->path, sizeof v->path);
    if (!handle) {
        snprintf(why, size,
                 "gpuprof did not find libcupti and cannot record GPU work. Set GPUPROF_CUPTI to "
                 "its path.");
        return -1;
    }
    v->library = handle;
    /* the loader found it by its name alone: the user wants to know its path */
    if (!strchr(v->path, '/'))
        resolve_path("libcupti.so", v->path, sizeof v->path);
#define X(name)                                                                                    \
    v->name = (__typeof__(v->name))resolve_symbol(handle, "cupti" #name);                          \
    if (!v->name) {                                                                                \
        snprintf(why, size, "%s lacks cupti" #name ": gpuprof cannot record GPU work.", v->path);  \
        return -1;                                                                                 \
    }
    VENDOR_CUPTI_REQUIRED(X)
#undef X
#define X(name) v->name = (__typeof__(v->name))resolve_symbol(handle, "cupti" #name);
    VENDOR_CUPTI_OPTIONAL(X)
#undef X
    return 0;
}
