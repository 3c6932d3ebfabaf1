/* cuBLAS's settings that do not change the model: emulation of FP32 and FP64, and logging. The shim
 * stores them for their getters. */
#include "shims/cublas/shim_cublas_work.h"

#define SETTING(what, which)                                                                       \
    CALL(cublasSet##what, HANDLE, int value)                                                       \
    {                                                                                              \
        if (!h)                                                                                    \
            return BLAS_NOT_INITIALIZED;                                                           \
        *blas_setting(h, which) = value;                                                           \
        return BLAS_SUCCESS;                                                                       \
    }                                                                                              \
    CALL(cublasGet##what, HANDLE, int *value)                                                      \
    {                                                                                              \
        if (!h || !value)                                                                          \
            return h ? BLAS_INVALID_VALUE : BLAS_NOT_INITIALIZED;                                  \
        *value = *blas_setting(h, which);                                                          \
        return BLAS_SUCCESS;                                                                       \
    }
SETTING(EmulationStrategy, BLAS_EMULATION)
SETTING(EmulationSpecialValuesSupport, BLAS_SPECIAL_VALUES)
SETTING(FixedPointEmulationMantissaControl, BLAS_MANTISSA_CONTROL)
SETTING(FixedPointEmulationMaxMantissaBitCount, BLAS_MANTISSA_BITS)
SETTING(FixedPointEmulationMantissaBitOffset, BLAS_MANTISSA_OFFSET)

CALL(cublasSetFixedPointEmulationMantissaBitCountPointer, HANDLE, P(count))
{
    return h ? BLAS_SUCCESS : BLAS_NOT_INITIALIZED;
}

CALL(cublasLoggerConfigure, N(on), N(to_stdout), N(to_stderr), P(file))
{
    return BLAS_SUCCESS;
}

static void *logger;

CALL(cublasSetLoggerCallback, void *callback)
{
    logger = callback;
    return BLAS_SUCCESS;
}

CALL(cublasGetLoggerCallback, void **callback)
{
    if (!callback)
        return BLAS_INVALID_VALUE;
    *callback = logger;
    return BLAS_SUCCESS;
}
