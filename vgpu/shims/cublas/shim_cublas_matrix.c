/* cuBLAS's operations on one matrix and vectors (level 2), except the products with a general
 * matrix of real numbers (shim_cublas_gemm.c). The time is that of reading the matrix once; an
 * operation that changes the matrix writes it once, too. */
#include "shims/cublas/shim_cublas_work.h"

static double full(int m, int n)
{
    return 1.0 * m * n;
}

/* Elements of a symmetric or triangular matrix that must be read: the others are zero or
 * mirrored. */
static double half_of(int n)
{
    return 0.5 * n * (n + 1);
}

static double band(int n, int width)
{
    return 1.0 * n * (width + 1);
}

/* BODY(type, kernel's name, elements that are moved) is the function body that follows each
 * parameter list. */
#define BODY(T, kernel, elements)                                                                  \
    {                                                                                              \
        return blas_sweep(h, kernel, BYTES(T) * (elements));                                       \
    }

#define GEMV(T)                                                                                    \
    CALL(cublas##T##gemv_v2, HANDLE, N(trans), N(m), N(n), P(alpha), P(a), N(lda), P(x), N(incx),  \
         P(beta), P(y), N(incy))                                                                   \
    BODY(T, "gemv2N_kernel", full(m, n))
#define GEMV_BATCHED(name, T)                                                                      \
    CALL(cublas##name##gemvBatched, HANDLE, N(trans), N(m), N(n), P(alpha), P(a), N(lda), P(x),    \
         N(incx), P(beta), P(y), N(incy), N(batch))                                                \
    BODY(T, "gemvNSP_kernel", full(m, n) * batch)                                                  \
    CALL(cublas##name##gemvStridedBatched, HANDLE, N(trans), N(m), N(n), P(alpha), P(a), N(lda),   \
         L(stride_a), P(x), N(incx), L(stride_x), P(beta), P(y), N(incy), L(stride_y), N(batch))   \
    BODY(T, "gemvNSP_kernel", full(m, n) * batch)
#define GBMV(T)                                                                                    \
    CALL(cublas##T##gbmv_v2, HANDLE, N(trans), N(m), N(n), N(kl), N(ku), P(alpha), P(a), N(lda),   \
         P(x), N(incx), P(beta), P(y), N(incy))                                                    \
    BODY(T, "gbmv_kernel", band(n, kl + ku))
#define SY_MV(T, sy)                                                                               \
    CALL(cublas##T##sy##mv_v2, HANDLE, N(uplo), N(n), P(alpha), P(a), N(lda), P(x), N(incx),       \
         P(beta), P(y), N(incy))                                                                   \
    BODY(T, #sy "mv_kernel", half_of(n))
#define SB_MV(T, sb)                                                                               \
    CALL(cublas##T##sb##mv_v2, HANDLE, N(uplo), N(n), N(k), P(alpha), P(a), N(lda), P(x), N(incx), \
         P(beta), P(y), N(incy))                                                                   \
    BODY(T, #sb "mv_kernel", band(n, k))
#define SP_MV(T, sp)                                                                               \
    CALL(cublas##T##sp##mv_v2, HANDLE, N(uplo), N(n), P(alpha), P(ap), P(x), N(incx), P(beta),     \
         P(y), N(incy))                                                                            \
    BODY(T, #sp "mv_kernel", half_of(n))
#define RANK_1(T, sy)                                                                              \
    CALL(cublas##T##sy##r_v2, HANDLE, N(uplo), N(n), P(alpha), P(x), N(incx), P(a), N(lda))        \
    BODY(T, #sy "r_kernel", 2 * half_of(n))
#define RANK_2(T, sy)                                                                              \
    CALL(cublas##T##sy##r2_v2, HANDLE, N(uplo), N(n), P(alpha), P(x), N(incx), P(y), N(incy),      \
         P(a), N(lda))                                                                             \
    BODY(T, #sy "r2_kernel", 2 * half_of(n))
#define PACKED_RANK(T, sp)                                                                         \
    CALL(cublas##T##sp##r_v2, HANDLE, N(uplo), N(n), P(alpha), P(x), N(incx), P(ap))               \
    BODY(T, #sp "r_kernel", 2 * half_of(n))                                                        \
    CALL(cublas##T##sp##r2_v2, HANDLE, N(uplo), N(n), P(alpha), P(x), N(incx), P(y), N(incy),      \
         P(ap))                                                                                    \
    BODY(T, #sp "r2_kernel", 2 * half_of(n))
#define GER(T, ger)                                                                                \
    CALL(cublas##T##ger##_v2, HANDLE, N(m), N(n), P(alpha), P(x), N(incx), P(y), N(incy), P(a),    \
         N(lda))                                                                                   \
    BODY(T, "ger_kernel", 2 * full(m, n))
/* A triangular solve must compute one element after the other, so it takes four times as long as a
 * triangular product. The factor is a guess. */
#define TRIANGLE(T, op, times)                                                                     \
    CALL(cublas##T##tr##op##_v2, HANDLE, N(uplo), N(trans), N(diag), N(n), P(a), N(lda), P(x),     \
         N(incx))                                                                                  \
    BODY(T, "tr" #op "_kernel", (times)*half_of(n))                                                \
    CALL(cublas##T##tb##op##_v2, HANDLE, N(uplo), N(trans), N(diag), N(n), N(k), P(a), N(lda),     \
         P(x), N(incx))                                                                            \
    BODY(T, "tb" #op "_kernel", (times)*band(n, k))                                                \
    CALL(cublas##T##tp##op##_v2, HANDLE, N(uplo), N(trans), N(diag), N(n), P(ap), P(x), N(incx))   \
    BODY(T, "tp" #op "_kernel", (times)*half_of(n))
#define TRIANGLES(T) TRIANGLE(T, mv, 1) TRIANGLE(T, sv, 4)
#define PACKING(T)                                                                                 \
    CALL(cublas##T##tpttr, HANDLE, N(uplo), N(n), P(ap), P(a), N(lda))                             \
    BODY(T, "tpttr_kernel", 2 * half_of(n))                                                        \
    CALL(cublas##T##trttp, HANDLE, N(uplo), N(n), P(a), N(lda), P(ap))                             \
    BODY(T, "trttp_kernel", 2 * half_of(n))
#define WHOLE(T)                                                                                   \
    CALL(cublas##T##geam, HANDLE, N(ta), N(tb), N(m), N(n), P(alpha), P(a), N(lda), P(beta), P(b), \
         N(ldb), P(c), N(ldc))                                                                     \
    BODY(T, "geam_kernel", 3 * full(m, n))                                                         \
    CALL(cublas##T##dgmm, HANDLE, N(side), N(m), N(n), P(a), N(lda), P(x), N(incx), P(c), N(ldc))  \
    BODY(T, "dgmm_kernel", 2 * full(m, n))

#define SYMMETRIC_REAL(T) SB_MV(T, sb) SP_MV(T, sp) PACKED_RANK(T, sp) GER(T, ger)
#define SYMMETRIC_ANY(T)  SY_MV(T, sy) RANK_1(T, sy) RANK_2(T, sy)
#define HERMITIAN(T)                                                                               \
    SY_MV(T, he)                                                                                   \
    RANK_1(T, he)                                                                                  \
    RANK_2(T, he) SB_MV(T, hb) SP_MV(T, hp) PACKED_RANK(T, hp) GER(T, geru) GER(T, gerc)

EACH_COMPLEX(GEMV)
GEMV_BATCHED(S, S)
GEMV_BATCHED(D, D)
GEMV_BATCHED(C, C)
GEMV_BATCHED(Z, Z)
GEMV_BATCHED(HSH, H)
GEMV_BATCHED(HSS, H)
GEMV_BATCHED(TST, T)
GEMV_BATCHED(TSS, T)
EACH(GBMV)
EACH(SYMMETRIC_ANY)
EACH_REAL(SYMMETRIC_REAL)
EACH_COMPLEX(HERMITIAN)
EACH(TRIANGLES)
EACH(PACKING)
EACH(WHOLE)
