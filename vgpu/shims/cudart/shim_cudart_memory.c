/* cudaMalloc, cudaFree, cudaMemcpy and their many forms. cudaFree waits until the device is idle
 * first, as the real call does; the stream-ordered forms do not wait. */
#include "shims/cudart/shim_cudart.h"

void emit_memory(void *ptr, size_t bytes, bool release, bool async, enum vg_memory_kind kind)
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

static int allocate(struct vg_api *api, void **out, size_t bytes)
{
    int bad = vg_capture_forbids_unsafe();
    if (!bad)
        bad = vg_malloc(vg_current_device(), out, bytes);
    if (!bad && bytes) {
        api->host_ns = vg_malloc_host_ns(*out);
        emit_memory(*out, bytes, false, false, VG_MEM_DEVICE);
    }
    return bad;
}

ROW(cudaMalloc, v3020, (void **out, size_t bytes), allocate(&api, out, bytes))
ROW(cudaMallocPitch, v3020, (void **out, size_t *pitch, size_t width, size_t height),
    (*pitch = (width + 511) / 512 * 512, allocate(&api, out, *pitch *height)))

cudaError_t cudaMallocManaged(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    OPEN(api, cudaMallocManaged_v6000);
    api.host_ns = (int64_t)here()->malloc_ns;
    int bad = vg_malloc_managed(out, bytes);
    if (!bad && bytes)
        emit_memory(*out, bytes, false, false, VG_MEM_MANAGED);
    CLOSE(api, bad);
}

static int allocate_ordered(struct vg_api *api, const struct vg_stream *s, void **out, size_t bytes)
{
    api->host_ns = (int64_t)here()->pool_malloc_ns;
    int bad = vg_malloc(s->device, out, bytes);
    if (!bad && bytes)
        emit_memory(*out, bytes, false, true, VG_MEM_DEVICE);
    return bad;
}
TWIN_ON(cudaMallocAsync, v11020, _ptsz, v11020, (void **out, size_t bytes, cudaStream_t stream),
        stream, allocate_ordered(&api, s, out, bytes))

static int free_ordered(struct vg_api *api, void *ptr)
{
    api->host_ns = (int64_t)here()->pool_malloc_ns;
    if (ptr)
        emit_memory(ptr, 0, true, true, VG_MEM_DEVICE);
    return ptr ? vg_free(ptr) : VG_OK;
}
TWIN_ON(cudaFreeAsync, v11020, _ptsz, v11020, (void *ptr, cudaStream_t stream), stream,
        ((void)s, free_ordered(&api, ptr)))

cudaError_t cudaFree(void *ptr)
{
    OPEN(api, cudaFree_v3020);
    if (!ptr)
        CLOSE(api, cudaSuccess);
    int bad = vg_capture_forbids_unsafe();
    if (bad)
        CLOSE(api, bad);
    int device = vg_pointer(ptr).device;
    vg_sleep_until(vg_device_tail(device >= 0 ? device : vg_current_device()));
    vg_spin_until(vg_now_ns() + vg_free_host_ns(ptr));
    emit_memory(ptr, 0, true, false, VG_MEM_DEVICE);
    CLOSE(api, vg_free(ptr));
}

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    OPEN(api, cudaMallocHost_v3020);
    api.host_ns = (int64_t)here()->malloc_ns;
    int bad = vg_malloc_host(out, bytes);
    if (!bad && bytes)
        emit_memory(*out, bytes, false, false, VG_MEM_PINNED);
    CLOSE(api, bad);
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    OPEN(api, cudaHostAlloc_v3020);
    api.host_ns = (int64_t)here()->malloc_ns;
    int bad = vg_malloc_host(out, bytes);
    if (!bad && bytes)
        emit_memory(*out, bytes, false, false, VG_MEM_PINNED);
    CLOSE(api, bad);
}

cudaError_t cudaFreeHost(void *ptr)
{
    OPEN(api, cudaFreeHost_v3020);
    if (!ptr)
        CLOSE(api, cudaSuccess);
    vg_sleep_until(vg_device_tail(vg_current_device()));
    emit_memory(ptr, 0, true, false, VG_MEM_PINNED);
    CLOSE(api, vg_free_host(ptr));
}

ROW(cudaHostRegister, v4000, (void *ptr, size_t bytes, unsigned flags UNUSED),
    vg_host_register(ptr, bytes))
ROW(cudaHostUnregister, v4000, (void *ptr), vg_host_unregister(ptr))
ROW(cudaHostGetDevicePointer, v3020, (void **device, void *host, unsigned flags UNUSED),
    (*device = host,
     vg_pointer(host).kind == VG_MEM_PAGEABLE ? cudaErrorInvalidValue : cudaSuccess))
ROW(cudaHostGetFlags, v3020, (unsigned *flags, void *host),
    (*flags = cudaHostAllocDefault,
     vg_pointer(host).kind == VG_MEM_PINNED ? cudaSuccess : cudaErrorInvalidValue))

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    OPEN(api, cudaMemGetInfo_v3020);
    vg_memory_info(vg_current_device(), free_bytes, total);
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *ptr)
{
    OPEN(api, cudaPointerGetAttributes_v4000);
    struct vg_pointer p = vg_pointer(ptr);
    *out = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered,
                                          .device = p.device >= 0 ? p.device : vg_current_device()};
    void *at = (void *)(uintptr_t)ptr;
    if (p.kind == VG_MEM_DEVICE)
        out->type = cudaMemoryTypeDevice;
    else if (p.kind == VG_MEM_PINNED)
        out->type = cudaMemoryTypeHost;
    else if (p.kind == VG_MEM_MANAGED)
        out->type = cudaMemoryTypeManaged;
    if (p.kind != VG_MEM_PAGEABLE)
        out->devicePointer = at;
    if (p.kind != VG_MEM_DEVICE)
        out->hostPointer = at;
    CLOSE(api, cudaSuccess);
}

static struct vg_copy plain(void *dst, const void *src, size_t bytes, int kind, bool async)
{
    return (struct vg_copy){.dst = dst, .src = src, .bytes = bytes, .kind = kind, .async = async};
}

static cudaError_t copy_on(struct place at, struct vg_copy c, cudaStream_t stream)
{
    return ON_STREAM(at, stream, vg_copy(s, &c));
}

TWIN(cudaMemcpy, v3020, _ptds, v7000,
     (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind),
     copy_on(at, plain(dst, src, bytes, (int)kind, false), NULL))

TWIN(cudaMemcpyAsync, v3020, _ptsz, v7000,
     (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
     copy_on(at, plain(dst, src, bytes, (int)kind, true), stream))

static struct vg_copy rows(struct vg_copy c, size_t dpitch, size_t spitch, size_t width,
                           size_t height)
{
    c.rows = height;
    c.row_bytes = width;
    c.dst_pitch = dpitch;
    c.src_pitch = spitch;
    return c;
}

TWIN(cudaMemcpy2D, v3020, _ptds, v7000,
     (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
      enum cudaMemcpyKind kind),
     copy_on(at,
             rows(plain(dst, src, width *height, (int)kind, false), dpitch, spitch, width, height),
             NULL))

TWIN(cudaMemcpy2DAsync, v3020, _ptsz, v7000,
     (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
      enum cudaMemcpyKind kind, cudaStream_t stream),
     copy_on(at,
             rows(plain(dst, src, width *height, (int)kind, true), dpitch, spitch, width, height),
             stream))

cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
                                size_t bytes, cudaStream_t stream)
{
    (void)dst_device, (void)src_device;
    struct place at = {false, CBID(cudaMemcpyPeerAsync_v4000)};
    return copy_on(at, plain(dst, src, bytes, 4, true), stream);
}

cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes)
{
    (void)dst_device, (void)src_device;
    struct place at = {false, CBID(cudaMemcpyPeer_v4000)};
    return copy_on(at, plain(dst, src, bytes, 4, false), NULL);
}

static cudaError_t symbol_copy(struct place at, const void *symbol, size_t offset, struct vg_copy c,
                               bool to_symbol, cudaStream_t stream)
{
    void *device;
    cudaError_t bad = cudaGetSymbolAddress(&device, symbol);
    if (bad)
        return bad;
    if (to_symbol)
        c.dst = (char *)device + offset;
    else
        c.src = (char *)device + offset;
    return copy_on(at, c, stream);
}

TWIN(cudaMemcpyToSymbol, v3020, _ptds, v7000,
     (const void *symbol, const void *src, size_t bytes, size_t offset, enum cudaMemcpyKind kind),
     symbol_copy(at, symbol, offset, plain(NULL, src, bytes, (int)kind, false), true, NULL))

TWIN(cudaMemcpyFromSymbol, v3020, _ptds, v7000,
     (void *dst, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind),
     symbol_copy(at, symbol, offset, plain(dst, NULL, bytes, (int)kind, false), false, NULL))

TWIN(cudaMemcpyToSymbolAsync, v3020, _ptsz, v7000,
     (const void *symbol, const void *src, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
      cudaStream_t stream),
     symbol_copy(at, symbol, offset, plain(NULL, src, bytes, (int)kind, true), true, stream))

TWIN_ON(cudaMemset, v3020, _ptds, v7000, (void *ptr, int value, size_t bytes), NULL,
        vg_memset(s, ptr, value, bytes, false))

TWIN_ON(cudaMemsetAsync, v3020, _ptsz, v7000,
        (void *ptr, int value, size_t bytes, cudaStream_t stream), stream,
        vg_memset(s, ptr, value, bytes, true))
