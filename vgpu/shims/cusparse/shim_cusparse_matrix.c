/* cuSPARSE's calls on arrays that the program hands over one by one: descriptions of matrices,
 * incomplete factorisations, formats, sorting, tridiagonal systems. */
#include "shims/cusparse/shim_cusparse.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

typedef const struct sparse_handle *handle;

struct matrix { /* what a cusparseMatDescr_t says */
    int type, fill, diagonal, base;
};

CALL(cusparseCreateMatDescr, struct matrix **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? SPARSE_SUCCESS : SPARSE_ALLOC_FAILED;
}

CALL(cusparseDestroyMatDescr, struct matrix *m)
{
    free(m);
    return SPARSE_SUCCESS;
}

#define FIELD(set, get, member)                                                                    \
    CALL(set, struct matrix *m, int value)                                                         \
    {                                                                                              \
        if (!m)                                                                                    \
            return SPARSE_INVALID_VALUE;                                                           \
        m->member = value;                                                                         \
        return SPARSE_SUCCESS;                                                                     \
    }                                                                                              \
    CALL(get, const struct matrix *m)                                                              \
    {                                                                                              \
        return m ? m->member : 0;                                                                  \
    }
FIELD(cusparseSetMatType, cusparseGetMatType, type)
FIELD(cusparseSetMatFillMode, cusparseGetMatFillMode, fill)
FIELD(cusparseSetMatDiagType, cusparseGetMatDiagType, diagonal)
FIELD(cusparseSetMatIndexBase, cusparseGetMatIndexBase, base)

#define INFO(create, destroy)                                                                      \
    CALL(create, void **out)                                                                       \
    {                                                                                              \
        *out = malloc(1);                                                                          \
        return *out ? SPARSE_SUCCESS : SPARSE_ALLOC_FAILED;                                        \
    }                                                                                              \
    CALL(destroy, void *info)                                                                      \
    {                                                                                              \
        free(info);                                                                                \
        return SPARSE_SUCCESS;                                                                     \
    }
INFO(cusparseCreateCsrilu02Info, cusparseDestroyCsrilu02Info)
INFO(cusparseCreateCsric02Info, cusparseDestroyCsric02Info)

/* No pivot is zero: nothing is computed. */
#define ZERO_PIVOT(name)                                                                           \
    CALL(name, handle h, void *info, int *position)                                                \
    {                                                                                              \
        if (!h || !info || !position)                                                              \
            return SPARSE_INVALID_VALUE;                                                           \
        *position = -1;                                                                            \
        return vg_library_sync(h->stream) == 0 ? SPARSE_SUCCESS : SPARSE_EXECUTION_FAILED;         \
    }
ZERO_PIVOT(cusparseXcsrilu02_zeroPivot)
ZERO_PIVOT(cusparseXcsric02_zeroPivot)

static double csr_bytes(int rows, int nnz, double value)
{
    return (double)nnz * (value + 4) + 4.0 * (rows + 1);
}

/* An incomplete factorisation of one kind and one type of number. */
#define INCOMPLETE(name, kernel, type)                                                             \
    CALL(name##_bufferSize, handle h, int m, int nnz, const struct matrix *a, type *values,        \
         const int *rows, const int *cols, void *info, int *bytes)                                 \
    {                                                                                              \
        (void)values, (void)rows, (void)cols, (void)nnz;                                           \
        if (!h || !a || !info || !bytes)                                                           \
            return SPARSE_INVALID_VALUE;                                                           \
        *bytes = 64 * m + 1024;                                                                    \
        return SPARSE_SUCCESS;                                                                     \
    }                                                                                              \
    CALL(name##_analysis, handle h, int m, int nnz, const struct matrix *a, const type *values,    \
         const int *rows, const int *cols, void *info, int policy, void *buffer)                   \
    {                                                                                              \
        (void)values, (void)rows, (void)cols, (void)policy, (void)buffer;                          \
        if (!h || !a || !info)                                                                     \
            return SPARSE_INVALID_VALUE;                                                           \
        return sparse_solve(h, kernel "_analysis_kernel", csr_bytes(m, nnz, sizeof(type)), m);     \
    }                                                                                              \
    CALL(name, handle h, int m, int nnz, const struct matrix *a, type *values, const int *rows,    \
         const int *cols, void *info, int policy, void *buffer)                                    \
    {                                                                                              \
        (void)values, (void)rows, (void)cols, (void)policy, (void)buffer;                          \
        if (!h || !a || !info)                                                                     \
            return SPARSE_INVALID_VALUE;                                                           \
        return sparse_solve(h, kernel "_kernel", 2 * csr_bytes(m, nnz, sizeof(type)), m);          \
    }
#define ALL_TYPES(macro, before, after, kernel)                                                    \
    macro(before##S##after, kernel, float) macro(before##D##after, kernel, double)                 \
        macro(before##C##after, kernel, float complex)                                             \
            macro(before##Z##after, kernel, double complex)
ALL_TYPES(INCOMPLETE, cusparse, csrilu02, "csrilu02")
ALL_TYPES(INCOMPLETE, cusparse, csric02, "csric02")

/* ---- formats and sorting ---- */

CALL(cusparseXcoo2csr, handle h, const int *rows, int nnz, int m, int *offsets, int base)
{
    (void)base;
    if (!h || !rows || !offsets)
        return SPARSE_INVALID_VALUE;
    return sparse_launch(h, "coo2csr_kernel", 4.0 * nnz + 4.0 * m, 0, nnz);
}

CALL(cusparseXcsr2coo, handle h, const int *offsets, int nnz, int m, int *rows, int base)
{
    (void)base;
    if (!h || !rows || !offsets)
        return SPARSE_INVALID_VALUE;
    return sparse_launch(h, "csr2coo_kernel", 4.0 * nnz + 4.0 * m, 0, nnz);
}

CALL(cusparseCreateIdentityPermutation, handle h, int n, int *p)
{
    return h && p ? sparse_launch(h, "identity_permutation_kernel", 4.0 * n, 0, n)
                  : SPARSE_INVALID_VALUE;
}

/* By radix: four passes over keys and positions. */
static int sort(handle h, int nnz, const void *keys)
{
    return h && keys ? sparse_launch(h, "radix_sort_kernel", 4 * 16.0 * nnz, 0, nnz)
                     : SPARSE_INVALID_VALUE;
}

#define SORT_SIZE(name)                                                                            \
    CALL(name, handle h, int m, int n, int nnz, const int *a, const int *b, size_t *bytes)         \
    {                                                                                              \
        (void)m, (void)n, (void)a, (void)b;                                                        \
        if (!h || !bytes)                                                                          \
            return SPARSE_INVALID_VALUE;                                                           \
        *bytes = 16 * (size_t)nnz + 1024;                                                          \
        return SPARSE_SUCCESS;                                                                     \
    }
SORT_SIZE(cusparseXcoosort_bufferSizeExt)
SORT_SIZE(cusparseXcsrsort_bufferSizeExt)
SORT_SIZE(cusparseXcscsort_bufferSizeExt)

#define SORT_COO(name)                                                                             \
    CALL(name, handle h, int m, int n, int nnz, int *rows, int *cols, int *p, void *buffer)        \
    {                                                                                              \
        (void)m, (void)n, (void)cols, (void)p, (void)buffer;                                       \
        return sort(h, nnz, rows);                                                                 \
    }
SORT_COO(cusparseXcoosortByRow)
SORT_COO(cusparseXcoosortByColumn)

#define SORT_COMPRESSED(name)                                                                      \
    CALL(name, handle h, int m, int n, int nnz, const struct matrix *a, const int *offsets,        \
         int *indices, int *p, void *buffer)                                                       \
    {                                                                                              \
        (void)m, (void)n, (void)a, (void)offsets, (void)p, (void)buffer;                           \
        return sort(h, nnz, indices);                                                              \
    }
SORT_COMPRESSED(cusparseXcsrsort)
SORT_COMPRESSED(cusparseXcscsort)

#define TRANSPOSE                                                                                  \
    handle h, int m, int n, int nnz, const void *values, const int *offsets, const int *indices,   \
        void *to_values, int *to_offsets, int *to_indices, int type, int action, int base,         \
        int algorithm

CALL(cusparseCsr2cscEx2_bufferSize, TRANSPOSE, size_t *bytes)
{
    (void)m, (void)n, (void)values, (void)offsets, (void)indices, (void)to_values, (void)type;
    (void)to_offsets, (void)to_indices, (void)action, (void)base, (void)algorithm;
    if (!h || !bytes)
        return SPARSE_INVALID_VALUE;
    *bytes = 8 * (size_t)nnz + 1024;
    return SPARSE_SUCCESS;
}

CALL(cusparseCsr2cscEx2, TRANSPOSE, void *buffer)
{
    (void)values, (void)offsets, (void)indices, (void)to_values, (void)to_offsets, (void)n;
    (void)to_indices, (void)action, (void)base, (void)algorithm, (void)buffer;
    return h ? sparse_launch(h, "csr2csc_kernel", 3 * csr_bytes(m, nnz, sparse_value_bytes(type)),
                             0, nnz)
             : SPARSE_NOT_INITIALIZED;
}

/* ---- tridiagonal systems: cyclic reduction, a kernel for each halving at most ---- */

#define TRIDIAGONAL(name, kernel, type)                                                            \
    CALL(name##_bufferSizeExt, handle h, int m, int n, const type *dl, const type *d,              \
         const type *du, const type *b, int ldb, size_t *bytes)                                    \
    {                                                                                              \
        (void)dl, (void)d, (void)du, (void)b, (void)ldb;                                           \
        if (!h || !bytes)                                                                          \
            return SPARSE_INVALID_VALUE;                                                           \
        *bytes = sizeof(type) * (size_t)m * (size_t)(n + 3) + 1024;                                \
        return SPARSE_SUCCESS;                                                                     \
    }                                                                                              \
    CALL(name, handle h, int m, int n, const type *dl, const type *d, const type *du, type *b,     \
         int ldb, void *buffer)                                                                    \
    {                                                                                              \
        (void)dl, (void)d, (void)du, (void)b, (void)ldb, (void)buffer;                             \
        return h ? sparse_solve(h, kernel, 4.0 * sizeof(type) * m * (3.0 + n), 64 * log2(m + 2.0)) \
                 : SPARSE_NOT_INITIALIZED;                                                         \
    }
ALL_TYPES(TRIDIAGONAL, cusparse, gtsv2, "gtsv2_kernel")
ALL_TYPES(TRIDIAGONAL, cusparse, gtsv2_nopivot, "gtsv2_nopivot_kernel")
