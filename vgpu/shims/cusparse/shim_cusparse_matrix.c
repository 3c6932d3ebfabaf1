/* cuSPARSE's calls that take the arrays of a matrix as separate arguments: matrix descriptors, and
 * the conversion of row indices (COO) to row offsets (CSR). */
#include "shims/cusparse/shim_cusparse.h"

#include <stdlib.h>

typedef const struct sparse_handle *handle;

struct matrix { /* what the program set in a cusparseMatDescr_t */
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

CALL(cusparseXcoo2csr, handle h, const int *rows, int nnz, int m, int *offsets, int base)
{
    (void)base;
    if (!h || !rows || !offsets)
        return SPARSE_INVALID_VALUE;
    return sparse_launch(h, "coo2csr_kernel", 4.0 * nnz + 4.0 * m, 0, nnz);
}
