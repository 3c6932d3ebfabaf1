/* cuBLAS's vector operations. In host pointer mode those with a scalar result copy it and wait,
 * which is why a dot product in a training loop stalls it. */
#include "reference_workloads/vgpu/shims/cublas/shim_cublas.h"

static const char axpy_name[] = "_Z15axpy_kernel_valIffEv19cublasAxpyParamsValIT_S1_T0_E";
static const char scal_name[] = "_Z15scal_kernel_valIffEv19cublasScalParamsValIT_T0_E";
static const char copy_name[] = "_Z11copy_kernelIfEv16cublasCopyParamsIT_E";
static const char dot_name[] = "_Z10dot_kernelIfLi128ELi0E15cublasDotParamsI30cublasGemvTensor"
                               "StridedBatchedIKfES1_IfEEEvT2_";
static const char nrm2_name[] = "_Z11nrm2_kernelIfffLi0ELi0ELi128EEv16cublasNrm2ParamsIiT_T0_E";
static const char asum_name[] = "_Z11asum_kernelIiffEv16cublasAsumParamsIT0_T1_E";
static const char iamax_name[] = "_Z12iamax_kernelIiffLi256EEv17cublasIamaxParamsIT_T0_T1_E";

static cublasStatus_t sweep(cublasHandle_t h, const char *name, int n, size_t size, double passes)
{
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (n <= 0)
        return CUBLAS_STATUS_SUCCESS;
    const struct vg_profile *p = cublas_profile(h);
    struct vg_kernel k = {
        .name = name,
        .grid = {(unsigned)((n + 1023) / 1024), 1, 1},
        .block = {128, 1, 1},
        .registers = 24,
        .duration_ns = vg_cost_memory(p, (double)n * (double)size, passes, p->pointwise_eff)};
    return cublas_status(vg_library_launch((struct vg_stream *)h->stream, &k));
}

static cublasStatus_t reduce(cublasHandle_t h, const char *name, int n, size_t size, double passes,
                             void *result, size_t result_size)
{
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!result)
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = sweep(h, name, n, size, passes);
    if (status != CUBLAS_STATUS_SUCCESS || h->pointer_mode == CUBLAS_POINTER_MODE_DEVICE)
        return status;
    struct vg_stream *stream = (struct vg_stream *)h->stream;
    int rc = vg_library_copy(stream, result, h->own_workspace, result_size);
    return cublas_status(rc != 0 ? rc : vg_library_sync(stream));
}

#define VECTOR(S, s, type)                                                                         \
    cublasStatus_t cublas##S##axpy_v2(cublasHandle_t handle, int n, const type *alpha,             \
                                      const type *x, int incx, type *y, int incy)                  \
    {                                                                                              \
        (void)incx;                                                                                \
        (void)incy;                                                                                \
        if (!alpha || !x || !y)                                                                    \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        return sweep(handle, axpy_name, n, sizeof(type), 3);                                       \
    }                                                                                              \
    cublasStatus_t cublas##S##scal_v2(cublasHandle_t handle, int n, const type *alpha, type *x,    \
                                      int incx)                                                    \
    {                                                                                              \
        (void)incx;                                                                                \
        if (!alpha || !x)                                                                          \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        return sweep(handle, scal_name, n, sizeof(type), 2);                                       \
    }                                                                                              \
    cublasStatus_t cublas##S##copy_v2(cublasHandle_t handle, int n, const type *x, int incx,       \
                                      type *y, int incy)                                           \
    {                                                                                              \
        (void)incx;                                                                                \
        (void)incy;                                                                                \
        if (!x || !y)                                                                              \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        return sweep(handle, copy_name, n, sizeof(type), 2);                                       \
    }                                                                                              \
    cublasStatus_t cublas##S##dot_v2(cublasHandle_t handle, int n, const type *x, int incx,        \
                                     const type *y, int incy, type *result)                        \
    {                                                                                              \
        (void)incx;                                                                                \
        (void)incy;                                                                                \
        if (!x || !y)                                                                              \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        return reduce(handle, dot_name, n, sizeof(type), 2, result, sizeof(type));                 \
    }                                                                                              \
    cublasStatus_t cublas##S##nrm2_v2(cublasHandle_t handle, int n, const type *x, int incx,       \
                                      type *result)                                                \
    {                                                                                              \
        (void)incx;                                                                                \
        if (!x)                                                                                    \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        return reduce(handle, nrm2_name, n, sizeof(type), 1, result, sizeof(type));                \
    }                                                                                              \
    cublasStatus_t cublas##S##asum_v2(cublasHandle_t handle, int n, const type *x, int incx,       \
                                      type *result)                                                \
    {                                                                                              \
        (void)incx;                                                                                \
        if (!x)                                                                                    \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        return reduce(handle, asum_name, n, sizeof(type), 1, result, sizeof(type));                \
    }                                                                                              \
    cublasStatus_t cublasI##s##amax_v2(cublasHandle_t handle, int n, const type *x, int incx,      \
                                       int *result)                                                \
    {                                                                                              \
        (void)incx;                                                                                \
        if (!x)                                                                                    \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        return reduce(handle, iamax_name, n, sizeof(type), 1, result, sizeof(int));                \
    }

VECTOR(S, s, float)
VECTOR(D, d, double)
