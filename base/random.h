/* splitmix64: small, good enough for a bootstrap, and the same numbers on every machine. *state is
 * the seed, any number. */
#ifndef GPUPROF_BASE_RANDOM_H
#define GPUPROF_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

#endif
