/* Arena: many allocations, one owner, one free. Memory is zeroed. Cost of an allocation: a pointer
 * bump. Running out of memory ends in NULL. */
#ifndef GPUPROF_BASE_ARENA_H
#define GPUPROF_BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks; /* newest first */
    size_t bytes;               /* handed out so far */
};

#define ARENA_INIT                                                                                 \
    {                                                                                              \
        0                                                                                          \
    }

void *arena_alloc(struct arena *a, size_t size);
void *arena_array(struct arena *a, size_t count, size_t size); /* NULL on overflow too */
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_release(struct arena *a);

#endif
