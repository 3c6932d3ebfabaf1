/* The driver's memory pools: the rows that it shares with the runtime, and allocation from a
 * pool. */
#include "shims/cuda/shim_cuda.h"

typedef CUmemLocation call_location;
typedef CUmemPool_attribute call_pool_attribute;
typedef CUmemPoolProps call_pool_properties;
typedef CUmemAccessDesc call_access;
typedef CUmemAccess_flags call_access_flags;
#include "shims/calls/pool.h"

/* These calls are new in CUDA 13 and CUPTI has no callback ids for them: they get the id of `like`,
 * the call that they replace. */
#define PLACED(name, like, params, result)                                                         \
    CUresult name params                                                                           \
    {                                                                                              \
        OPEN(api, like);                                                                           \
        CLOSE(api, result);                                                                        \
    }
PLACED(cuMemGetDefaultMemPool, cuDeviceGetDefaultMemPool,
       (CUmemoryPool * out, CUmemLocation *where, CUmemAllocationType type UNUSED),
       get_pool_of(out, where, true))
PLACED(cuMemGetMemPool, cuDeviceGetMemPool,
       (CUmemoryPool * out, CUmemLocation *where, CUmemAllocationType type UNUSED),
       get_pool_of(out, where, false))
PLACED(cuMemSetMemPool, cuDeviceSetMemPool,
       (CUmemLocation * where, CUmemAllocationType type UNUSED, CUmemoryPool pool),
       pool_place(where) ? set_pool(where->id, pool) : VG_INVALID_VALUE)

static int allocate(struct vg_api *api, const struct pool *p, CUdeviceptr *out, size_t bytes)
{
    void *at = NULL;
    api->host_ns = (int64_t)here()->pool_malloc_ns;
    int bad = p && out ? vg_malloc(p->device, &at, bytes) : VG_INVALID_VALUE;
    if (bad)
        return bad;
    if (bytes)
        emit_memory(at, bytes, false, true, VG_MEM_DEVICE);
    *out = (CUdeviceptr)(uintptr_t)at;
    return VG_OK;
}
ROW_ON(cuMemAllocFromPoolAsync, ,
       (CUdeviceptr * out, size_t bytes, CUmemoryPool pool, CUstream stream), stream,
       ((void)s, allocate(&api, pool_of(pool), out, bytes)))
