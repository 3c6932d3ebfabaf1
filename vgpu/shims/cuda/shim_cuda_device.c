/* Devices and their contexts. Each device has one context; making it current makes the device
 * current. */
#include "shims/cuda/shim_cuda.h"
#include "core/core_attributes.h"

#include <stdio.h>
#include <string.h>

ROW(cuDeviceGetCount, , (int *count), (*count = vg_device_count(), CUDA_SUCCESS))
ROW(cuDeviceGet, , (CUdevice * out, int ordinal),
    (*out = ordinal, device_known(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE))

CUresult cuDeviceGetName(char *out, int n, CUdevice d)
{
    OPEN(api, cuDeviceGetName);
    if (!device_known(d))
        CLOSE(api, CUDA_ERROR_INVALID_DEVICE);
    snprintf(out, (size_t)n, "%s", vg_profile(d)->name);
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid(CUuuid *out, CUdevice d)
{
    OPEN(api, cuDeviceGetUuid_v2);
    if (!device_known(d))
        CLOSE(api, CUDA_ERROR_INVALID_DEVICE);
    memset(out, 0, sizeof *out);
    snprintf(out->bytes, sizeof out->bytes, "vgpu-%d", d);
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice d)
{
    OPEN(api, cuDeviceTotalMem_v2);
    if (!device_known(d))
        CLOSE(api, CUDA_ERROR_INVALID_DEVICE);
    *bytes = vg_core.device[d].capacity;
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice d)
{
    OPEN(api, cuDeviceGetAttribute);
    if (!device_known(d))
        CLOSE(api, CUDA_ERROR_INVALID_DEVICE);
    *value = vg_device_attribute(vg_profile(d), d, (int)attribute);
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuDeviceGetPCIBusId(char *text, int n, CUdevice d)
{
    OPEN(api, cuDeviceGetPCIBusId);
    if (!device_known(d))
        CLOSE(api, CUDA_ERROR_INVALID_DEVICE);
    snprintf(text, (size_t)n, "0000:%02X:00.0", d + 1);
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice d, CUdevice peer)
{
    OPEN(api, cuDeviceCanAccessPeer);
    if (!device_known(d) || !device_known(peer))
        CLOSE(api, CUDA_ERROR_INVALID_DEVICE);
    *can = d != peer;
    CLOSE(api, CUDA_SUCCESS);
}

/* ---- contexts ---- */

static CUcontext context_of(int device)
{
    return (CUcontext)(void *)&vg_core.device[device];
}

static int device_of(CUcontext c)
{
    for (int i = 0; i < vg_device_count(); i++)
        if (context_of(i) == c)
            return i;
    return -1;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice d)
{
    OPEN(api, cuDevicePrimaryCtxRetain);
    if (!device_known(d))
        CLOSE(api, CUDA_ERROR_INVALID_DEVICE);
    vg_context_make(d);
    *out = context_of(d);
    CLOSE(api, CUDA_SUCCESS);
}

ROW(cuDevicePrimaryCtxRelease, _v2, (CUdevice d),
    device_known(d) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE)

CUresult cuDevicePrimaryCtxGetState(CUdevice d, unsigned *flags, int *active)
{
    OPEN(api, cuDevicePrimaryCtxGetState);
    if (!device_known(d))
        CLOSE(api, CUDA_ERROR_INVALID_DEVICE);
    *flags = vg_core.device[d].sync_flags;
    *active = vg_core.device[d].context_made;
    CLOSE(api, CUDA_SUCCESS);
}

ROW(cuCtxGetCurrent, , (CUcontext * out),
    (*out = vg_context_bound() ? context_of(vg_current_device()) : NULL, CUDA_SUCCESS))

static int make_current(CUcontext c)
{
    int d = c ? device_of(c) : 0;
    if (d < 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (c)
        vg_set_current_device(d);
    else
        vg_context_unbind();
    return CUDA_SUCCESS;
}

ROW(cuCtxSetCurrent, , (CUcontext c), make_current(c))

enum { DEPTH = 64 };
static _Thread_local CUcontext below[DEPTH];
static _Thread_local int depth;

CUresult cuCtxPushCurrent(CUcontext c)
{
    OPEN(api, cuCtxPushCurrent_v2);
    if (device_of(c) < 0 || depth == DEPTH)
        CLOSE(api, CUDA_ERROR_INVALID_CONTEXT);
    below[depth++] = vg_context_bound() ? context_of(vg_current_device()) : NULL;
    CLOSE(api, make_current(c));
}

CUresult cuCtxPopCurrent(CUcontext *out)
{
    OPEN(api, cuCtxPopCurrent_v2);
    if (!vg_context_bound())
        CLOSE(api, CUDA_ERROR_INVALID_CONTEXT);
    if (out)
        *out = context_of(vg_current_device());
    CLOSE(api, make_current(depth > 0 ? below[--depth] : NULL));
}

/* Each device has only one context, so "creating" one pushes the device's context on the thread's
 * stack. */
static int create(CUcontext *out, CUdevice d)
{
    if (!out || !device_known(d) || depth == DEPTH)
        return out ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    below[depth++] = vg_context_bound() ? context_of(vg_current_device()) : NULL;
    vg_context_make(d);
    *out = context_of(d);
    return make_current(*out);
}

/* Defines one release's form of cuCtxCreate; the forms differ in their parameter list `rest`. */
#define CONTEXT_CREATE(name, rest)                                                                 \
    CUresult name rest;                                                                            \
    CUresult name rest                                                                             \
    {                                                                                              \
        OPEN(api, name);                                                                           \
        (void)flags;                                                                               \
        CLOSE(api, create(out, d));                                                                \
    }
#undef cuCtxCreate
CONTEXT_CREATE(cuCtxCreate, (CUcontext * out, unsigned flags, CUdevice d))
CONTEXT_CREATE(cuCtxCreate_v2, (CUcontext * out, unsigned flags, CUdevice d))
CONTEXT_CREATE(cuCtxCreate_v3,
               (CUcontext * out, CUexecAffinityParam *limits __attribute__((unused)),
                int limit_count __attribute__((unused)), unsigned flags, CUdevice d))
CONTEXT_CREATE(cuCtxCreate_v4, (CUcontext * out, CUctxCreateParams *p __attribute__((unused)),
                                unsigned flags, CUdevice d))

CUresult cuCtxDestroy(CUcontext c)
{
    OPEN(api, cuCtxDestroy_v2);
    int d = device_of(c);
    if (d < 0)
        CLOSE(api, CUDA_ERROR_INVALID_CONTEXT);
    vg_sleep_until(vg_device_tail(d));
    if (vg_context_bound() && vg_current_device() == d)
        make_current(depth > 0 ? below[--depth] : NULL);
    CLOSE(api, CUDA_SUCCESS);
}

ROW(cuCtxGetDevice, , (CUdevice * out),
    (*out = vg_current_device(), vg_context_bound() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT))

CUresult cuCtxGetId(CUcontext c, unsigned long long *out)
{
    OPEN(api, cuCtxGetId);
    int d = c ? device_of(c) : vg_current_device();
    if (d >= 0)
        *out = vg_core.device[d].context_id;
    CLOSE(api, d >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    OPEN(api, cuCtxGetStreamPriorityRange);
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuCtxGetApiVersion(CUcontext c, unsigned *out)
{
    OPEN(api, cuCtxGetApiVersion);
    int d = c ? device_of(c) : vg_current_device();
    if (d >= 0)
        *out = 3020;
    CLOSE(api, d >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

ROW(cuCtxGetCacheConfig, , (CUfunc_cache * out), (*out = CU_FUNC_CACHE_PREFER_NONE, CUDA_SUCCESS))
ROW(cuCtxSetCacheConfig, , (CUfunc_cache config UNUSED), CUDA_SUCCESS)
ROW(cuCtxEnablePeerAccess, , (CUcontext c, unsigned flags),
    flags              ? CUDA_ERROR_INVALID_VALUE
    : device_of(c) < 0 ? CUDA_ERROR_INVALID_CONTEXT
                       : CUDA_SUCCESS)
ROW(cuCtxDisablePeerAccess, , (CUcontext c),
    device_of(c) < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS)

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice d)
{
    OPEN(api, cuDeviceComputeCapability);
    if (!device_known(d) || !major || !minor)
        CLOSE(api, device_known(d) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE);
    *major = vg_profile(d)->cc_major;
    *minor = vg_profile(d)->cc_minor;
    CLOSE(api, CUDA_SUCCESS);
}

ROW(cuCtxGetLimit, , (size_t * value, CUlimit limit),
    (*value = limit == CU_LIMIT_STACK_SIZE         ? 1024
              : limit == CU_LIMIT_PRINTF_FIFO_SIZE ? 1u << 20
              : limit == CU_LIMIT_MALLOC_HEAP_SIZE ? 8u << 20
                                                   : 0,
     CUDA_SUCCESS))
ROW(cuCtxSetLimit, , (CUlimit limit UNUSED, size_t value UNUSED), CUDA_SUCCESS)

#undef cuCtxSynchronize /* newer headers define this name as the form that takes a context */
CUresult cuCtxSynchronize(void);
ROW(cuCtxSynchronize, , (void), vg_device_sync())
