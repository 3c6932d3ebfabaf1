/* cuBLAS's factorisations, triangular solves, and products with a symmetric or triangular factor.
 * Their durations are guesses: that of a product with as many operations, times FACTOR_SLOWER for
 * factorisations, because their columns depend on one another. Factorisations report success (info
 * 0). */
#include "shims/cublas/shim_cublas_work.h"

enum { FACTOR_SLOWER = 4, PIVOTS = 4 << 20 };

static int with_info(int status, int *info)
{
    if (info && status == BLAS_SUCCESS)
        *info = 0;
    return status;
}

/* Writes pivots that exchange no rows. They must be valid, because programs use pivots as
 * indices. */
static void fill_pivots(int *pivots, int n, int batch)
{
    if (!pivots || (size_t)n * (size_t)batch > PIVOTS)
        return;
    for (int b = 0; b < batch; b++)
        for (int i = 0; i < n; i++)
            pivots[b * n + i] = i + 1;
    vg_library_wrote(pivots, (size_t)n * (size_t)batch * sizeof *pivots);
}

/* The order of the square factor: m if it stands on the left (side 0), otherwise n. */
static int square(int side, int m, int n)
{
    return side == 0 ? m : n;
}

#define BATCHED(T)                                                                                 \
    CALL(cublas##T##getrfBatched, HANDLE, N(n), P(a), N(lda), int *pivots, P(info), N(batch))      \
    {                                                                                              \
        fill_pivots(pivots, n, batch);                                                             \
        return blas_product(h, "getrf_batched", TYPE(T), n, n, n / 3, batch, FACTOR_SLOWER);       \
    }                                                                                              \
    CALL(cublas##T##getriBatched, HANDLE, N(n), P(a), N(lda), P(pivots), P(c), N(ldc), P(info),    \
         N(batch))                                                                                 \
    {                                                                                              \
        return blas_product(h, "getri_batched", TYPE(T), n, n, 2 * (int64_t)n / 3, batch, 2);      \
    }                                                                                              \
    CALL(cublas##T##getrsBatched, HANDLE, N(trans), N(n), N(nrhs), P(a), N(lda), P(pivots), P(b),  \
         N(ldb), int *info, N(batch))                                                              \
    {                                                                                              \
        return with_info(blas_product(h, "getrs_batched", TYPE(T), n, nrhs, n, batch, 2), info);   \
    }                                                                                              \
    CALL(cublas##T##matinvBatched, HANDLE, N(n), P(a), N(lda), P(inv), N(ld_inv), P(info),         \
         N(batch))                                                                                 \
    {                                                                                              \
        if (n > 32)                                                                                \
            return BLAS_INVALID_VALUE;                                                             \
        return blas_product(h, "matinv_batched", TYPE(T), n, n, n, batch, FACTOR_SLOWER);          \
    }                                                                                              \
    CALL(cublas##T##geqrfBatched, HANDLE, N(m), N(n), P(a), N(lda), P(tau), int *info, N(batch))   \
    {                                                                                              \
        return with_info(blas_product(h, "geqrf_batched", TYPE(T), m, n, 2 * (int64_t)n / 3,       \
                                      batch, FACTOR_SLOWER),                                       \
                         info);                                                                    \
    }                                                                                              \
    CALL(cublas##T##gelsBatched, HANDLE, N(trans), N(m), N(n), N(nrhs), P(a), N(lda), P(c),        \
         N(ldc), int *info, P(dev_info), N(batch))                                                 \
    {                                                                                              \
        return with_info(                                                                          \
            blas_product(h, "gels_batched", TYPE(T), m, n + nrhs, n, batch, FACTOR_SLOWER), info); \
    }                                                                                              \
    CALL(cublas##T##trsmBatched, HANDLE, N(side), N(uplo), N(trans), N(diag), N(m), N(n),          \
         P(alpha), P(a), N(lda), P(b), N(ldb), N(batch))                                           \
    {                                                                                              \
        return blas_product(h, "trsm_batched", TYPE(T), m, n, square(side, m, n) / 2, batch, 2);   \
    }

#define TRIANGULAR(T)                                                                              \
    CALL(cublas##T##trsm_v2, HANDLE, N(side), N(uplo), N(trans), N(diag), N(m), N(n), P(alpha),    \
         P(a), N(lda), P(b), N(ldb))                                                               \
    {                                                                                              \
        return blas_product(h, "trsm", TYPE(T), m, n, square(side, m, n) / 2, 1, 2);               \
    }                                                                                              \
    CALL(cublas##T##trmm_v2, HANDLE, N(side), N(uplo), N(trans), N(diag), N(m), N(n), P(alpha),    \
         P(a), N(lda), P(b), N(ldb), P(c), N(ldc))                                                 \
    {                                                                                              \
        return blas_product(h, "trmm", TYPE(T), m, n, square(side, m, n) / 2, 1, 1);               \
    }

/* A rank-k update computes half of a square result, so it counts as a product of half the depth; a
 * rank-2k update is two of them. */
#define SYMMETRIC(T, sy)                                                                           \
    CALL(cublas##T##sy##mm_v2, HANDLE, N(side), N(uplo), N(m), N(n), P(alpha), P(a), N(lda), P(b), \
         N(ldb), P(beta), P(c), N(ldc))                                                            \
    {                                                                                              \
        return blas_product(h, #sy "mm", TYPE(T), m, n, square(side, m, n), 1, 1);                 \
    }                                                                                              \
    CALL(cublas##T##sy##rk_v2, HANDLE, N(uplo), N(trans), N(n), N(k), P(alpha), P(a), N(lda),      \
         P(beta), P(c), N(ldc))                                                                    \
    {                                                                                              \
        return blas_product(h, #sy "rk", TYPE(T), n, n, k / 2, 1, 1);                              \
    }                                                                                              \
    CALL(cublas##T##sy##r2k_v2, HANDLE, N(uplo), N(trans), N(n), N(k), P(alpha), P(a), N(lda),     \
         P(b), N(ldb), P(beta), P(c), N(ldc))                                                      \
    {                                                                                              \
        return blas_product(h, #sy "r2k", TYPE(T), n, n, k, 1, 1);                                 \
    }                                                                                              \
    CALL(cublas##T##sy##rkx, HANDLE, N(uplo), N(trans), N(n), N(k), P(alpha), P(a), N(lda), P(b),  \
         N(ldb), P(beta), P(c), N(ldc))                                                            \
    {                                                                                              \
        return blas_product(h, #sy "rkx", TYPE(T), n, n, k / 2, 1, 1);                             \
    }
#define SYMMETRIC_EX(name, kernel)                                                                 \
    CALL(name, HANDLE, N(uplo), N(trans), N(n), N(k), P(alpha), P(a), N(type), N(lda), P(beta),    \
         P(c), N(c_type), N(ldc))                                                                  \
    {                                                                                              \
        return blas_product(h, kernel, blas_type(type), n, n, k / 2, 1, 1);                        \
    }

SYMMETRIC(S, sy)
SYMMETRIC(D, sy)
SYMMETRIC(C, sy)
SYMMETRIC(Z, sy)
SYMMETRIC(C, he)
SYMMETRIC(Z, he)
SYMMETRIC_EX(cublasCsyrkEx, "syrk")
SYMMETRIC_EX(cublasCsyrk3mEx, "syrk")
SYMMETRIC_EX(cublasCherkEx, "herk")
SYMMETRIC_EX(cublasCherk3mEx, "herk")
EACH(TRIANGULAR)
EACH(BATCHED)
