/* cuBLAS: matrix products. All matrices are column-major. The _64 functions exist from CUDA 12
 * on. */
#include "agent/libs/preload.h"
#include "agent/libs/preload_types.h"

struct half; /* only pointers to it are passed on */

struct gemm {
    cublasHandle_t handle;
    int transa, transb;
    int64_t m, n, k, batch;
    uint8_t a, b, c, compute;
    int algo;
};

static uint8_t math_of(cublasHandle_t handle)
{
    __typeof__(cublasGetMathMode) *get = GETTER(HOOK_CUBLAS, cublasGetMathMode);
    cublasMath_t mode = CUBLAS_DEFAULT_MATH;
    if (!get || get(handle, &mode) != CUBLAS_STATUS_SUCCESS)
        return SPOOL_MATH_DEFAULT;
    switch ((int)mode & 15) { /* the higher bits are flags */
    case 1:
        return SPOOL_MATH_TENSOR_OP;
    case CUBLAS_PEDANTIC_MATH:
        return SPOOL_MATH_FMA;
    case CUBLAS_TF32_TENSOR_OP_MATH:
        return SPOOL_MATH_TF32;
    default:
        return SPOOL_MATH_DEFAULT;
    }
}

static int32_t dim(int64_t n)
{
    return n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

static void fill(struct spool_rec_call *r, struct gemm g)
{
    r->family = SPOOL_CALL_GEMM;
    r->in_type = g.a;
    r->weight_type = g.b;
    r->out_type = g.c;
    r->math = math_of(g.handle);
    r->compute_type =
        g.compute == SPOOL_DT_F32 && r->math == SPOOL_MATH_TF32 ? SPOOL_DT_TF32 : g.compute;
    r->in_layout = r->weight_layout = SPOOL_LAYOUT_COL;
    r->algo = g.algo;
    const int32_t dims[] = {dim(g.m), dim(g.n), dim(g.k), dim(g.batch), g.transa, g.transb};
    for (size_t i = 0; i < AGENT_ARRAY_LEN(dims); i++)
        r->dim[i] = dims[i];
}

/* All three matrices have one type. */
#define SAME(TYPE, BATCH)                                                                          \
    fill(rec, (struct gemm){handle, (int)transa, (int)transb, m, n, k, BATCH, SPOOL_DT_##TYPE,     \
                            SPOOL_DT_##TYPE, SPOOL_DT_##TYPE, SPOOL_DT_##TYPE, -1})
#define MIXED(BATCH, COMPUTE, ALGO)                                                                \
    fill(rec, (struct gemm){handle, (int)transa, (int)transb, m, n, k, BATCH,                      \
                            dtype_of_cuda((int)Atype), dtype_of_cuda((int)Btype),                  \
                            dtype_of_cuda((int)Ctype), COMPUTE, ALGO})

#define BLAS(FN, PARAMS, ARGS, ...)                                                                \
    HOOK(HOOK_CUBLAS, cublasStatus_t, CUBLAS_STATUS_NOT_INITIALIZED, FN, PARAMS, ARGS, __VA_ARGS__)

#define GEMM(FN, INT, T, TYPE)                                                                     \
    BLAS(FN,                                                                                       \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m, INT n, \
          INT k, const T *alpha, const T *A, INT lda, const T *B, INT ldb, const T *beta, T *C,    \
          INT ldc),                                                                                \
         (handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc), SAME(TYPE, 1))

#define GEMM_STRIDED(FN, INT, T, TYPE)                                                             \
    BLAS(FN,                                                                                       \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m, INT n, \
          INT k, const T *alpha, const T *A, INT lda, long long strideA, const T *B, INT ldb,      \
          long long strideB, const T *beta, T *C, INT ldc, long long strideC, INT count),          \
         (handle, transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc,  \
          strideC, count),                                                                         \
         SAME(TYPE, count))

#define GEMV(FN, INT, T, TYPE)                                                                     \
    BLAS(FN,                                                                                       \
         (cublasHandle_t handle, cublasOperation_t trans, INT m, INT n, const T *alpha,            \
          const T *A, INT lda, const T *x, INT incx, const T *beta, T *y, INT incy),               \
         (handle, trans, m, n, alpha, A, lda, x, incx, beta, y, incy),                             \
         fill(rec, (struct gemm){handle, (int)trans, 0, trans == CUBLAS_OP_N ? m : n, 1,           \
                                 trans == CUBLAS_OP_N ? n : m, 1, SPOOL_DT_##TYPE,                 \
                                 SPOOL_DT_##TYPE, SPOOL_DT_##TYPE, SPOOL_DT_##TYPE, -1}))

#define SGEMM_EX(FN, INT)                                                                          \
    BLAS(FN,                                                                                       \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m, INT n, \
          INT k, const float *alpha, const void *A, cudaDataType Atype, INT lda, const void *B,    \
          cudaDataType Btype, INT ldb, const float *beta, void *C, cudaDataType Ctype, INT ldc),   \
         (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,    \
          ldc),                                                                                    \
         MIXED(1, SPOOL_DT_F32, -1))

#define GEMM_EX(FN, INT)                                                                           \
    BLAS(FN,                                                                                       \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m, INT n, \
          INT k, const void *alpha, const void *A, cudaDataType Atype, INT lda, const void *B,     \
          cudaDataType Btype, INT ldb, const void *beta, void *C, cudaDataType Ctype, INT ldc,     \
          cublasComputeType_t compute, cublasGemmAlgo_t algo),                                     \
         (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,    \
          ldc, compute, algo),                                                                     \
         MIXED(1, dtype_of_compute((int)compute), (int)algo))

#define GEMM_BATCHED_EX(FN, INT)                                                                   \
    BLAS(FN,                                                                                       \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m, INT n, \
          INT k, const void *alpha, const void *const A[], cudaDataType Atype, INT lda,            \
          const void *const B[], cudaDataType Btype, INT ldb, const void *beta, void *const C[],   \
          cudaDataType Ctype, INT ldc, INT count, cublasComputeType_t compute,                     \
          cublasGemmAlgo_t algo),                                                                  \
         (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,    \
          ldc, count, compute, algo),                                                              \
         MIXED(count, dtype_of_compute((int)compute), (int)algo))

#define GEMM_STRIDED_EX(FN, INT)                                                                   \
    BLAS(FN,                                                                                       \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m, INT n, \
          INT k, const void *alpha, const void *A, cudaDataType Atype, INT lda, long long strideA, \
          const void *B, cudaDataType Btype, INT ldb, long long strideB, const void *beta,         \
          void *C, cudaDataType Ctype, INT ldc, long long strideC, INT count,                      \
          cublasComputeType_t compute, cublasGemmAlgo_t algo),                                     \
         (handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB,  \
          beta, C, Ctype, ldc, strideC, count, compute, algo),                                     \
         MIXED(count, dtype_of_compute((int)compute), (int)algo))

GEMM(cublasSgemm_v2, int, float, F32)
GEMM(cublasSgemm_v2_64, int64_t, float, F32)
GEMM(cublasDgemm_v2, int, double, F64)
GEMM(cublasDgemm_v2_64, int64_t, double, F64)
GEMM(cublasHgemm, int, struct half, F16)
GEMM(cublasHgemm_64, int64_t, struct half, F16)
GEMM_STRIDED(cublasSgemmStridedBatched, int, float, F32)
GEMM_STRIDED(cublasSgemmStridedBatched_64, int64_t, float, F32)
GEMM_STRIDED(cublasDgemmStridedBatched, int, double, F64)
GEMM_STRIDED(cublasDgemmStridedBatched_64, int64_t, double, F64)
GEMM_STRIDED(cublasHgemmStridedBatched, int, struct half, F16)
GEMM_STRIDED(cublasHgemmStridedBatched_64, int64_t, struct half, F16)
GEMV(cublasSgemv_v2, int, float, F32)
GEMV(cublasSgemv_v2_64, int64_t, float, F32)
GEMV(cublasDgemv_v2, int, double, F64)
GEMV(cublasDgemv_v2_64, int64_t, double, F64)
SGEMM_EX(cublasSgemmEx, int)
SGEMM_EX(cublasSgemmEx_64, int64_t)
GEMM_EX(cublasGemmEx, int)
GEMM_EX(cublasGemmEx_64, int64_t)
GEMM_BATCHED_EX(cublasGemmBatchedEx, int)
GEMM_BATCHED_EX(cublasGemmBatchedEx_64, int64_t)
GEMM_STRIDED_EX(cublasGemmStridedBatchedEx, int)
GEMM_STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)
