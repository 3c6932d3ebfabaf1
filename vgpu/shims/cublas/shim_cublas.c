/* The cuBLAS shim's handle, modes, versions and error names, and the arithmetic that a product
 * uses. */
#include "shims/cublas/shim_cublas.h"

#include <stdlib.h>
#include <string.h>

enum { OWN_WORKSPACE_BYTES = 8 << 20 };

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    if (!handle)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (vg_start() != 0)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    struct cublasContext *h = calloc(1, sizeof *h);
    if (!h)
        return CUBLAS_STATUS_ALLOC_FAILED;
    h->device = vg_current_device();
    if (vg_library_malloc(&h->own_workspace, OWN_WORKSPACE_BYTES) != 0) {
        free(h);
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    *handle = h;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    vg_library_free(handle->own_workspace);
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

/* Defines the setter and the getter of one field of the handle. */
#define MODE(Set, Get, type, field)                                                                \
    cublasStatus_t Set(cublasHandle_t handle, type value)                                          \
    {                                                                                              \
        if (!handle)                                                                               \
            return CUBLAS_STATUS_NOT_INITIALIZED;                                                  \
        handle->field = value;                                                                     \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    cublasStatus_t Get(cublasHandle_t handle, type *value)                                         \
    {                                                                                              \
        if (!handle)                                                                               \
            return CUBLAS_STATUS_NOT_INITIALIZED;                                                  \
        if (!value)                                                                                \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        *value = handle->field;                                                                    \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }

MODE(cublasSetStream_v2, cublasGetStream_v2, cudaStream_t, stream)
MODE(cublasSetPointerMode_v2, cublasGetPointerMode_v2, cublasPointerMode_t, pointer_mode)
MODE(cublasSetAtomicsMode, cublasGetAtomicsMode, cublasAtomicsMode_t, atomics_mode)
MODE(cublasSetMathMode, cublasGetMathMode, cublasMath_t, math)
MODE(cublasSetSmCountTarget, cublasGetSmCountTarget, int, sm_count_target)

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return (uintptr_t)workspace % 256 == 0 || bytes == 0 ? CUBLAS_STATUS_SUCCESS
                                                         : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    (void)handle;
    if (!version)
        return CUBLAS_STATUS_INVALID_VALUE;
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    if (!value)
        return CUBLAS_STATUS_INVALID_VALUE;
    switch (type) {
    case MAJOR_VERSION:
        *value = CUBLAS_VER_MAJOR;
        return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION:
        *value = CUBLAS_VER_MINOR;
        return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL:
        *value = CUBLAS_VER_PATCH;
        return CUBLAS_STATUS_SUCCESS;
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

size_t cublasGetCudartVersion(void)
{
    return CUDART_VERSION;
}

static const struct {
    cublasStatus_t status;
    const char *name, *text;
} statuses[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED",
     "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the architecture"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "the GPU program failed to execute"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR",
     "an internal cuBLAS operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "the functionality requested is not supported"},
};

const char *cublasGetStatusName(cublasStatus_t status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i].status == status)
            return statuses[i].name;
    return "CUBLAS_STATUS_UNKNOWN";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i].status == status)
            return statuses[i].text;
    return "unknown cuBLAS status";
}

int *blas_setting(cublasHandle_t h, enum blas_setting which)
{
    return h ? &h->settings[which] : NULL;
}

const struct vg_profile *cublas_profile(cublasHandle_t h)
{
    return vg_profile(h->device);
}

cublasStatus_t cublas_status(int cuda_error)
{
    return cuda_error == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* FP32 products use ordinary FP32 arithmetic unless the caller's compute type or math mode allows
 * TF32 or FP16. NVIDIA_TF32_OVERRIDE=0 forbids TF32. */
static enum vg_dtype single_precision(const struct vg_profile *p, cublasComputeType_t compute,
                                      cublasMath_t math)
{
    const char *override = getenv("NVIDIA_TF32_OVERRIDE");
    bool fast = compute == CUBLAS_COMPUTE_32F_FAST_TF32 || compute == CUBLAS_COMPUTE_32F_FAST_16F ||
                compute == CUBLAS_COMPUTE_32F_FAST_16BF ||
                (compute == CUBLAS_COMPUTE_32F &&
                 (math == CUBLAS_TF32_TENSOR_OP_MATH || math == CUBLAS_TENSOR_OP_MATH));
    if (fast && p->tf32_flops > 0)
        return override && strcmp(override, "0") == 0 ? VG_F32 : VG_TF32;
    if (fast && compute == CUBLAS_COMPUTE_32F_FAST_16F && p->fp16_flops > p->fp32_flops)
        return VG_F16;
    return VG_F32;
}

cublasStatus_t cublas_arithmetic(const struct vg_profile *p, cudaDataType type,
                                 cublasComputeType_t compute, cublasMath_t math, enum vg_dtype *out)
{
    bool pedantic = math == CUBLAS_PEDANTIC_MATH || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
                    compute == CUBLAS_COMPUTE_16F_PEDANTIC;
    switch (type) {
    case CUDA_R_32F:
        *out = pedantic ? VG_F32 : single_precision(p, compute, math);
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_R_16F:
        *out = pedantic ? VG_F32 : VG_F16;
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_R_16BF:
        *out = pedantic ? VG_F32 : VG_BF16;
        return p->bf16_flops > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ARCH_MISMATCH;
    case CUDA_R_64F:
        *out = VG_F64;
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_R_8I:
        *out = VG_I8;
        return CUBLAS_STATUS_SUCCESS;
    default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}
