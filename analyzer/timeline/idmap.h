/* Map from an int64 id to a small index: open addressing, linear probing, size a power of two.
 * Cost: 16 bytes per slot, at most half of them in use. */
#ifndef GPUPROF_TIMELINE_IDMAP_H
#define GPUPROF_TIMELINE_IDMAP_H

#include <stdint.h>
#include <stdlib.h>

struct idmap_slot {
    int64_t id;
    uint32_t value; /* value + 1; 0 = the slot is empty */
};

struct idmap {
    struct idmap_slot *slots;
    uint32_t mask, n;
};

static inline uint32_t idmap_hash(int64_t id)
{
    uint64_t h = ((uint64_t)id ^ (uint64_t)id >> 32) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u; /* a second round, since ids may differ in any bits */
    return (uint32_t)(h >> 32);
}

static inline struct idmap_slot *idmap_find(const struct idmap *m, int64_t id)
{
    if (!m->slots)
        return NULL;
    for (uint32_t i = idmap_hash(id) & m->mask;; i = (i + 1) & m->mask) {
        if (!m->slots[i].value)
            return NULL;
        if (m->slots[i].id == id)
            return &m->slots[i];
    }
}

/* The value, or UINT32_MAX if the id is absent. */
static inline uint32_t idmap_get(const struct idmap *m, int64_t id)
{
    const struct idmap_slot *s = idmap_find(m, id);
    return s ? s->value - 1 : UINT32_MAX;
}

static inline void idmap_place(struct idmap *m, int64_t id, uint32_t value)
{
    uint32_t i = idmap_hash(id) & m->mask;
    while (m->slots[i].value)
        i = (i + 1) & m->mask;
    m->slots[i] = (struct idmap_slot){id, value + 1};
    m->n++;
}

/* 0, or -1 when out of memory. The id must be absent. */
static inline int idmap_put(struct idmap *m, int64_t id, uint32_t value)
{
    if (!m->slots || m->n > m->mask / 2) {
        struct idmap bigger = {.mask = m->slots ? m->mask * 2 + 1 : 63};
        bigger.slots = calloc(bigger.mask + 1u, sizeof *bigger.slots);
        if (!bigger.slots)
            return -1;
        for (uint32_t i = 0; m->slots && i <= m->mask; i++)
            if (m->slots[i].value)
                idmap_place(&bigger, m->slots[i].id, m->slots[i].value - 1);
        free(m->slots);
        *m = bigger;
    }
    idmap_place(m, id, value);
    return 0;
}

/* Like idmap_put, but the id may be present; its value is then replaced. */
static inline int idmap_set(struct idmap *m, int64_t id, uint32_t value)
{
    struct idmap_slot *s = idmap_find(m, id);
    if (!s)
        return idmap_put(m, id, value);
    s->value = value + 1;
    return 0;
}

static inline void idmap_release(struct idmap *m)
{
    free(m->slots);
    *m = (struct idmap){0};
}

#endif
