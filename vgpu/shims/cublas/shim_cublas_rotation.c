/* cuBLAS's calls that construct Givens rotations from two numbers. The shim really computes them,
 * because in host pointer mode the library computes them on the host, too. */
#include "shims/cublas/shim_cublas.h"

#include <math.h>

/* In device pointer mode the library launches a kernel that moves next to no data. */
static cublasStatus_t rotated(cublasHandle_t h)
{
    if (h->pointer_mode == CUBLAS_POINTER_MODE_HOST)
        return CUBLAS_STATUS_SUCCESS;
    return (cublasStatus_t)blas_sweep(h, "rotg_kernel", 64);
}

/* Replaces a by r and b by z, and sets c and s. r has the sign of the larger of a and b. */
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

/* c = |a| / r, s = (a / |a|) conj(b) / r; a becomes (a / |a|) r. */
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

/* The modified rotation of Lawson, Hanson, Kincaid and Krogh (1979) of (x, y), whose scale factors
 * are d1 and d2, by the matrix h[row][column]. `flag` says which of h's elements are stored: -1
 * all; 0 only the off-diagonal ones, the diagonal is 1; 1 only the diagonal, the others are 1 and
 * -1. */
struct modified {
    double d1, d2, x, h[2][2], flag;
};

static void rotate(struct modified *m, double y)
{
    double p1 = m->d1 * m->x, p2 = m->d2 * y;
    if (fabs(p1 * m->x) > fabs(p2 * y)) {
        m->h[0][1] = p2 / p1;
        m->h[1][0] = -y / m->x;
        double u = 1 - m->h[0][1] * m->h[1][0];
        m->flag = u > 0 ? 0 : -1;
        m->d1 /= u, m->d2 /= u, m->x *= u;
    } else {
        m->h[0][0] = p1 / p2;
        m->h[1][1] = m->x / y;
        double u = 1 + m->h[0][0] * m->h[1][1], d1 = m->d1;
        m->flag = p2 * y >= 0 ? 1 : -1;
        m->d1 = m->d2 / u, m->d2 = d1 / u, m->x = y * u;
    }
}

/* Brings *d, the scale factor of row `row`, back into a range around 1, and adapts that row of
 * h. */
static void rescale(struct modified *m, double *d, int row)
{
    const double by = 4096;
    while (*d != 0 && (fabs(*d) <= 1 / (by * by) || fabs(*d) >= by * by)) {
        if (m->flag == 0)
            m->h[0][0] = m->h[1][1] = 1;
        else if (m->flag == 1)
            m->h[0][1] = 1, m->h[1][0] = -1;
        m->flag = -1;
        double factor = fabs(*d) < 1 ? by : 1 / by;
        *d *= factor * factor;
        m->h[row][0] /= factor, m->h[row][1] /= factor;
        if (row == 0)
            m->x /= factor;
    }
}

/* Returns false if there is nothing to rotate: *m is unchanged. */
static bool make_modified(struct modified *m, double y)
{
    if (m->d1 >= 0 && m->d2 * y == 0)
        return false;
    if (m->d1 >= 0)
        rotate(m, y);
    if (m->d1 < 0 || m->flag < 0) {
        *m = (struct modified){.flag = -1};
        return true;
    }
    rescale(m, &m->d1, 0);
    rescale(m, &m->d2, 1);
    return true;
}

#define MODIFIED(T, type)                                                                          \
    cublasStatus_t cublas##T##rotmg_v2(cublasHandle_t h, type *d1, type *d2, type *x,              \
                                       const type *y, type *param)                                 \
    {                                                                                              \
        if (!h || !d1 || !d2 || !x || !y || !param)                                                \
            return h ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;                \
        struct modified m = {.d1 = (double)*d1, .d2 = (double)*d2, .x = (double)*x};               \
        if (!make_modified(&m, (double)*y)) {                                                      \
            param[0] = -2;                                                                         \
            return rotated(h);                                                                     \
        }                                                                                          \
        *d1 = (type)m.d1, *d2 = (type)m.d2, *x = (type)m.x;                                        \
        param[0] = (type)m.flag;                                                                   \
        if (m.flag != 0)                                                                           \
            param[1] = (type)m.h[0][0], param[4] = (type)m.h[1][1];                                \
        if (m.flag != 1)                                                                           \
            param[2] = (type)m.h[1][0], param[3] = (type)m.h[0][1];                                \
        return rotated(h);                                                                         \
    }

MODIFIED(S, float)
MODIFIED(D, double)

/* All arguments must have the same type, `param` too. */
cublasStatus_t cublasRotmgEx(cublasHandle_t h, void *d1, cudaDataType type, void *d2,
                             cudaDataType d2_type, void *x, cudaDataType x_type, const void *y,
                             cudaDataType y_type, void *param, cudaDataType param_type,
                             cudaDataType execution)
{
    (void)d2_type, (void)x_type, (void)y_type, (void)param_type, (void)execution;
    return type == CUDA_R_32F   ? cublasSrotmg_v2(h, d1, d2, x, y, param)
           : type == CUDA_R_64F ? cublasDrotmg_v2(h, d1, d2, x, y, param)
                                : CUBLAS_STATUS_NOT_SUPPORTED;
}

/* a, b, c and s must have the same type. */
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
