/* Map from a few int64 (process, device, context, stream) to a small index: open addressing,
 * power-of-two size, linear probing. Cost: 40 bytes a slot, at most half full. Importers number
 * with it what rows refer to. */
#ifndef GPUPROF_BASE_KEYMAP_H
#define GPUPROF_BASE_KEYMAP_H

#include <stdint.h>
#include <stdlib.h>

/* What is not used stays 0. */
struct key {
    int64_t part[4];
};

struct keymap_slot {
    struct key key;
    uint32_t value; /* + 1; 0 = empty */
};

struct keymap {
    struct keymap_slot *slots;
    uint32_t mask, n;
};

#define KEYMAP_NONE UINT32_MAX

/* KEYMAP_NONE when absent. */
uint32_t keymap_get(const struct keymap *m, struct key key);
/* 0, or -1 when out of memory. The key must be absent. */
int keymap_put(struct keymap *m, struct key key, uint32_t value);
void keymap_release(struct keymap *m);

#endif
