/* cusolverRf: factors a matrix again whose pattern was factored before. The pattern is what the
 * program hands over: each element of the factors takes part in as many products as their rows have
 * elements on average. */
#include "shims/cusolver/shim_cusolver.h"

#include <stdlib.h>

struct rf { /* a cusolverRfHandle_t */
    struct solver_handle on;
    int n, batch;
    double elements; /* of both factors */
    int format, diagonal, factorization, solve, fast;
    double zero, boost;
    bool ready;
};
enum { TRIANGULAR_SOLVE_1 = 1 };

static const struct solver_type real_double = {8, false, true};

CALL(cusolverRfCreate, struct rf **out)
{
    if (!out)
        return SOLVER_INVALID_VALUE;
    *out = vg_start() == 0 ? calloc(1, sizeof **out) : NULL;
    if (*out)
        (*out)->solve = TRIANGULAR_SOLVE_1;
    return *out ? SOLVER_SUCCESS : SOLVER_ALLOC_FAILED;
}

CALL(cusolverRfDestroy, struct rf *rf)
{
    free(rf);
    return rf ? SOLVER_SUCCESS : SOLVER_NOT_INITIALIZED;
}

static int given(const struct rf *rf, const void *a, const void *b)
{
    return !rf ? SOLVER_NOT_INITIALIZED : a && b ? SOLVER_SUCCESS : SOLVER_INVALID_VALUE;
}

#define PAIR(name, type, first, second)                                                            \
    CALL(cusolverRfSet##name, struct rf *rf, type a, type b)                                       \
    {                                                                                              \
        if (!rf)                                                                                   \
            return SOLVER_NOT_INITIALIZED;                                                         \
        rf->first = a;                                                                             \
        rf->second = b;                                                                            \
        return SOLVER_SUCCESS;                                                                     \
    }                                                                                              \
    CALL(cusolverRfGet##name, const struct rf *rf, type *a, type *b)                               \
    {                                                                                              \
        int bad = given(rf, a, b);                                                                 \
        if (!bad) {                                                                                \
            *a = rf->first;                                                                        \
            *b = rf->second;                                                                       \
        }                                                                                          \
        return bad;                                                                                \
    }
PAIR(MatrixFormat, int, format, diagonal)
PAIR(NumericProperties, double, zero, boost)
PAIR(Algs, int, factorization, solve)

CALL(cusolverRfSetResetValuesFastMode, struct rf *rf, int fast)
{
    if (!rf)
        return SOLVER_NOT_INITIALIZED;
    rf->fast = fast;
    return SOLVER_SUCCESS;
}

CALL(cusolverRfGetResetValuesFastMode, const struct rf *rf, int *fast)
{
    int bad = given(rf, fast, fast);
    if (!bad)
        *fast = rf->fast;
    return bad;
}

CALL(cusolverRfGetNumericBoostReport, const struct rf *rf, int *used)
{
    int bad = given(rf, used, used);
    if (!bad)
        *used = 0;
    return bad;
}

static int set_up(struct rf *rf, int batch, int n, int lower, int upper)
{
    if (!rf || n < 1 || batch < 1 || lower < 0 || upper < 0)
        return rf ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    rf->n = n;
    rf->batch = batch;
    rf->elements = (double)lower + upper;
    rf->ready = true;
    return SOLVER_SUCCESS;
}

#define UNUSED  __attribute__((unused))
#define INDICES const int *UNUSED, const int *UNUSED
#define FACTORS                                                                                    \
    int lower, INDICES, const double *UNUSED, int upper, INDICES, const double *UNUSED, INDICES

CALL(cusolverRfSetupHost, int n, int nnz UNUSED, INDICES, const double *a UNUSED, FACTORS,
     struct rf *rf)
{
    return set_up(rf, 1, n, lower, upper);
}

CALL(cusolverRfSetupDevice, int n, int nnz UNUSED, INDICES, const double *a UNUSED, FACTORS,
     struct rf *rf)
{
    return set_up(rf, 1, n, lower, upper);
}

CALL(cusolverRfBatchSetupHost, int batch, int n, int nnz UNUSED, INDICES, double *const *a UNUSED,
     FACTORS, struct rf *rf)
{
    return set_up(rf, batch, n, lower, upper);
}

static int launch(const struct rf *rf, const char *panel, const char *update, double flops)
{
    if (!rf || !rf->ready)
        return rf ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    return solver_blocked(&rf->on, panel, update, rf->n, flops * rf->batch, real_double, NULL);
}

static int reset(const struct rf *rf)
{
    if (!rf || !rf->ready)
        return rf ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    return solver_batched(&rf->on, "rf_reset_values_kernel", 1, rf->elements, real_double, NULL,
                          rf->batch);
}

static int refactor(const struct rf *rf)
{
    double row = rf && rf->n > 0 ? rf->elements / rf->n : 0;
    return launch(rf, "rf_factor_level_kernel", "rf_factor_update_kernel",
                  rf ? row * rf->elements : 0);
}

static int solve(const struct rf *rf, int columns)
{
    return launch(rf, "rf_solve_level_kernel", "rf_solve_update_kernel",
                  rf ? 2 * rf->elements * columns : 0);
}

CALL(cusolverRfResetValues, int n UNUSED, int nnz UNUSED, INDICES, const double *a UNUSED, INDICES,
     const struct rf *rf)
{
    return reset(rf);
}

CALL(cusolverRfBatchResetValues, int batch UNUSED, int n UNUSED, int nnz UNUSED, INDICES,
     double *const *a UNUSED, INDICES, const struct rf *rf)
{
    return reset(rf);
}

#define BOTH(name, call)                                                                           \
    CALL(cusolverRf##name, const struct rf *rf)                                                    \
    {                                                                                              \
        return call;                                                                               \
    }                                                                                              \
    CALL(cusolverRfBatch##name, const struct rf *rf)                                               \
    {                                                                                              \
        return call;                                                                               \
    }
BOTH(Analyze, reset(rf))
BOTH(Refactor, refactor(rf))

CALL(cusolverRfSolve, const struct rf *rf, INDICES, int columns, double *temporary, int leading,
     double *x, int x_leading)
{
    if (columns < 1 || !temporary || !x || leading < 1 || x_leading < 1)
        return SOLVER_INVALID_VALUE;
    return solve(rf, columns);
}

CALL(cusolverRfBatchSolve, const struct rf *rf, INDICES, int columns, double *temporary,
     int leading, double *const *x, int x_leading)
{
    if (columns < 1 || !temporary || !x || leading < 1 || x_leading < 1)
        return SOLVER_INVALID_VALUE;
    return solve(rf, columns);
}

CALL(cusolverRfBatchZeroPivot, const struct rf *rf, int *position)
{
    int bad = given(rf, position, position);
    for (int i = 0; !bad && i < rf->batch; i++)
        position[i] = -1; /* none is 0 */
    return bad;
}
