/* cuBLAS's vector operations (level 1). In host pointer mode an operation with a scalar result
 * copies it to the host and waits; so the model shows how a dot product stalls a training loop. */
#include "shims/cublas/shim_cublas_work.h"

static const char axpy_name[] = "_Z15axpy_kernel_valIffEv19cublasAxpyParamsValIT_S1_T0_E";
static const char scal_name[] = "_Z15scal_kernel_valIffEv19cublasScalParamsValIT_T0_E";
static const char copy_name[] = "_Z11copy_kernelIfEv16cublasCopyParamsIT_E";
static const char dot_name[] = "_Z10dot_kernelIfLi128ELi0E15cublasDotParamsI30cublasGemvTensor"
                               "StridedBatchedIKfES1_IfEEEvT2_";
static const char nrm2_name[] = "_Z11nrm2_kernelIfffLi0ELi0ELi128EEv16cublasNrm2ParamsIiT_T0_E";
static const char asum_name[] = "_Z11asum_kernelIiffEv16cublasAsumParamsIT0_T1_E";
static const char iamax_name[] = "_Z12iamax_kernelIiffLi256EEv17cublasIamaxParamsIT_T0_T1_E";
static const char iamin_name[] = "_Z12iamin_kernelIiffLi256EEv17cublasIaminParamsIT_T0_T1_E";

/* Launches one kernel that moves n elements of `bytes` bytes `passes` times. `given` is false if a
 * pointer argument is NULL. */
static int vector(HANDLE, const char *name, int n, double bytes, double passes, bool given)
{
    if (h && !given)
        return BLAS_INVALID_VALUE;
    return blas_sweep(h, name, n * bytes * passes);
}

static int scalar(HANDLE, const char *name, int n, double bytes, double passes, bool given,
                  void *result, size_t result_bytes)
{
    if (h && !given)
        return BLAS_INVALID_VALUE;
    return blas_reduce(h, name, n * bytes * passes, result, result_bytes);
}

#define AXPY(T)                                                                                    \
    CALL(cublas##T##axpy_v2, HANDLE, N(n), P(alpha), P(x), N(incx), P(y), N(incy))                 \
    {                                                                                              \
        return vector(h, axpy_name, n, BYTES(T), 3, alpha && x && y);                              \
    }
#define COPY(T)                                                                                    \
    CALL(cublas##T##copy_v2, HANDLE, N(n), P(x), N(incx), P(y), N(incy))                           \
    {                                                                                              \
        return vector(h, copy_name, n, BYTES(T), 2, x && y);                                       \
    }
#define SWAP(T)                                                                                    \
    CALL(cublas##T##swap_v2, HANDLE, N(n), P(x), N(incx), P(y), N(incy))                           \
    {                                                                                              \
        return vector(h, "swap_kernel", n, BYTES(T), 4, x && y);                                   \
    }
#define SCALE(name, T)                                                                             \
    CALL(cublas##name##_v2, HANDLE, N(n), P(alpha), P(x), N(incx))                                 \
    {                                                                                              \
        return vector(h, scal_name, n, BYTES(T), 2, alpha && x);                                   \
    }
#define ROTATE(name, T)                                                                            \
    CALL(cublas##name##_v2, HANDLE, N(n), P(x), N(incx), P(y), N(incy), P(c), P(s))                \
    {                                                                                              \
        return vector(h, "rot_kernel", n, BYTES(T), 4, x && y && c && s);                          \
    }
#define ROTATE_MODIFIED(T)                                                                         \
    CALL(cublas##T##rotm_v2, HANDLE, N(n), P(x), N(incx), P(y), N(incy), P(param))                 \
    {                                                                                              \
        return vector(h, "rotm_kernel", n, BYTES(T), 4, x && y && param);                          \
    }
#define DOT(name, T)                                                                               \
    CALL(cublas##name##_v2, HANDLE, N(n), P(x), N(incx), P(y), N(incy), void *result)              \
    {                                                                                              \
        return scalar(h, dot_name, n, BYTES(T), 2, x && y, result, TYPE(T).bytes);                 \
    }
#define SUM(name, T, R, kernel)                                                                    \
    CALL(cublas##name##_v2, HANDLE, N(n), P(x), N(incx), void *result)                             \
    {                                                                                              \
        return scalar(h, kernel, n, BYTES(T), 1, x, result, TYPE(R).bytes);                        \
    }
#define INDEX(name, T, kernel)                                                                     \
    CALL(cublas##name##_v2, HANDLE, N(n), P(x), N(incx), int *result)                              \
    {                                                                                              \
        return scalar(h, kernel, n, BYTES(T), 1, x, result, sizeof *result);                       \
    }                                                                                              \
    CALL(cublas##name##_v2_64, HANDLE, int64_t n, P(x), int64_t incx, int64_t *result)             \
    {                                                                                              \
        (void)incx;                                                                                \
        return scalar(h, kernel, (int)n, BYTES(T), 1, x, result, sizeof *result);                  \
    }

EACH(AXPY)
EACH(COPY)
EACH(SWAP)
EACH_REAL(ROTATE_MODIFIED)
SCALE(Sscal, S)
SCALE(Dscal, D)
SCALE(Cscal, C)
SCALE(Zscal, Z)
SCALE(Csscal, C)
SCALE(Zdscal, Z)
ROTATE(Srot, S)
ROTATE(Drot, D)
ROTATE(Crot, C)
ROTATE(Zrot, Z)
ROTATE(Csrot, C)
ROTATE(Zdrot, Z)
DOT(Sdot, S)
DOT(Ddot, D)
DOT(Cdotu, C)
DOT(Cdotc, C)
DOT(Zdotu, Z)
DOT(Zdotc, Z)
SUM(Snrm2, S, S, nrm2_name)
SUM(Dnrm2, D, D, nrm2_name)
SUM(Scnrm2, C, S, nrm2_name)
SUM(Dznrm2, Z, D, nrm2_name)
SUM(Sasum, S, S, asum_name)
SUM(Dasum, D, D, asum_name)
SUM(Scasum, C, S, asum_name)
SUM(Dzasum, Z, D, asum_name)
INDEX(Isamax, S, iamax_name)
INDEX(Idamax, D, iamax_name)
INDEX(Icamax, C, iamax_name)
INDEX(Izamax, Z, iamax_name)
INDEX(Isamin, S, iamin_name)
INDEX(Idamin, D, iamin_name)
INDEX(Icamin, C, iamin_name)
INDEX(Izamin, Z, iamin_name)

/* ---- calls that take the types of their operands as arguments ---- */

static double bytes_of(int type)
{
    return blas_type(type).bytes;
}

CALL(cublasAxpyEx, HANDLE, N(n), P(alpha), N(alpha_type), P(x), N(type), N(incx), P(y), N(y_type),
     N(incy), N(execution))
{
    return vector(h, axpy_name, n, bytes_of(type), 3, alpha && x && y);
}

CALL(cublasScalEx, HANDLE, N(n), P(alpha), N(alpha_type), P(x), N(type), N(incx), N(execution))
{
    return vector(h, scal_name, n, bytes_of(type), 2, alpha && x);
}

CALL(cublasCopyEx, HANDLE, N(n), P(x), N(type), N(incx), P(y), N(y_type), N(incy))
{
    return vector(h, copy_name, n, bytes_of(type), 2, x && y);
}

CALL(cublasSwapEx, HANDLE, N(n), P(x), N(type), N(incx), P(y), N(y_type), N(incy))
{
    return vector(h, "swap_kernel", n, bytes_of(type), 4, x && y);
}

CALL(cublasRotEx, HANDLE, N(n), P(x), N(type), N(incx), P(y), N(y_type), N(incy), P(c), P(s),
     N(cs_type), N(execution))
{
    return vector(h, "rot_kernel", n, bytes_of(type), 4, x && y && c && s);
}

CALL(cublasRotmEx, HANDLE, N(n), P(x), N(type), N(incx), P(y), N(y_type), N(incy), P(param),
     N(param_type), N(execution))
{
    return vector(h, "rotm_kernel", n, bytes_of(type), 4, x && y && param);
}

#define DOT_EX(name)                                                                               \
    CALL(name, HANDLE, N(n), P(x), N(type), N(incx), P(y), N(y_type), N(incy), void *result,       \
         N(result_type), N(execution))                                                             \
    {                                                                                              \
        return scalar(h, dot_name, n, bytes_of(type), 2, x && y, result,                           \
                      (size_t)bytes_of(result_type));                                              \
    }
#define SUM_EX(name, kernel)                                                                       \
    CALL(name, HANDLE, N(n), P(x), N(type), N(incx), void *result, N(result_type), N(execution))   \
    {                                                                                              \
        return scalar(h, kernel, n, bytes_of(type), 1, x, result, (size_t)bytes_of(result_type));  \
    }
#define INDEX_EX(name, kernel)                                                                     \
    CALL(name, HANDLE, N(n), P(x), N(type), N(incx), int *result)                                  \
    {                                                                                              \
        return scalar(h, kernel, n, bytes_of(type), 1, x, result, sizeof *result);                 \
    }                                                                                              \
    CALL(name##_64, HANDLE, int64_t n, P(x), N(type), int64_t incx, int64_t *result)               \
    {                                                                                              \
        (void)incx;                                                                                \
        return scalar(h, kernel, (int)n, bytes_of(type), 1, x, result, sizeof *result);            \
    }
DOT_EX(cublasDotEx)
DOT_EX(cublasDotcEx)
SUM_EX(cublasNrm2Ex, nrm2_name)
SUM_EX(cublasAsumEx, asum_name)
INDEX_EX(cublasIamaxEx, iamax_name)
INDEX_EX(cublasIaminEx, iamin_name)
