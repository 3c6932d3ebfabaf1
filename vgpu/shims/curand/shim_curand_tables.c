/* Tables for device code: Poisson distributions, and the directions and scrambles of Sobol's
 * sequences. They have their sizes; each dimension has the directions of the first one. */
#include "shims/curand/shim_curand.h"

#include <pthread.h>

enum { DIMENSIONS = 20000, DISTRIBUTION_BYTES = 4096 };

static uint32_t directions32[DIMENSIONS][32], scrambles32[DIMENSIONS];
static uint64_t directions64[DIMENSIONS][64], scrambles64[DIMENSIONS];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make(void)
{
    for (unsigned d = 0; d < DIMENSIONS; d++) {
        for (unsigned i = 0; i < 32; i++)
            directions32[d][i] = UINT32_C(1) << (31 - i);
        for (unsigned i = 0; i < 64; i++)
            directions64[d][i] = UINT64_C(1) << (63 - i);
        scrambles64[d] = rand_bits(1, d);
        scrambles32[d] = (uint32_t)(scrambles64[d] >> 32);
    }
}

/* Sets of directions are numbered by their width, 101 and 102, 103 and 104: the second of each is
 * the scrambled one. */
#define TABLE(Name, table, valid, ...)                                                             \
    CALL(Name, void **out __VA_ARGS__)                                                             \
    {                                                                                              \
        if (!out || !(valid))                                                                      \
            return RAND_OUT_OF_RANGE;                                                              \
        pthread_once(&made, make);                                                                 \
        *out = table;                                                                              \
        return RAND_SUCCESS;                                                                       \
    }
TABLE(curandGetDirectionVectors32, directions32, set == 101 || set == 102, , int set)
TABLE(curandGetDirectionVectors64, directions64, set == 103 || set == 104, , int set)
TABLE(curandGetScrambleConstants32, scrambles32, true)
TABLE(curandGetScrambleConstants64, scrambles64, true)

CALL(curandCreatePoissonDistribution, double mean, void **out)
{
    if (!out || !(mean > 0 && mean < 400000))
        return RAND_OUT_OF_RANGE;
    return vg_library_malloc(out, DISTRIBUTION_BYTES) == 0 ? RAND_SUCCESS : RAND_ALLOCATION_FAILED;
}

CALL(curandDestroyDistribution, void *distribution)
{
    return vg_library_free(distribution) == 0 ? RAND_SUCCESS : RAND_NOT_INITIALIZED;
}
