/* The numbers that a generator draws: of the distribution that was asked for, the same again for
 * the same seed, but not those of cuRAND. Number i follows from the seed and i alone, so a program
 * that draws on the host and on the device gets the same. Quasi-random sequences are drawn alike.
 */
#include "shims/curand/shim_curand.h"

#include <math.h>

static const double pi = 3.14159265358979323846;
enum { POISSON_BY_COUNTING = 32 };

uint64_t rand_bits(uint64_t seed, uint64_t i)
{
    uint64_t z = seed * 0xd1342543de82ef95u + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Above 0, up to 1, exact in the format that is asked for. */
static double uniform(uint64_t seed, uint64_t i, bool wide)
{
    uint64_t bits = rand_bits(seed, i);
    return wide ? (double)((bits >> 11) + 1) * 0x1p-53 : (double)((bits >> 40) + 1) * 0x1p-24;
}

static double normal(uint64_t seed, uint64_t i)
{
    double radius = sqrt(-2 * log(uniform(seed, i & ~UINT64_C(1), true)));
    double angle = 2 * pi * uniform(seed, i | 1, true);
    return radius * (i % 2 ? sin(angle) : cos(angle));
}

static unsigned poisson(uint64_t seed, uint64_t i, double mean)
{
    if (mean >= POISSON_BY_COUNTING)
        return (unsigned)fmax(0, floor(mean + sqrt(mean) * normal(seed, i) + 0.5));
    uint64_t own = rand_bits(seed, i);
    unsigned count = 0;
    double end = exp(-mean);
    for (double p = uniform(own, 0, true); p > end; p *= uniform(own, count, true))
        count++;
    return count;
}

static double real(const struct rand_draw *d, uint64_t seed, uint64_t i)
{
    if (d->shape == RAND_UNIFORM)
        return uniform(seed, i, d->wide);
    double x = d->a + d->b * normal(seed, i);
    return d->shape == RAND_NORMAL ? x : exp(x);
}

void rand_fill(const struct rand_generator *g, const struct rand_draw *d, void *out, size_t n)
{
    uint32_t *u32 = out;
    uint64_t *u64 = out, first = g->position;
    float *f32 = out;
    double *f64 = out;
    for (size_t i = 0; i < n; i++) {
        if (d->shape == RAND_POISSON)
            u32[i] = poisson(g->seed, first + i, d->a);
        else if (d->shape == RAND_BITS && d->wide)
            u64[i] = rand_bits(g->seed, first + i);
        else if (d->shape == RAND_BITS)
            u32[i] = (uint32_t)(rand_bits(g->seed, first + i) >> 32);
        else if (d->wide)
            f64[i] = real(d, g->seed, first + i);
        else
            f32[i] = (float)real(d, g->seed, first + i);
    }
}
