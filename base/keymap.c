/* Maps keys of a few numbers to small indices. */
#include "base/keymap.h"

static uint32_t hash(const struct key *key)
{
    uint64_t h = 0;
    for (int i = 0; i < 4; i++) {
        h = (h ^ (uint64_t)key->part[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return (uint32_t)((h * 0xbf58476d1ce4e5b9u) >> 32);
}

static int same(const struct key *a, const struct key *b)
{
    return a->part[0] == b->part[0] && a->part[1] == b->part[1] && a->part[2] == b->part[2] &&
           a->part[3] == b->part[3];
}

uint32_t keymap_get(const struct keymap *m, struct key key)
{
    if (!m->slots)
        return KEYMAP_NONE;
    for (uint32_t i = hash(&key) & m->mask; m->slots[i].value; i = (i + 1) & m->mask)
        if (same(&m->slots[i].key, &key))
            return m->slots[i].value - 1;
    return KEYMAP_NONE;
}

static void place(struct keymap *m, struct keymap_slot slot)
{
    uint32_t i = hash(&slot.key) & m->mask;
    while (m->slots[i].value)
        i = (i + 1) & m->mask;
    m->slots[i] = slot;
    m->n++;
}

int keymap_put(struct keymap *m, struct key key, uint32_t value)
{
    if (!m->slots || m->n > m->mask / 2) {
        struct keymap bigger = {.mask = m->slots ? m->mask * 2 + 1 : 15};
        bigger.slots = calloc(bigger.mask + (size_t)1, sizeof *bigger.slots);
        if (!bigger.slots)
            return -1;
        for (uint32_t i = 0; m->slots && i <= m->mask; i++)
            if (m->slots[i].value)
                place(&bigger, m->slots[i]);
        free(m->slots);
        *m = bigger;
    }
    place(m, (struct keymap_slot){key, value + 1});
    return 0;
}

void keymap_release(struct keymap *m)
{
    free(m->slots);
    *m = (struct keymap){0};
}
