/* cuRAND's generators, and the calls that draw. On a device each is a kernel that writes its output
 * once; the first one of a pseudo-random generator sets its states up. What the arithmetic adds is
 * a guess. Device code draws by itself (curand_kernel.h) and needs nothing from here but tables. */
#include "shims/curand/shim_curand.h"
#include "cost/names.h"

#include <stdio.h>
#include <stdlib.h>

enum { VERSION = 10400, QUASI = 200, SEED_KERNEL_NS = 300000, MAX_DIMENSIONS = 20000 };
/* Arrays up to the first size get values always, larger ones the first time at each place until the
 * second is reached: weights get theirs, and what a loop draws anew costs the host no time. */
enum { SMALL_BYTES = 64 << 10, LARGE_BYTES = 64 << 20 };

static const struct rand_kind kinds[] = {
    {100, "curandStateXORWOW", false, false, 1},
    {101, "curandStateXORWOW", false, false, 1},
    {121, "curandStateMRG32k3a", false, false, 2},
    {141, "curandStateMtgp32", false, false, 2},
    {142, "curandStateMT19937", false, false, 2},
    {161, "curandStatePhilox4_32_10", false, false, 1},
    {200, "curandStateSobol32", true, false, 1},
    {201, "curandStateSobol32", true, false, 1},
    {202, "curandStateScrambledSobol32", true, false, 1},
    {203, "curandStateSobol64", true, true, 1},
    {204, "curandStateScrambledSobol64", true, true, 1},
};

static int create(struct rand_generator **out, int type, bool on_host)
{
    const struct rand_kind *kind = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == type)
            kind = &kinds[i];
    if (!out || !kind)
        return RAND_TYPE_ERROR;
    if (!on_host && vg_start() != 0)
        return RAND_INITIALIZATION_FAILED;
    struct rand_generator *g = calloc(1, sizeof *g);
    if (!g)
        return RAND_ALLOCATION_FAILED;
    *g = (struct rand_generator){.kind = kind, .on_host = on_host, .dimensions = 1};
    *out = g;
    return RAND_SUCCESS;
}

CALL(curandCreateGenerator, struct rand_generator **out, int type)
{
    return create(out, type, false);
}

CALL(curandCreateGeneratorHost, struct rand_generator **out, int type)
{
    return create(out, type, true);
}

CALL(curandDestroyGenerator, struct rand_generator *g)
{
    free(g);
    return g ? RAND_SUCCESS : RAND_NOT_INITIALIZED;
}

CALL(curandGetVersion, int *version)
{
    if (!version)
        return RAND_OUT_OF_RANGE;
    *version = VERSION;
    return RAND_SUCCESS;
}

CALL(curandGetProperty, int which, int *value)
{
    if (!value || which < 0 || which > 2)
        return RAND_OUT_OF_RANGE;
    *value = which == 0 ? VERSION / 1000 : which == 1 ? VERSION / 100 % 10 : VERSION % 100;
    return RAND_SUCCESS;
}

CALL(curandSetStream, struct rand_generator *g, struct vg_stream *stream)
{
    if (!g)
        return RAND_NOT_INITIALIZED;
    g->stream = stream;
    return RAND_SUCCESS;
}

CALL(curandSetPseudoRandomGeneratorSeed, struct rand_generator *g, unsigned long long seed)
{
    if (!g || g->kind->quasi)
        return g ? RAND_TYPE_ERROR : RAND_NOT_INITIALIZED;
    g->seed = seed;
    g->position = 0;
    g->seeded = false;
    return RAND_SUCCESS;
}

CALL(curandSetGeneratorOffset, struct rand_generator *g, unsigned long long offset)
{
    if (!g)
        return RAND_NOT_INITIALIZED;
    g->position = offset;
    g->seeded = false;
    return RAND_SUCCESS;
}

/* The order of the sequence changes no time and no distribution. */
CALL(curandSetGeneratorOrdering, struct rand_generator *g, int order)
{
    if (!g)
        return RAND_NOT_INITIALIZED;
    return (order >= QUASI) == g->kind->quasi ? RAND_SUCCESS : RAND_OUT_OF_RANGE;
}

CALL(curandSetQuasiRandomGeneratorDimensions, struct rand_generator *g, unsigned dimensions)
{
    if (!g || !g->kind->quasi)
        return g ? RAND_TYPE_ERROR : RAND_NOT_INITIALIZED;
    if (dimensions < 1 || dimensions > MAX_DIMENSIONS)
        return RAND_OUT_OF_RANGE;
    g->dimensions = dimensions;
    return RAND_SUCCESS;
}

/* ---- drawing ---- */

static int launch(const struct rand_generator *g, const char *what, int64_t ns, double bytes)
{
    char text[128];
    snprintf(text, sizeof text, "%s<%s>", what, g->kind->state);
    const char *name = vg_name_keep(text);
    unsigned blocks = bytes > 256 * 16 * 1024 ? 1024 : (unsigned)(bytes / (256 * 16)) + 1;
    struct vg_kernel k = {.name = name,
                          .grid = {blocks, 1, 1},
                          .block = {256, 1, 1},
                          .registers = 40,
                          .duration_ns = ns};
    return vg_library_launch(g->stream, &k) == 0 ? RAND_SUCCESS : RAND_LAUNCH_FAILURE;
}

CALL(curandGenerateSeeds, struct rand_generator *g)
{
    if (!g)
        return RAND_NOT_INITIALIZED;
    bool needed = !g->seeded && !g->on_host;
    g->seeded = true;
    return needed ? launch(g, "generate_seed_pseudo", SEED_KERNEL_NS, 64 << 20) : RAND_SUCCESS;
}

static double passes_of(const struct rand_draw *d)
{
    return d->shape == RAND_POISSON ? 4 : d->shape >= RAND_NORMAL ? 1.5 : 1;
}

static bool gets_values(struct rand_generator *g, const void *at, size_t bytes)
{
    if (g->on_host || bytes <= SMALL_BYTES)
        return true;
    if (g->large + bytes > LARGE_BYTES)
        return false;
    for (size_t i = 0; i < RAND_PLACES; i++)
        if (g->large_at[i] == at)
            return false;
    g->large_at[g->large_count++ % RAND_PLACES] = at;
    g->large += bytes;
    return true;
}

static int draw(struct rand_generator *g, struct rand_draw d, void *out, size_t n)
{
    static const char *const names[] = {
        [RAND_BITS] = "gen_sequenced_bits",       [RAND_UNIFORM] = "gen_sequenced_uniform",
        [RAND_NORMAL] = "gen_sequenced_normal",   [RAND_LOG_NORMAL] = "gen_sequenced_log_normal",
        [RAND_POISSON] = "gen_sequenced_poisson",
    };
    if (!g)
        return RAND_NOT_INITIALIZED;
    bool pairs = !g->kind->quasi && (d.shape == RAND_NORMAL || d.shape == RAND_LOG_NORMAL);
    if (n % g->dimensions || (pairs && n % 2))
        return RAND_LENGTH_NOT_MULTIPLE;
    if (n == 0)
        return RAND_SUCCESS;
    if (!out)
        return RAND_LAUNCH_FAILURE;
    size_t bytes = n * (d.wide ? 8 : 4);
    int bad = g->kind->quasi ? RAND_SUCCESS : curandGenerateSeeds(g);
    if (!bad && !g->on_host) {
        const struct vg_profile *p = vg_profile(vg_current_device());
        double passes = g->kind->passes * passes_of(&d);
        bad = launch(g, names[d.shape], vg_cost_memory(p, (double)bytes, passes, p->pointwise_eff),
                     (double)bytes);
    }
    if (!bad && gets_values(g, out, bytes)) {
        rand_fill(g, &d, out, n);
        if (!g->on_host)
            vg_library_wrote(out, bytes);
    }
    g->position += n;
    return bad;
}

CALL(curandGenerate, struct rand_generator *g, unsigned *out, size_t n)
{
    if (g && g->kind->wide)
        return RAND_TYPE_ERROR;
    return draw(g, (struct rand_draw){.shape = RAND_BITS}, out, n);
}

CALL(curandGenerateLongLong, struct rand_generator *g, unsigned long long *out, size_t n)
{
    if (g && !g->kind->wide)
        return RAND_TYPE_ERROR;
    return draw(g, (struct rand_draw){.shape = RAND_BITS, .wide = true}, out, n);
}

#define REAL(Name, what, type, is_wide)                                                            \
    CALL(curandGenerate##Name, struct rand_generator *g, type *out, size_t n, type mean,           \
         type deviation)                                                                           \
    {                                                                                              \
        return draw(g, (struct rand_draw){what, is_wide, (double)mean, (double)deviation}, out,    \
                    n);                                                                            \
    }
REAL(Normal, RAND_NORMAL, float, false)
REAL(NormalDouble, RAND_NORMAL, double, true)
REAL(LogNormal, RAND_LOG_NORMAL, float, false)
REAL(LogNormalDouble, RAND_LOG_NORMAL, double, true)

CALL(curandGenerateUniform, struct rand_generator *g, float *out, size_t n)
{
    return draw(g, (struct rand_draw){.shape = RAND_UNIFORM}, out, n);
}

CALL(curandGenerateUniformDouble, struct rand_generator *g, double *out, size_t n)
{
    return draw(g, (struct rand_draw){.shape = RAND_UNIFORM, .wide = true}, out, n);
}

CALL(curandGeneratePoisson, struct rand_generator *g, unsigned *out, size_t n, double mean)
{
    if (!(mean > 0 && mean < 400000))
        return g ? RAND_OUT_OF_RANGE : RAND_NOT_INITIALIZED;
    return draw(g, (struct rand_draw){.shape = RAND_POISSON, .a = mean}, out, n);
}

CALL(curandGeneratePoissonMethod, struct rand_generator *g, unsigned *out, size_t n, double mean,
     int method)
{
    (void)method;
    return curandGeneratePoisson(g, out, n, mean);
}
