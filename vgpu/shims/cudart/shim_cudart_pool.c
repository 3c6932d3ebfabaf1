/* The runtime's memory pools: the rows that it shares with the driver, and the calls that only the
 * runtime has. */
#include "shims/cudart/shim_cudart.h"

typedef struct cudaMemLocation call_location;
typedef enum cudaMemPoolAttr call_pool_attribute;
typedef struct cudaMemPoolProps call_pool_properties;
typedef struct cudaMemAccessDesc call_access;
typedef enum cudaMemAccessFlags call_access_flags;
#include "shims/calls/pool.h"

ROW(cudaMemGetDefaultMemPool, v13000,
    (cudaMemPool_t * out, struct cudaMemLocation *where, enum cudaMemAllocationType type UNUSED),
    get_pool_of(out, where, true))
ROW(cudaMemGetMemPool, v13000,
    (cudaMemPool_t * out, struct cudaMemLocation *where, enum cudaMemAllocationType type UNUSED),
    get_pool_of(out, where, false))
ROW(cudaMemSetMemPool, v13000,
    (struct cudaMemLocation * where, enum cudaMemAllocationType type UNUSED, cudaMemPool_t pool),
    pool_place(where) ? set_pool(where->id, pool) : VG_INVALID_VALUE)

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
