/* The runtime's copies to, from and between arrays, and copies and memsets of boxes (2D and 3D). */
#include "shims/cudart/shim_cudart_array.h"

/* One end of a copy: an address and the bytes from row to row and from slice to slice. */
struct end {
    char *at;
    size_t pitch, slice;
};

static struct end end_of_array(const struct cudaArray *a, struct cudaPos pos)
{
    size_t slice = a->pitch * array_rows(a);
    return (struct end){(char *)a->memory + pos.z * slice + pos.y * a->pitch + pos.x, a->pitch,
                        slice};
}

static struct vg_copy box(struct end dst, struct end src, struct cudaExtent bytes, int kind,
                          bool async)
{
    return (struct vg_copy){.dst = dst.at,
                            .src = src.at,
                            .bytes = bytes.width * bytes.height * bytes.depth,
                            .kind = kind,
                            .async = async,
                            .rows = bytes.height,
                            .row_bytes = bytes.width,
                            .dst_pitch = dst.pitch,
                            .src_pitch = src.pitch,
                            .slices = bytes.depth,
                            .dst_slice = dst.slice,
                            .src_slice = src.slice};
}

static cudaError_t copy_box(struct place at, const struct vg_copy *c, cudaStream_t stream)
{
    return ON_STREAM(at, stream, c->dst && c->src ? vg_copy(s, c) : VG_INVALID_VALUE);
}

static cudaError_t box_copy(struct place at, struct end dst, struct end src, size_t width,
                            size_t height, int kind, bool async, cudaStream_t handle)
{
    struct vg_copy c = box(dst, src, (struct cudaExtent){width, height, 1}, kind, async);
    return copy_box(at, &c, handle);
}

/* The end in an array at position x (bytes), y (rows). `.at` is NULL if `array` is not an array. */
static struct end array_end(const struct cudaArray *array, size_t x, size_t y)
{
    const struct cudaArray *a = array_of(array);
    return a ? end_of_array(a, (struct cudaPos){x, y, 0}) : (struct end){0};
}

static struct end memory_end(const void *p, size_t pitch)
{
    return (struct end){(char *)(uintptr_t)p, pitch, 0};
}

TWIN(cudaMemcpy2DToArray, v3020, _ptds, v7000,
     (cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
      size_t height, enum cudaMemcpyKind kind),
     box_copy(at, array_end(dst, x, y), memory_end(src, pitch), width, height, (int)kind, false,
              NULL))

TWIN(cudaMemcpy2DToArrayAsync, v3020, _ptsz, v7000,
     (cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
      size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
     box_copy(at, array_end(dst, x, y), memory_end(src, pitch), width, height, (int)kind, true,
              stream))

TWIN(cudaMemcpy2DFromArray, v3020, _ptds, v7000,
     (void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
      size_t height, enum cudaMemcpyKind kind),
     box_copy(at, memory_end(dst, pitch), array_end(src, x, y), width, height, (int)kind, false,
              NULL))

TWIN(cudaMemcpy2DFromArrayAsync, v3020, _ptsz, v7000,
     (void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
      size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
     box_copy(at, memory_end(dst, pitch), array_end(src, x, y), width, height, (int)kind, true,
              stream))

/* Copies `bytes` consecutive bytes of an array. They may cross the ends of rows, because rows lie
 * one after the other without gaps. */
TWIN(cudaMemcpyToArray, v3020, _ptds, v7000,
     (cudaArray_t dst, size_t x, size_t y, const void *src, size_t bytes, enum cudaMemcpyKind kind),
     box_copy(at, array_end(dst, x, y), memory_end(src, bytes), bytes, 1, (int)kind, false, NULL))

TWIN(cudaMemcpyFromArray, v3020, _ptds, v7000,
     (void *dst, cudaArray_const_t src, size_t x, size_t y, size_t bytes, enum cudaMemcpyKind kind),
     box_copy(at, memory_end(dst, bytes), array_end(src, x, y), bytes, 1, (int)kind, false, NULL))

TWIN(cudaMemcpy2DArrayToArray, v3020, _ptds, v7000,
     (cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src, size_t sx, size_t sy,
      size_t width, size_t height, enum cudaMemcpyKind kind),
     ((void)kind, box_copy(at, array_end(dst, dx, dy), array_end(src, sx, sy), width, height,
                           cudaMemcpyDefault, false, NULL)))

/* One end of a 3D copy. Its position counts elements in an array, bytes in other memory. */
static struct end end_3d(cudaArray_const_t array, struct cudaPos pos, struct cudaPitchedPtr ptr)
{
    const struct cudaArray *a = array_of(array);
    if (a)
        return end_of_array(a, (struct cudaPos){pos.x * array_element(a), pos.y, pos.z});
    size_t slice = ptr.pitch * ptr.ysize;
    char *at = ptr.ptr ? (char *)ptr.ptr + pos.z * slice + pos.y * ptr.pitch + pos.x : NULL;
    return (struct end){at, ptr.pitch, slice};
}

int box_of(const struct cudaMemcpy3DParms *p, bool async, struct vg_copy *out)
{
    const struct cudaArray *a =
        array_of(p->dstArray) ? array_of(p->dstArray) : array_of(p->srcArray);
    struct cudaExtent bytes = p->extent;
    bytes.width *= a ? array_element(a) : 1;
    *out = box(end_3d(p->dstArray, p->dstPos, p->dstPtr), end_3d(p->srcArray, p->srcPos, p->srcPtr),
               bytes, (int)p->kind, async);
    return out->dst && out->src ? 0 : -1;
}

static cudaError_t box_3d(struct place at, const struct cudaMemcpy3DParms *p, bool async,
                          cudaStream_t stream)
{
    struct vg_copy c;
    box_of(p, async, &c);
    return copy_box(at, &c, stream);
}

TWIN(cudaMemcpy3D, v3020, _ptds, v7000, (const struct cudaMemcpy3DParms *p),
     box_3d(at, p, false, NULL))

TWIN(cudaMemcpy3DAsync, v3020, _ptsz, v7000,
     (const struct cudaMemcpy3DParms *p, cudaStream_t stream), box_3d(at, p, true, stream))

static cudaError_t peer_3d(struct place at, const struct cudaMemcpy3DPeerParms *p, bool async,
                           cudaStream_t stream)
{
    struct cudaMemcpy3DParms plain = {p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                                      p->dstPos,   p->dstPtr, p->extent, cudaMemcpyDefault};
    return box_3d(at, &plain, async, stream);
}

TWIN(cudaMemcpy3DPeer, v4000, _ptds, v7000, (const struct cudaMemcpy3DPeerParms *p),
     peer_3d(at, p, false, NULL))

TWIN(cudaMemcpy3DPeerAsync, v4000, _ptsz, v7000,
     (const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream), peer_3d(at, p, true, stream))

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *out, struct cudaExtent extent)
{
    OPEN(api, cudaMalloc3D_v3020);
    api.host_ns = (int64_t)here()->malloc_ns;
    *out = (struct cudaPitchedPtr){NULL, (extent.width + 511) / 512 * 512, extent.width,
                                   extent.height};
    CLOSE(api,
          vg_malloc(vg_current_device(), &out->ptr, out->pitch * extent.height * extent.depth));
}

static int set_3d(struct vg_stream *s, struct cudaPitchedPtr p, int value, struct cudaExtent e,
                  bool async)
{
    struct vg_set set = {.ptr = p.ptr,
                         .value = (unsigned)value,
                         .element = 1,
                         .width = e.width,
                         .rows = e.height * e.depth,
                         .pitch = p.pitch,
                         .slice_rows = e.height,
                         .slice_pitch = p.pitch * p.ysize};
    return vg_memset_rows(s, &set, async);
}

TWIN_ON(cudaMemset2D, v3020, _ptds, v7000,
        (void *ptr, size_t pitch, int value, size_t width, size_t height), NULL,
        vg_memset_rows(s, &(struct vg_set){ptr, (unsigned)value, 1, width, height, pitch, 0, 0},
                       false))

TWIN_ON(cudaMemset2DAsync, v3020, _ptsz, v7000,
        (void *ptr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
        stream,
        vg_memset_rows(s, &(struct vg_set){ptr, (unsigned)value, 1, width, height, pitch, 0, 0},
                       true))

TWIN_ON(cudaMemset3D, v3020, _ptds, v7000,
        (struct cudaPitchedPtr p, int value, struct cudaExtent extent), NULL,
        set_3d(s, p, value, extent, false))

TWIN_ON(cudaMemset3DAsync, v3020, _ptsz, v7000,
        (struct cudaPitchedPtr p, int value, struct cudaExtent extent, cudaStream_t stream), stream,
        set_3d(s, p, value, extent, true))
