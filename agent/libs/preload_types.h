/* Converts number types of CUDA's libraries to those of spool_format.h. */
#ifndef GPUPROF_AGENT_LIBS_PRELOAD_TYPES_H
#define GPUPROF_AGENT_LIBS_PRELOAD_TYPES_H

#include <cublasLt.h>
#include <cublas_v2.h>

#include "wire/spool_format.h"

static inline uint8_t dtype_of_cuda(int type) /* type: cudaDataType */
{
    switch (type) {
    case CUDA_R_64F:
        return SPOOL_DT_F64;
    case CUDA_R_32F:
        return SPOOL_DT_F32;
    case CUDA_R_16F:
        return SPOOL_DT_F16;
    case CUDA_R_16BF:
        return SPOOL_DT_BF16;
    case CUDA_R_8F_E4M3:
        return SPOOL_DT_F8E4M3;
    case CUDA_R_8F_E5M2:
        return SPOOL_DT_F8E5M2;
    case CUDA_R_8I:
        return SPOOL_DT_I8;
    case CUDA_R_32I:
        return SPOOL_DT_I32;
    default:
        return SPOOL_DT_OTHER;
    }
}

static inline uint8_t dtype_of_compute(int type) /* type: cublasComputeType_t */
{
    switch (type) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
        return SPOOL_DT_F16;
    case CUBLAS_COMPUTE_32F_FAST_16BF:
        return SPOOL_DT_BF16;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
        return SPOOL_DT_TF32;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
        return SPOOL_DT_F32;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
        return SPOOL_DT_F64;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
        return SPOOL_DT_I32;
    default:
        return SPOOL_DT_OTHER;
    }
}

#endif
