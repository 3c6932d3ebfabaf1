/* cuBLAS's factorisations, triangular solves, and the products that have a symmetric or triangular
 * factor. Their times are guesses: those of products with as many operations, the factorisations
 * four times as long, because their columns depend on one another. Factorisations report success
 * (info 0). */
#include "reference_workloads/vgpu/shims/cublas/shim_cublas.h"

enum { FACTOR_SLOWER = 4, PIVOTS = 4 << 20 };

static int64_t at_least_one(int64_t n)
{
    return n > 0 ? n : 1;
}

/* A kernel that takes as long as a product of m x n x k, `times` over. */
static cublasStatus_t like_product(cublasHandle_t h, const char *name, enum vg_dtype type,
                                   int64_t m, int64_t n, int64_t k, int64_t batch, int times)
{
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0 || k < 0 || batch < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (m == 0 || n == 0 || batch == 0)
        return CUBLAS_STATUS_SUCCESS;
    const struct vg_profile *p = cublas_profile(h);
    struct vg_kernel kernel = {.name = name,
                               .grid = {(unsigned)((m + 63) / 64), (unsigned)((n + 63) / 64), 1},
                               .block = {128, 1, 1},
                               .registers = 64,
                               .duration_ns =
                                   times * vg_cost_gemm(p, type, m, n, at_least_one(k), batch, 1)};
    return cublas_status(vg_library_launch((struct vg_stream *)h->stream, &kernel));
}

static cublasStatus_t sweep(cublasHandle_t h, const char *name, double bytes)
{
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (bytes <= 0)
        return CUBLAS_STATUS_SUCCESS;
    const struct vg_profile *p = cublas_profile(h);
    struct vg_kernel k = {.name = name,
                          .grid = {(unsigned)(bytes / 4096) + 1, 1, 1},
                          .block = {128, 1, 1},
                          .registers = 24,
                          .duration_ns = vg_cost_memory(p, bytes, 1, p->pointwise_eff)};
    return cublas_status(vg_library_launch((struct vg_stream *)h->stream, &k));
}

static cublasStatus_t with_info(cublasStatus_t status, int *info)
{
    if (info && status == CUBLAS_STATUS_SUCCESS)
        *info = 0;
    return status;
}

/* No row changes its place: programs take pivots for indices. */
static void fill_pivots(int *pivots, int n, int batch)
{
    if (!pivots || (size_t)n * (size_t)batch > PIVOTS)
        return;
    for (int b = 0; b < batch; b++)
        for (int i = 0; i < n; i++)
            pivots[b * n + i] = i + 1;
    vg_library_wrote(pivots, (size_t)n * (size_t)batch * sizeof *pivots);
}

#define BATCHED(S, type, T)                                                                        \
    cublasStatus_t cublas##S##getrfBatched(cublasHandle_t h, int n, type *const a[], int lda,      \
                                           int *pivots, int *info, int batch)                      \
    {                                                                                              \
        (void)a, (void)lda, (void)info;                                                            \
        fill_pivots(pivots, n, batch);                                                             \
        return like_product(h, "getrf_batched", T, n, n, n / 3, batch, FACTOR_SLOWER);             \
    }                                                                                              \
    cublasStatus_t cublas##S##getriBatched(cublasHandle_t h, int n, const type *const a[],         \
                                           int lda, const int *pivots, type *const c[], int ldc,   \
                                           int *info, int batch)                                   \
    {                                                                                              \
        (void)a, (void)lda, (void)pivots, (void)c, (void)ldc, (void)info;                          \
        return like_product(h, "getri_batched", T, n, n, 2 * (int64_t)n / 3, batch, 2);            \
    }                                                                                              \
    cublasStatus_t cublas##S##getrsBatched(                                                        \
        cublasHandle_t h, cublasOperation_t trans, int n, int nrhs, const type *const a[],         \
        int lda, const int *pivots, type *const b[], int ldb, int *info, int batch)                \
    {                                                                                              \
        (void)trans, (void)a, (void)lda, (void)pivots, (void)b, (void)ldb;                         \
        return with_info(like_product(h, "getrs_batched", T, n, nrhs, n, batch, 2), info);         \
    }                                                                                              \
    cublasStatus_t cublas##S##matinvBatched(cublasHandle_t h, int n, const type *const a[],        \
                                            int lda, type *const inv[], int ld_inv, int *info,     \
                                            int batch)                                             \
    {                                                                                              \
        (void)a, (void)lda, (void)inv, (void)ld_inv, (void)info;                                   \
        if (n > 32)                                                                                \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        return like_product(h, "matinv_batched", T, n, n, n, batch, FACTOR_SLOWER);                \
    }                                                                                              \
    cublasStatus_t cublas##S##geqrfBatched(cublasHandle_t h, int m, int n, type *const a[],        \
                                           int lda, type *const tau[], int *info, int batch)       \
    {                                                                                              \
        (void)a, (void)lda, (void)tau;                                                             \
        return with_info(                                                                          \
            like_product(h, "geqrf_batched", T, m, n, 2 * (int64_t)n / 3, batch, FACTOR_SLOWER),   \
            info);                                                                                 \
    }                                                                                              \
    cublasStatus_t cublas##S##gelsBatched(cublasHandle_t h, cublasOperation_t trans, int m, int n, \
                                          int nrhs, type *const a[], int lda, type *const c[],     \
                                          int ldc, int *info, int *dev_info, int batch)            \
    {                                                                                              \
        (void)trans, (void)a, (void)lda, (void)c, (void)ldc, (void)dev_info;                       \
        return with_info(like_product(h, "gels_batched", T, m, n + nrhs, n, batch, FACTOR_SLOWER), \
                         info);                                                                    \
    }                                                                                              \
    cublasStatus_t cublas##S##trsmBatched(                                                         \
        cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,   \
        cublasDiagType_t diag, int m, int n, const type *alpha, const type *const a[], int lda,    \
        type *const b[], int ldb, int batch)                                                       \
    {                                                                                              \
        (void)uplo, (void)trans, (void)diag, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb;  \
        int k = side == CUBLAS_SIDE_LEFT ? m : n;                                                  \
        return like_product(h, "trsm_batched", T, m, n, k / 2, batch, 2);                          \
    }

#define SINGLE(S, type, T)                                                                         \
    cublasStatus_t cublas##S##trsm_v2(cublasHandle_t h, cublasSideMode_t side,                     \
                                      cublasFillMode_t uplo, cublasOperation_t trans,              \
                                      cublasDiagType_t diag, int m, int n, const type *alpha,      \
                                      const type *a, int lda, type *b, int ldb)                    \
    {                                                                                              \
        (void)uplo, (void)trans, (void)diag, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb;  \
        return like_product(h, "trsm", T, m, n, (side == CUBLAS_SIDE_LEFT ? m : n) / 2, 1, 2);     \
    }                                                                                              \
    cublasStatus_t cublas##S##trmm_v2(                                                             \
        cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,   \
        cublasDiagType_t diag, int m, int n, const type *alpha, const type *a, int lda,            \
        const type *b, int ldb, type *c, int ldc)                                                  \
    {                                                                                              \
        (void)uplo, (void)trans, (void)diag, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb;  \
        (void)c, (void)ldc;                                                                        \
        return like_product(h, "trmm", T, m, n, (side == CUBLAS_SIDE_LEFT ? m : n) / 2, 1, 1);     \
    }                                                                                              \
    cublasStatus_t cublas##S##symm_v2(cublasHandle_t h, cublasSideMode_t side,                     \
                                      cublasFillMode_t uplo, int m, int n, const type *alpha,      \
                                      const type *a, int lda, const type *b, int ldb,              \
                                      const type *beta, type *c, int ldc)                          \
    {                                                                                              \
        (void)uplo, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb, (void)beta, (void)c;      \
        (void)ldc;                                                                                 \
        return like_product(h, "symm", T, m, n, side == CUBLAS_SIDE_LEFT ? m : n, 1, 1);           \
    }                                                                                              \
    cublasStatus_t cublas##S##syrk_v2(cublasHandle_t h, cublasFillMode_t uplo,                     \
                                      cublasOperation_t trans, int n, int k, const type *alpha,    \
                                      const type *a, int lda, const type *beta, type *c, int ldc)  \
    {                                                                                              \
        (void)uplo, (void)trans, (void)alpha, (void)a, (void)lda, (void)beta, (void)c, (void)ldc;  \
        return like_product(h, "syrk", T, n, n, k / 2, 1, 1);                                      \
    }                                                                                              \
    cublasStatus_t cublas##S##ger_v2(cublasHandle_t h, int m, int n, const type *alpha,            \
                                     const type *x, int incx, const type *y, int incy, type *a,    \
                                     int lda)                                                      \
    {                                                                                              \
        (void)alpha, (void)x, (void)incx, (void)y, (void)incy, (void)a, (void)lda;                 \
        return sweep(h, "ger_kernel", 2.0 * m * n * (double)sizeof(type));                         \
    }                                                                                              \
    cublasStatus_t cublas##S##syr_v2(cublasHandle_t h, cublasFillMode_t uplo, int n,               \
                                     const type *alpha, const type *x, int incx, type *a, int lda) \
    {                                                                                              \
        (void)uplo, (void)alpha, (void)x, (void)incx, (void)a, (void)lda;                          \
        return sweep(h, "syr_kernel", 1.0 * n * n * (double)sizeof(type));                         \
    }                                                                                              \
    cublasStatus_t cublas##S##symv_v2(cublasHandle_t h, cublasFillMode_t uplo, int n,              \
                                      const type *alpha, const type *a, int lda, const type *x,    \
                                      int incx, const type *beta, type *y, int incy)               \
    {                                                                                              \
        (void)uplo, (void)alpha, (void)a, (void)lda, (void)x, (void)incx, (void)beta, (void)y;     \
        (void)incy;                                                                                \
        return sweep(h, "symv_kernel", 1.0 * n * n * (double)sizeof(type));                        \
    }                                                                                              \
    cublasStatus_t cublas##S##trsv_v2(cublasHandle_t h, cublasFillMode_t uplo,                     \
                                      cublasOperation_t trans, cublasDiagType_t diag, int n,       \
                                      const type *a, int lda, type *x, int incx)                   \
    {                                                                                              \
        (void)uplo, (void)trans, (void)diag, (void)a, (void)lda, (void)x, (void)incx;              \
        return sweep(h, "trsv_kernel", 2.0 * n * n * (double)sizeof(type));                        \
    }                                                                                              \
    cublasStatus_t cublas##S##geam(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,   \
                                   int m, int n, const type *alpha, const type *a, int lda,        \
                                   const type *beta, const type *b, int ldb, type *c, int ldc)     \
    {                                                                                              \
        (void)ta, (void)tb, (void)alpha, (void)a, (void)lda, (void)beta, (void)b, (void)ldb;       \
        (void)c, (void)ldc;                                                                        \
        return sweep(h, "geam_kernel", 3.0 * m * n * (double)sizeof(type));                        \
    }                                                                                              \
    cublasStatus_t cublas##S##dgmm(cublasHandle_t h, cublasSideMode_t side, int m, int n,          \
                                   const type *a, int lda, const type *x, int incx, type *c,       \
                                   int ldc)                                                        \
    {                                                                                              \
        (void)side, (void)a, (void)lda, (void)x, (void)incx, (void)c, (void)ldc;                   \
        return sweep(h, "dgmm_kernel", 2.0 * m * n * (double)sizeof(type));                        \
    }                                                                                              \
    cublasStatus_t cublas##S##swap_v2(cublasHandle_t h, int n, type *x, int incx, type *y,         \
                                      int incy)                                                    \
    {                                                                                              \
        (void)x, (void)incx, (void)y, (void)incy;                                                  \
        return sweep(h, "swap_kernel", 4.0 * n * (double)sizeof(type));                            \
    }

BATCHED(S, float, VG_F32)
BATCHED(D, double, VG_F64)
SINGLE(S, float, VG_F32)
SINGLE(D, double, VG_F64)
