/* Start, versions, names of errors, and cuGetProcAddress, by which most programs find the driver's
 * calls. */
#include "shims/cuda/shim_cuda.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

CUresult cuInit(unsigned flags)
{
    int bad = flags ? CUDA_ERROR_INVALID_VALUE : vg_start();
    return (CUresult)bad;
}

CUresult cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

static const struct {
    CUresult error;
    const char *name, *text;
} errors[] = {
#define E(name, text)                                                                              \
    {                                                                                              \
        name, #name, text                                                                          \
    }
    E(CUDA_SUCCESS, "no error"),
    E(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    E(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    E(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    E(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    E(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    E(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    E(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    E(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    E(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    E(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    E(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    E(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    E(CUDA_ERROR_NOT_READY, "device not ready"),
    E(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
      "part or all of the requested memory range is already mapped"),
    E(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
      "pointer does not correspond to a registered memory region"),
    E(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
      "operation failed due to a previous error during capture"),
    E(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef E
};

/* Prints, once for each library, that this NVIDIA library is not modelled. These libraries have a
 * CUDA runtime of their own linked in, so they reach the driver directly. */
static void name_library(const char *path)
{
    static const char *const names[] = {"libnpp", "libnvjpeg", "libcudss", "libcutensor"};
    static atomic_bool named[sizeof names / sizeof *names];
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(file, names[i], strlen(names[i])) == 0 && !atomic_exchange(&named[i], true))
            fprintf(stderr,
                    "virtual GPU: %s is not modelled: its calls fail; run this program on a real "
                    "GPU, or leave them out\n",
                    file);
}

/* Export tables are known to NVIDIA's own libraries only. A runtime that is linked into a library
 * asks for one at its start and ends with an error of its own if it gets none. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    Dl_info caller;
    (void)id;
    if (dladdr(__builtin_return_address(0), &caller) && caller.dli_fname)
        name_library(caller.dli_fname);
    if (table)
        *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

static const char unknown_error[] = "unrecognized error code";

CUresult cuGetErrorName(CUresult error, const char **out)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error) {
            *out = errors[i].name;
            return CUDA_SUCCESS;
        }
    *out = unknown_error;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **out)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error) {
            *out = errors[i].text;
            return CUDA_SUCCESS;
        }
    *out = unknown_error;
    return CUDA_ERROR_INVALID_VALUE;
}

/* For a function that has had several forms: the name of the form that this version's header means.
 * Filled at build time. */
static const struct {
    const char *name, *now;
} forms[] = {
#include "cuda_forms.inc"
};

static void *own_symbol(const char *name)
{
    static void *self;
    Dl_info info;
    if (!self && dladdr(&errors, &info))
        self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return self ? dlsym(self, name) : NULL;
}

/* Finds a call by its bare name, as the header of the caller's version spells it. If the call has
 * had several forms, the caller gets the newest, or CUDA 12's if it asks for a version before 13. A
 * call that the shim exports but does not model is found, too; it reports this when it is
 * called. */
CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status)
{
    (void)flags;
    if (!name || !out)
        return CUDA_ERROR_INVALID_VALUE;
    const char *older = version < 13000 ? form_of_12(name) : NULL;
    void *found = older ? own_symbol(older) : NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !found; i++)
        if (strcmp(forms[i].name, name) == 0)
            found = own_symbol(forms[i].now);
    *out = found ? found : own_symbol(name);
    if (status)
        *status = *out ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

#if CUDA_VERSION >= 12090
/* The virtual driver writes no log, so the callback is never called. */
CUresult cuLogsRegisterCallback(CUlogsCallback call, void *user, CUlogsCallbackHandle *out)
{
    static int listener;
    (void)call, (void)user;
    if (out)
        *out = (CUlogsCallbackHandle)(void *)&listener;
    return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle)
{
    (void)handle;
    return CUDA_SUCCESS;
}
#endif

/* The form from before the `status` argument was added. */
#undef cuGetProcAddress
CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags);
CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(name, out, version, flags, NULL);
}

CUresult cuProfilerStart(void);
ROW(cuProfilerStart, , (void), CUDA_SUCCESS)

CUresult cuProfilerStop(void);
ROW(cuProfilerStop, , (void), CUDA_SUCCESS)
