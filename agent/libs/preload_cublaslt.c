/* cublasLtMatmul: descriptors, which lie in host memory, tell everything about the product. */
#include "agent/libs/preload.h"
#include "agent/libs/preload_types.h"

static uint64_t layout_attr(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attr,
                            size_t size)
{
    __typeof__(cublasLtMatrixLayoutGetAttribute) *get =
        GETTER(HOOK_CUBLASLT, cublasLtMatrixLayoutGetAttribute);
    uint64_t v = 0;
    size_t written = 0;
    return layout && get && get(layout, attr, &v, size, &written) == CUBLAS_STATUS_SUCCESS ? v : 0;
}

static int desc_attr(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attr, int otherwise)
{
    __typeof__(cublasLtMatmulDescGetAttribute) *get =
        GETTER(HOOK_CUBLASLT, cublasLtMatmulDescGetAttribute);
    int v = otherwise;
    size_t written = 0;
    return get && get(desc, attr, &v, sizeof v, &written) == CUBLAS_STATUS_SUCCESS ? v : otherwise;
}

static uint8_t type_of(cublasLtMatrixLayout_t layout)
{
    return dtype_of_cuda((int)layout_attr(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, sizeof(uint32_t)));
}

static uint8_t order_of(cublasLtMatrixLayout_t layout)
{
    switch ((int)layout_attr(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, sizeof(uint32_t))) {
    case CUBLASLT_ORDER_COL:
        return SPOOL_LAYOUT_COL;
    case CUBLASLT_ORDER_ROW:
        return SPOOL_LAYOUT_ROW;
    default:
        return SPOOL_LAYOUT_UNKNOWN;
    }
}

static void fill(struct spool_rec_call *r, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                 cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t d, size_t workspace)
{
    int transa = desc_attr(desc, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N);
    r->family = SPOOL_CALL_GEMM;
    r->in_type = type_of(a);
    r->weight_type = type_of(b);
    r->out_type = type_of(d);
    r->compute_type = dtype_of_compute(desc_attr(desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, -1));
    r->math = r->compute_type == SPOOL_DT_TF32 ? SPOOL_MATH_TF32 : SPOOL_MATH_DEFAULT;
    r->in_layout = order_of(a);
    r->weight_layout = order_of(b);
    r->dim[0] = (int32_t)layout_attr(d, CUBLASLT_MATRIX_LAYOUT_ROWS, sizeof(uint64_t));
    r->dim[1] = (int32_t)layout_attr(d, CUBLASLT_MATRIX_LAYOUT_COLS, sizeof(uint64_t));
    r->dim[2] = (int32_t)layout_attr(
        a, transa == CUBLAS_OP_N ? CUBLASLT_MATRIX_LAYOUT_COLS : CUBLASLT_MATRIX_LAYOUT_ROWS,
        sizeof(uint64_t));
    r->dim[3] = (int32_t)layout_attr(d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, sizeof(int32_t));
    r->dim[4] = transa;
    r->dim[5] = desc_attr(desc, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    r->bytes = (int64_t)workspace;
}

HOOK(HOOK_CUBLASLT, cublasStatus_t, CUBLAS_STATUS_NOT_INITIALIZED, cublasLtMatmul,
     (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *A,
      cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc, const void *beta,
      const void *C, cublasLtMatrixLayout_t Cdesc, void *D, cublasLtMatrixLayout_t Ddesc,
      const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes, cudaStream_t stream),
     (handle, desc, alpha, A, Adesc, B, Bdesc, beta, C, Cdesc, D, Ddesc, algo, workspace, bytes,
      stream),
     fill(rec, desc, Adesc, Bdesc, Ddesc, bytes))
