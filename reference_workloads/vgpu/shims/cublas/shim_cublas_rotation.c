/* cuBLAS's Givens rotations of two numbers. They are computed: in host pointer mode the library
 * does so on the host, too. */
#include "reference_workloads/vgpu/shims/cublas/shim_cublas.h"

#include <math.h>

/* On the device this is a kernel that moves next to nothing. */
static cublasStatus_t rotated(cublasHandle_t h)
{
    if (h->pointer_mode == CUBLAS_POINTER_MODE_HOST)
        return CUBLAS_STATUS_SUCCESS;
    return (cublasStatus_t)blas_sweep(h, "rotg_kernel", 64);
}

/* a and b become r and z. The sign is that of the larger one. */
#define REAL(T, type)                                                                              \
    cublasStatus_t cublas##T##rotg_v2(cublasHandle_t h, type *a, type *b, type *c, type *s)        \
    {                                                                                              \
        if (!h || !a || !b || !c || !s)                                                            \
            return h ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;                \
        double x = (double)*a, y = (double)*b, larger = fabs(x) > fabs(y) ? x : y;                 \
        double r = copysign(hypot(x, y), larger);                                                  \
        *c = (type)(r != 0 ? x / r : 1);                                                           \
        *s = (type)(r != 0 ? y / r : 0);                                                           \
        *b = fabs(x) > fabs(y) ? *s : *c != 0 ? 1 / *c : 1;                                        \
        *a = (type)r;                                                                              \
        return rotated(h);                                                                         \
    }

/* c is |a| / r, s is (a / |a|) conj(b) / r, a becomes (a / |a|) r. */
#define COMPLEX(T, type, real)                                                                     \
    cublasStatus_t cublas##T##rotg_v2(cublasHandle_t h, type *a, type *b, real *c, type *s)        \
    {                                                                                              \
        if (!h || !a || !b || !c || !s)                                                            \
            return h ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;                \
        double length = hypot((double)a->x, (double)a->y);                                         \
        double r = hypot(length, hypot((double)b->x, (double)b->y));                               \
        if (length == 0) {                                                                         \
            *c = 0;                                                                                \
            *s = (type){1, 0};                                                                     \
            *a = *b;                                                                               \
            return rotated(h);                                                                     \
        }                                                                                          \
        double x = (double)a->x / length, y = (double)a->y / length;                               \
        *c = (real)(length / r);                                                                   \
        s->x = (real)((x * (double)b->x + y * (double)b->y) / r);                                  \
        s->y = (real)((y * (double)b->x - x * (double)b->y) / r);                                  \
        *a = (type){(real)(x * r), (real)(y * r)};                                                 \
        return rotated(h);                                                                         \
    }

REAL(S, float)
REAL(D, double)
COMPLEX(C, cuComplex, float)
COMPLEX(Z, cuDoubleComplex, double)

/* All four have one type, c and s too. */
cublasStatus_t cublasRotgEx(cublasHandle_t h, void *a, void *b, cudaDataType type, void *c, void *s,
                            cudaDataType cs_type, cudaDataType execution)
{
    (void)cs_type, (void)execution;
    switch (type) {
    case CUDA_R_32F:
        return cublasSrotg_v2(h, a, b, c, s);
    case CUDA_R_64F:
        return cublasDrotg_v2(h, a, b, c, s);
    case CUDA_C_32F:
        return cublasCrotg_v2(h, a, b, c, s);
    case CUDA_C_64F:
        return cublasZrotg_v2(h, a, b, c, s);
    default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}
