/* Arena: many allocations with one owner, freed together. Memory is zeroed. An allocation costs
 * little more than moving a pointer. Out of memory, functions return NULL. */
#ifndef GPUPROF_BASE_ARENA_H
#define GPUPROF_BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks; /* newest first */
    size_t bytes;               /* allocated by callers so far */
};

#define ARENA_INIT                                                                                 \
    {                                                                                              \
        0                                                                                          \
    }

void *arena_alloc(struct arena *a, size_t size);
/* NULL also if count * size overflows. */
void *arena_array(struct arena *a, size_t count, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_release(struct arena *a);

#endif
