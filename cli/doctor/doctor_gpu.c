/* What doctor checks of the GPU: driver, kernel module, CUPTI, permission to read counters. */
#include "cli/doctor/doctor.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The few functions of the driver that the checks need, by its own names. */
struct driver {
    int (*init)(unsigned);
    int (*version)(int *);
    int (*count)(int *);
    int (*name)(char *, int, int);
};

static bool load_driver(struct driver *v)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return false;
    *(void **)&v->init = dlsym(lib, "cuInit");
    *(void **)&v->version = dlsym(lib, "cuDriverGetVersion");
    *(void **)&v->count = dlsym(lib, "cuDeviceGetCount");
    *(void **)&v->name = dlsym(lib, "cuDeviceGetName");
    return v->init && v->version && v->count && v->name;
}

/* The kernel module's version, as it reports it. */
static void check_module(struct doctor *d)
{
    char line[256] = "";
    FILE *f = fopen("/proc/driver/nvidia/version", "r");
    if (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        doctor_add(d, DOCTOR_OK, "module", "", "%.200s", line);
    }
    if (f)
        fclose(f);
}

static int driver_version; /* 13000 for CUDA 13.0; 0: no driver */

static void check_driver(struct doctor *d)
{
    struct driver v = {0};
    int version = 0, count = 0;
    const char *cure = "`gpuprof run --device virtual` models a GPU; `gpuprof analyze` reads "
                       "traces of other machines here";
    if (!load_driver(&v)) {
        doctor_add(d, DOCTOR_MISSING, "driver", cure, "no NVIDIA driver (libcuda.so.1)");
        return;
    }
    v.version(&version);
    driver_version = version;
    int rc = v.init(0);
    if (rc != 0 || v.count(&count) != 0 || count == 0) {
        const char *hidden = getenv("CUDA_VISIBLE_DEVICES");
        if (hidden)
            cure = "CUDA_VISIBLE_DEVICES may hide it: unset it, or run nvidia-smi -L for the names";
        doctor_add(d, DOCTOR_MISSING, "gpu", cure,
                   "driver for CUDA %d.%d, but no usable GPU (error %d)", version / 1000,
                   version % 1000 / 10, rc);
        return;
    }
    doctor_add(d, DOCTOR_OK, "driver", "", "NVIDIA driver for CUDA %d.%d", version / 1000,
               version % 1000 / 10);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible)
        doctor_add(d, DOCTOR_OK, "visible-devices", "", "CUDA_VISIBLE_DEVICES shows only: %.150s",
                   visible);
    for (int i = 0; i < count; i++) {
        char name[128] = "";
        v.name(name, sizeof name - 1, i);
        doctor_add(d, DOCTOR_OK, "gpu", "", "GPU %d: %s", i, name);
    }
}

struct cupti {
    uint32_t version; /* 0: none */
    int cuda;
    char path[160];
};

/* The first libcupti that works, and the first that works with the driver. */
struct cuptis {
    struct cupti first, fits;
};

/* True when one fits. libcupti needs no driver to say its version. */
static bool try_cupti(struct cuptis *found, const char *path)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*get_version)(uint32_t *) = NULL;
    struct cupti c = {0};
    if (!lib)
        return false;
    *(void **)&get_version = dlsym(lib, "cuptiGetVersion");
    const char *major = strstr(path, "libcupti.so.");
    c.cuda = major ? atoi(major + strlen("libcupti.so.")) : 0;
    snprintf(c.path, sizeof c.path, "%s", path);
    if (!get_version || get_version(&c.version) != 0 || !c.version)
        return false;
    if (!found->first.version)
        found->first = c;
    if (!driver_version || c.cuda * 1000 <= driver_version)
        found->fits = c;
    return found->fits.version != 0; /* the library stays loaded: it is not made to be unloaded */
}

static bool try_pattern(struct cuptis *found, const char *pattern)
{
    glob_t g;
    bool fits = false;
    if (glob(pattern, 0, NULL, &g) == 0) {
        for (size_t i = g.gl_pathc; i-- > 0 && !fits;)
            fits = try_cupti(found, g.gl_pathv[i]);
        globfree(&g);
    }
    return fits;
}

static void find_cupti(struct cuptis *found)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
    static const char *const places[] = {
        "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1[1-3]*",
        "/usr/local/cuda*/targets/*/lib/libcupti.so.1[1-3]*",
        "/opt/cuda/extras/CUPTI/lib64/libcupti.so.1[1-3]*",
    };
    const char *wanted = getenv("GPUPROF_CUPTI");
    bool fits = wanted && *wanted && try_cupti(found, wanted);
    for (size_t i = 0; i < sizeof names / sizeof *names && !fits; i++)
        fits = try_cupti(found, names[i]);
    for (size_t i = 0; i < sizeof places / sizeof *places && !fits; i++)
        fits = try_pattern(found, places[i]);
}

static void check_cupti(struct doctor *d)
{
    struct cuptis found = {0};
    const struct cupti *first = &found.first, *fits = &found.fits;
    char cure[256] = "this does not affect programs with their own libcupti; for others update the "
                     "driver, or set GPUPROF_CUPTI to a libcupti for its CUDA";
    find_cupti(&found);
    if (fits->version)
        snprintf(cure, sizeof cure, "export GPUPROF_CUPTI=%s", fits->path);
    if (!first->version)
        doctor_add(d, DOCTOR_NOTE, "cupti",
                   "programs from pip wheels have their own; for others install the CUDA Toolkit, "
                   "or set GPUPROF_CUPTI",
                   "no libcupti in the usual places");
    else if (strcmp(fits->path, first->path) == 0)
        doctor_add(d, DOCTOR_OK, "cupti", "", "libcupti API version %u: %s", first->version,
                   first->path);
    else
        doctor_add(d, DOCTOR_NOTE, "cupti", cure,
                   "libcupti for CUDA %d is newer than the driver: %s", first->cuda, first->path);
}

void doctor_gpu(struct doctor *d)
{
    check_module(d);
    check_driver(d);
    check_cupti(d);
}
