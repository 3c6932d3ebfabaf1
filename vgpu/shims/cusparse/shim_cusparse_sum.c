/* The sum of two sparse matrices in CSR. The result gets as many values as both operands together,
 * because the shim does not read their indices to find values at the same place. */
#include "shims/cusparse/shim_cusparse.h"

#include <complex.h>

typedef const struct sparse_handle *handle;
struct matrix;

static double moved(int m, int nnz_a, int nnz_b, double value)
{
    return 2 * ((value + sizeof(int)) * ((double)nnz_a + nnz_b) + 3.0 * sizeof(int) * m);
}

CALL(cusparseXcsrgeam2Nnz, handle h, int m, int n, const struct matrix *a, int nnz_a,
     const int *a_offsets, const int *a_indices, const struct matrix *b, int nnz_b,
     const int *b_offsets, const int *b_indices, const struct matrix *c, int *offsets, int *nnz,
     void *buffer)
{
    (void)n, (void)a, (void)a_indices, (void)b, (void)b_indices, (void)c, (void)buffer;
    if (!h || !a_offsets || !b_offsets || !offsets || !nnz || m < 0)
        return h ? SPARSE_INVALID_VALUE : SPARSE_NOT_INITIALIZED;
    int bad = sparse_launch(h, "csrgeam2_count_kernel", moved(m, nnz_a, nnz_b, 0), 0, m);
    *nnz = nnz_a + nnz_b;
    return bad ? bad : sparse_result(h, nnz, 0);
}

#define SUM(T, type)                                                                               \
    CALL(cusparse##T##csrgeam2_bufferSizeExt, handle h, int m, int n, const type *alpha,           \
         const struct matrix *a, int nnz_a, const type *a_values, const int *a_offsets,            \
         const int *a_indices, const type *beta, const struct matrix *b, int nnz_b,                \
         const type *b_values, const int *b_offsets, const int *b_indices, const struct matrix *c, \
         const type *values, const int *offsets, const int *indices, size_t *bytes)                \
    {                                                                                              \
        (void)n, (void)alpha, (void)a, (void)nnz_a, (void)a_values, (void)a_offsets;               \
        (void)a_indices, (void)beta, (void)b, (void)nnz_b, (void)b_values, (void)b_offsets;        \
        (void)b_indices, (void)c, (void)values, (void)offsets, (void)indices;                      \
        if (!h || !bytes)                                                                          \
            return SPARSE_INVALID_VALUE;                                                           \
        *bytes = sizeof(int) * (size_t)(m > 0 ? m : 0) + 1024;                                     \
        return SPARSE_SUCCESS;                                                                     \
    }                                                                                              \
    CALL(cusparse##T##csrgeam2, handle h, int m, int n, const type *alpha, const struct matrix *a, \
         int nnz_a, const type *a_values, const int *a_offsets, const int *a_indices,              \
         const type *beta, const struct matrix *b, int nnz_b, const type *b_values,                \
         const int *b_offsets, const int *b_indices, const struct matrix *c, type *values,         \
         int *offsets, int *indices, void *buffer)                                                 \
    {                                                                                              \
        (void)n, (void)alpha, (void)a, (void)a_values, (void)a_offsets, (void)a_indices;           \
        (void)beta, (void)b, (void)b_values, (void)b_offsets, (void)b_indices, (void)c;            \
        (void)values, (void)offsets, (void)indices, (void)buffer;                                  \
        return h ? sparse_launch(h, "csrgeam2_kernel", moved(m, nnz_a, nnz_b, sizeof(type)),       \
                                 (double)nnz_a + nnz_b, m)                                         \
                 : SPARSE_NOT_INITIALIZED;                                                         \
    }
SUM(S, float)
SUM(D, double)
SUM(C, float complex)
SUM(Z, double complex)
