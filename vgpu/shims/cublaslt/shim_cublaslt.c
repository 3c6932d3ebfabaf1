/* cuBLASLt's shim. A descriptor is a bag of attributes that stores what the caller set. A product
 * reads types, shapes and transpositions from the bags and is then planned as in cuBLAS. The
 * heuristic offers three algorithms; the later ones are slower and run other kernels. */
#include "shims/cublaslt/shim_cublaslt.h"

#include <stdlib.h>
#include <string.h>

static struct bag *bag_of(const void *descriptor)
{
    return descriptor ? *(struct bag *const *)descriptor : NULL;
}

cublasStatus_t bag_create(void **out, size_t descriptor_size)
{
    if (!out)
        return CUBLAS_STATUS_INVALID_VALUE;
    struct bag **descriptor = calloc(1, descriptor_size);
    struct bag *bag = calloc(1, sizeof *bag);
    if (!descriptor || !bag) {
        free(descriptor);
        free(bag);
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    *descriptor = bag;
    *out = descriptor;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t bag_destroy(void *descriptor)
{
    free(bag_of(descriptor));
    free(descriptor);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t bag_set(const void *descriptor, int key, const void *value, size_t size)
{
    struct bag *b = bag_of(descriptor);
    if (!b || !value || key < 0 || key >= MAX_ATTRIBUTES || size == 0 || size > MAX_VALUE)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(b->attribute[key].value, value, size);
    b->attribute[key].size = (uint8_t)size;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t bag_get(const void *descriptor, int key, void *value, size_t size, size_t *written)
{
    struct bag *b = bag_of(descriptor);
    if (!b || key < 0 || key >= MAX_ATTRIBUTES)
        return CUBLAS_STATUS_INVALID_VALUE;
    /* An attribute that was not set reads as 0. */
    size_t has = b->attribute[key].size ? b->attribute[key].size : 4;
    if (written)
        *written = has;
    if (size == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!value || size < has)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(value, b->attribute[key].value, has);
    return CUBLAS_STATUS_SUCCESS;
}

bool bag_there(const void *descriptor)
{
    return bag_of(descriptor) != NULL;
}

int64_t bag_number(const void *descriptor, int key, int64_t unset)
{
    const struct bag *b = bag_of(descriptor);
    int64_t v = 0;
    int32_t narrow;
    if (!b || b->attribute[key].size == 0)
        return unset;
    if (b->attribute[key].size == sizeof narrow) {
        memcpy(&narrow, b->attribute[key].value, sizeof narrow);
        return narrow;
    }
    memcpy(&v, b->attribute[key].value, sizeof v);
    return v;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    if (!handle)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (vg_start() != 0)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    struct cublasLtContext *h = calloc(1, sizeof *h);
    if (!h)
        return CUBLAS_STATUS_ALLOC_FAILED;
    h->device = vg_current_device();
    *handle = h;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void)
{
    return CUBLAS_VERSION;
}

size_t cublasLtGetCudartVersion(void)
{
    return CUDART_VERSION;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    cublasStatus_t status = bag_create((void **)out, sizeof **out);
    if (status == CUBLAS_STATUS_SUCCESS) {
        bag_set(*out, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &compute, sizeof(int32_t));
        bag_set(*out, CUBLASLT_MATMUL_DESC_SCALE_TYPE, &scale, sizeof(int32_t));
    }
    return status;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
    return bag_destroy(d);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t key, const void *value,
                                              size_t size)
{
    return bag_set(d, (int)key, value, size);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t key, void *value,
                                              size_t size, size_t *written)
{
    return bag_get(d, (int)key, value, size, written);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld)
{
    cublasStatus_t status = bag_create((void **)out, sizeof **out);
    if (status == CUBLAS_STATUS_SUCCESS) {
        bag_set(*out, CUBLASLT_MATRIX_LAYOUT_TYPE, &type, sizeof(int32_t));
        bag_set(*out, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows);
        bag_set(*out, CUBLASLT_MATRIX_LAYOUT_COLS, &cols, sizeof cols);
        bag_set(*out, CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof ld);
    }
    return status;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t d)
{
    return bag_destroy(d);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t d,
                                                cublasLtMatrixLayoutAttribute_t key,
                                                const void *value, size_t size)
{
    return bag_set(d, (int)key, value, size);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t d,
                                                cublasLtMatrixLayoutAttribute_t key, void *value,
                                                size_t size, size_t *written)
{
    return bag_get(d, (int)key, value, size, written);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    return bag_create((void **)out, sizeof **out);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t d)
{
    return bag_destroy(d);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t d,
                                                    cublasLtMatmulPreferenceAttributes_t key,
                                                    const void *value, size_t size)
{
    return bag_set(d, (int)key, value, size);
}

cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t d,
                                                    cublasLtMatmulPreferenceAttributes_t key,
                                                    void *value, size_t size, size_t *written)
{
    return bag_get(d, (int)key, value, size, written);
}

static cublasStatus_t arithmetic(const struct vg_profile *p, int64_t type, int64_t compute,
                                 enum vg_dtype *out)
{
    const char *override = getenv("NVIDIA_TF32_OVERRIDE");
    switch (type) {
    case CUDA_R_32F:
        *out = (compute == CUBLAS_COMPUTE_32F_FAST_TF32 || compute == CUBLAS_COMPUTE_32F_FAST_16F ||
                compute == CUBLAS_COMPUTE_32F_FAST_16BF) &&
                       p->tf32_flops > 0 && !(override && strcmp(override, "0") == 0)
                   ? VG_TF32
                   : VG_F32;
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_R_16F:
        *out = VG_F16;
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_R_16BF:
        *out = VG_BF16;
        return p->bf16_flops > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ARCH_MISMATCH;
    case CUDA_R_64F:
        *out = VG_F64;
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_R_8I:
        *out = VG_I8;
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
        *out = VG_F8;
        return p->fp8_flops > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
    default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

struct operands {
    cublasLtMatrixLayout_t a, b, d;
    const void *at, *bt, *dt;
};

/* A product of row-major matrices is the transposed column-major product. It takes as long, so the
 * order is ignored. */
static cublasStatus_t describe(cublasLtHandle_t h, cublasLtMatmulDesc_t desc,
                               const struct operands *o, struct vg_product *g)
{
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!bag_of(desc) || !bag_of(o->a) || !bag_of(o->b) || !bag_of(o->d))
        return CUBLAS_STATUS_INVALID_VALUE;
    bool ta = bag_number(desc, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N) != CUBLAS_OP_N;
    bool tb = bag_number(desc, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N) != CUBLAS_OP_N;
    int64_t rows_a = bag_number(o->a, CUBLASLT_MATRIX_LAYOUT_ROWS, 0);
    int64_t cols_a = bag_number(o->a, CUBLASLT_MATRIX_LAYOUT_COLS, 0);
    int64_t rows_b = bag_number(o->b, CUBLASLT_MATRIX_LAYOUT_ROWS, 0);
    int64_t cols_b = bag_number(o->b, CUBLASLT_MATRIX_LAYOUT_COLS, 0);
    int64_t type = bag_number(o->a, CUBLASLT_MATRIX_LAYOUT_TYPE, CUDA_R_32F);
    *g = (struct vg_product){.transpose_a = ta,
                             .transpose_b = tb,
                             .m = ta ? cols_a : rows_a,
                             .k = ta ? rows_a : cols_a,
                             .n = tb ? rows_b : cols_b,
                             .batch = bag_number(o->a, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1)};
    if (g->k != (tb ? cols_b : rows_b) ||
        g->m != bag_number(o->d, CUBLASLT_MATRIX_LAYOUT_ROWS, 0) ||
        g->n != bag_number(o->d, CUBLASLT_MATRIX_LAYOUT_COLS, 0))
        return CUBLAS_STATUS_INVALID_VALUE;
    int64_t compute = bag_number(desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_32F);
    cublasStatus_t status = arithmetic(vg_profile(h->device), type, compute, &g->type);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    /* FP8 products must be in this form, as on Ada and Hopper. */
    if (g->type == VG_F8 && (!ta || tb || g->m % 16 || g->k % 16))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    size_t size = vg_dtype_bytes(type == CUDA_R_32F ? VG_F32 : g->type);
    int align[3] = {vg_alignment(o->at, bag_number(o->a, CUBLASLT_MATRIX_LAYOUT_LD, 1), size),
                    vg_alignment(o->bt, bag_number(o->b, CUBLASLT_MATRIX_LAYOUT_LD, 1), size),
                    vg_alignment(o->dt, bag_number(o->d, CUBLASLT_MATRIX_LAYOUT_LD, 1), size)};
    g->align = align[0];
    for (int i = 1; i < 3; i++)
        g->align = align[i] < g->align ? align[i] : g->align;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int *returned)
{
    struct operands o = {.a = a, .b = b, .d = d};
    struct vg_product g;
    if (wanted <= 0 || !results || !returned || !bag_of(c))
        return CUBLAS_STATUS_INVALID_VALUE;
    *returned = 0;
    cublasStatus_t status = describe(handle, desc, &o, &g);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    int64_t limit = bag_number(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0);
    /* The first algorithm needs a workspace; if the caller allows too little, the second comes
     * first. */
    for (uint64_t rank = limit >= WORKSPACE ? 0 : 1; rank < ALGORITHMS && *returned < wanted;
         rank++)
        results[(*returned)++] =
            (cublasLtMatmulHeuristicResult_t){.algo = {.data = {rank}},
                                              .workspaceSize = rank == 0 ? WORKSPACE : 0,
                                              .state = CUBLAS_STATUS_SUCCESS,
                                              .wavesCount = 1};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t a, const void *B,
                              cublasLtMatrixLayout_t b, const void *beta, const void *C,
                              cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspaceBytes, cudaStream_t stream)
{
    struct operands o = {.a = a, .b = b, .d = d, .at = A, .bt = B, .dt = D};
    struct vg_product g;
    if (!alpha || !beta || !A || !B || !C || !D || !bag_of(c))
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = describe(handle, desc, &o, &g);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    bool room = workspace && workspaceBytes >= WORKSPACE;
    if (algo && (algo->data[0] >= ALGORITHMS || (algo->data[0] == 0 && !room)))
        return CUBLAS_STATUS_INVALID_VALUE;
    int rank = algo ? (int)algo->data[0] : room ? 0 : 1;
    int rc = vg_product_launch((struct vg_stream *)stream, vg_profile(handle->device), &g, rank);
    return rc == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
