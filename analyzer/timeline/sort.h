/* Stable sort of (group, time) keys, and the in-place rearrangement of the arrays behind them.
 * Cost: one pass when already in order, else O(n log n) and 16 bytes a key twice. */
#ifndef GPUPROF_TIMELINE_SORT_H
#define GPUPROF_TIMELINE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct sort_key {
    int64_t time;
    uint32_t group;
    uint32_t index; /* where the element was */
};

/* 1 sorted, 0 was in order already (keys untouched), -1 out of memory. */
int sort_keys(struct sort_key *keys, size_t n);
/* Puts element keys[i].index at i. `keys` keeps its contents. -1: out of memory. */
int sort_apply(const struct sort_key *keys, size_t n, void *base, size_t size);

#endif
