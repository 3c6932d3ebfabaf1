/* The driver's arrays, copies of boxes, texture and surface objects. An object stores the
 * description that it was made from, as in the runtime. The driver's arrays cannot be used in the
 * runtime's calls, nor the other way round. */
#include "shims/cuda/shim_cuda.h"

#include <stdlib.h>

enum { ARRAY_MAGIC = 0x76676461 };

struct CUarray_st {
    uint32_t magic;
    CUDA_ARRAY3D_DESCRIPTOR format;
    void *memory;
    size_t pitch;
};

static struct CUarray_st *array_of(CUarray a)
{
    return a && a->magic == ARRAY_MAGIC ? a : NULL;
}

static size_t channel_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    default:
        return 4;
    }
}

static size_t at_least_one(size_t n)
{
    return n ? n : 1;
}

static size_t element_bytes(const struct CUarray_st *a)
{
    return channel_bytes(a->format.Format) * a->format.NumChannels;
}

static int array_new(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    if (!out || !d || !d->Width || !d->NumChannels || d->NumChannels > 4)
        return CUDA_ERROR_INVALID_VALUE;
    struct CUarray_st *a = calloc(1, sizeof *a);
    if (!a)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *a = (struct CUarray_st){.magic = ARRAY_MAGIC, .format = *d};
    a->pitch = element_bytes(a) * d->Width;
    int bad = vg_malloc(vg_current_device(), &a->memory,
                        a->pitch * at_least_one(d->Height) * at_least_one(d->Depth));
    if (bad)
        free(a);
    else
        *out = a;
    return bad;
}

CUresult cuArrayCreate(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
    OPEN(api, cuArrayCreate_v2);
    api.host_ns = (int64_t)here()->malloc_ns;
    if (!d)
        CLOSE(api, CUDA_ERROR_INVALID_VALUE);
    CUDA_ARRAY3D_DESCRIPTOR flat = {
        .Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels};
    CLOSE(api, array_new(out, &flat));
}

ROW(cuArray3DCreate, _v2, (CUarray * out, const CUDA_ARRAY3D_DESCRIPTOR *d),
    (api.host_ns = (int64_t)here()->malloc_ns, array_new(out, d)))

CUresult cuArrayDestroy(CUarray array)
{
    OPEN(api, cuArrayDestroy);
    struct CUarray_st *a = array_of(array);
    if (!a)
        CLOSE(api, CUDA_ERROR_INVALID_HANDLE);
    vg_sleep_until(vg_device_tail(vg_current_device()));
    int bad = vg_free(a->memory);
    a->magic = 0;
    free(a);
    CLOSE(api, bad);
}

CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *out, CUarray array)
{
    OPEN(api, cuArrayGetDescriptor_v2);
    const struct CUarray_st *a = array_of(array);
    if (a)
        *out = (CUDA_ARRAY_DESCRIPTOR){a->format.Width, a->format.Height, a->format.Format,
                                       a->format.NumChannels};
    CLOSE(api, a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray array)
{
    OPEN(api, cuArray3DGetDescriptor_v2);
    const struct CUarray_st *a = array_of(array);
    if (a)
        *out = a->format;
    CLOSE(api, a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

/* ---- copies of boxes ---- */

/* One end of a copy: an address and the bytes from row to row and from slice to slice. Positions
 * count bytes, rows and slices. */
struct end {
    char *at; /* NULL: the end is missing or invalid */
    size_t pitch, slice;
};

struct position {
    size_t x, y, z;
};

static struct end end_of(CUmemorytype kind, const void *host, CUdeviceptr device, CUarray array,
                         size_t pitch, size_t height, struct position p)
{
    const struct CUarray_st *a = kind == CU_MEMORYTYPE_ARRAY ? array_of(array) : NULL;
    char *base = a                             ? a->memory
                 : kind == CU_MEMORYTYPE_ARRAY ? NULL
                 : kind == CU_MEMORYTYPE_HOST  ? (char *)(uintptr_t)host
                                               : (char *)(uintptr_t)device; /* NOLINT: an address */
    struct end e = {base, pitch, pitch * height};
    if (a) {
        e.pitch = a->pitch;
        e.slice = a->pitch * at_least_one(a->format.Height);
    }
    if (e.at)
        e.at += p.z * e.slice + p.y * e.pitch + p.x;
    return e;
}

int box_of(const CUDA_MEMCPY3D *c, bool async, struct vg_copy *out)
{
    size_t row = c->WidthInBytes;
    struct end dst =
        end_of(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray,
               c->dstPitch ? c->dstPitch : row, c->dstHeight ? c->dstHeight : c->Height,
               (struct position){c->dstXInBytes, c->dstY, c->dstZ});
    struct end src =
        end_of(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray,
               c->srcPitch ? c->srcPitch : row, c->srcHeight ? c->srcHeight : c->Height,
               (struct position){c->srcXInBytes, c->srcY, c->srcZ});
    *out = (struct vg_copy){.dst = dst.at,
                            .src = src.at,
                            .bytes = row * c->Height * c->Depth,
                            .kind = 4,
                            .async = async,
                            .rows = c->Height,
                            .row_bytes = row,
                            .dst_pitch = dst.pitch,
                            .src_pitch = src.pitch,
                            .slices = c->Depth,
                            .dst_slice = dst.slice,
                            .src_slice = src.slice};
    bool wrong = !dst.at || !src.at || dst.pitch < row || src.pitch < row;
    return wrong ? (int)CUDA_ERROR_INVALID_VALUE : VG_OK;
}

static CUresult copy_box(uint32_t cbid, const CUDA_MEMCPY3D *c, bool async, CUstream stream)
{
    struct vg_api api;
    struct vg_stream *s;
    struct vg_copy box;
    int bad = open_on(&api, cbid, stream, &s);
    if (bad)
        return (CUresult)bad;
    bad = box_of(c, async, &box);
    CLOSE(api, bad || !box.bytes ? bad : vg_copy(s, &box));
}

static CUDA_MEMCPY3D boxed(const CUDA_MEMCPY2D *c)
{
    return (CUDA_MEMCPY3D){.srcXInBytes = c->srcXInBytes,
                           .srcY = c->srcY,
                           .srcMemoryType = c->srcMemoryType,
                           .srcHost = c->srcHost,
                           .srcDevice = c->srcDevice,
                           .srcArray = c->srcArray,
                           .srcPitch = c->srcPitch,
                           .dstXInBytes = c->dstXInBytes,
                           .dstY = c->dstY,
                           .dstMemoryType = c->dstMemoryType,
                           .dstHost = c->dstHost,
                           .dstDevice = c->dstDevice,
                           .dstArray = c->dstArray,
                           .dstPitch = c->dstPitch,
                           .WidthInBytes = c->WidthInBytes,
                           .Height = c->Height,
                           .Depth = 1};
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D *c)
{
    CUDA_MEMCPY3D box = boxed(c);
    return copy_box(CBID(cuMemcpy2D_v2), &box, false, NULL);
}

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *c)
{
    CUDA_MEMCPY3D box = boxed(c);
    return copy_box(CBID(cuMemcpy2DUnaligned_v2), &box, false, NULL);
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream stream)
{
    CUDA_MEMCPY3D box = boxed(c);
    return copy_box(CBID(cuMemcpy2DAsync_v2), &box, true, stream);
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D *c)
{
    return copy_box(CBID(cuMemcpy3D_v2), c, false, NULL);
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *c, CUstream stream)
{
    return copy_box(CBID(cuMemcpy3DAsync_v2), c, true, stream);
}

static CUDA_MEMCPY3D line(size_t bytes)
{
    return (CUDA_MEMCPY3D){.WidthInBytes = bytes, .Height = 1, .Depth = 1};
}

CUresult cuMemcpyHtoA(CUarray dst, size_t offset, const void *src, size_t bytes)
{
    CUDA_MEMCPY3D c = line(bytes);
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = dst;
    c.dstXInBytes = offset;
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = src;
    return copy_box(CBID(cuMemcpyHtoA_v2), &c, false, NULL);
}

CUresult cuMemcpyAtoH(void *dst, CUarray src, size_t offset, size_t bytes)
{
    CUDA_MEMCPY3D c = line(bytes);
    c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    c.srcArray = src;
    c.srcXInBytes = offset;
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    c.dstHost = dst;
    return copy_box(CBID(cuMemcpyAtoH_v2), &c, false, NULL);
}

/* ---- objects ---- */

struct object {
    CUDA_RESOURCE_DESC resource;
};

static int object_new(unsigned long long *out, const CUDA_RESOURCE_DESC *resource)
{
    if (!out || !resource)
        return CUDA_ERROR_INVALID_VALUE;
    struct object *o = malloc(sizeof *o);
    if (!o)
        return CUDA_ERROR_OUT_OF_MEMORY;
    o->resource = *resource;
    *out = (unsigned long long)(uintptr_t)o;
    return CUDA_SUCCESS;
}

static struct object *object_of(unsigned long long handle)
{
    return (struct object *)(uintptr_t)handle; /* NOLINT: made above */
}

ROW(cuTexObjectCreate, ,
    (CUtexObject * out, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,
     const CUDA_RESOURCE_VIEW_DESC *view UNUSED),
    texture ? object_new(out, resource) : (int)CUDA_ERROR_INVALID_VALUE)

CUresult cuTexObjectDestroy(CUtexObject texture)
{
    OPEN(api, cuTexObjectDestroy);
    free(object_of(texture));
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUtexObject texture)
{
    OPEN(api, cuTexObjectGetResourceDesc);
    if (texture)
        *out = object_of(texture)->resource;
    CLOSE(api, texture ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

ROW(cuSurfObjectCreate, , (CUsurfObject * out, const CUDA_RESOURCE_DESC *resource),
    object_new(out, resource))

CUresult cuSurfObjectDestroy(CUsurfObject surface)
{
    OPEN(api, cuSurfObjectDestroy);
    free(object_of(surface));
    CLOSE(api, CUDA_SUCCESS);
}
