/* Eigenvalues and singular values of dense matrices: by reduction (syevd, gesvd) or by Jacobi
 * rotations (syevj, gesvdj). The number of sweeps of the rotations is a guess. */
#include "shims/cusolver/shim_cusolver.h"

#include <math.h>

typedef const struct solver_handle *handle;

enum { WORK = 64, SWEEPS = 8 };

static int size(handle h, int rows, int columns, int *out)
{
    if (!h || !out || rows < 0 || columns < 0)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    *out = WORK * (rows > columns ? rows : columns) + 1024;
    return SOLVER_SUCCESS;
}

/* Operations: those of the reduction alone, or with the vectors. */
static double eigen_flops(double n, int vectors)
{
    return (vectors ? 9 : 4.0 / 3) * n * n * n;
}

static double singular_flops(double m, double n, bool vectors)
{
    double few = fmin(m, n), many = fmax(m, n);
    return (vectors ? 14 : 4) * many * few * few;
}

#define NEED(h, right)                                                                             \
    if (!(h) || !(right))                                                                          \
    return (h) ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED

#define EIGEN(T, type, real, sy)                                                                   \
    CALL(cusolverDn##T##sy##evd_bufferSize, handle h, int vectors, int uplo, int n, const type *a, \
         int lda, const real *w, int *out)                                                         \
    {                                                                                              \
        (void)vectors, (void)uplo, (void)a, (void)lda, (void)w;                                    \
        return size(h, n, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T##sy##evd, handle h, int vectors, int uplo, int n, type *a, int lda,         \
         real *w, type *work, int room, int *info)                                                 \
    {                                                                                              \
        (void)uplo, (void)work, (void)room;                                                        \
        NEED(h, a &&w &&lda >= n);                                                                 \
        return solver_blocked(h, "latrd_kernel", "syr2k_kernel", n, eigen_flops(n, vectors),       \
                              SOLVER_TYPE(type), info);                                            \
    }                                                                                              \
    CALL(cusolverDn##T##sy##evj_bufferSize, handle h, int vectors, int uplo, int n, const type *a, \
         int lda, const real *w, int *out, void *parameters)                                       \
    {                                                                                              \
        (void)vectors, (void)uplo, (void)a, (void)lda, (void)w, (void)parameters;                  \
        return size(h, n, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T##sy##evj, handle h, int vectors, int uplo, int n, type *a, int lda,         \
         real *w, type *work, int room, int *info, void *parameters)                               \
    {                                                                                              \
        (void)vectors, (void)uplo, (void)work, (void)room, (void)parameters;                       \
        NEED(h, a &&w &&lda >= n);                                                                 \
        return solver_blocked(h, "jacobi_rotation_kernel", "jacobi_update_kernel",                 \
                              (double)SWEEPS * n, SWEEPS * 4.0 * n * n * n, SOLVER_TYPE(type),     \
                              info);                                                               \
    }                                                                                              \
    CALL(cusolverDn##T##sy##evjBatched_bufferSize, handle h, int vectors, int uplo, int n,         \
         const type *a, int lda, const real *w, int *out, void *parameters, int batch)             \
    {                                                                                              \
        (void)vectors, (void)uplo, (void)a, (void)lda, (void)w, (void)parameters, (void)batch;     \
        return size(h, n, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T##sy##evjBatched, handle h, int vectors, int uplo, int n, type *a, int lda,  \
         real *w, type *work, int room, int *info, void *parameters, int batch)                    \
    {                                                                                              \
        (void)vectors, (void)uplo, (void)work, (void)room, (void)parameters;                       \
        NEED(h, a &&w &&lda >= n);                                                                 \
        return solver_batched(h, "jacobi_batched_kernel", n, SWEEPS * 4.0 * n * n * n,             \
                              SOLVER_TYPE(type), info, batch);                                     \
    }
EIGEN(S, float, float, sy)
EIGEN(D, double, double, sy)
EIGEN(C, float complex, float, he)
EIGEN(Z, double complex, double, he)

#define SINGULAR(T, type, real)                                                                    \
    CALL(cusolverDn##T##gesvd_bufferSize, handle h, int m, int n, int *out)                        \
    {                                                                                              \
        return size(h, m, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T##gesvd, handle h, signed char left, signed char right, int m, int n,        \
         type *a, int lda, real *s, type *u, int ldu, type *vt, int ldvt, type *work, int room,    \
         real *more, int *info)                                                                    \
    {                                                                                              \
        (void)u, (void)ldu, (void)vt, (void)ldvt, (void)work, (void)room, (void)more;              \
        NEED(h, a &&s &&lda >= m);                                                                 \
        return solver_blocked(h, "gebrd_panel_kernel", "gebrd_update_kernel", fmin(m, n),          \
                              singular_flops(m, n, left != 'N' || right != 'N'),                   \
                              SOLVER_TYPE(type), info);                                            \
    }                                                                                              \
    CALL(cusolverDn##T##gesvdj_bufferSize, handle h, int vectors, int economy, int m, int n,       \
         const type *a, int lda, const real *s, const type *u, int ldu, const type *v, int ldv,    \
         int *out, void *parameters)                                                               \
    {                                                                                              \
        (void)vectors, (void)economy, (void)a, (void)lda, (void)s, (void)u, (void)ldu, (void)v;    \
        (void)ldv, (void)parameters;                                                               \
        return size(h, m, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T##gesvdj, handle h, int vectors, int economy, int m, int n, type *a,         \
         int lda, real *s, type *u, int ldu, type *v, int ldv, type *work, int room, int *info,    \
         void *parameters)                                                                         \
    {                                                                                              \
        (void)vectors, (void)economy, (void)u, (void)ldu, (void)v, (void)ldv, (void)work;          \
        (void)room, (void)parameters;                                                              \
        NEED(h, a &&s &&lda >= m);                                                                 \
        return solver_blocked(h, "jacobi_rotation_kernel", "jacobi_update_kernel",                 \
                              (double)SWEEPS * fmin(m, n), SWEEPS * singular_flops(m, n, false),   \
                              SOLVER_TYPE(type), info);                                            \
    }                                                                                              \
    CALL(cusolverDn##T##gesvdjBatched_bufferSize, handle h, int vectors, int m, int n,             \
         const type *a, int lda, const real *s, const type *u, int ldu, const type *v, int ldv,    \
         int *out, void *parameters, int batch)                                                    \
    {                                                                                              \
        (void)vectors, (void)a, (void)lda, (void)s, (void)u, (void)ldu, (void)v, (void)ldv;        \
        (void)parameters, (void)batch;                                                             \
        return size(h, m, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T##gesvdjBatched, handle h, int vectors, int m, int n, type *a, int lda,      \
         real *s, type *u, int ldu, type *v, int ldv, type *work, int room, int *info,             \
         void *parameters, int batch)                                                              \
    {                                                                                              \
        (void)vectors, (void)u, (void)ldu, (void)v, (void)ldv, (void)work, (void)room;             \
        (void)parameters;                                                                          \
        NEED(h, a &&s &&lda >= m);                                                                 \
        return solver_batched(h, "jacobi_batched_kernel", n, SWEEPS * singular_flops(m, n, false), \
                              SOLVER_TYPE(type), info, batch);                                     \
    }                                                                                              \
    CALL(cusolverDn##T##gesvdaStridedBatched_bufferSize, handle h, int vectors, int rank, int m,   \
         int n, const type *a, int lda, long long a_step, const real *s, long long s_step,         \
         const type *u, int ldu, long long u_step, const type *v, int ldv, long long v_step,       \
         int *out, int batch)                                                                      \
    {                                                                                              \
        (void)vectors, (void)rank, (void)a, (void)lda, (void)a_step, (void)s, (void)s_step;        \
        (void)u, (void)ldu, (void)u_step, (void)v, (void)ldv, (void)v_step, (void)batch;           \
        return size(h, m, n, out);                                                                 \
    }                                                                                              \
    CALL(cusolverDn##T##gesvdaStridedBatched, handle h, int vectors, int rank, int m, int n,       \
         const type *a, int lda, long long a_step, real *s, long long s_step, type *u, int ldu,    \
         long long u_step, type *v, int ldv, long long v_step, type *work, int room, int *info,    \
         double *residuals, int batch)                                                             \
    {                                                                                              \
        (void)rank, (void)a_step, (void)s_step, (void)u, (void)ldu, (void)u_step, (void)v;         \
        (void)ldv, (void)v_step, (void)work, (void)room;                                           \
        NEED(h, a &&s &&lda >= m);                                                                 \
        for (int i = 0; residuals && i < batch; i++)                                               \
            residuals[i] = 0;                                                                      \
        return solver_batched(h, "gesvda_batched_kernel", n, singular_flops(m, n, vectors != 0),   \
                              SOLVER_TYPE(type), info, batch);                                     \
    }
SINGULAR(S, float, float)
SINGULAR(D, double, double)
SINGULAR(C, float complex, float)
SINGULAR(Z, double complex, double)
