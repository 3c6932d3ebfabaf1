/* cuBLAS's matrix products. Every form of the call fills one description, which the core's product
 * planner turns into kernels. */
#include "shims/cublas/shim_cublas.h"

struct operand {
    const void *data;
    cudaDataType type;
    int ld;
};

struct call {
    cublasOperation_t ta, tb;
    int m, n, k, batch;
    struct operand a, b, c;
    cublasComputeType_t compute;
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

static bool valid(const struct call *g)
{
    int rows_a = g->ta == CUBLAS_OP_N ? g->m : g->k, rows_b = g->tb == CUBLAS_OP_N ? g->k : g->n;
    return g->m >= 0 && g->n >= 0 && g->k >= 0 && g->batch >= 0 && g->a.ld >= rows_a &&
           g->a.ld >= 1 && g->b.ld >= rows_b && g->b.ld >= 1 && g->c.ld >= g->m && g->c.ld >= 1;
}

static cublasStatus_t multiply(cublasHandle_t h, const void *alpha, const void *beta,
                               const struct call *g)
{
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!alpha || !beta || !valid(g))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (g->a.type != g->b.type)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const struct vg_profile *p = cublas_profile(h);
    struct blas_type type = blas_type(g->a.type);
    if (type.complex)
        return (cublasStatus_t)blas_product(h, type.real == VG_F64 ? "zgemm" : "cgemm", type, g->m,
                                            g->n, g->k, g->batch, 1);
    struct vg_product product = {.transpose_a = g->ta != CUBLAS_OP_N,
                                 .transpose_b = g->tb != CUBLAS_OP_N,
                                 .m = g->m,
                                 .n = g->n,
                                 .k = g->k,
                                 .batch = g->batch};
    cublasStatus_t status = cublas_arithmetic(p, g->a.type, g->compute, h->math, &product.type);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    int a = vg_alignment(g->a.data, g->a.ld, blas_type(g->a.type).bytes);
    int b = vg_alignment(g->b.data, g->b.ld, blas_type(g->b.type).bytes);
    int c = vg_alignment(g->c.data, g->c.ld, blas_type(g->c.type).bytes);
    product.align = least(a, least(b, c));
    return cublas_status(vg_product_launch((struct vg_stream *)h->stream, p, &product, 0));
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                            int m, int n, int k, const void *alpha, const void *A,
                            cudaDataType typeA, int lda, const void *B, cudaDataType typeB, int ldb,
                            const void *beta, void *C, cudaDataType typeC, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    (void)algo;
    struct call g = {ta,     tb, m, n, k, 1, {A, typeA, lda}, {B, typeB, ldb}, {C, typeC, ldc},
                     compute};
    return multiply(handle, alpha, beta, &g);
}

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
    const void *alpha, const void *A, cudaDataType typeA, int lda, long long strideA, const void *B,
    cudaDataType typeB, int ldb, long long strideB, const void *beta, void *C, cudaDataType typeC,
    int ldc, long long strideC, int batch, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    (void)strideA;
    (void)strideB;
    (void)strideC;
    (void)algo;
    struct call g = {ta,     tb, m, n, k, batch, {A, typeA, lda}, {B, typeB, ldb}, {C, typeC, ldc},
                     compute};
    return multiply(handle, alpha, beta, &g);
}

/* A, B and C are arrays of pointers in device memory, which the shim does not read: it assumes that
 * the matrices are aligned. */
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t ta,
                                   cublasOperation_t tb, int m, int n, int k, const void *alpha,
                                   const void *const A[], cudaDataType typeA, int lda,
                                   const void *const B[], cudaDataType typeB, int ldb,
                                   const void *beta, void *const C[], cudaDataType typeC, int ldc,
                                   int batch, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    (void)algo;
    if (!A || !B || !C)
        return CUBLAS_STATUS_INVALID_VALUE;
    struct call g = {
        ta,     tb, m, n, k, batch, {NULL, typeA, lda}, {NULL, typeB, ldb}, {NULL, typeC, ldc},
        compute};
    return multiply(handle, alpha, beta, &g);
}

#define GEMM_EX(Name, type)                                                                        \
    cublasStatus_t Name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,  \
                        int n, int k, const type *alpha, const void *A, cudaDataType typeA,        \
                        int lda, const void *B, cudaDataType typeB, int ldb, const type *beta,     \
                        void *C, cudaDataType typeC, int ldc)                                      \
    {                                                                                              \
        return cublasGemmEx(handle, ta, tb, m, n, k, alpha, A, typeA, lda, B, typeB, ldb, beta, C, \
                            typeC, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);                  \
    }
GEMM_EX(cublasSgemmEx, float)
GEMM_EX(cublasCgemmEx, cuComplex)
GEMM_EX(cublasCgemm3mEx, cuComplex)

/* cublas_api.h declares these for C++ only, where __half is a type. */
cublasStatus_t cublasHgemm(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                           const void *, const void *, int, const void *, int, const void *, void *,
                           int);
cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int,
                                         int, int, const void *, const void *, int, long long,
                                         const void *, int, long long, const void *, void *, int,
                                         long long, int);
cublasStatus_t cublasHgemmBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const void *, const void *const[], int, const void *const[],
                                  int, const void *, void *const[], int, int);

/* The calls whose name fixes one type for all operands. */
#define GEMM(Name, type, cuda_type, compute)                                                       \
    cublasStatus_t Name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,  \
                        int n, int k, const type *alpha, const type *A, int lda, const type *B,    \
                        int ldb, const type *beta, type *C, int ldc)                               \
    {                                                                                              \
        return cublasGemmEx(handle, ta, tb, m, n, k, alpha, A, cuda_type, lda, B, cuda_type, ldb,  \
                            beta, C, cuda_type, ldc, compute, CUBLAS_GEMM_DEFAULT);                \
    }
#define GEMM_BATCHED(Name, type, cuda_type, compute)                                               \
    cublasStatus_t Name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,  \
                        int n, int k, const type *alpha, const type *A, int lda, long long sa,     \
                        const type *B, int ldb, long long sb, const type *beta, type *C, int ldc,  \
                        long long sc, int batch)                                                   \
    {                                                                                              \
        return cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, A, cuda_type, lda, sa,   \
                                          B, cuda_type, ldb, sb, beta, C, cuda_type, ldc, sc,      \
                                          batch, compute, CUBLAS_GEMM_DEFAULT);                    \
    }

GEMM(cublasSgemm_v2, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM(cublasDgemm_v2, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
GEMM(cublasHgemm, void, CUDA_R_16F, CUBLAS_COMPUTE_16F)
GEMM(cublasCgemm_v2, cuComplex, CUDA_C_32F, CUBLAS_COMPUTE_32F)
GEMM(cublasZgemm_v2, cuDoubleComplex, CUDA_C_64F, CUBLAS_COMPUTE_64F)
GEMM(cublasCgemm3m, cuComplex, CUDA_C_32F, CUBLAS_COMPUTE_32F)
GEMM(cublasZgemm3m, cuDoubleComplex, CUDA_C_64F, CUBLAS_COMPUTE_64F)
GEMM_BATCHED(cublasSgemmStridedBatched, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM_BATCHED(cublasDgemmStridedBatched, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
GEMM_BATCHED(cublasHgemmStridedBatched, void, CUDA_R_16F, CUBLAS_COMPUTE_16F)
GEMM_BATCHED(cublasCgemmStridedBatched, cuComplex, CUDA_C_32F, CUBLAS_COMPUTE_32F)
GEMM_BATCHED(cublasZgemmStridedBatched, cuDoubleComplex, CUDA_C_64F, CUBLAS_COMPUTE_64F)
GEMM_BATCHED(cublasCgemm3mStridedBatched, cuComplex, CUDA_C_32F, CUBLAS_COMPUTE_32F)

/* y = A x, as a product whose second factor has one column. */
#define GEMV(Name, type, cuda_type, compute_type)                                                  \
    cublasStatus_t Name(cublasHandle_t handle, cublasOperation_t trans, int m, int n,              \
                        const type *alpha, const type *A, int lda, const type *x, int incx,        \
                        const type *beta, type *y, int incy)                                       \
    {                                                                                              \
        int rows = trans == CUBLAS_OP_N ? m : n, inner = trans == CUBLAS_OP_N ? n : m;             \
        if (incx == 0 || incy == 0 || m < 0 || n < 0 || lda < (m > 1 ? m : 1))                     \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        return cublasGemmEx(handle, trans, CUBLAS_OP_N, rows, 1, inner, alpha, A, cuda_type, lda,  \
                            x, cuda_type, inner > 1 ? inner : 1, beta, y, cuda_type,               \
                            rows > 1 ? rows : 1, compute_type, CUBLAS_GEMM_DEFAULT);               \
    }

GEMV(cublasSgemv_v2, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMV(cublasDgemv_v2, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)

#define GEMM_POINTERS(Name, type, cuda_type, compute)                                              \
    cublasStatus_t Name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,  \
                        int n, int k, const type *alpha, const type *const A[], int lda,           \
                        const type *const B[], int ldb, const type *beta, type *const C[],         \
                        int ldc, int batch)                                                        \
    {                                                                                              \
        return cublasGemmBatchedEx(handle, ta, tb, m, n, k, alpha, (const void *const *)A,         \
                                   cuda_type, lda, (const void *const *)B, cuda_type, ldb, beta,   \
                                   (void *const *)C, cuda_type, ldc, batch, compute,               \
                                   CUBLAS_GEMM_DEFAULT);                                           \
    }

GEMM_POINTERS(cublasSgemmBatched, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM_POINTERS(cublasDgemmBatched, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
GEMM_POINTERS(cublasHgemmBatched, void, CUDA_R_16F, CUBLAS_COMPUTE_16F)
GEMM_POINTERS(cublasCgemmBatched, cuComplex, CUDA_C_32F, CUBLAS_COMPUTE_32F)
GEMM_POINTERS(cublasZgemmBatched, cuDoubleComplex, CUDA_C_64F, CUBLAS_COMPUTE_64F)
GEMM_POINTERS(cublasCgemm3mBatched, cuComplex, CUDA_C_32F, CUBLAS_COMPUTE_32F)

/* Groups of products; all products of a group have the same shape. The model launches one kernel
 * for each group. */
cublasStatus_t cublasGemmGroupedBatchedEx(
    cublasHandle_t handle, const cublasOperation_t ta[], const cublasOperation_t tb[],
    const int m[], const int n[], const int k[], const void *alpha, const void *const A[],
    cudaDataType typeA, const int lda[], const void *const B[], cudaDataType typeB, const int ldb[],
    const void *beta, void *const C[], cudaDataType typeC, const int ldc[], int groups,
    const int sizes[], cublasComputeType_t compute)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < groups && status == CUBLAS_STATUS_SUCCESS; i++)
        status = cublasGemmBatchedEx(handle, ta[i], tb[i], m[i], n[i], k[i], alpha, A, typeA,
                                     lda[i], B, typeB, ldb[i], beta, C, typeC, ldc[i], sizes[i],
                                     compute, CUBLAS_GEMM_DEFAULT);
    return status;
}

#define GEMM_GROUPED(Name, type, cuda_type, compute)                                               \
    cublasStatus_t Name(cublasHandle_t handle, const cublasOperation_t ta[],                       \
                        const cublasOperation_t tb[], const int m[], const int n[], const int k[], \
                        const type alpha[], const type *const A[], const int lda[],                \
                        const type *const B[], const int ldb[], const type beta[],                 \
                        type *const C[], const int ldc[], int groups, const int sizes[])           \
    {                                                                                              \
        return cublasGemmGroupedBatchedEx(handle, ta, tb, m, n, k, alpha, (const void *const *)A,  \
                                          cuda_type, lda, (const void *const *)B, cuda_type, ldb,  \
                                          beta, (void *const *)C, cuda_type, ldc, groups, sizes,   \
                                          compute);                                                \
    }
GEMM_GROUPED(cublasSgemmGroupedBatched, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM_GROUPED(cublasDgemmGroupedBatched, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
