/* Virtual memory management (cuMemCreate, cuMemMap). A reserved range has no access; a mapping into
 * it can be written, so small copies keep their bytes. Two mappings of the same memory do not share
 * contents: only kernels would notice, and they compute nothing. */
#include "core/core_map.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { PHYSICAL_MAGIC = 0x76677068 };

struct mapping {
    char *base;
    size_t bytes;
    struct vg_physical *memory;
    struct mapping *next;
};
struct reserved {
    char *base;
    size_t bytes;
    struct mapping *mappings; /* by address */
    struct reserved *next;
};
static struct reserved *all;
static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- memory without an address ---- */

int vg_physical_new(int device, size_t bytes, struct vg_physical **out)
{
    struct vg_device *d = &vg_core.device[device];
    struct vg_physical *p = bytes && bytes % VG_MAP_GRAIN == 0 ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return VG_INVALID_VALUE;
    vg_context_use(device);
    pthread_mutex_lock(&vg_core.lock);
    bool room = bytes <= d->capacity - d->used;
    if (room) {
        d->used += bytes;
        vg_gauges_put(d);
    }
    pthread_mutex_unlock(&vg_core.lock);
    if (!room) {
        free(p);
        return VG_NO_MEMORY;
    }
    *p = (struct vg_physical){.magic = PHYSICAL_MAGIC, .device = device, .bytes = bytes, .held = 1};
    *out = p;
    return VG_OK;
}

struct vg_physical *vg_physical_check(struct vg_physical *p)
{
    return p && p->magic == PHYSICAL_MAGIC ? p : NULL;
}

static void give_back_locked(struct vg_physical *p)
{
    if (p->held || p->mapped)
        return;
    struct vg_device *d = &vg_core.device[p->device];
    pthread_mutex_lock(&vg_core.lock);
    d->used -= p->bytes;
    vg_gauges_put(d);
    pthread_mutex_unlock(&vg_core.lock);
    p->magic = 0;
    free(p);
}

int vg_physical_hold(struct vg_physical *p)
{
    pthread_mutex_lock(&map_lock);
    p->held++;
    pthread_mutex_unlock(&map_lock);
    return VG_OK;
}

int vg_physical_release(struct vg_physical *p)
{
    pthread_mutex_lock(&map_lock);
    bool held = p->held > 0;
    if (held) {
        p->held--;
        give_back_locked(p);
    }
    pthread_mutex_unlock(&map_lock);
    return held ? VG_OK : VG_INVALID_VALUE;
}

/* ---- addresses without memory ---- */

static void *map_nothing(void *at, size_t bytes, int fixed)
{
    return mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

int vg_reserve(void **out, size_t bytes, size_t align)
{
    size_t step = align > VG_MAP_GRAIN ? align : VG_MAP_GRAIN;
    if (!bytes || bytes % VG_MAP_GRAIN || (align & (align - 1)))
        return VG_INVALID_VALUE;
    struct reserved *r = calloc(1, sizeof *r);
    char *raw = r ? map_nothing(NULL, bytes + step, 0) : MAP_FAILED;
    if (raw == MAP_FAILED) {
        free(r);
        return VG_NO_MEMORY;
    }
    size_t lead = (step - (uintptr_t)raw % step) % step;
    if (lead)
        munmap(raw, lead);
    munmap(raw + lead + bytes, step - lead);
    *r = (struct reserved){.base = raw + lead, .bytes = bytes};
    pthread_mutex_lock(&map_lock);
    r->next = all;
    all = r;
    pthread_mutex_unlock(&map_lock);
    *out = r->base;
    return VG_OK;
}

int vg_unreserve(void *base, size_t bytes)
{
    pthread_mutex_lock(&map_lock);
    struct reserved **at = &all, *r;
    while ((r = *at) && r->base != base)
        at = &r->next;
    bool free_of_maps = r && r->bytes == bytes && !r->mappings;
    if (free_of_maps) {
        *at = r->next;
        munmap(r->base, r->bytes);
        free(r);
    }
    pthread_mutex_unlock(&map_lock);
    return free_of_maps ? VG_OK : VG_INVALID_VALUE;
}

/* The reserved range that contains all of these addresses; NULL: none does. */
static struct reserved *around(const char *at, size_t bytes)
{
    struct reserved *r = all;
    while (r && (at < r->base || at + bytes > r->base + r->bytes))
        r = r->next;
    return r;
}

/* Where the mapping at this address is, or would be inserted. */
static struct mapping **place(struct reserved *r, const char *at)
{
    struct mapping **m = &r->mappings;
    while (*m && (*m)->base + (*m)->bytes <= at)
        m = &(*m)->next;
    return m;
}

int vg_map(void *at, size_t bytes, struct vg_physical *p)
{
    int bad = VG_INVALID_VALUE;
    struct mapping *m = calloc(1, sizeof *m);
    pthread_mutex_lock(&map_lock);
    struct reserved *r = m && bytes && bytes <= p->bytes && (uintptr_t)at % VG_MAP_GRAIN == 0
                             ? around(at, bytes)
                             : NULL;
    struct mapping **where = r ? place(r, at) : NULL;
    if (where && !(*where && (*where)->base < (char *)at + bytes) &&
        mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0)
        bad = vg_range_map(at, bytes, p->device);
    if (!bad) {
        *m = (struct mapping){at, bytes, p, *where};
        *where = m;
        p->mapped++;
    } else {
        free(m);
    }
    pthread_mutex_unlock(&map_lock);
    return bad;
}

int vg_unmap(void *at, size_t bytes)
{
    char *from = at, *to = from + bytes;
    int unmapped = 0;
    pthread_mutex_lock(&map_lock);
    struct reserved *r = around(from, bytes);
    struct mapping **where = r ? place(r, from) : NULL, *m;
    while (where && (m = *where) && m->base >= from && m->base + m->bytes <= to) {
        vg_range_unmap(m->base);
        map_nothing(m->base, m->bytes, MAP_FIXED);
        *where = m->next;
        m->memory->mapped--;
        give_back_locked(m->memory);
        free(m);
        unmapped++;
    }
    pthread_mutex_unlock(&map_lock);
    return unmapped ? VG_OK : VG_INVALID_VALUE;
}

struct vg_physical *vg_mapped(const void *at)
{
    pthread_mutex_lock(&map_lock);
    struct reserved *r = around(at, 1);
    struct mapping *m = r ? *place(r, at) : NULL;
    struct vg_physical *p = m && m->base <= (const char *)at ? m->memory : NULL;
    pthread_mutex_unlock(&map_lock);
    return p;
}

bool vg_all_mapped(const void *at, size_t bytes)
{
    const char *from = at, *to = from + bytes;
    pthread_mutex_lock(&map_lock);
    struct reserved *r = bytes ? around(from, bytes) : NULL;
    struct mapping *m = r ? *place(r, from) : NULL;
    while (m && from < to && m->base <= from) {
        from = m->base + m->bytes;
        m = m->next;
    }
    pthread_mutex_unlock(&map_lock);
    return r && from >= to;
}
