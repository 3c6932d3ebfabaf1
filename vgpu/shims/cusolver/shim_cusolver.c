/* cuSOLVER's handles and versions, and the kernels of a factorisation. */
#include "shims/cusolver/shim_cusolver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 12000, PANEL = 64, MOST_PANELS = 256 };

CALL(cusolverDnCreate, struct solver_handle **out)
{
    if (!out)
        return SOLVER_INVALID_VALUE;
    if (vg_start() != 0)
        return SOLVER_NOT_INITIALIZED;
    *out = calloc(1, sizeof **out);
    return *out ? SOLVER_SUCCESS : SOLVER_ALLOC_FAILED;
}

CALL(cusolverDnDestroy, struct solver_handle *h)
{
    free(h);
    return h ? SOLVER_SUCCESS : SOLVER_NOT_INITIALIZED;
}

CALL(cusolverDnSetStream, struct solver_handle *h, struct vg_stream *stream)
{
    if (!h)
        return SOLVER_NOT_INITIALIZED;
    h->stream = stream;
    return SOLVER_SUCCESS;
}

CALL(cusolverDnGetStream, struct solver_handle *h, struct vg_stream **stream)
{
    if (!h || !stream)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    *stream = h->stream;
    return SOLVER_SUCCESS;
}

CALL(cusolverGetVersion, int *version)
{
    if (!version)
        return SOLVER_INVALID_VALUE;
    *version = VERSION;
    return SOLVER_SUCCESS;
}

CALL(cusolverGetProperty, int which, int *value)
{
    if (!value || which < 0 || which > 2)
        return SOLVER_INVALID_VALUE;
    *value = which == 0 ? VERSION / 1000 : which == 1 ? VERSION / 100 % 10 : VERSION % 100;
    return SOLVER_SUCCESS;
}

/* Parameter objects of iterative methods and of the calls for all types. The shim stores nothing in
 * them. */
#define PARAMETERS(create, destroy)                                                                \
    CALL(create, void **out)                                                                       \
    {                                                                                              \
        *out = malloc(1);                                                                          \
        return *out ? SOLVER_SUCCESS : SOLVER_ALLOC_FAILED;                                        \
    }                                                                                              \
    CALL(destroy, void *p)                                                                         \
    {                                                                                              \
        free(p);                                                                                   \
        return SOLVER_SUCCESS;                                                                     \
    }
PARAMETERS(cusolverDnCreateParams, cusolverDnDestroyParams)
PARAMETERS(cusolverDnCreateGesvdjInfo, cusolverDnDestroyGesvdjInfo)
PARAMETERS(cusolverDnCreateSyevjInfo, cusolverDnDestroySyevjInfo)

#define SET(name, type)                                                                            \
    CALL(name, void *p, type value)                                                                \
    {                                                                                              \
        (void)value;                                                                               \
        return p ? SOLVER_SUCCESS : SOLVER_INVALID_VALUE;                                          \
    }
SET(cusolverDnXgesvdjSetTolerance, double)
SET(cusolverDnXgesvdjSetMaxSweeps, int)
SET(cusolverDnXgesvdjSetSortEig, int)
SET(cusolverDnXsyevjSetTolerance, double)
SET(cusolverDnXsyevjSetMaxSweeps, int)
SET(cusolverDnXsyevjSetSortEig, int)

/* ---- the kernels of a factorisation: their times are guesses, no published source supports them
 * ---- */

struct solver_type solver_type_of(int data_type)
{
    bool wide = data_type == 1 || data_type == 5, complex_one = data_type == 4 || data_type == 5;
    return (struct solver_type){(wide ? 8 : 4) * (complex_one ? 2 : 1), complex_one, wide};
}

static double arithmetic_ns(const struct vg_profile *p, double flops, struct solver_type t)
{
    double peak = t.wide ? p->fp64_flops : p->fp32_flops;
    return flops * (t.imaginary ? 4 : 1) / (0.5 * peak) * 1e9;
}

static int launch(const struct solver_handle *h, const char *name, double ns, double blocks)
{
    const struct vg_profile *p = vg_profile(vg_current_device());
    struct vg_kernel k = {.name = name,
                          .grid = {(unsigned)fmin(fmax(blocks, 1), 1 << 24), 1, 1},
                          .block = {256, 1, 1},
                          .smem_dynamic = 32768,
                          .registers = 96,
                          .duration_ns = (int64_t)fmax(ns, p->kernel_min_ns)};
    return vg_library_launch(h->stream, &k) == 0 ? SOLVER_SUCCESS : SOLVER_EXECUTION_FAILED;
}

int solver_blocked(const struct solver_handle *h, const char *panel, const char *update,
                   double columns, double flops, struct solver_type t, int *info)
{
    const struct vg_profile *p = vg_profile(vg_current_device());
    double panels = fmin(fmax(ceil(columns / PANEL), 1), MOST_PANELS);
    double each = columns / panels;
    int bad = SOLVER_SUCCESS;
    for (int i = 0; i < (int)panels && !bad; i++) {
        /* Share of the columns that is left: the update shrinks as its square. */
        double rest = 1 - (i + 0.5) / panels;
        bad = launch(h, panel, each * p->solver_column_ns, 1);
        if (!bad && i + 1 < (int)panels)
            bad = launch(h, update, 3 * rest * rest * arithmetic_ns(p, flops, t) / panels,
                         columns * rest / 32);
    }
    if (info)
        *info = 0;
    return bad;
}

int solver_batched(const struct solver_handle *h, const char *name, double columns, double flops,
                   struct solver_type t, int *info, int batch)
{
    const struct vg_profile *p = vg_profile(vg_current_device());
    double waves = ceil(batch / (double)p->sm_count);
    double ns = columns * p->solver_batch_column_ns * waves + arithmetic_ns(p, flops * batch, t);
    int bad = launch(h, name, ns, batch);
    if (info && batch > 0)
        memset(info, 0, sizeof *info * (size_t)batch);
    return bad;
}
