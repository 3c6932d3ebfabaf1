/* Calls around graphs: the memory of graphs, and user objects that graphs keep alive. */
#include "shims/cudart/shim_cudart.h"

ROW(cudaDeviceGraphMemTrim, v11040, (int device),
    device >= 0 && device < vg_device_count() ? cudaSuccess : cudaErrorInvalidDevice)

/* Memory of graphs is not counted apart: all attributes read as the bytes in use on the device. */
cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                           void *value)
{
    (void)attr;
    OPEN(api, cudaDeviceGetGraphMemAttribute_v11040);
    if (device < 0 || device >= vg_device_count())
        CLOSE(api, cudaErrorInvalidDevice);
    size_t free_bytes, total;
    vg_memory_info(device, &free_bytes, &total);
    *(uint64_t *)value = total - free_bytes;
    CLOSE(api, cudaSuccess);
}

/* The real call accepts only the peaks and only 0, to reset them. The shim records no peaks, so
 * there is nothing to reset. */
cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                           void *value)
{
    OPEN(api, cudaDeviceSetGraphMemAttribute_v11040);
    bool peak = attr == cudaGraphMemAttrUsedMemHigh || attr == cudaGraphMemAttrReservedMemHigh;
    bool good = device >= 0 && device < vg_device_count() && peak && value;
    CLOSE(api, good && *(uint64_t *)value == 0 ? cudaSuccess : cudaErrorInvalidValue);
}

/* ---- objects that graphs keep alive ---- */

struct CUuserObject_st {
    _Atomic unsigned count;
    cudaHostFn_t destroy;
    void *data;
};

static void release(struct CUuserObject_st *o, unsigned count)
{
    if ((o->count -= count) != 0)
        return;
    o->destroy(o->data);
    free(o);
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t *out, void *data, cudaHostFn_t destroy,
                                 unsigned count, unsigned flags)
{
    (void)flags;
    OPEN(api, cudaUserObjectCreate_v11030);
    struct CUuserObject_st *o = destroy && count ? malloc(sizeof *o) : NULL;
    if (!o)
        CLOSE(api, cudaErrorInvalidValue);
    *o = (struct CUuserObject_st){count, destroy, data};
    *out = o;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t o, unsigned count)
{
    OPEN(api, cudaUserObjectRetain_v11030);
    o->count += count;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t o, unsigned count)
{
    OPEN(api, cudaUserObjectRelease_v11030);
    release(o, count);
    CLOSE(api, cudaSuccess);
}

/* A graph keeps its references until the process ends, because destroying a graph does not release
 * them. */
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t o, unsigned count,
                                      unsigned flags)
{
    OPEN(api, cudaGraphRetainUserObject_v11030);
    if (graph_of(graph) && !(flags & cudaGraphUserObjectMove))
        o->count += count;
    CLOSE(api, graph_of(graph) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t o, unsigned count)
{
    OPEN(api, cudaGraphReleaseUserObject_v11030);
    if (graph_of(graph))
        release(o, count);
    CLOSE(api, graph_of(graph) ? cudaSuccess : cudaErrorInvalidValue);
}
