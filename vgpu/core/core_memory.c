/* Memory of the virtual GPU. Each device is one reserved address range (never committed: pages appear
 * where a small copy writes), so a pointer tells its device. The range is larger than the device's
 * memory, because a driver maps free pages wherever they lie: an allocation fails when the memory is
 * full, not when what is free lies in pieces. A sorted table holds pinned and
 * managed host memory. */
#include "core/core_state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The driver maps memory in blocks. Small allocations share a block, and need no new mapping. */
enum { GRAIN = 512, DRIVER_BLOCK = 2 << 20, SMALL = 1 << 20 };
/* Addresses per byte of memory. Twice as many would do for pieces of one size; programs mix sizes. */
enum { SPAN = 4 };

/* Blocks of a device by address. Free neighbours are merged. */
struct vg_block {
    size_t offset, size, asked;
    /* held: a graph may allocate it again; let_go: freed while it is held. */
    bool free, held, let_go;
    struct vg_block *prev, *next;
};

struct range {
    char *base;
    size_t size;
    enum vg_memory_kind kind;
    enum { REGISTERED, OURS, MAPPED } owner; /* OURS: to be unmapped here; MAPPED: by core_map.c */
    int device;                              /* of mapped memory; otherwise -1 */
};
static struct range *ranges;
static size_t range_count, range_cap;
static pthread_rwlock_t range_lock = PTHREAD_RWLOCK_INITIALIZER;

int vg_memory_open(struct vg_device *d)
{
    d->capacity = (size_t)d->profile.memory_bytes / GRAIN * GRAIN;
    /* Less of it where the program's address space is limited (ulimit -v). */
    for (d->span = d->capacity * SPAN; d->span >= d->capacity; d->span /= 2) {
        d->base = mmap(NULL, d->span, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (d->base != MAP_FAILED)
            break;
    }
    if (d->base == MAP_FAILED)
        return -1;
    madvise(d->base, d->span, MADV_DONTDUMP);
    d->blocks = calloc(1, sizeof *d->blocks);
    if (!d->blocks || vg_data_open(d) != 0)
        return -1;
    *d->blocks = (struct vg_block){.size = d->span, .free = true};
    return 0;
}

static struct vg_device *device_of(const void *p)
{
    for (int i = 0; i < vg_core.device_count; i++) {
        struct vg_device *d = &vg_core.device[i];
        if ((const char *)p >= d->base && (const char *)p < d->base + d->span)
            return d;
    }
    return NULL;
}

static int split(struct vg_block *b, size_t need)
{
    if (b->size == need)
        return 0;
    struct vg_block *rest = calloc(1, sizeof *rest);
    if (!rest)
        return -1;
    *rest = (struct vg_block){.offset = b->offset + need,
                              .size = b->size - need,
                              .free = true,
                              .prev = b,
                              .next = b->next};
    if (rest->next)
        rest->next->prev = rest;
    b->next = rest;
    b->size = need;
    return 0;
}

int vg_malloc(int device, void **out, size_t bytes)
{
    struct vg_device *d = &vg_core.device[device];
    if (!out)
        return VG_INVALID_VALUE;
    *out = NULL;
    vg_context_use(device);
    if (bytes == 0)
        return VG_OK;
    if (bytes > d->capacity)
        return VG_NO_MEMORY;
    size_t need = (bytes + GRAIN - 1) / GRAIN * GRAIN;
    pthread_mutex_lock(&vg_core.lock);
    struct vg_block *b = d->blocks;
    while (b && !(b->free && b->size >= need))
        b = b->next;
    bool room = need <= d->capacity - d->used; /* core_map.c may use a part of the memory */
    int result = b && room && split(b, need) == 0 ? VG_OK : VG_NO_MEMORY;
    if (result == VG_OK) {
        b->free = b->held = b->let_go = false;
        b->asked = bytes;
        d->used += need;
        vg_gauges_put(d);
        *out = d->base + b->offset;
    }
    pthread_mutex_unlock(&vg_core.lock);
    return result;
}

static void merge_next(struct vg_block *b)
{
    struct vg_block *n = b->next;
    if (!n || !n->free)
        return;
    b->size += n->size;
    b->next = n->next;
    if (b->next)
        b->next->prev = b;
    free(n);
}

static void block_free(struct vg_device *d, struct vg_block *b)
{
    char *pages = d->base + b->offset;
    size_t within = vg_whole_pages(&pages, b->size);
    if (within)
        madvise(pages, within, MADV_DONTNEED);
    d->used -= b->size;
    vg_gauges_put(d);
    b->free = true;
    merge_next(b);
    if (b->prev && b->prev->free)
        merge_next(b->prev);
}

/* The used block that starts there, or NULL. The lock must be held. */
static struct vg_block *block_at(const struct vg_device *d, const void *ptr)
{
    size_t offset = (size_t)((const char *)ptr - d->base);
    struct vg_block *b = d->blocks;
    while (b && b->offset != offset)
        b = b->next;
    return b && !b->free ? b : NULL;
}

int vg_free(void *ptr)
{
    struct vg_device *d = device_of(ptr);
    if (!d)
        return vg_free_host(ptr); /* managed memory */
    pthread_mutex_lock(&vg_core.lock);
    struct vg_block *b = block_at(d, ptr);
    if (b && b->held)
        b->let_go = true;
    else if (b)
        block_free(d, b);
    pthread_mutex_unlock(&vg_core.lock);
    return b ? VG_OK : VG_INVALID_VALUE;
}

int64_t vg_malloc_host_ns(const void *ptr)
{
    struct vg_device *d = device_of(ptr);
    size_t bytes = vg_block_bytes(ptr);
    if (!d)
        return (int64_t)vg_profile(vg_current_device())->malloc_ns;
    pthread_mutex_lock(&vg_core.lock);
    size_t end = (size_t)((const char *)ptr - d->base) + bytes;
    bool shares = bytes <= SMALL && end <= d->backed;
    if (!shares && end > d->backed)
        d->backed = (end + DRIVER_BLOCK - 1) / DRIVER_BLOCK * DRIVER_BLOCK;
    pthread_mutex_unlock(&vg_core.lock);
    return (int64_t)(shares ? d->profile.malloc_small_ns : d->profile.malloc_ns);
}

int64_t vg_free_host_ns(const void *ptr)
{
    const struct vg_profile *p = vg_profile(vg_current_device());
    size_t bytes = vg_block_bytes(ptr);
    return (int64_t)(bytes && bytes <= SMALL ? p->malloc_small_ns : p->free_ns);
}

size_t vg_block_bytes(const void *ptr)
{
    struct vg_device *d = device_of(ptr);
    if (!d)
        return 0;
    pthread_mutex_lock(&vg_core.lock);
    struct vg_block *b = block_at(d, ptr);
    size_t bytes = b ? b->asked : 0;
    pthread_mutex_unlock(&vg_core.lock);
    return bytes;
}

void vg_hold_memory(void *ptr, bool hold)
{
    struct vg_device *d = device_of(ptr);
    if (!d)
        return;
    pthread_mutex_lock(&vg_core.lock);
    struct vg_block *b = block_at(d, ptr);
    if (b)
        b->held = hold;
    if (b && !hold && b->let_go)
        block_free(d, b);
    pthread_mutex_unlock(&vg_core.lock);
}

void vg_memory_info(int device, size_t *free_bytes, size_t *total)
{
    struct vg_device *d = &vg_core.device[device];
    pthread_mutex_lock(&vg_core.lock);
    if (free_bytes)
        *free_bytes = d->capacity - d->used;
    if (total)
        *total = d->capacity;
    pthread_mutex_unlock(&vg_core.lock);
}

/* Index of the first range that starts above p. */
static size_t range_above(const char *p)
{
    size_t lo = 0, hi = range_count;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (ranges[mid].base <= p)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int range_add(struct range r)
{
    int result = VG_OK;
    pthread_rwlock_wrlock(&range_lock);
    if (range_count == range_cap) {
        size_t cap = range_cap ? range_cap * 2 : 64;
        struct range *grown = realloc(ranges, cap * sizeof *grown);
        if (grown) {
            ranges = grown;
            range_cap = cap;
        }
    }
    size_t at = range_above(r.base);
    bool overlaps = at > 0 && ranges[at - 1].base + ranges[at - 1].size > r.base;
    if (range_count == range_cap) {
        result = VG_NO_MEMORY;
    } else if (overlaps) {
        result = VG_REGISTERED;
    } else {
        memmove(ranges + at + 1, ranges + at, (range_count - at) * sizeof *ranges);
        ranges[at] = r;
        range_count++;
    }
    pthread_rwlock_unlock(&range_lock);
    return result;
}

/* Removes a range from the table. False: none starts at p. */
static bool range_take(const void *p, int owner, struct range *out)
{
    pthread_rwlock_wrlock(&range_lock);
    size_t at = range_above(p);
    bool found = at > 0 && ranges[at - 1].base == p && (int)ranges[at - 1].owner == owner;
    if (found) {
        *out = ranges[at - 1];
        memmove(ranges + at - 1, ranges + at, (range_count - at) * sizeof *ranges);
        range_count--;
    }
    pthread_rwlock_unlock(&range_lock);
    return found;
}

static int map_host(void **out, size_t bytes, enum vg_memory_kind kind)
{
    if (!out)
        return VG_INVALID_VALUE;
    *out = NULL;
    if (bytes == 0)
        return VG_OK;
    /* Pinned pages are touched at once, as page-locking does; otherwise they would look slower than
     * pageable ones. */
    int populate = kind == VG_MEM_PINNED ? MAP_POPULATE : MAP_NORESERVE;
    char *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | populate, -1, 0);
    if (p == MAP_FAILED)
        return VG_NO_MEMORY;
    int result = range_add((struct range){p, bytes, kind, OURS, -1});
    if (result != VG_OK)
        munmap(p, bytes);
    else
        *out = p;
    return result;
}

int vg_malloc_host(void **out, size_t bytes)
{
    return map_host(out, bytes, VG_MEM_PINNED);
}

int vg_malloc_managed(void **out, size_t bytes)
{
    return map_host(out, bytes, VG_MEM_MANAGED);
}

int vg_free_host(void *ptr)
{
    struct range r;
    if (!range_take(ptr, OURS, &r))
        return VG_INVALID_VALUE;
    munmap(r.base, r.size);
    return VG_OK;
}

int vg_host_register(void *ptr, size_t bytes)
{
    if (!ptr || !bytes)
        return VG_INVALID_VALUE;
    return range_add((struct range){ptr, bytes, VG_MEM_PINNED, REGISTERED, -1});
}

int vg_host_unregister(void *ptr)
{
    struct range r;
    return range_take(ptr, REGISTERED, &r) ? VG_OK : VG_NOT_REGISTERED;
}

int vg_range_map(char *base, size_t bytes, int device)
{
    return range_add((struct range){base, bytes, VG_MEM_DEVICE, MAPPED, device});
}

bool vg_range_unmap(char *base)
{
    struct range r;
    return range_take(base, MAPPED, &r);
}

struct vg_pointer vg_pointer(const void *p)
{
    struct vg_device *d = device_of(p);
    if (d)
        return (struct vg_pointer){VG_MEM_DEVICE, d->index, d->span, d->base};
    struct vg_pointer found = {VG_MEM_PAGEABLE, -1, 0, NULL};
    pthread_rwlock_rdlock(&range_lock);
    size_t at = range_above(p);
    if (at > 0 && (const char *)p < ranges[at - 1].base + ranges[at - 1].size)
        found = (struct vg_pointer){ranges[at - 1].kind, ranges[at - 1].device, ranges[at - 1].size,
                                    ranges[at - 1].base};
    pthread_rwlock_unlock(&range_lock);
    return found;
}

struct vg_pointer vg_allocation(const void *p)
{
    struct vg_pointer found = vg_pointer(p);
    struct vg_device *d = device_of(p);
    if (!d)
        return found;
    pthread_mutex_lock(&vg_core.lock);
    size_t offset = (size_t)((const char *)p - d->base);
    struct vg_block *b = d->blocks;
    while (b && b->offset + b->size <= offset)
        b = b->next;
    bool used = b && !b->free;
    found.kind = used ? VG_MEM_DEVICE : VG_MEM_PAGEABLE;
    found.base = used ? d->base + b->offset : NULL;
    found.size = used ? b->asked : 0;
    pthread_mutex_unlock(&vg_core.lock);
    return found;
}
