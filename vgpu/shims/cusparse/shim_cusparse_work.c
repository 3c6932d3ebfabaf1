/* cuSPARSE's product of a sparse matrix with a dense one. The model moves each operand once. */
#include "shims/cusparse/shim_cusparse.h"

#include <math.h>
#include <stdlib.h>

typedef const struct sparse_handle *handle;
typedef struct sparse_object object;

static double batches(const object *o)
{
    return fmax(1, o->batch);
}

static int answer(size_t *bytes, size_t value)
{
    if (!bytes)
        return SPARSE_INVALID_VALUE;
    *bytes = value;
    return SPARSE_SUCCESS;
}

/* Bytes that the product of A with `columns` columns of B moves. */
static double product_bytes(const object *a, double columns)
{
    double value = sparse_value_bytes(a->value_type);
    return sparse_bytes(a) + value * columns * (double)(a->rows + a->cols) * batches(a);
}

#define SPMM                                                                                       \
    handle h, int op_a, int op_b, const void *alpha, const object *a, const object *b,             \
        const void *beta, object *c, int type, int algorithm
#define UNUSED_SPMM (void)op_a, (void)op_b, (void)alpha, (void)beta, (void)type, (void)algorithm

CALL(cusparseSpMM_bufferSize, SPMM, size_t *bytes)
{
    UNUSED_SPMM;
    return h && a && b && c ? answer(bytes, 1024) : SPARSE_INVALID_VALUE;
}

CALL(cusparseSpMM_preprocess, SPMM, void *buffer)
{
    UNUSED_SPMM, (void)buffer;
    return h && a && b && c ? SPARSE_SUCCESS : SPARSE_INVALID_VALUE;
}

CALL(cusparseSpMM, SPMM, void *buffer)
{
    UNUSED_SPMM, (void)buffer;
    if (!h || !a || !b || !c)
        return h ? SPARSE_INVALID_VALUE : SPARSE_NOT_INITIALIZED;
    double columns = (double)c->cols;
    return sparse_launch(h, a->format == SPARSE_COO ? "coomm_kernel" : "csrmm_alg2_kernel",
                         product_bytes(a, columns), 2.0 * (double)a->nnz * columns * batches(c),
                         (double)c->rows * columns);
}
