/* Shared inside the cuBLAS shim: the handle, and which arithmetic a call's types mean. */
#ifndef VGPU_SHIM_CUBLAS_H
#define VGPU_SHIM_CUBLAS_H

#include "cost/names.h"
#include "shims/cublas/shim_cublas_work.h"

#include <cublas_v2.h>

struct cublasContext {
    int device, sm_count_target;
    cudaStream_t stream;
    cublasPointerMode_t pointer_mode;
    cublasAtomicsMode_t atomics_mode;
    cublasMath_t math;
    int settings[BLAS_SETTINGS];
    void *own_workspace; /* holds the results of reductions before they are copied to the host */
};

/* Sets *out to the arithmetic that a product of `type` uses on this device. Returns NOT_SUPPORTED
 * or ARCH_MISMATCH where the real library does. */
cublasStatus_t cublas_arithmetic(const struct vg_profile *p, cudaDataType type,
                                 cublasComputeType_t compute, cublasMath_t math,
                                 enum vg_dtype *out);
const struct vg_profile *cublas_profile(cublasHandle_t h);
cublasStatus_t cublas_status(int cuda_error);

#endif
