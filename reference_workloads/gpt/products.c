/* Matrix products by cuBLASLt: descriptors and the algorithm are made once per shape and kept. */
#include "reference_workloads/gpt/model.h"

#include <string.h>

static cudaDataType_t data_type(const struct model *m)
{
    return m->type == DTYPE_F16 ? CUDA_R_16F : m->type == DTYPE_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

static cublasLtMatrixLayout_t layout(const struct model *m, int transposed, int rows, int columns,
                                     int ld, int batch, long long stride)
{
    cublasLtMatrixLayout_t l;
    int64_t wide = stride;
    cublasCheck(cublasLtMatrixLayoutCreate(&l, data_type(m),
                                           (uint64_t)(transposed ? columns : rows),
                                           (uint64_t)(transposed ? rows : columns), ld));
    if (batch > 1) {
        cublasCheck(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                                     sizeof batch));
        cublasCheck(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                     &wide, sizeof wide));
    }
    return l;
}

static void describe(const struct model *m, struct product *p)
{
    const struct product_shape *s = &p->shape;
    cublasOperation_t a = s->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t b = s->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    cublasComputeType_t compute =
        m->config->precision == PRECISION_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasCheck(cublasLtMatmulDescCreate(&p->desc, compute, CUDA_R_32F));
    cublasCheck(cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a));
    cublasCheck(cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b));
    if (s->bias)
        cublasCheck(cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                                   &epilogue, sizeof epilogue));
    p->a = layout(m, s->transpose_a, s->m, s->k, s->lda, s->batch, s->stride_a);
    p->b = layout(m, s->transpose_b, s->k, s->n, s->ldb, s->batch, s->stride_b);
    p->c = layout(m, 0, s->m, s->n, s->ldc, s->batch, s->stride_c);
}

/* The heuristic's first choice that works within the workspace. */
static void choose(const struct model *m, struct product *p)
{
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    cublasCheck(cublasLtMatmulPreferenceCreate(&preference));
    cublasCheck(
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &m->workspace_bytes, sizeof m->workspace_bytes));
    /* operands lie at multiples of 16 bytes only where their sizes allow it */
    uint32_t bytes = (uint32_t)model_type_bytes(m), wide = 256;
    int64_t odd = (p->shape.lda | p->shape.ldb | p->shape.ldc | p->shape.stride_a |
                   p->shape.stride_b | p->shape.stride_c) *
                  (int64_t)bytes;
    while (odd % wide != 0)
        wide /= 2;
    static const cublasLtMatmulPreferenceAttributes_t keys[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        cublasCheck(cublasLtMatmulPreferenceSetAttribute(preference, keys[i], &wide, sizeof wide));
    cublasCheck(cublasLtMatmulAlgoGetHeuristic(m->blas, p->desc, p->a, p->b, p->c, p->c, preference,
                                               1, &result, &found));
    if (found == 0)
        die(1, "cuBLASLt has no way to multiply (%d, %d, %d)", p->shape.m, p->shape.n, p->shape.k);
    p->algorithm = result.algo;
    cublasCheck(cublasLtMatmulPreferenceDestroy(preference));
}

static struct product *find(struct model *m, const struct product_shape *s)
{
    for (int i = 0; i < m->product_count; i++)
        if (memcmp(&m->products[i].shape, s, sizeof *s) == 0)
            return &m->products[i];
    if (m->product_count == MAX_PRODUCTS)
        die(1, "more than %d shapes of matrix products", MAX_PRODUCTS);
    struct product *p = &m->products[m->product_count++];
    p->shape = *s;
    describe(m, p);
    choose(m, p);
    return p;
}

void model_product(struct model *m, const struct product_shape *s, const struct product_operands *o)
{
    static const float zero = 0.0f;
    struct product *p = find(m, s);
    if (o->bias)
        cublasCheck(cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                   &o->bias, sizeof o->bias));
    model_host_overhead(m);
    cublasCheck(cublasLtMatmul(m->blas, p->desc, &o->alpha, o->a, p->a, o->b, p->b, &zero, o->c,
                               p->c, o->c, p->c, &p->algorithm, m->workspace, m->workspace_bytes,
                               m->stream));
}

void model_forget_products(struct model *m)
{
    for (int i = 0; i < m->product_count; i++) {
        cublasCheck(cublasLtMatmulDescDestroy(m->products[i].desc));
        cublasCheck(cublasLtMatrixLayoutDestroy(m->products[i].a));
        cublasCheck(cublasLtMatrixLayoutDestroy(m->products[i].b));
        cublasCheck(cublasLtMatrixLayoutDestroy(m->products[i].c));
    }
    m->product_count = 0;
}
