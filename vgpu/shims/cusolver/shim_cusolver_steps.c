/* Factorisations of sparse matrices in steps: analysis, size of the buffers, factor, solve. What
 * ends in Host the library computes on the processor; here nobody does. */
#include "shims/cusolver/shim_cusolver.h"

#include <stdlib.h>

typedef const struct solver_handle *handle;

struct steps_info { /* of the matrix that was analysed */
    int columns, nnz, base;
};

static int valid(handle h, const void *p)
{
    return h && p ? SOLVER_SUCCESS : h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
}

static int analysed(handle h, struct steps_info *info, int columns, int nnz)
{
    if (info)
        *info = (struct steps_info){.columns = columns, .nnz = nnz};
    return valid(h, info);
}

static int sizes(handle h, const struct steps_info *info, size_t each, size_t *kept, size_t *work)
{
    int bad = valid(h, info && kept ? work : NULL);
    if (!bad)
        *kept = *work = 1024 + (each + sizeof(int)) * (size_t)info->nnz * 4;
    return bad;
}

static int pivot(handle h, const struct steps_info *info, int *position)
{
    int bad = valid(h, info ? position : NULL);
    if (!bad)
        *position = -1; /* none is 0 */
    return bad;
}

static int factor(handle h, const struct steps_info *info, struct solver_type t)
{
    int bad = valid(h, info);
    double row = !bad && info->columns > 0 ? (double)info->nnz / info->columns : 0;
    return bad ? bad
               : solver_blocked(h, "csr_front_kernel", "csr_update_kernel", info->columns,
                                2 * row * row * info->nnz, t, NULL);
}

static int solve(handle h, const struct steps_info *info, struct solver_type t)
{
    int bad = valid(h, info);
    return bad ? bad
               : solver_blocked(h, "csr_solve_kernel", "csr_solve_update_kernel", info->columns,
                                8.0 * info->nnz, t, NULL);
}

#define INFO(method, where)                                                                        \
    CALL(cusolverSpCreateCsr##method##Info##where, struct steps_info **out)                        \
    {                                                                                              \
        if (!out)                                                                                  \
            return SOLVER_INVALID_VALUE;                                                           \
        *out = calloc(1, sizeof **out);                                                            \
        return *out ? SOLVER_SUCCESS : SOLVER_ALLOC_FAILED;                                        \
    }                                                                                              \
    CALL(cusolverSpDestroyCsr##method##Info##where, struct steps_info *info)                       \
    {                                                                                              \
        free(info);                                                                                \
        return SOLVER_SUCCESS;                                                                     \
    }
INFO(chol, )
INFO(chol, Host)
INFO(qr, )
INFO(qr, Host)

#define UNUSED __attribute__((unused))
#define MATRIX const void *a UNUSED, const int *rows UNUSED, const int *cols UNUSED
#define VALUES(type)                                                                               \
    const void *a UNUSED, const type *values UNUSED, const int *rows UNUSED, const int *cols UNUSED
#define BUFFER void *buffer UNUSED

#define ANALYSIS(where)                                                                            \
    CALL(cusolverSpXcsrcholAnalysis##where, handle h, int n, int nnz, MATRIX,                      \
         struct steps_info *info)                                                                  \
    {                                                                                              \
        return analysed(h, info, n, nnz);                                                          \
    }                                                                                              \
    CALL(cusolverSpXcsrqrAnalysis##where, handle h, int m UNUSED, int n, int nnz, MATRIX,          \
         struct steps_info *info)                                                                  \
    {                                                                                              \
        return analysed(h, info, n, nnz);                                                          \
    }
ANALYSIS()
ANALYSIS(Host)

/* `run`: what the call launches. */
#define CHOLESKY(letter, type, real, where, run)                                                   \
    CALL(cusolverSp##letter##csrcholBufferInfo##where, handle h, int n UNUSED, int nnz UNUSED,     \
         VALUES(type), struct steps_info *info, size_t *kept, size_t *work)                        \
    {                                                                                              \
        return sizes(h, info, sizeof(type), kept, work);                                           \
    }                                                                                              \
    CALL(cusolverSp##letter##csrcholFactor##where, handle h, int n UNUSED, int nnz UNUSED,         \
         VALUES(type), struct steps_info *info, BUFFER)                                            \
    {                                                                                              \
        return run(factor, SOLVER_TYPE(type));                                                     \
    }                                                                                              \
    CALL(cusolverSp##letter##csrcholSolve##where, handle h, int n UNUSED, const type *b UNUSED,    \
         type *x UNUSED, struct steps_info *info, BUFFER)                                          \
    {                                                                                              \
        return run(solve, SOLVER_TYPE(type));                                                      \
    }                                                                                              \
    CALL(cusolverSp##letter##csrcholZeroPivot##where, handle h, struct steps_info *info,           \
         real tolerance UNUSED, int *position)                                                     \
    {                                                                                              \
        return pivot(h, info, position);                                                           \
    }
#define QR(letter, type, real, where, run)                                                         \
    CALL(cusolverSp##letter##csrqrBufferInfo##where, handle h, int m UNUSED, int n UNUSED,         \
         int nnz UNUSED, VALUES(type), struct steps_info *info, size_t *kept, size_t *work)        \
    {                                                                                              \
        return sizes(h, info, sizeof(type), kept, work);                                           \
    }                                                                                              \
    CALL(cusolverSp##letter##csrqrSetup##where, handle h, int m UNUSED, int n UNUSED,              \
         int nnz UNUSED, VALUES(type), type mu UNUSED, struct steps_info *info)                    \
    {                                                                                              \
        return valid(h, info);                                                                     \
    }                                                                                              \
    CALL(cusolverSp##letter##csrqrFactor##where, handle h, int m UNUSED, int n UNUSED,             \
         int nnz UNUSED, type *b UNUSED, type *x UNUSED, struct steps_info *info, BUFFER)          \
    {                                                                                              \
        return run(factor, SOLVER_TYPE(type));                                                     \
    }                                                                                              \
    CALL(cusolverSp##letter##csrqrSolve##where, handle h, int m UNUSED, int n UNUSED,              \
         type *b UNUSED, type *x UNUSED, struct steps_info *info, BUFFER)                          \
    {                                                                                              \
        return run(solve, SOLVER_TYPE(type));                                                      \
    }                                                                                              \
    CALL(cusolverSp##letter##csrqrZeroPivot##where, handle h, struct steps_info *info,             \
         real tolerance UNUSED, int *position)                                                     \
    {                                                                                              \
        return pivot(h, info, position);                                                           \
    }
#define LAUNCHED(what, t)    what(h, info, t)
#define ON_THE_HOST(what, t) valid(h, info)
#define BOTH(method, letter, type, real)                                                           \
    method(letter, type, real, , LAUNCHED) method(letter, type, real, Host, ON_THE_HOST)
BOTH(CHOLESKY, S, float, float)
BOTH(CHOLESKY, D, double, double)
BOTH(CHOLESKY, C, float complex, float)
BOTH(CHOLESKY, Z, double complex, double)
BOTH(QR, S, float, float)
BOTH(QR, D, double, double)
BOTH(QR, C, float complex, float)
BOTH(QR, Z, double complex, double)

/* ---- LU, on the host alone: both factors are taken to be the unit matrix, the rows to stay ----
 */

INFO(lu, Host)

CALL(cusolverSpXcsrluAnalysisHost, handle h, int n, int nnz, const void *a UNUSED, const int *rows,
     const int *cols UNUSED, struct steps_info *info)
{
    int bad = analysed(h, info, n, nnz);
    if (!bad && rows && n > 0)
        info->base = rows[0];
    return bad;
}

CALL(cusolverSpXcsrluNnzHost, handle h, int *lower, int *upper, struct steps_info *info)
{
    int bad = valid(h, info && lower ? upper : NULL);
    if (!bad)
        *lower = *upper = info->columns;
    return bad;
}

static void unit_matrix(const struct steps_info *info, int *rows, int *cols)
{
    for (int i = 0; i < info->columns; i++)
        rows[i] = cols[i] = i + info->base;
    rows[info->columns] = info->columns + info->base;
}

static int extracted(handle h, const struct steps_info *info, int *const order[2],
                     int *const rows[2], int *const cols[2])
{
    for (int part = 0; part < 2; part++)
        if (!h || !info || !order[part] || !rows[part] || !cols[part])
            return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    for (int part = 0; part < 2; part++) {
        unit_matrix(info, rows[part], cols[part]);
        for (int i = 0; i < info->columns; i++)
            order[part][i] = i;
    }
    return SOLVER_SUCCESS;
}

#define LU(letter, type, real)                                                                     \
    CALL(cusolverSp##letter##csrluBufferInfoHost, handle h, int n UNUSED, int nnz UNUSED,          \
         VALUES(type), struct steps_info *info, size_t *kept, size_t *work)                        \
    {                                                                                              \
        return sizes(h, info, sizeof(type), kept, work);                                           \
    }                                                                                              \
    CALL(cusolverSp##letter##csrluFactorHost, handle h, int n UNUSED, int nnz UNUSED,              \
         VALUES(type), struct steps_info *info, real threshold UNUSED, BUFFER)                     \
    {                                                                                              \
        return valid(h, info);                                                                     \
    }                                                                                              \
    CALL(cusolverSp##letter##csrluZeroPivotHost, handle h, struct steps_info *info,                \
         real tolerance UNUSED, int *position)                                                     \
    {                                                                                              \
        return pivot(h, info, position);                                                           \
    }                                                                                              \
    CALL(cusolverSp##letter##csrluSolveHost, handle h, int n, const type *b, type *x,              \
         struct steps_info *info, BUFFER)                                                          \
    {                                                                                              \
        int bad = valid(h, info && b ? x : NULL);                                                  \
        for (int i = 0; !bad && i < n; i++)                                                        \
            x[i] = b[i];                                                                           \
        return bad;                                                                                \
    }                                                                                              \
    CALL(cusolverSp##letter##csrluExtractHost, handle h, int *p, int *q, const void *l UNUSED,     \
         type *l_values, int *l_rows, int *l_cols, const void *u UNUSED, type *u_values,           \
         int *u_rows, int *u_cols, struct steps_info *info, BUFFER)                                \
    {                                                                                              \
        int *const order[] = {p, q}, *const rows[] = {l_rows, u_rows};                             \
        int *const cols[] = {l_cols, u_cols};                                                      \
        int bad = extracted(h, info, order, rows, cols);                                           \
        for (int i = 0; !bad && l_values && u_values && i < info->columns; i++)                    \
            l_values[i] = u_values[i] = 1;                                                         \
        return bad;                                                                                \
    }
LU(S, float, float)
LU(D, double, double)
LU(C, float complex, float)
LU(Z, double complex, double)
