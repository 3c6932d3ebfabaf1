/* Memory by the driver: allocation, copies, memsets, what a pointer is. */
#include "shims/cuda/shim_cuda.h"

#include <string.h>

static void *at(CUdeviceptr p)
{
    return (void *)(uintptr_t)p; /* NOLINT: device pointers are addresses here */
}

static void emit_memory(const void *ptr, size_t bytes, bool release, bool async,
                        enum vg_memory_kind kind)
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

CUresult cuMemAllocHost(void **out, size_t bytes)
{
    OPEN(api, cuMemAllocHost_v2);
    CLOSE(api, allocate_host(&api, out, bytes));
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    OPEN(api, cuMemHostAlloc);
    CLOSE(api, allocate_host(&api, out, bytes));
}

CUresult cuMemFreeHost(void *p)
{
    OPEN(api, cuMemFreeHost);
    vg_sleep_until(vg_device_tail(vg_current_device()));
    emit_memory(p, 0, true, false, VG_MEM_PINNED);
    CLOSE(api, vg_free_host(p));
}

CUresult cuMemHostRegister(void *p, size_t bytes, unsigned flags)
{
    (void)flags;
    OPEN(api, cuMemHostRegister_v2);
    CLOSE(api, vg_host_register(p, bytes));
}

CUresult cuMemHostUnregister(void *p)
{
    OPEN(api, cuMemHostUnregister);
    CLOSE(api, vg_host_unregister(p));
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *out, void *p, unsigned flags)
{
    (void)flags;
    OPEN(api, cuMemHostGetDevicePointer_v2);
    *out = (CUdeviceptr)(uintptr_t)p;
    CLOSE(api, vg_pointer(p).kind == VG_MEM_PAGEABLE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

/* ---- copies; the kinds are the runtime's: 1 in, 2 out, 3 on the device, 4 by the pointers ---- */

static CUresult copy_on(uint32_t cbid, struct vg_copy c, CUstream stream)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, cbid, stream, &s);
    if (bad)
        return (CUresult)bad;
    CLOSE(api, vg_copy(s, &c));
}

CUresult cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t bytes)
{
    struct vg_copy c = {.dst = at(dst), .src = src, .bytes = bytes, .kind = 1};
    return copy_on(CBID(cuMemcpyHtoD_v2), c, NULL);
}

CUresult cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t bytes)
{
    struct vg_copy c = {.dst = dst, .src = at(src), .bytes = bytes, .kind = 2};
    return copy_on(CBID(cuMemcpyDtoH_v2), c, NULL);
}

CUresult cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    struct vg_copy c = {.dst = at(dst), .src = at(src), .bytes = bytes, .kind = 3};
    return copy_on(CBID(cuMemcpyDtoD_v2), c, NULL);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t bytes, CUstream s)
{
    struct vg_copy c = {.dst = at(dst), .src = src, .bytes = bytes, .kind = 1, .async = true};
    return copy_on(CBID(cuMemcpyHtoDAsync_v2), c, s);
}

CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes, CUstream s)
{
    struct vg_copy c = {.dst = dst, .src = at(src), .bytes = bytes, .kind = 2, .async = true};
    return copy_on(CBID(cuMemcpyDtoHAsync_v2), c, s);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s)
{
    struct vg_copy c = {.dst = at(dst), .src = at(src), .bytes = bytes, .kind = 3, .async = true};
    return copy_on(CBID(cuMemcpyDtoDAsync_v2), c, s);
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    struct vg_copy c = {.dst = at(dst), .src = at(src), .bytes = bytes, .kind = 4};
    return copy_on(CBID(cuMemcpy), c, NULL);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s)
{
    struct vg_copy c = {.dst = at(dst), .src = at(src), .bytes = bytes, .kind = 4, .async = true};
    return copy_on(CBID(cuMemcpyAsync), c, s);
}

/* Contexts are devices, which the pointers name. */
CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes)
{
    (void)to, (void)from;
    struct vg_copy c = {.dst = at(dst), .src = at(src), .bytes = bytes, .kind = 3};
    return copy_on(CBID(cuMemcpyPeer), c, NULL);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
                           size_t bytes, CUstream s)
{
    (void)to, (void)from;
    struct vg_copy c = {.dst = at(dst), .src = at(src), .bytes = bytes, .kind = 3, .async = true};
    return copy_on(CBID(cuMemcpyPeerAsync), c, s);
}

static CUresult set_on(uint32_t cbid, CUdeviceptr p, int value, size_t bytes, bool async,
                       CUstream stream)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, cbid, stream, &s);
    if (bad)
        return (CUresult)bad;
    CLOSE(api, vg_memset(s, at(p), value, bytes, async));
}

/* A word of equal bytes is set as they are; of another only the lowest byte is written. */
CUresult cuMemsetD8(CUdeviceptr p, unsigned char value, size_t n)
{
    return set_on(CBID(cuMemsetD8_v2), p, value, n, false, NULL);
}

CUresult cuMemsetD32(CUdeviceptr p, unsigned value, size_t n)
{
    return set_on(CBID(cuMemsetD32_v2), p, (int)(value & 255), n * 4, false, NULL);
}

CUresult cuMemsetD16(CUdeviceptr p, unsigned short value, size_t n)
{
    return set_on(CBID(cuMemsetD16_v2), p, value & 255, n * 2, false, NULL);
}

CUresult cuMemsetD16Async(CUdeviceptr p, unsigned short value, size_t n, CUstream s)
{
    return set_on(CBID(cuMemsetD16Async), p, value & 255, n * 2, true, s);
}

CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char value, size_t n, CUstream s)
{
    return set_on(CBID(cuMemsetD8Async), p, value, n, true, s);
}

CUresult cuMemsetD32Async(CUdeviceptr p, unsigned value, size_t n, CUstream s)
{
    return set_on(CBID(cuMemsetD32Async), p, (int)(value & 255), n * 4, true, s);
}

/* ---- what a pointer is ---- */

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

CUresult cuPointerGetAttribute(void *out, CUpointer_attribute attribute, CUdeviceptr p)
{
    OPEN(api, cuPointerGetAttribute);
    CLOSE(api, pointer_attribute(out, attribute, p));
}
