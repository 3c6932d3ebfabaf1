/* Memory pools: objects with settings that are kept. Stream-ordered allocation costs the same
 * whatever they are, and memory comes from the device, not from a pool of its own. */
#include "shims/cudart/shim_cudart.h"

#include <stdlib.h>
#include <string.h>

enum { POOL_MAGIC = 0x7667706c, ATTRIBUTES = 16 };

struct pool {
    uint32_t magic;
    int device;
    bool own; /* the program's: it may destroy it */
    uint64_t attribute[ATTRIBUTES];
    unsigned char access[VG_MAX_DEVICES];
};
static struct pool defaults[VG_MAX_DEVICES];
static struct pool *_Atomic current[VG_MAX_DEVICES]; /* NULL: the default one */

static void pool_init(struct pool *p, int device, bool own)
{
    *p = (struct pool){POOL_MAGIC, device, own, {0}, {0}};
    p->attribute[cudaMemPoolReuseFollowEventDependencies] = 1;
    p->attribute[cudaMemPoolReuseAllowOpportunistic] = 1;
    p->attribute[cudaMemPoolReuseAllowInternalDependencies] = 1;
    p->access[device] = cudaMemAccessFlagsProtReadWrite;
}

static struct pool *default_pool(int device)
{
    pthread_mutex_lock(&vg_core.lock);
    if (!defaults[device].magic)
        pool_init(&defaults[device], device, false);
    pthread_mutex_unlock(&vg_core.lock);
    return &defaults[device];
}

static struct pool *pool_of(cudaMemPool_t pool)
{
    struct pool *p = (struct pool *)pool;
    return p && p->magic == POOL_MAGIC ? p : NULL;
}

static bool is_device(int device)
{
    return device >= 0 && device < vg_device_count();
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int device)
{
    OPEN(api, cudaDeviceGetDefaultMemPool_v11020);
    if (!is_device(device))
        CLOSE(api, cudaErrorInvalidDevice);
    *out = (cudaMemPool_t)default_pool(device);
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *out, int device)
{
    OPEN(api, cudaDeviceGetMemPool_v11020);
    if (!is_device(device))
        CLOSE(api, cudaErrorInvalidDevice);
    struct pool *p = current[device];
    *out = (cudaMemPool_t)(p ? p : default_pool(device));
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    OPEN(api, cudaDeviceSetMemPool_v11020);
    if (!is_device(device) || !pool_of(pool))
        CLOSE(api, cudaErrorInvalidValue);
    current[device] = pool_of(pool);
    CLOSE(api, cudaSuccess);
}

/* The forms of CUDA 13, for a place. Host pools are not there. */
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *out, struct cudaMemLocation *where,
                                     enum cudaMemAllocationType type)
{
    (void)type;
    OPEN(api, cudaMemGetDefaultMemPool_v13000);
    if (where->type != cudaMemLocationTypeDevice || !is_device(where->id))
        CLOSE(api, cudaErrorNotSupported);
    *out = (cudaMemPool_t)default_pool(where->id);
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t *out, struct cudaMemLocation *where,
                              enum cudaMemAllocationType type)
{
    (void)type;
    OPEN(api, cudaMemGetMemPool_v13000);
    if (where->type != cudaMemLocationTypeDevice || !is_device(where->id))
        CLOSE(api, cudaErrorNotSupported);
    struct pool *p = current[where->id];
    *out = (cudaMemPool_t)(p ? p : default_pool(where->id));
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaMemSetMemPool(struct cudaMemLocation *where, enum cudaMemAllocationType type,
                              cudaMemPool_t pool)
{
    (void)type;
    OPEN(api, cudaMemSetMemPool_v13000);
    if (where->type != cudaMemLocationTypeDevice || !is_device(where->id) || !pool_of(pool))
        CLOSE(api, cudaErrorInvalidValue);
    current[where->id] = pool_of(pool);
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *props)
{
    OPEN(api, cudaMemPoolCreate_v11020);
    bool here_only = props && props->location.type == cudaMemLocationTypeDevice;
    if (!here_only || !is_device(props->location.id))
        CLOSE(api, props && !here_only ? cudaErrorNotSupported : cudaErrorInvalidValue);
    struct pool *p = malloc(sizeof *p);
    if (!p)
        CLOSE(api, cudaErrorMemoryAllocation);
    pool_init(p, props->location.id, true);
    *out = (cudaMemPool_t)p;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    OPEN(api, cudaMemPoolDestroy_v11020);
    struct pool *p = pool_of(pool);
    if (!p || !p->own)
        CLOSE(api, cudaErrorInvalidValue);
    if (current[p->device] == p)
        current[p->device] = NULL;
    p->magic = 0;
    free(p);
    CLOSE(api, cudaSuccess);
}

static bool is_flag(enum cudaMemPoolAttr attr)
{
    return attr <= cudaMemPoolReuseAllowInternalDependencies;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value)
{
    OPEN(api, cudaMemPoolSetAttribute_v11020);
    struct pool *p = pool_of(pool);
    if (!p || !value || (unsigned)attr >= ATTRIBUTES)
        CLOSE(api, cudaErrorInvalidValue);
    p->attribute[attr] = is_flag(attr) ? (uint64_t)(*(int *)value != 0) : *(uint64_t *)value;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value)
{
    OPEN(api, cudaMemPoolGetAttribute_v11020);
    struct pool *p = pool_of(pool);
    size_t free_bytes, total;
    if (!p || !value || (unsigned)attr >= ATTRIBUTES)
        CLOSE(api, cudaErrorInvalidValue);
    vg_memory_info(p->device, &free_bytes, &total);
    if (is_flag(attr))
        *(int *)value = (int)p->attribute[attr];
    else if (attr == cudaMemPoolAttrReleaseThreshold)
        *(uint64_t *)value = p->attribute[attr];
    else
        *(uint64_t *)value = total - free_bytes; /* reserved, used, and the highest of each */
    CLOSE(api, cudaSuccess);
}

ROW(cudaMemPoolTrimTo, v11020, (cudaMemPool_t pool, size_t bytes UNUSED),
    pool_of(pool) ? cudaSuccess : cudaErrorInvalidValue)

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t n)
{
    OPEN(api, cudaMemPoolSetAccess_v11020);
    struct pool *p = pool_of(pool);
    if (!p || (n && !list))
        CLOSE(api, cudaErrorInvalidValue);
    for (size_t i = 0; i < n; i++)
        if (list[i].location.type != cudaMemLocationTypeDevice || !is_device(list[i].location.id))
            CLOSE(api, cudaErrorInvalidValue);
    for (size_t i = 0; i < n; i++)
        p->access[list[i].location.id] = (unsigned char)list[i].flags;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
                                 struct cudaMemLocation *where)
{
    OPEN(api, cudaMemPoolGetAccess_v11020);
    struct pool *p = pool_of(pool);
    if (!p || where->type != cudaMemLocationTypeDevice || !is_device(where->id))
        CLOSE(api, cudaErrorInvalidValue);
    *flags = (enum cudaMemAccessFlags)p->access[where->id];
    CLOSE(api, cudaSuccess);
}

static int allocate(struct vg_api *api, const struct pool *p, void **out, size_t bytes)
{
    api->host_ns = (int64_t)here()->pool_malloc_ns;
    int bad = p ? vg_malloc(p->device, out, bytes) : VG_INVALID_VALUE;
    if (!bad && bytes)
        emit_memory(*out, bytes, false, true, VG_MEM_DEVICE);
    return bad;
}
TWIN_ON(cudaMallocFromPoolAsync, v11020, _ptsz, v11020,
        (void **out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream), stream,
        ((void)s, allocate(&api, pool_of(pool), out, bytes)))
