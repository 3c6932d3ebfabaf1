/* The driver's memory: allocation, copies, memsets, and questions about a pointer. */
#include "shims/cuda/shim_cuda.h"

#include <string.h>

static void *at(CUdeviceptr p)
{
    return (void *)(uintptr_t)p; /* NOLINT: device pointers are addresses here */
}

void emit_memory(const void *ptr, size_t bytes, bool release, bool async, enum vg_memory_kind kind)
{
    struct vg_api *api = vg_api_current();
    struct vg_record r = {.kind = VG_REC_MEMORY,
                          .device = vg_current_device(),
                          .context_id = vg_core.device[vg_current_device()].context_id,
                          .correlation = api ? api->correlation : 0,
                          .start_ns = vg_now_ns(),
                          .memory = {release, async, kind, (uintptr_t)ptr, bytes}};
    r.end_ns = r.start_ns;
    vg_emit(&r);
}

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    OPEN(api, cuMemGetInfo_v2);
    vg_memory_info(vg_current_device(), free_bytes, total);
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes)
{
    OPEN(api, cuMemAlloc_v2);
    void *p = NULL;
    int bad = !out || !bytes ? (int)CUDA_ERROR_INVALID_VALUE : vg_capture_forbids_unsafe();
    if (!bad)
        bad = vg_malloc(vg_current_device(), &p, bytes);
    if (!bad) {
        api.host_ns = vg_malloc_host_ns(p);
        emit_memory(p, bytes, false, false, VG_MEM_DEVICE);
        *out = (CUdeviceptr)(uintptr_t)p;
    }
    CLOSE(api, bad);
}

CUresult cuMemAllocPitch(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
                         unsigned element)
{
    if (!out || !pitch || !width || !height || (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    *pitch = (width + 511) / 512 * 512;
    return cuMemAlloc(out, *pitch * height);
}

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags)
{
    OPEN(api, cuMemAllocManaged);
    void *p = NULL;
    api.host_ns = (int64_t)here()->malloc_ns;
    if (!out || !bytes || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        CLOSE(api, CUDA_ERROR_INVALID_VALUE);
    int bad = vg_malloc_managed(&p, bytes);
    if (!bad) {
        emit_memory(p, bytes, false, false, VG_MEM_MANAGED);
        *out = (CUdeviceptr)(uintptr_t)p;
    }
    CLOSE(api, bad);
}

CUresult cuMemFree(CUdeviceptr p)
{
    OPEN(api, cuMemFree_v2);
    if (!p)
        CLOSE(api, CUDA_SUCCESS);
    int bad = vg_capture_forbids_unsafe(), device = vg_pointer(at(p)).device;
    if (bad)
        CLOSE(api, bad);
    vg_sleep_until(vg_device_tail(device >= 0 ? device : vg_current_device()));
    vg_spin_until(vg_now_ns() + vg_free_host_ns(at(p)));
    emit_memory(at(p), 0, true, false, VG_MEM_DEVICE);
    CLOSE(api, vg_free(at(p)));
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream)
{
    OPEN_ON(api, cuMemAllocAsync, stream, s);
    void *p = NULL;
    api.host_ns = (int64_t)here()->pool_malloc_ns;
    int bad = out ? vg_malloc(s->device, &p, bytes) : (int)CUDA_ERROR_INVALID_VALUE;
    if (!bad) {
        emit_memory(p, bytes, false, true, VG_MEM_DEVICE);
        *out = (CUdeviceptr)(uintptr_t)p;
    }
    CLOSE(api, bad);
}

CUresult cuMemFreeAsync(CUdeviceptr p, CUstream stream)
{
    OPEN_ON(api, cuMemFreeAsync, stream, s);
    (void)s;
    api.host_ns = (int64_t)here()->pool_malloc_ns;
    if (p)
        emit_memory(at(p), 0, true, true, VG_MEM_DEVICE);
    CLOSE(api, p ? vg_free(at(p)) : VG_OK);
}

static int allocate_host(struct vg_api *api, void **out, size_t bytes)
{
    api->host_ns = (int64_t)here()->malloc_ns;
    int bad = vg_malloc_host(out, bytes);
    if (!bad && bytes)
        emit_memory(*out, bytes, false, false, VG_MEM_PINNED);
    return bad;
}

ROW(cuMemAllocHost, _v2, (void **out, size_t bytes), allocate_host(&api, out, bytes))
ROW(cuMemHostAlloc, , (void **out, size_t bytes, unsigned flags UNUSED),
    allocate_host(&api, out, bytes))

CUresult cuMemFreeHost(void *p)
{
    OPEN(api, cuMemFreeHost);
    vg_sleep_until(vg_device_tail(vg_current_device()));
    emit_memory(p, 0, true, false, VG_MEM_PINNED);
    CLOSE(api, vg_free_host(p));
}

ROW(cuMemHostRegister, _v2, (void *p, size_t bytes, unsigned flags UNUSED),
    vg_host_register(p, bytes))
ROW(cuMemHostUnregister, , (void *p), vg_host_unregister(p))
ROW(cuMemHostGetDevicePointer, _v2, (CUdeviceptr * out, void *p, unsigned flags UNUSED),
    (*out = (CUdeviceptr)(uintptr_t)p,
     vg_pointer(p).kind == VG_MEM_PAGEABLE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS))

/* ---- copies; kinds are numbered as in the runtime: 1 to the device, 2 to the host, 3 within the
 * device, 4 as the pointers say ---- */

/* cuda.h maps these names to their newest form (_v2), and so do the callback ids. */
#define COPY(name, params, to, from, kind_, async_, stream)                                        \
    ROW_ON(name, , params, stream,                                                                 \
           vg_copy(s, &(struct vg_copy){.dst = (to),                                               \
                                        .src = (from),                                             \
                                        .bytes = bytes,                                            \
                                        .kind = (kind_),                                           \
                                        .async = (async_)}))
COPY(cuMemcpyHtoD, (CUdeviceptr dst, const void *src, size_t bytes), at(dst), src, 1, false, NULL)
COPY(cuMemcpyDtoH, (void *dst, CUdeviceptr src, size_t bytes), dst, at(src), 2, false, NULL)
COPY(cuMemcpyDtoD, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), at(dst), at(src), 3, false,
     NULL)
COPY(cuMemcpyHtoDAsync, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream), at(dst),
     src, 1, true, stream)
COPY(cuMemcpyDtoHAsync, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream), dst, at(src),
     2, true, stream)
COPY(cuMemcpyDtoDAsync, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), at(dst),
     at(src), 3, true, stream)
COPY(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), at(dst), at(src), 4, false, NULL)
COPY(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), at(dst),
     at(src), 4, true, stream)
/* A context stands for its device, which the pointers already tell. */
COPY(cuMemcpyPeer,
     (CUdeviceptr dst, CUcontext to_ UNUSED, CUdeviceptr src, CUcontext from_ UNUSED, size_t bytes),
     at(dst), at(src), 3, false, NULL)
COPY(cuMemcpyPeerAsync,
     (CUdeviceptr dst, CUcontext to_ UNUSED, CUdeviceptr src, CUcontext from_ UNUSED, size_t bytes,
      CUstream stream),
     at(dst), at(src), 3, true, stream)

/* The core sets bytes, so only the lowest byte of a 16- or 32-bit value is written. That is right
 * for values whose bytes are all equal, such as 0. */
#define SET(name, type, async, stream, ...)                                                        \
    ROW_ON(name, , (CUdeviceptr p, type value, size_t n __VA_ARGS__), stream,                      \
           vg_memset(s, at(p), (int)(value & 255), n * sizeof value, async))
SET(cuMemsetD8, unsigned char, false, NULL)
SET(cuMemsetD16, unsigned short, false, NULL)
SET(cuMemsetD32, unsigned, false, NULL)
SET(cuMemsetD8Async, unsigned char, true, stream, , CUstream stream)
SET(cuMemsetD16Async, unsigned short, true, stream, , CUstream stream)
SET(cuMemsetD32Async, unsigned, true, stream, , CUstream stream)

/* ---- questions about a pointer ---- */

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr p)
{
    OPEN(api, cuMemGetAddressRange_v2);
    struct vg_pointer found = vg_allocation(at(p));
    if (base)
        *base = (CUdeviceptr)(uintptr_t)found.base;
    if (size)
        *size = found.size;
    CLOSE(api, found.kind == VG_MEM_PAGEABLE ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS);
}

static int pointer_attribute(void *out, CUpointer_attribute attribute, CUdeviceptr p)
{
    struct vg_pointer found = vg_pointer(at(p));
    if (!out || found.kind == VG_MEM_PAGEABLE)
        return CUDA_ERROR_INVALID_VALUE;
    int device = found.device >= 0 ? found.device : vg_current_device();
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)out = (CUcontext)(void *)&vg_core.device[device];
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)out = found.kind == VG_MEM_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)out = p;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *(void **)out = at(p);
        return found.kind == VG_MEM_DEVICE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)out = found.kind == VG_MEM_MANAGED;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)out = device;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

ROW(cuPointerGetAttribute, , (void *out, CUpointer_attribute attribute, CUdeviceptr p),
    pointer_attribute(out, attribute, p))
