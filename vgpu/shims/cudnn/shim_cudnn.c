/* The cuDNN shim's handle, versions and error names, and the functions by which its calls launch
 * kernels. */
#include "shims/cudnn/shim_cudnn.h"

#include <stdlib.h>
#include <string.h>

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    NEED(handle);
    if (vg_start() != 0)
        return CUDNN_STATUS_NOT_INITIALIZED;
    struct cudnnContext *h = calloc(1, sizeof *h);
    if (!h)
        return CUDNN_STATUS_ALLOC_FAILED;
    h->device = vg_current_device();
    *handle = h;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    NEED(handle);
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *stream)
{
    NEED(handle && stream);
    *stream = handle->stream;
    return CUDNN_STATUS_SUCCESS;
}

/* PyTorch refuses a cuDNN with an earlier minor version than the one it was built with, which may
 * be later than that of the headers here. So the shim claims a minor version that no release
 * reaches. */
enum { LATEST_MINOR = 99 };

size_t cudnnGetVersion(void)
{
    return CUDNN_MAJOR * 10000 + LATEST_MINOR * 100;
}

size_t cudnnGetMaxDeviceVersion(void)
{
    return 1210;
}

size_t cudnnGetCudartVersion(void)
{
    return CUDART_VERSION;
}

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value)
{
    NEED(value);
    switch (type) {
    case MAJOR_VERSION:
        *value = CUDNN_MAJOR;
        return CUDNN_STATUS_SUCCESS;
    case MINOR_VERSION:
        *value = LATEST_MINOR;
        return CUDNN_STATUS_SUCCESS;
    case PATCH_LEVEL:
        *value = 0;
        return CUDNN_STATUS_SUCCESS;
    default:
        return CUDNN_STATUS_INVALID_VALUE;
    }
}

cudnnStatus_t cudnnOpsVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCnnVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGraphVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnQueryRuntimeError(cudnnHandle_t handle, cudnnStatus_t *rstatus,
                                     cudnnErrQueryMode_t mode, cudnnRuntimeTag_t *tag)
{
    (void)mode;
    (void)tag;
    NEED(handle && rstatus);
    *rstatus = CUDNN_STATUS_SUCCESS;
    return CUDNN_STATUS_SUCCESS;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    static const struct {
        cudnnStatus_t status;
        const char *text;
    } names[] = {
#define NAME(s) {s, #s}
        NAME(CUDNN_STATUS_SUCCESS),          NAME(CUDNN_STATUS_NOT_INITIALIZED),
        NAME(CUDNN_STATUS_ALLOC_FAILED),     NAME(CUDNN_STATUS_BAD_PARAM),
        NAME(CUDNN_STATUS_INTERNAL_ERROR),   NAME(CUDNN_STATUS_INVALID_VALUE),
        NAME(CUDNN_STATUS_NOT_SUPPORTED),    NAME(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH),
        NAME(CUDNN_STATUS_EXECUTION_FAILED), NAME(CUDNN_STATUS_EXECUTION_FAILED_CUDART),
#undef NAME
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].status == status)
            return names[i].text;
    return "CUDNN_UNKNOWN_STATUS";
}

void cudnnGetLastErrorString(char *message, size_t max_size)
{
    if (message && max_size)
        message[0] = '\0';
}

const struct vg_profile *cudnn_profile(cudnnHandle_t h)
{
    return vg_profile(h->device);
}

enum vg_dtype cudnn_dtype(cudnnDataType_t t)
{
    switch (t) {
    case CUDNN_DATA_HALF:
        return VG_F16;
    case CUDNN_DATA_BFLOAT16:
        return VG_BF16;
    case CUDNN_DATA_DOUBLE:
        return VG_F64;
    case CUDNN_DATA_INT8:
        return VG_I8;
    default:
        return VG_F32;
    }
}

size_t cudnn_type_bytes(cudnnDataType_t t)
{
    return vg_dtype_bytes(cudnn_dtype(t));
}

const char *typed_name(const struct typed_name *n, cudnnDataType_t t)
{
    const char *name = t == CUDNN_DATA_HALF ? n->f16 : t == CUDNN_DATA_BFLOAT16 ? n->bf16 : n->f32;
    return name ? name : n->f32;
}

cudnnStatus_t cudnn_launch(cudnnHandle_t h, const struct vg_kernel *k)
{
    int rc = vg_library_launch((struct vg_stream *)h->stream, k);
    return rc == 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED_CUDART;
}

cudnnStatus_t cudnn_launch_flat(cudnnHandle_t h, const char *name, int64_t elements, int per_block,
                                int64_t duration_ns)
{
    int64_t blocks = (elements + per_block - 1) / per_block;
    struct vg_kernel k = {.name = name,
                          .grid = {blocks > 0 ? (unsigned)blocks : 1, 1, 1},
                          .block = {256, 1, 1},
                          .registers = 32,
                          .duration_ns = duration_ns};
    return cudnn_launch(h, &k);
}
