/* Descriptors that lie in the program's own memory, which no call destroys: the shim keeps one bag
 * for each address. Also the call that transforms a matrix's layout. */
#include "shims/cublaslt/shim_cublaslt.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 256 };

static struct place {
    const void *descriptor;
    struct bag bag;
    struct place *next;
} * places[PLACES];

/* Gives the descriptor at this address an empty bag: what an earlier one there was told is
 * forgotten. */
static cublasStatus_t init(void *descriptor, size_t has, size_t wants)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!descriptor || has < wants)
        return descriptor ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct place **list = &places[(uintptr_t)descriptor / 16 % PLACES], *p = *list;
    while (p && p->descriptor != descriptor)
        p = p->next;
    if (!p && (p = calloc(1, sizeof *p)) != NULL) {
        p->descriptor = descriptor;
        p->next = *list;
        *list = p;
    }
    if (p) {
        memset(&p->bag, 0, sizeof p->bag);
        memset(descriptor, 0, wants);
        *(struct bag **)descriptor = &p->bag;
    }
    pthread_mutex_unlock(&lock);
    return p ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t d, size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scale)
{
    cublasStatus_t status = init(d, size, sizeof *d);
    if (status == CUBLAS_STATUS_SUCCESS) {
        bag_set(d, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &compute, sizeof(int32_t));
        bag_set(d, CUBLASLT_MATMUL_DESC_SCALE_TYPE, &scale, sizeof(int32_t));
    }
    return status;
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t d, size_t size,
                                                 cudaDataType type, uint64_t rows, uint64_t cols,
                                                 int64_t ld)
{
    cublasStatus_t status = init(d, size, sizeof *d);
    if (status == CUBLAS_STATUS_SUCCESS) {
        bag_set(d, CUBLASLT_MATRIX_LAYOUT_TYPE, &type, sizeof(int32_t));
        bag_set(d, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows);
        bag_set(d, CUBLASLT_MATRIX_LAYOUT_COLS, &cols, sizeof cols);
        bag_set(d, CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof ld);
    }
    return status;
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t d, size_t size)
{
    return init(d, size, sizeof *d);
}

static cublasStatus_t transform_of(cublasLtMatrixTransformDesc_t d, cublasStatus_t status,
                                   cudaDataType scale)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        bag_set(d, CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, &scale, sizeof(int32_t));
    return status;
}

cublasStatus_t cublasLtMatrixTransformDescInit_internal(cublasLtMatrixTransformDesc_t d,
                                                        size_t size, cudaDataType scale)
{
    return transform_of(d, init(d, size, sizeof *d), scale);
}

cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t *out,
                                                 cudaDataType scale)
{
    cublasStatus_t status = bag_create((void **)out, sizeof **out);
    return transform_of(out ? *out : NULL, status, scale);
}

cublasStatus_t cublasLtMatrixTransformDescDestroy(cublasLtMatrixTransformDesc_t d)
{
    return bag_destroy(d);
}

cublasStatus_t cublasLtMatrixTransformDescSetAttribute(cublasLtMatrixTransformDesc_t d,
                                                       cublasLtMatrixTransformDescAttributes_t key,
                                                       const void *value, size_t size)
{
    return bag_set(d, (int)key, value, size);
}

cublasStatus_t cublasLtMatrixTransformDescGetAttribute(cublasLtMatrixTransformDesc_t d,
                                                       cublasLtMatrixTransformDescAttributes_t key,
                                                       void *value, size_t size, size_t *written)
{
    return bag_get(d, (int)key, value, size, written);
}

static double bytes_of(cublasLtMatrixLayout_t d)
{
    int64_t type = bag_number(d, CUBLASLT_MATRIX_LAYOUT_TYPE, CUDA_R_32F);
    double each = type == CUDA_R_64F                          ? 8
                  : type == CUDA_R_32F || type == CUDA_R_32I  ? 4
                  : type == CUDA_R_16F || type == CUDA_R_16BF ? 2
                                                              : 1;
    return each * (double)bag_number(d, CUBLASLT_MATRIX_LAYOUT_ROWS, 0) *
           (double)bag_number(d, CUBLASLT_MATRIX_LAYOUT_COLS, 0) *
           (double)bag_number(d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1);
}

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t h, cublasLtMatrixTransformDesc_t desc,
                                       const void *alpha, const void *A, cublasLtMatrixLayout_t a,
                                       const void *beta, const void *B, cublasLtMatrixLayout_t b,
                                       void *C, cublasLtMatrixLayout_t c, cudaStream_t stream)
{
    (void)beta;
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!bag_there(desc) || !alpha || !A || !bag_there(a) || !C || !bag_there(c) ||
        (B && !bag_there(b)))
        return CUBLAS_STATUS_INVALID_VALUE;
    const struct vg_profile *p = vg_profile(h->device);
    double bytes = bytes_of(a) + bytes_of(c) + (B ? bytes_of(b) : 0);
    struct vg_kernel k = {.name = "cublasLt::transformKernel",
                          .grid = {(unsigned)(bytes / 8192) + 1, 1, 1},
                          .block = {256, 1, 1},
                          .registers = 32,
                          .duration_ns = vg_cost_memory(p, bytes, 1, p->pointwise_eff)};
    int rc = vg_library_launch((struct vg_stream *)stream, &k);
    return rc == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
