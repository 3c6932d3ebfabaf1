/* The runtime's access to the driver: driver functions by name, and device code that is loaded at
 * run time. The libcuda beside this library answers both. */
#include "shims/cudart/shim_cudart.h"

#include <dlfcn.h>
#include <stdio.h>

/* Signatures of the driver's functions, declared here because cuda.h and the runtime's header
 * define some names in conflict. */
typedef int (*get_proc_address)(const char *, void **, int, uint64_t, int *);
typedef int (*library_load)(void **, const void *, void *, void **, unsigned, void *, void **,
                            unsigned);
typedef int (*library_unload)(void *);
typedef int (*library_kernel)(void **, void *, const char *);

static void *driver(const char *name)
{
    static void *lib;
    char path[4200];
    if (!lib) {
        snprintf(path, sizeof path, "%s/libcuda.so.1", vg_library_dir());
        lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    return lib ? dlsym(lib, name) : NULL;
}

static cudaError_t entry_point(const char *name, void **out, unsigned version,
                               enum cudaDriverEntryPointQueryResult *status)
{
    get_proc_address find = (get_proc_address)driver("cuGetProcAddress_v2");
    *out = NULL;
    if (find)
        find(name, out, (int)version, 0, NULL);
    if (status)
        *status = *out ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return *out || status ? cudaSuccess : cudaErrorSymbolNotFound;
}

static cudaError_t answer_entry_point(struct place at, const char *name, void **out,
                                      unsigned version,
                                      enum cudaDriverEntryPointQueryResult *status)
{
    struct vg_api api;
    int bad = vg_api_enter(&api, at.cbid);
    if (bad)
        return (cudaError_t)bad;
    CLOSE(api, name && out ? entry_point(name, out, version, status) : cudaErrorInvalidValue);
}
TWIN(cudaGetDriverEntryPointByVersion, v12050, _ptsz, v12050,
     (const char *name, void **out, unsigned version, unsigned long long flags UNUSED,
      enum cudaDriverEntryPointQueryResult *status),
     answer_entry_point(at, name, out, version, status))
TWIN(cudaGetDriverEntryPoint, v11030, _ptsz, v11030,
     (const char *name, void **out, unsigned long long flags UNUSED,
      enum cudaDriverEntryPointQueryResult *status),
     answer_entry_point(at, name, out, CUDART_VERSION, status))

cudaError_t cudaLibraryLoadData(cudaLibrary_t *out, const void *code, enum cudaJitOption *jit,
                                void **jit_values, unsigned jit_n, enum cudaLibraryOption *options,
                                void **values, unsigned n)
{
    OPEN(api, cudaLibraryLoadData_v12060);
    library_load call = (library_load)driver("cuLibraryLoadData");
    CLOSE(api, call ? call((void **)out, code, jit, jit_values, jit_n, options, values, n)
                    : (int)cudaErrorInitializationError);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    OPEN(api, cudaLibraryUnload_v12060);
    library_unload call = (library_unload)driver("cuLibraryUnload");
    CLOSE(api, call ? call(library) : (int)cudaErrorInitializationError);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *out, cudaLibrary_t library, const char *name)
{
    OPEN(api, cudaLibraryGetKernel_v12060);
    library_kernel call = (library_kernel)driver("cuLibraryGetKernel");
    CLOSE(api, call ? call((void **)out, library, name) : (int)cudaErrorInitializationError);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute,
                                            int value, int device)
{
    OPEN(api, cudaKernelSetAttributeForDevice_v12060);
    if (device < 0 || device >= vg_device_count())
        CLOSE(api, cudaErrorInvalidDevice);
    CLOSE(api, cudaFuncSetAttribute(kernel, attribute, value));
}
