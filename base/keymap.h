/* Maps a key of a few int64 (process, device, context, stream) to a small index. Open addressing, a
 * power of two of slots, linear probing, at most half full. Cost: 40 bytes a slot. Importers use it
 * to number what rows refer to. */
#ifndef GPUPROF_BASE_KEYMAP_H
#define GPUPROF_BASE_KEYMAP_H

#include <stdint.h>
#include <stdlib.h>

/* Unused parts are 0. */
struct key {
    int64_t part[4];
};

struct keymap_slot {
    struct key key;
    uint32_t value; /* + 1; 0: empty */
};

struct keymap {
    struct keymap_slot *slots;
    uint32_t mask, n;
};

#define KEYMAP_NONE UINT32_MAX

/* The key's index, or KEYMAP_NONE if it is absent. */
uint32_t keymap_get(const struct keymap *m, struct key key);
/* Adds a key, which must be absent. Returns 0, or -1 if out of memory. */
int keymap_put(struct keymap *m, struct key key, uint32_t value);
void keymap_release(struct keymap *m);

#endif
