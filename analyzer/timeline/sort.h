/* Stable sort of (group, time) keys, and rearranging the arrays they belong to in place. Cost: one
 * pass if already in order, otherwise O(n log n) and twice 16 bytes per key. */
#ifndef GPUPROF_TIMELINE_SORT_H
#define GPUPROF_TIMELINE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct sort_key {
    int64_t time;
    uint32_t group;
    uint32_t index; /* index of the element before sorting */
};

/* 1: sorted; 0: was already in order, keys unchanged; -1: out of memory. */
int sort_keys(struct sort_key *keys, size_t n);
/* Moves element keys[i].index to place i. `keys` is unchanged. -1: out of memory. */
int sort_apply(const struct sort_key *keys, size_t n, void *base, size_t size);

#endif
