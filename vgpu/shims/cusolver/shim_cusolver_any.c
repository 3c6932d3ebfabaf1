/* cuSOLVER's calls that take the type of the numbers as an argument and sizes as 64-bit numbers. */
#include "shims/cusolver/shim_cusolver.h"

#include <limits.h>
#include <math.h>

typedef const struct solver_handle *handle;

static int size(handle h, int64_t columns, int type, size_t *device, size_t *host)
{
    if (!h || !device || !host)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    *device = (size_t)(64 * (double)columns * solver_type_of(type).bytes) + 1024;
    *host = 0;
    return SOLVER_SUCCESS;
}

#define BUFFERS        void *device, size_t device_bytes, void *host, size_t host_bytes
#define UNUSED_BUFFERS (void)device, (void)device_bytes, (void)host, (void)host_bytes

CALL(cusolverDnXpotrf_bufferSize, handle h, void *p, int uplo, int64_t n, int type, const void *a,
     int64_t lda, int compute, size_t *device, size_t *host)
{
    (void)p, (void)uplo, (void)a, (void)lda, (void)compute;
    return size(h, n, type, device, host);
}

CALL(cusolverDnXpotrf, handle h, void *p, int uplo, int64_t n, int type, void *a, int64_t lda,
     int compute, BUFFERS, int *info)
{
    (void)p, (void)uplo, (void)lda, (void)compute, UNUSED_BUFFERS;
    if (!h || !a)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    double size_of = (double)n;
    return solver_blocked(h, "potrf_panel_kernel", "syrk_kernel", size_of, pow(size_of, 3) / 3,
                          solver_type_of(type), info);
}

CALL(cusolverDnXpotrs, handle h, void *p, int uplo, int64_t n, int64_t columns, int type,
     const void *a, int64_t lda, int b_type, void *b, int64_t ldb, int *info)
{
    (void)p, (void)uplo, (void)lda, (void)b_type, (void)ldb;
    if (!h || !a || !b)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    return solver_blocked(h, "potrs_kernel", "trsm_kernel", fmin((double)n, 64),
                          2.0 * (double)n * (double)n * (double)columns, solver_type_of(type),
                          info);
}

CALL(cusolverDnXgetrf_bufferSize, handle h, void *p, int64_t m, int64_t n, int type, const void *a,
     int64_t lda, int compute, size_t *device, size_t *host)
{
    (void)p, (void)a, (void)lda, (void)compute;
    return size(h, m > n ? m : n, type, device, host);
}

CALL(cusolverDnXgetrf, handle h, void *p, int64_t m, int64_t n, int type, void *a, int64_t lda,
     int64_t *pivots, int compute, BUFFERS, int *info)
{
    (void)p, (void)lda, (void)compute, UNUSED_BUFFERS;
    if (!h || !a)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    double few = fmin((double)m, (double)n), many = fmax((double)m, (double)n);
    for (int64_t i = 0; pivots && i < (int64_t)few && i < 8192; i++)
        pivots[i] = i + 1; /* no rows are exchanged */
    return solver_blocked(h, "getrf_panel_kernel", "getrf_update_kernel", few,
                          2.0 / 3 * many * few * few, solver_type_of(type), info);
}

CALL(cusolverDnXgetrs, handle h, void *p, int trans, int64_t n, int64_t columns, int type,
     const void *a, int64_t lda, const int64_t *pivots, int b_type, void *b, int64_t ldb, int *info)
{
    (void)p, (void)trans, (void)lda, (void)pivots, (void)b_type, (void)ldb;
    if (!h || !a || !b)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    return solver_blocked(h, "getrs_kernel", "trsm_kernel", fmin((double)n, 64),
                          2.0 * (double)n * (double)n * (double)columns, solver_type_of(type),
                          info);
}

CALL(cusolverDnXgeqrf_bufferSize, handle h, void *p, int64_t m, int64_t n, int type, const void *a,
     int64_t lda, int tau_type, const void *tau, int compute, size_t *device, size_t *host)
{
    (void)p, (void)a, (void)lda, (void)tau_type, (void)tau, (void)compute;
    return size(h, m > n ? m : n, type, device, host);
}

CALL(cusolverDnXgeqrf, handle h, void *p, int64_t m, int64_t n, int type, void *a, int64_t lda,
     int tau_type, void *tau, int compute, BUFFERS, int *info)
{
    (void)p, (void)lda, (void)tau_type, (void)tau, (void)compute, UNUSED_BUFFERS;
    if (!h || !a)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    double few = fmin((double)m, (double)n), many = fmax((double)m, (double)n);
    return solver_blocked(h, "geqrf_panel_kernel", "larfb_kernel", few, 4.0 / 3 * many * few * few,
                          solver_type_of(type), info);
}

CALL(cusolverDnXsyevd_bufferSize, handle h, void *p, int vectors, int uplo, int64_t n, int type,
     const void *a, int64_t lda, int w_type, const void *w, int compute, size_t *device,
     size_t *host)
{
    (void)p, (void)vectors, (void)uplo, (void)a, (void)lda, (void)w_type, (void)w, (void)compute;
    return size(h, n, type, device, host);
}

CALL(cusolverDnXsyevd, handle h, void *p, int vectors, int uplo, int64_t n, int type, void *a,
     int64_t lda, int w_type, void *w, int compute, BUFFERS, int *info)
{
    (void)p, (void)uplo, (void)lda, (void)w_type, (void)compute, UNUSED_BUFFERS;
    if (!h || !a || !w)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    double flops = (vectors ? 9 : 4.0 / 3) * pow((double)n, 3);
    return solver_blocked(h, "latrd_kernel", "syr2k_kernel", (double)n, flops, solver_type_of(type),
                          info);
}

CALL(cusolverDnXsyevBatched_bufferSize, handle h, void *p, int vectors, int uplo, int64_t n,
     int type, const void *a, int64_t lda, int w_type, const void *w, int compute, size_t *device,
     size_t *host, int64_t batch)
{
    (void)p, (void)vectors, (void)uplo, (void)a, (void)lda, (void)w_type, (void)w, (void)compute;
    return size(h, n * (batch > 0 ? batch : 1), type, device, host);
}

CALL(cusolverDnXsyevBatched, handle h, void *p, int vectors, int uplo, int64_t n, int type, void *a,
     int64_t lda, int w_type, void *w, int compute, BUFFERS, int *info, int64_t batch)
{
    (void)p, (void)uplo, (void)lda, (void)w_type, (void)compute, UNUSED_BUFFERS;
    if (!h || !a || !w || batch < 0 || batch > INT_MAX)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    double flops = (vectors ? 9 : 4.0 / 3) * pow((double)n, 3);
    return solver_batched(h, "syev_batched_kernel", (double)n, flops, solver_type_of(type), info,
                          (int)batch);
}

CALL(cusolverDnXgeev_bufferSize, handle h, void *p, int left, int right, int64_t n, int type,
     const void *a, int64_t lda, int w_type, const void *w, int vl_type, const void *vl,
     int64_t ldvl, int vr_type, const void *vr, int64_t ldvr, int compute, size_t *device,
     size_t *host)
{
    (void)p, (void)left, (void)right, (void)a, (void)lda, (void)w_type, (void)w, (void)vl_type;
    (void)vl, (void)ldvl, (void)vr_type, (void)vr, (void)ldvr, (void)compute;
    return size(h, n, type, device, host);
}

/* 10 n^3 operations for the eigenvalues of a matrix without symmetry, 25 n^3 with the eigenvectors
 * (Golub and Van Loan, "Matrix Computations", 7.5). */
CALL(cusolverDnXgeev, handle h, void *p, int left, int right, int64_t n, int type, void *a,
     int64_t lda, int w_type, void *w, int vl_type, void *vl, int64_t ldvl, int vr_type, void *vr,
     int64_t ldvr, int compute, BUFFERS, int *info)
{
    (void)p, (void)lda, (void)w_type, (void)vl_type, (void)vl, (void)ldvl, (void)vr_type, (void)vr;
    (void)ldvr, (void)compute, UNUSED_BUFFERS;
    if (!h || !a || !w)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    double flops = (left || right ? 25 : 10) * pow((double)n, 3);
    return solver_blocked(h, "gehrd_panel_kernel", "hqr_update_kernel", (double)n, flops,
                          solver_type_of(type), info);
}

CALL(cusolverDnXsytrs_bufferSize, handle h, int uplo, int64_t n, int64_t columns, int type,
     const void *a, int64_t lda, const int64_t *pivots, int b_type, void *b, int64_t ldb,
     size_t *device, size_t *host)
{
    (void)uplo, (void)columns, (void)a, (void)lda, (void)pivots, (void)b_type, (void)b, (void)ldb;
    return size(h, n, type, device, host);
}

CALL(cusolverDnXsytrs, handle h, int uplo, int64_t n, int64_t columns, int type, const void *a,
     int64_t lda, const int64_t *pivots, int b_type, void *b, int64_t ldb, BUFFERS, int *info)
{
    (void)uplo, (void)lda, (void)pivots, (void)b_type, (void)ldb, UNUSED_BUFFERS;
    if (!h || !a || !b)
        return h ? SOLVER_INVALID_VALUE : SOLVER_NOT_INITIALIZED;
    return solver_blocked(h, "sytrs_kernel", "trsm_kernel", fmin((double)n, 64),
                          2.0 * (double)n * (double)n * (double)columns, solver_type_of(type),
                          info);
}
