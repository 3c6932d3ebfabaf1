/* Growable array of one type: struct { T *at; size_t n, cap; }. It doubles by realloc; if that
 * fails, the vector keeps its contents.
 *
 *   struct gap_vec VEC(struct gap);
 *   struct gap *g = vec_push(&gaps);   // a new last element, zeroed, or NULL
 *   vec_release(&gaps); */
#ifndef GPUPROF_BASE_VEC_H
#define GPUPROF_BASE_VEC_H

#include <stdlib.h>
#include <string.h>

#define VEC(T)                                                                                     \
    {                                                                                              \
        T *at;                                                                                     \
        size_t n, cap;                                                                             \
    }

#define vec_push(v)                                                                                \
    ((__typeof__((v)->at))vec_push_((void **)&(v)->at, &(v)->n, &(v)->cap, sizeof *(v)->at))
#define vec_release(v) (free((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)

static inline void *vec_push_(void **at, size_t *n, size_t *cap, size_t size)
{
    if (*n == *cap) {
        size_t want = *cap ? *cap * 2 : 16, bytes;
        void *p = __builtin_mul_overflow(want, size, &bytes) ? NULL : realloc(*at, bytes);
        if (!p)
            return NULL;
        *at = p;
        *cap = want;
    }
    return memset((char *)*at + (*n)++ * size, 0, size);
}

#endif
