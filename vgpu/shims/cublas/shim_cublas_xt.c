/* cublasXt: products of matrices in host memory, computed in blocks on the selected devices. The
 * model gives each device a band of the result's columns: it copies the operands in, launches the
 * product, and copies the result back. */
#include "shims/cublas/shim_cublas.h"

#include <cublasXt.h>
#include <stdlib.h>

enum { DEVICES = 16, BLOCK_DIM = 2048 };

struct cublasXtContext {
    int devices[DEVICES], count, block;
    cublasXtPinnedMemMode_t pinning;
};

cublasStatus_t cublasXtCreate(cublasXtHandle_t *out)
{
    if (vg_start() != 0)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    struct cublasXtContext *x = calloc(1, sizeof *x);
    if (!x)
        return CUBLAS_STATUS_ALLOC_FAILED;
    x->block = BLOCK_DIM;
    *out = x;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtDestroy(cublasXtHandle_t x)
{
    free(x);
    return x ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t x, int n, int devices[])
{
    if (!x || n < 1 || n > DEVICES)
        return x ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;
    for (int i = 0; i < n; i++)
        if (devices[i] < 0 || devices[i] >= vg_device_count())
            return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < n; i++)
        x->devices[i] = devices[i];
    x->count = n;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtMaxBoards(int *n)
{
    *n = vg_device_count();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtGetNumBoards(int n, int devices[], int *boards)
{
    (void)devices;
    *boards = n;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t x, int block)
{
    if (!x || block < 1)
        return x ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;
    x->block = block;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t x, int *block)
{
    *block = x->block;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtSetPinningMemMode(cublasXtHandle_t x, cublasXtPinnedMemMode_t mode)
{
    x->pinning = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtGetPinningMemMode(cublasXtHandle_t x, cublasXtPinnedMemMode_t *mode)
{
    *mode = x->pinning;
    return CUBLAS_STATUS_SUCCESS;
}

struct band { /* a band of the result: all rows, some columns */
    enum vg_dtype type;
    size_t size, m, n, k;
    const void *a, *b;
    void *c;
    bool transpose_a, transpose_b;
};

static int multiply_on(int device, const struct band *w)
{
    void *at = NULL;
    size_t a = w->m * w->k * w->size, b = w->k * w->n * w->size, c = w->m * w->n * w->size;
    struct vg_product product = {
        w->type, w->transpose_a, w->transpose_b, (int64_t)w->m, (int64_t)w->n, (int64_t)w->k, 1, 1};
    vg_set_current_device(device);
    int bad = vg_library_malloc(&at, a + b + c);
    if (!bad)
        bad = vg_library_copy_rows(NULL, at, a, w->a, a, a, 1, false);
    if (!bad)
        bad = vg_library_copy_rows(NULL, (char *)at + a, b, w->b, b, b, 1, false);
    if (!bad)
        bad = vg_product_launch(NULL, vg_profile(device), &product, 0);
    if (!bad)
        bad = vg_library_copy_rows(NULL, w->c, c, (char *)at + a + b, c, c, 1, false);
    if (at)
        vg_library_free(at);
    return bad;
}

static cublasStatus_t multiply(cublasXtHandle_t x, struct band w, size_t ldc)
{
    if (!x)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!x->count)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!w.m || !w.n || !w.k)
        return CUBLAS_STATUS_SUCCESS;
    int before = vg_current_device(), bad = 0;
    size_t each = (w.n + (size_t)x->count - 1) / (size_t)x->count, left = w.n;
    for (int i = 0; i < x->count && left > 0 && !bad; i++) {
        w.n = left < each ? left : each;
        bad = multiply_on(x->devices[i], &w);
        w.c = (char *)w.c + w.n * ldc * w.size;
        left -= w.n;
    }
    vg_set_current_device(before);
    return cublas_status(bad);
}

#define GEMM(S, ctype, T)                                                                          \
    cublasStatus_t cublasXt##S##gemm(                                                              \
        cublasXtHandle_t x, cublasOperation_t ta, cublasOperation_t tb, size_t m, size_t n,        \
        size_t k, const ctype *alpha, const ctype *a, size_t lda, const ctype *b, size_t ldb,      \
        const ctype *beta, ctype *c, size_t ldc)                                                   \
    {                                                                                              \
        (void)alpha, (void)lda, (void)ldb, (void)beta;                                             \
        struct band w = {                                                                          \
            T, sizeof(ctype), m, n, k, a, b, c, ta != CUBLAS_OP_N, tb != CUBLAS_OP_N};             \
        return multiply(x, w, ldc);                                                                \
    }

GEMM(S, float, VG_F32)
GEMM(D, double, VG_F64)
