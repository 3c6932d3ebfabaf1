/* Memory pools: the calls that the runtime and the driver have in common (calls.h explains the
 * rows). A pool is an object that stores its settings. The settings do not change what
 * stream-ordered allocation costs, and memory comes straight from the device, not from a reserve of
 * the pool. Each of the two shims includes this file once, after it has defined call_location,
 * call_pool_attribute, call_pool_properties, call_access and call_access_flags. */

typedef struct CUmemPoolHandle_st *call_pool;

enum { /* the same numbers in the runtime and the driver */
       POOL_MAGIC = 0x7667706c,
       POOL_ATTRIBUTES = 16,
       /* Attributes 1 to 3 are flags: follow events, opportunistic, internal dependencies. */
       POOL_LAST_FLAG = 3,
       POOL_THRESHOLD = 4,
       POOL_READ_WRITE = 3,
       ON_DEVICE = 1, /* the type of a location */
       INVALID_DEVICE = 101,
       NOT_SUPPORTED = 801
};

struct pool {
    uint32_t magic;
    int device;
    bool own; /* the program made it and may destroy it; false for a device's default pool */
    uint64_t attribute[POOL_ATTRIBUTES];
    unsigned char access[VG_MAX_DEVICES];
};
static struct pool default_pools[VG_MAX_DEVICES];
static struct pool *_Atomic current_pools[VG_MAX_DEVICES]; /* NULL: the device's default pool */

static void pool_init(struct pool *p, int device, bool own)
{
    *p = (struct pool){POOL_MAGIC, device, own, {0}, {0}};
    for (int flag = 1; flag <= POOL_LAST_FLAG; flag++)
        p->attribute[flag] = 1;
    p->access[device] = POOL_READ_WRITE;
}

static struct pool *default_pool(int device)
{
    pthread_mutex_lock(&vg_core.lock);
    if (!default_pools[device].magic)
        pool_init(&default_pools[device], device, false);
    pthread_mutex_unlock(&vg_core.lock);
    return &default_pools[device];
}

static struct pool *pool_of(call_pool pool)
{
    struct pool *p = (struct pool *)pool;
    return p && p->magic == POOL_MAGIC ? p : NULL;
}

static bool pool_device(int device)
{
    return device >= 0 && device < vg_device_count();
}

static bool pool_place(const call_location *where)
{
    return where && (int)where->type == ON_DEVICE && pool_device(where->id);
}

static int get_pool(call_pool *out, int device, bool by_default)
{
    if (!pool_device(device) || !out)
        return INVALID_DEVICE;
    struct pool *p = by_default ? NULL : current_pools[device];
    *out = (call_pool)(p ? p : default_pool(device));
    return VG_OK;
}

static int set_pool(int device, call_pool pool)
{
    if (!pool_device(device) || !pool_of(pool))
        return VG_INVALID_VALUE;
    current_pools[device] = pool_of(pool);
    return VG_OK;
}

/* CUDA 13's forms take a location instead of a device. Pools in host memory are not supported. */
static int get_pool_of(call_pool *out, const call_location *where, bool by_default)
{
    return pool_place(where) ? get_pool(out, where->id, by_default) : NOT_SUPPORTED;
}

static int new_pool(call_pool *out, const call_pool_properties *given)
{
    if (!out || !given)
        return VG_INVALID_VALUE;
    if (!pool_place(&given->location))
        return (int)given->location.type == ON_DEVICE ? VG_INVALID_VALUE : NOT_SUPPORTED;
    struct pool *p = malloc(sizeof *p);
    if (!p)
        return VG_NO_MEMORY;
    pool_init(p, given->location.id, true);
    *out = (call_pool)p;
    return VG_OK;
}

static int end_pool(call_pool pool)
{
    struct pool *p = pool_of(pool);
    if (!p || !p->own)
        return VG_INVALID_VALUE;
    if (current_pools[p->device] == p)
        current_pools[p->device] = NULL;
    p->magic = 0;
    free(p);
    return VG_OK;
}

static int set_pool_attribute(call_pool pool, unsigned what, const void *value)
{
    struct pool *p = pool_of(pool);
    if (!p || !value || what >= POOL_ATTRIBUTES)
        return VG_INVALID_VALUE;
    p->attribute[what] =
        what <= POOL_LAST_FLAG ? (uint64_t)(*(const int *)value != 0) : *(const uint64_t *)value;
    return VG_OK;
}

static int get_pool_attribute(call_pool pool, unsigned what, void *value)
{
    struct pool *p = pool_of(pool);
    size_t free_bytes, total;
    if (!p || !value || what >= POOL_ATTRIBUTES)
        return VG_INVALID_VALUE;
    vg_memory_info(p->device, &free_bytes, &total);
    if (what <= POOL_LAST_FLAG)
        *(int *)value = (int)p->attribute[what];
    else if (what == POOL_THRESHOLD)
        *(uint64_t *)value = p->attribute[what];
    else
        /* Reserved and used bytes and their peaks all read as what is in use. */
        *(uint64_t *)value = total - free_bytes;
    return VG_OK;
}

static int set_pool_access(call_pool pool, const call_access *list, size_t n)
{
    struct pool *p = pool_of(pool);
    bool ok = p && (n == 0 || list);
    for (size_t i = 0; ok && i < n; i++)
        ok = pool_place(&list[i].location);
    for (size_t i = 0; ok && i < n; i++)
        p->access[list[i].location.id] = (unsigned char)list[i].flags;
    return ok ? VG_OK : VG_INVALID_VALUE;
}

static int get_pool_access(call_access_flags *flags, call_pool pool, const call_location *where)
{
    struct pool *p = pool_of(pool);
    if (!p || !pool_place(where))
        return VG_INVALID_VALUE;
    *flags = (call_access_flags)p->access[where->id];
    return VG_OK;
}

BOTH(DeviceGetDefaultMemPool, v11020, , (call_pool * out, int device), get_pool(out, device, true))
BOTH(DeviceGetMemPool, v11020, , (call_pool * out, int device), get_pool(out, device, false))
BOTH(DeviceSetMemPool, v11020, , (int device, call_pool pool), set_pool(device, pool))
BOTH(MemPoolCreate, v11020, , (call_pool * out, const call_pool_properties *given),
     new_pool(out, given))
BOTH(MemPoolDestroy, v11020, , (call_pool pool), end_pool(pool))
BOTH(MemPoolSetAttribute, v11020, , (call_pool pool, call_pool_attribute what, void *value),
     set_pool_attribute(pool, (unsigned)what, value))
BOTH(MemPoolGetAttribute, v11020, , (call_pool pool, call_pool_attribute what, void *value),
     get_pool_attribute(pool, (unsigned)what, value))
BOTH(MemPoolTrimTo, v11020, , (call_pool pool, size_t bytes UNUSED),
     pool_of(pool) ? VG_OK : VG_INVALID_VALUE)
BOTH(MemPoolSetAccess, v11020, , (call_pool pool, const call_access *list, size_t n),
     set_pool_access(pool, list, n))
BOTH(MemPoolGetAccess, v11020, , (call_access_flags * flags, call_pool pool, call_location *where),
     get_pool_access(flags, pool, where))
