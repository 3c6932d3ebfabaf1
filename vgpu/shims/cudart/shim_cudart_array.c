/* The runtime's arrays, mipmapped arrays, texture and surface objects. No kernel reads through
 * them, so an object only stores the description that it was made from. */
#include "shims/cudart/shim_cudart_array.h"

#include <stdlib.h>

enum { ARRAY_MAGIC = 0x76676172, MIPMAP_MAGIC = 0x76676d6d, LEVELS = 32 };

struct cudaMipmappedArray {
    uint32_t magic;
    unsigned count;
    struct cudaArray *level[LEVELS];
};

struct object { /* of a texture or of a surface */
    struct cudaResourceDesc resource;
    struct cudaTextureDesc texture;
    struct cudaResourceViewDesc view;
};

struct cudaArray *array_of(const struct cudaArray *a)
{
    return a && a->magic == ARRAY_MAGIC ? (struct cudaArray *)(uintptr_t)a : NULL;
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind kind)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

static int array_new(struct cudaArray **out, const struct cudaChannelFormatDesc *format,
                     struct cudaExtent extent, unsigned flags)
{
    if (!out || !format || extent.width == 0)
        return cudaErrorInvalidValue;
    struct cudaArray *a = calloc(1, sizeof *a);
    if (!a)
        return cudaErrorMemoryAllocation;
    *a = (struct cudaArray){ARRAY_MAGIC, *format, extent, flags, NULL, 0};
    a->pitch = array_element(a) * extent.width;
    size_t slices = extent.depth ? extent.depth : 1;
    int bad = a->pitch
                  ? vg_malloc(vg_current_device(), &a->memory, a->pitch * array_rows(a) * slices)
                  : (int)cudaErrorInvalidChannelDescriptor;
    if (bad)
        free(a);
    else
        *out = a;
    return bad;
}

static int array_free(struct cudaArray *a)
{
    int bad = vg_free(a->memory);
    a->magic = 0;
    free(a);
    return bad;
}

ROW(cudaMallocArray, v3020,
    (cudaArray_t * out, const struct cudaChannelFormatDesc *format, size_t width, size_t height,
     unsigned flags),
    (api.host_ns = (int64_t)here()->malloc_ns,
     array_new(out, format, (struct cudaExtent){width, height, 0}, flags)))
ROW(cudaMalloc3DArray, v3020,
    (cudaArray_t * out, const struct cudaChannelFormatDesc *format, struct cudaExtent extent,
     unsigned flags),
    (api.host_ns = (int64_t)here()->malloc_ns, array_new(out, format, extent, flags)))

cudaError_t cudaFreeArray(cudaArray_t array)
{
    OPEN(api, cudaFreeArray_v3020);
    if (!array)
        CLOSE(api, cudaSuccess);
    struct cudaArray *a = array_of(array);
    vg_sleep_until(vg_device_tail(vg_current_device()));
    api.host_ns = (int64_t)here()->free_ns;
    CLOSE(api, a ? array_free(a) : (int)cudaErrorInvalidValue);
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t array)
{
    OPEN(api, cudaGetChannelDesc_v3020);
    struct cudaArray *a = array_of(array);
    if (a)
        *format = a->format;
    CLOSE(api, a ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent,
                             unsigned *flags, cudaArray_t array)
{
    OPEN(api, cudaArrayGetInfo_v4010);
    struct cudaArray *a = array_of(array);
    if (a && format)
        *format = a->format;
    if (a && extent)
        *extent = a->extent;
    if (a && flags)
        *flags = a->flags;
    CLOSE(api, a ? cudaSuccess : cudaErrorInvalidValue);
}

static void mipmap_free(struct cudaMipmappedArray *m)
{
    for (unsigned i = 0; i < m->count; i++)
        array_free(m->level[i]);
    m->magic = 0;
    free(m);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *out,
                                     const struct cudaChannelFormatDesc *format,
                                     struct cudaExtent extent, unsigned levels, unsigned flags)
{
    OPEN(api, cudaMallocMipmappedArray_v5000);
    struct cudaMipmappedArray *m = calloc(1, sizeof *m);
    int bad = m ? VG_OK : (int)cudaErrorMemoryAllocation;
    for (unsigned i = 0; !bad && i < levels && i < LEVELS; i++) {
        bad = array_new(&m->level[i], format, extent, flags);
        m->count += !bad;
        bool last = extent.width <= 1 && extent.height <= 1 && extent.depth <= 1;
        extent = (struct cudaExtent){extent.width > 1 ? extent.width / 2 : 1,
                                     extent.height > 1 ? extent.height / 2 : extent.height,
                                     extent.depth > 1 ? extent.depth / 2 : extent.depth};
        if (last)
            break;
    }
    if (bad) {
        if (m)
            mipmap_free(m);
        CLOSE(api, bad);
    }
    m->magic = MIPMAP_MAGIC;
    *out = m;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *out, cudaMipmappedArray_const_t m,
                                       unsigned level)
{
    OPEN(api, cudaGetMipmappedArrayLevel_v5000);
    bool there = m && m->magic == MIPMAP_MAGIC && level < m->count;
    if (there)
        *out = m->level[level];
    CLOSE(api, there ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t m)
{
    OPEN(api, cudaFreeMipmappedArray_v5000);
    bool there = m && m->magic == MIPMAP_MAGIC;
    vg_sleep_until(vg_device_tail(vg_current_device()));
    if (there)
        mipmap_free(m);
    CLOSE(api, there || !m ? cudaSuccess : cudaErrorInvalidValue);
}

/* ---- objects ---- */

static int object_new(unsigned long long *out, const struct cudaResourceDesc *resource,
                      const struct cudaTextureDesc *texture,
                      const struct cudaResourceViewDesc *view)
{
    if (!out || !resource)
        return cudaErrorInvalidValue;
    struct object *o = calloc(1, sizeof *o);
    if (!o)
        return cudaErrorMemoryAllocation;
    o->resource = *resource;
    if (texture)
        o->texture = *texture;
    if (view)
        o->view = *view;
    *out = (unsigned long long)(uintptr_t)o;
    return VG_OK;
}

static struct object *object_of(unsigned long long handle)
{
    return (struct object *)(uintptr_t)handle;
}

ROW(cudaCreateTextureObject, v5000,
    (cudaTextureObject_t * out, const struct cudaResourceDesc *resource,
     const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view),
    texture ? object_new(out, resource, texture, view) : (int)cudaErrorInvalidValue)

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture)
{
    OPEN(api, cudaDestroyTextureObject_v5000);
    free(object_of(texture));
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *out, cudaTextureObject_t t)
{
    OPEN(api, cudaGetTextureObjectResourceDesc_v5000);
    if (t)
        *out = object_of(t)->resource;
    CLOSE(api, t ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *out, cudaTextureObject_t t)
{
    OPEN(api, cudaGetTextureObjectTextureDesc_v5000);
    if (t)
        *out = object_of(t)->texture;
    CLOSE(api, t ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *out,
                                                 cudaTextureObject_t t)
{
    OPEN(api, cudaGetTextureObjectResourceViewDesc_v5000);
    if (t)
        *out = object_of(t)->view;
    CLOSE(api, t ? cudaSuccess : cudaErrorInvalidValue);
}

ROW(cudaCreateSurfaceObject, v5000,
    (cudaSurfaceObject_t * out, const struct cudaResourceDesc *resource),
    object_new(out, resource, NULL, NULL))

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface)
{
    OPEN(api, cudaDestroySurfaceObject_v5000);
    free(object_of(surface));
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *out, cudaSurfaceObject_t s)
{
    OPEN(api, cudaGetSurfaceObjectResourceDesc_v5000);
    if (s)
        *out = object_of(s)->resource;
    CLOSE(api, s ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *out,
                                                 const struct cudaChannelFormatDesc *format,
                                                 int device)
{
    OPEN(api, cudaDeviceGetTexture1DLinearMaxWidth_v11010);
    if (device < 0 || device >= vg_device_count() || !format)
        CLOSE(api, cudaErrorInvalidValue);
    *out = (size_t)1 << 28;
    CLOSE(api, cudaSuccess);
}
