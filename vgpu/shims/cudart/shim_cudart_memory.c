/* cudaMalloc and cudaMemcpy in their many spellings. cudaFree drains the device first, as the real
 * one does; the stream-ordered forms do not. */
#include "shims/cudart/shim_cudart.h"

enum { POOL_NS = 1500 }; /* cudaMallocAsync from a warm pool */

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

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    OPEN(api, cudaMalloc_v3020);
    CLOSE(api, allocate(&api, out, bytes));
}

cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    OPEN(api, cudaMallocPitch_v3020);
    *pitch = (width + 511) / 512 * 512;
    CLOSE(api, allocate(&api, out, *pitch * height));
}

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

static cudaError_t cudaMallocAsync_at(struct place at, void **out, size_t bytes,
                                      cudaStream_t handle)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, handle, &s);
    if (bad)
        return (cudaError_t)bad;
    api.host_ns = POOL_NS;
    bad = vg_malloc(s->device, out, bytes);
    if (!bad && bytes)
        emit_memory(*out, bytes, false, true, VG_MEM_DEVICE);
    CLOSE(api, bad);
}
TWIN(cudaMallocAsync, v11020, _ptsz, v11020, (void **out, size_t bytes, cudaStream_t s), out, bytes,
     s)

static cudaError_t cudaFreeAsync_at(struct place at, void *ptr, cudaStream_t handle)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, handle, &s);
    if (bad)
        return (cudaError_t)bad;
    api.host_ns = POOL_NS;
    if (ptr)
        emit_memory(ptr, 0, true, true, VG_MEM_DEVICE);
    CLOSE(api, ptr ? vg_free(ptr) : VG_OK);
}
TWIN(cudaFreeAsync, v11020, _ptsz, v11020, (void *ptr, cudaStream_t s), ptr, s)

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

cudaError_t cudaHostRegister(void *ptr, size_t bytes, unsigned flags)
{
    (void)flags;
    OPEN(api, cudaHostRegister_v4000);
    CLOSE(api, vg_host_register(ptr, bytes));
}

cudaError_t cudaHostUnregister(void *ptr)
{
    OPEN(api, cudaHostUnregister_v4000);
    CLOSE(api, vg_host_unregister(ptr));
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    (void)flags;
    OPEN(api, cudaHostGetDevicePointer_v3020);
    *device = host;
    CLOSE(api, vg_pointer(host).kind == VG_MEM_PAGEABLE ? cudaErrorInvalidValue : cudaSuccess);
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *host)
{
    OPEN(api, cudaHostGetFlags_v3020);
    *flags = cudaHostAllocDefault;
    CLOSE(api, vg_pointer(host).kind == VG_MEM_PINNED ? cudaSuccess : cudaErrorInvalidValue);
}

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

static cudaError_t copy_on(struct place at, const struct vg_copy *c, cudaStream_t handle)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, handle, &s);
    if (bad)
        return (cudaError_t)bad;
    CLOSE(api, vg_copy(s, c));
}

#define COPY_PARAMS (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
static cudaError_t cudaMemcpy_at(struct place at, void *dst, const void *src, size_t bytes,
                                 enum cudaMemcpyKind kind)
{
    struct vg_copy c = {.dst = dst, .src = src, .bytes = bytes, .kind = (int)kind};
    return copy_on(at, &c, NULL);
}
TWIN(cudaMemcpy, v3020, _ptds, v7000, COPY_PARAMS, dst, src, bytes, kind)

static cudaError_t cudaMemcpyAsync_at(struct place at, void *dst, const void *src, size_t bytes,
                                      enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct vg_copy c = {.dst = dst, .src = src, .bytes = bytes, .kind = (int)kind, .async = true};
    return copy_on(at, &c, stream);
}
TWIN(cudaMemcpyAsync, v3020, _ptsz, v7000,
     (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream), dst,
     src, bytes, kind, stream)

static struct vg_copy copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return (struct vg_copy){.dst = dst,
                            .src = src,
                            .bytes = width * height,
                            .kind = (int)kind,
                            .rows = height,
                            .row_bytes = width,
                            .dst_pitch = dpitch,
                            .src_pitch = spitch};
}

static cudaError_t cudaMemcpy2D_at(struct place at, struct vg_copy c)
{
    return copy_on(at, &c, NULL);
}
TWIN(cudaMemcpy2D, v3020, _ptds, v7000,
     (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
      enum cudaMemcpyKind kind),
     copy_2d(dst, dpitch, src, spitch, width, height, kind))

static cudaError_t cudaMemcpy2DAsync_at(struct place at, struct vg_copy c, cudaStream_t stream)
{
    c.async = true;
    return copy_on(at, &c, stream);
}
TWIN(cudaMemcpy2DAsync, v3020, _ptsz, v7000,
     (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
      enum cudaMemcpyKind kind, cudaStream_t stream),
     copy_2d(dst, dpitch, src, spitch, width, height, kind), stream)

cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
                                size_t bytes, cudaStream_t stream)
{
    (void)dst_device, (void)src_device;
    struct vg_copy c = {.dst = dst, .src = src, .bytes = bytes, .kind = 4, .async = true};
    return copy_on((struct place){false, CBID(cudaMemcpyPeerAsync_v4000)}, &c, stream);
}

cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes)
{
    (void)dst_device, (void)src_device;
    struct vg_copy c = {.dst = dst, .src = src, .bytes = bytes, .kind = 4};
    return copy_on((struct place){false, CBID(cudaMemcpyPeer_v4000)}, &c, NULL);
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
    return copy_on(at, &c, stream);
}

static cudaError_t cudaMemcpyToSymbol_at(struct place at, const void *symbol, const void *src,
                                         size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
    struct vg_copy c = {.src = src, .bytes = bytes, .kind = (int)kind};
    return symbol_copy(at, symbol, offset, c, true, NULL);
}
TWIN(cudaMemcpyToSymbol, v3020, _ptds, v7000,
     (const void *symbol, const void *src, size_t bytes, size_t offset, enum cudaMemcpyKind kind),
     symbol, src, bytes, offset, kind)

static cudaError_t cudaMemcpyFromSymbol_at(struct place at, void *dst, const void *symbol,
                                           size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
    struct vg_copy c = {.dst = dst, .bytes = bytes, .kind = (int)kind};
    return symbol_copy(at, symbol, offset, c, false, NULL);
}
TWIN(cudaMemcpyFromSymbol, v3020, _ptds, v7000,
     (void *dst, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind), dst,
     symbol, bytes, offset, kind)

static cudaError_t cudaMemcpyToSymbolAsync_at(struct place at, const void *symbol, const void *src,
                                              size_t bytes, size_t offset, enum cudaMemcpyKind kind,
                                              cudaStream_t stream)
{
    struct vg_copy c = {.src = src, .bytes = bytes, .kind = (int)kind, .async = true};
    return symbol_copy(at, symbol, offset, c, true, stream);
}
TWIN(cudaMemcpyToSymbolAsync, v3020, _ptsz, v7000,
     (const void *symbol, const void *src, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
      cudaStream_t stream),
     symbol, src, bytes, offset, kind, stream)

static cudaError_t set_on(struct place at, void *ptr, int value, size_t bytes, bool async,
                          cudaStream_t handle)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, handle, &s);
    if (bad)
        return (cudaError_t)bad;
    CLOSE(api, vg_memset(s, ptr, value, bytes, async));
}

static cudaError_t cudaMemset_at(struct place at, void *ptr, int value, size_t bytes)
{
    return set_on(at, ptr, value, bytes, false, NULL);
}
TWIN(cudaMemset, v3020, _ptds, v7000, (void *ptr, int value, size_t bytes), ptr, value, bytes)

static cudaError_t cudaMemsetAsync_at(struct place at, void *ptr, int value, size_t bytes,
                                      cudaStream_t stream)
{
    return set_on(at, ptr, value, bytes, true, stream);
}
TWIN(cudaMemsetAsync, v3020, _ptsz, v7000,
     (void *ptr, int value, size_t bytes, cudaStream_t stream), ptr, value, bytes, stream)
