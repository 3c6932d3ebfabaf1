/* cuSOLVER's factorisations and solves of dense matrices whose calls are named by the type of the
 * numbers (S, D, C, Z). */
#include "shims/cusolver/shim_cusolver.h"

#include <math.h>

typedef const struct solver_handle *handle;

enum { WORK = 64, PIVOTS = 16384 };

static int size(handle h, int rows, int columns, int *out)
{
    if (!h || !out || rows < 0 || columns < 0)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    *out = WORK * (rows > columns ? rows : columns) + 1024;
    return SOLVER_SUCCESS;
}

/* Writes pivots that exchange no rows: programs use pivots as indices. */
static void give_pivots(int *pivots, int n)
{
    for (int i = 0; pivots && i < n && i < PIVOTS; i++)
        pivots[i] = i + 1;
}

static double cube(double n)
{
    return n * n * n;
}

static int solve(handle h, const char *name, int n, int columns, double flops, struct solver_type t,
                 int *info)
{
    (void)n;
    if (!h)
        return SOLVER_NOT_INITIALIZED;
    return solver_blocked(h, name, "trsm_kernel", fmin(n, 64), flops * columns, t, info);
}

#define NEED(h, right)                                                                             \
    if (!(h) || !(right))                                                                          \
    return (h) ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED

#define CHOLESKY(T, type)                                                                          \
    CALL(cusolverDn##T##potrf_bufferSize, handle h, int uplo, int n, type *a, int lda, int *out)   \
    {                                                                                              \
        (void)uplo, (void)a, (void)lda;                                                            \
        return size(h, n, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T##potrf, handle h, int uplo, int n, type *a, int lda, type *work, int room,  \
         int *info)                                                                                \
    {                                                                                              \
        (void)uplo, (void)work, (void)room;                                                        \
        NEED(h, a &&lda >= n);                                                                     \
        return solver_blocked(h, "potrf_panel_kernel", "syrk_kernel", n, cube(n) / 3,              \
                              SOLVER_TYPE(type), info);                                            \
    }                                                                                              \
    CALL(cusolverDn##T##potrs, handle h, int uplo, int n, int columns, const type *a, int lda,     \
         type *b, int ldb, int *info)                                                              \
    {                                                                                              \
        (void)uplo, (void)lda, (void)ldb;                                                          \
        NEED(h, a &&b);                                                                            \
        return solve(h, "potrs_kernel", n, columns, 2.0 * n * n, SOLVER_TYPE(type), info);         \
    }                                                                                              \
    CALL(cusolverDn##T##potrfBatched, handle h, int uplo, int n, type **a, int lda, int *info,     \
         int batch)                                                                                \
    {                                                                                              \
        (void)uplo, (void)lda;                                                                     \
        NEED(h, a);                                                                                \
        return solver_batched(h, "potrf_batched_kernel", n, cube(n) / 3, SOLVER_TYPE(type), info,  \
                              batch);                                                              \
    }                                                                                              \
    CALL(cusolverDn##T##potrsBatched, handle h, int uplo, int n, int columns, type **a, int lda,   \
         type **b, int ldb, int *info, int batch)                                                  \
    {                                                                                              \
        (void)uplo, (void)lda, (void)ldb;                                                          \
        NEED(h, a &&b);                                                                            \
        return solver_batched(h, "potrs_batched_kernel", n, 2.0 * n * n * columns,                 \
                              SOLVER_TYPE(type), info ? info : NULL, batch);                       \
    }
CHOLESKY(S, float)
CHOLESKY(D, double)
CHOLESKY(C, float complex)
CHOLESKY(Z, double complex)

#define LU(T, type)                                                                                \
    CALL(cusolverDn##T##getrf_bufferSize, handle h, int m, int n, type *a, int lda, int *out)      \
    {                                                                                              \
        (void)a, (void)lda;                                                                        \
        return size(h, m, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T##getrf, handle h, int m, int n, type *a, int lda, type *work, int *pivots,  \
         int *info)                                                                                \
    {                                                                                              \
        (void)work;                                                                                \
        NEED(h, a &&lda >= m);                                                                     \
        give_pivots(pivots, m < n ? m : n);                                                        \
        return solver_blocked(h, "getrf_panel_kernel", "getrf_update_kernel", fmin(m, n),          \
                              2.0 / 3 * fmax(m, n) * fmin(m, n) * fmin(m, n), SOLVER_TYPE(type),   \
                              info);                                                               \
    }                                                                                              \
    CALL(cusolverDn##T##getrs, handle h, int trans, int n, int columns, const type *a, int lda,    \
         const int *pivots, type *b, int ldb, int *info)                                           \
    {                                                                                              \
        (void)trans, (void)lda, (void)pivots, (void)ldb;                                           \
        NEED(h, a &&b);                                                                            \
        return solve(h, "getrs_kernel", n, columns, 2.0 * n * n, SOLVER_TYPE(type), info);         \
    }                                                                                              \
    CALL(cusolverDn##T##sytrf_bufferSize, handle h, int n, type *a, int lda, int *out)             \
    {                                                                                              \
        (void)a, (void)lda;                                                                        \
        return size(h, n, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T##sytrf, handle h, int uplo, int n, type *a, int lda, int *pivots,           \
         type *work, int room, int *info)                                                          \
    {                                                                                              \
        (void)uplo, (void)work, (void)room;                                                        \
        NEED(h, a &&lda >= n);                                                                     \
        give_pivots(pivots, n);                                                                    \
        return solver_blocked(h, "sytrf_panel_kernel", "syrk_kernel", n, cube(n) / 3,              \
                              SOLVER_TYPE(type), info);                                            \
    }
LU(S, float)
LU(D, double)
LU(C, float complex)
LU(Z, double complex)

/* The calls for the orthogonal factor are named "or" for real matrices and "un" for complex
 * ones. */
#define QR(T, type, or)                                                                            \
    CALL(cusolverDn##T##geqrf_bufferSize, handle h, int m, int n, type *a, int lda, int *out)      \
    {                                                                                              \
        (void)a, (void)lda;                                                                        \
        return size(h, m, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T##geqrf, handle h, int m, int n, type *a, int lda, type *tau, type *work,    \
         int room, int *info)                                                                      \
    {                                                                                              \
        (void)tau, (void)work, (void)room;                                                         \
        NEED(h, a &&lda >= m);                                                                     \
        return solver_blocked(h, "geqrf_panel_kernel", "larfb_kernel", fmin(m, n),                 \
                              4.0 / 3 * fmax(m, n) * fmin(m, n) * fmin(m, n), SOLVER_TYPE(type),   \
                              info);                                                               \
    }                                                                                              \
    CALL(cusolverDn##T## or ##gqr_bufferSize, handle h, int m, int n, int k, const type *a,        \
         int lda, const type *tau, int *out)                                                       \
    {                                                                                              \
        (void)k, (void)a, (void)lda, (void)tau;                                                    \
        return size(h, m, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T## or ##gqr, handle h, int m, int n, int k, type *a, int lda,                \
         const type *tau, type *work, int room, int *info)                                         \
    {                                                                                              \
        (void)lda, (void)tau, (void)work, (void)room;                                              \
        NEED(h, a);                                                                                \
        return solver_blocked(h, "orgqr_panel_kernel", "larfb_kernel", k, 4.0 / 3 * m * n * k,     \
                              SOLVER_TYPE(type), info);                                            \
    }                                                                                              \
    CALL(cusolverDn##T## or ##mqr_bufferSize, handle h, int side, int trans, int m, int n, int k,  \
         const type *a, int lda, const type *tau, const type *c, int ldc, int *out)                \
    {                                                                                              \
        (void)side, (void)trans, (void)k, (void)a, (void)lda, (void)tau, (void)c, (void)ldc;       \
        return size(h, m, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T## or ##mqr, handle h, int side, int trans, int m, int n, int k,             \
         const type *a, int lda, const type *tau, type *c, int ldc, type *work, int room,          \
         int *info)                                                                                \
    {                                                                                              \
        (void)side, (void)trans, (void)lda, (void)tau, (void)ldc, (void)work, (void)room;          \
        NEED(h, a &&c);                                                                            \
        return solver_blocked(h, "larft_kernel", "larfb_kernel", k, 4.0 * m * n * k,               \
                              SOLVER_TYPE(type), info);                                            \
    }
QR(S, float, or)
QR(D, double, or)
QR(C, float complex, un)
QR(Z, double complex, un)
