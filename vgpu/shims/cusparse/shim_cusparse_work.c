/* cuSPARSE's operations on objects. Each reads what its operands hold once, but for the solves,
 * whose rows wait for one another. */
#include "shims/cusparse/shim_cusparse.h"

#include <math.h>
#include <stdlib.h>

typedef const struct sparse_handle *handle;
typedef struct sparse_object object;

/* A descriptor of a solve or a product that takes several calls. */
struct sparse_steps {
    double products;
};

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

/* What a product of A with `columns` columns of B moves. */
static double product_bytes(const object *a, double columns)
{
    double value = sparse_value_bytes(a->value_type);
    return sparse_bytes(a) + value * columns * (double)(a->rows + a->cols) * batches(a);
}

/* ---- sparse matrix, dense vector ---- */

#define SPMV                                                                                       \
    handle h, int op, const void *alpha, const object *a, const object *x, const void *beta,       \
        object *y, int type, int algorithm
#define UNUSED_SPMV (void)op, (void)alpha, (void)beta, (void)type, (void)algorithm

CALL(cusparseSpMV_bufferSize, SPMV, size_t *bytes)
{
    UNUSED_SPMV;
    return h && a && x && y ? answer(bytes, 1024) : SPARSE_INVALID_VALUE;
}

CALL(cusparseSpMV_preprocess, SPMV, void *buffer)
{
    UNUSED_SPMV, (void)buffer;
    return h && a && x && y ? SPARSE_SUCCESS : SPARSE_INVALID_VALUE;
}

CALL(cusparseSpMV, SPMV, void *buffer)
{
    UNUSED_SPMV, (void)buffer;
    if (!h || !a || !x || !y)
        return h ? SPARSE_INVALID_VALUE : SPARSE_NOT_INITIALIZED;
    const char *name = a->format == SPARSE_COO ? "coomv_kernel" : "csrmv_v3_kernel";
    return sparse_launch(h, name, product_bytes(a, 1), 2.0 * (double)a->nnz, (double)a->nnz / 4);
}

/* ---- sparse matrix, dense matrix ---- */

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

/* The product of two dense matrices where C has elements. */
#define SDDMM                                                                                      \
    handle h, int op_a, int op_b, const void *alpha, const object *a, const object *b,             \
        const void *beta, object *c, int type, int algorithm

CALL(cusparseSDDMM_bufferSize, SDDMM, size_t *bytes)
{
    UNUSED_SPMM;
    return h && a && b && c ? answer(bytes, 1024) : SPARSE_INVALID_VALUE;
}

CALL(cusparseSDDMM_preprocess, SDDMM, void *buffer)
{
    UNUSED_SPMM, (void)buffer;
    return h && a && b && c ? SPARSE_SUCCESS : SPARSE_INVALID_VALUE;
}

CALL(cusparseSDDMM, SDDMM, void *buffer)
{
    UNUSED_SPMM, (void)buffer;
    if (!h || !a || !b || !c)
        return h ? SPARSE_INVALID_VALUE : SPARSE_NOT_INITIALIZED;
    double inner = op_a == 0 ? (double)a->cols : (double)a->rows;
    return sparse_launch(h, "sddmm_kernel", sparse_bytes(a) + sparse_bytes(b) + 2 * sparse_bytes(c),
                         2.0 * inner * (double)c->nnz, (double)c->nnz * 32);
}

/* ---- triangular solves ---- */

#define STEPS(create, destroy)                                                                     \
    CALL(create, struct sparse_steps **out)                                                        \
    {                                                                                              \
        *out = calloc(1, sizeof **out);                                                            \
        return *out ? SPARSE_SUCCESS : SPARSE_ALLOC_FAILED;                                        \
    }                                                                                              \
    CALL(destroy, struct sparse_steps *steps)                                                      \
    {                                                                                              \
        free(steps);                                                                               \
        return SPARSE_SUCCESS;                                                                     \
    }
STEPS(cusparseSpSV_createDescr, cusparseSpSV_destroyDescr)
STEPS(cusparseSpSM_createDescr, cusparseSpSM_destroyDescr)
STEPS(cusparseSpGEMM_createDescr, cusparseSpGEMM_destroyDescr)

#define SPSV                                                                                       \
    handle h, int op, const void *alpha, const object *a, const object *x, object *y, int type,    \
        int algorithm, struct sparse_steps *steps
#define UNUSED_SPSV (void)op, (void)alpha, (void)type, (void)algorithm

CALL(cusparseSpSV_bufferSize, SPSV, size_t *bytes)
{
    UNUSED_SPSV;
    bool right = h && a && x && y && steps;
    return right ? answer(bytes, 64 * (size_t)a->rows + 1024) : SPARSE_INVALID_VALUE;
}

CALL(cusparseSpSV_analysis, SPSV, void *buffer)
{
    UNUSED_SPSV, (void)buffer;
    if (!h || !a || !x || !y || !steps)
        return SPARSE_INVALID_VALUE;
    return sparse_solve(h, "csrsv2_analysis_kernel", sparse_bytes(a), (double)a->rows);
}

CALL(cusparseSpSV_solve, SPSV)
{
    UNUSED_SPSV;
    if (!h || !a || !x || !y || !steps)
        return SPARSE_INVALID_VALUE;
    return sparse_solve(h, "csrsv2_solve_kernel", product_bytes(a, 1), (double)a->rows);
}

#define SPSM                                                                                       \
    handle h, int op_a, int op_b, const void *alpha, const object *a, const object *b, object *c,  \
        int type, int algorithm, struct sparse_steps *steps
#define UNUSED_SPSM (void)op_a, (void)op_b, (void)alpha, (void)type, (void)algorithm

CALL(cusparseSpSM_bufferSize, SPSM, size_t *bytes)
{
    UNUSED_SPSM;
    bool right = h && a && b && c && steps;
    return right ? answer(bytes, 64 * (size_t)a->rows + 1024) : SPARSE_INVALID_VALUE;
}

CALL(cusparseSpSM_analysis, SPSM, void *buffer)
{
    UNUSED_SPSM, (void)buffer;
    if (!h || !a || !b || !c || !steps)
        return SPARSE_INVALID_VALUE;
    return sparse_solve(h, "csrsm2_analysis_kernel", sparse_bytes(a), (double)a->rows);
}

CALL(cusparseSpSM_solve, SPSM)
{
    UNUSED_SPSM;
    if (!h || !a || !b || !c || !steps)
        return SPARSE_INVALID_VALUE;
    return sparse_solve(h, "csrsm2_solve_kernel", product_bytes(a, (double)c->cols),
                        (double)a->rows);
}

/* New values leave the order of the rows as it is. */
CALL(cusparseSpSV_updateMatrix, handle h, struct sparse_steps *steps, void *values, int part)
{
    (void)part;
    return h && steps && values ? SPARSE_SUCCESS : SPARSE_INVALID_VALUE;
}

CALL(cusparseSpSM_updateMatrix, handle h, struct sparse_steps *steps, void *values, int part)
{
    (void)part;
    return h && steps && values ? SPARSE_SUCCESS : SPARSE_INVALID_VALUE;
}

/* ---- two sparse matrices: how many elements the product has is estimated ---- */

#define SPGEMM                                                                                     \
    handle h, int op_a, int op_b, const void *alpha, const object *a, const object *b,             \
        const void *beta, object *c, int type, int algorithm, struct sparse_steps *steps

CALL(cusparseSpGEMM_workEstimation, SPGEMM, size_t *bytes, void *buffer)
{
    UNUSED_SPMM;
    if (!h || !a || !b || !c || !steps || !bytes)
        return SPARSE_INVALID_VALUE;
    steps->products = (double)a->nnz * (double)b->nnz / fmax(1, (double)b->rows);
    *bytes = 16 * (size_t)a->rows + 1024;
    return buffer ? sparse_launch(h, "csrgemm_count_kernel", sparse_bytes(a), 0, (double)a->rows)
                  : SPARSE_SUCCESS;
}

CALL(cusparseSpGEMM_compute, SPGEMM, size_t *bytes, void *buffer)
{
    UNUSED_SPMM;
    if (!h || !a || !b || !c || !steps || !bytes)
        return SPARSE_INVALID_VALUE;
    *bytes = (size_t)steps->products * 16 + 1024;
    c->nnz = (int64_t)fmin(steps->products, (double)c->rows * (double)c->cols);
    if (!buffer)
        return SPARSE_SUCCESS;
    double element = sparse_value_bytes(a->value_type) + sparse_index_bytes(a->index_type);
    return sparse_launch(h, "csrgemm_kernel", sparse_bytes(a) + 3 * element * steps->products,
                         2 * steps->products, (double)a->rows * 32);
}

CALL(cusparseSpGEMM_copy, SPGEMM)
{
    UNUSED_SPMM;
    if (!h || !a || !b || !c || !steps)
        return SPARSE_INVALID_VALUE;
    return sparse_launch(h, "csrgemm_copy_kernel", 2 * sparse_bytes(c), 0, (double)c->nnz);
}

/* ---- vectors, and between sparse and dense ---- */

CALL(cusparseAxpby, handle h, const void *alpha, const object *x, const void *beta, object *y)
{
    (void)alpha, (void)beta;
    if (!h || !x || !y)
        return SPARSE_INVALID_VALUE;
    return sparse_launch(h, "axpby_kernel", sparse_bytes(x) + 2 * sparse_bytes(y), 0,
                         (double)y->rows);
}

CALL(cusparseGather, handle h, const object *y, object *x)
{
    if (!h || !x || !y)
        return SPARSE_INVALID_VALUE;
    return sparse_launch(h, "gather_kernel", 2 * sparse_bytes(x), 0, (double)x->nnz);
}

CALL(cusparseScatter, handle h, const object *x, object *y)
{
    if (!h || !x || !y)
        return SPARSE_INVALID_VALUE;
    return sparse_launch(h, "scatter_kernel", 2 * sparse_bytes(x), 0, (double)x->nnz);
}

CALL(cusparseSpVV_bufferSize, handle h, int op, const object *x, const object *y,
     const void *result, int type, size_t *bytes)
{
    (void)op, (void)result, (void)type;
    return h && x && y ? answer(bytes, 1024) : SPARSE_INVALID_VALUE;
}

CALL(cusparseSpVV, handle h, int op, const object *x, const object *y, void *result, int type,
     void *buffer)
{
    (void)op, (void)buffer;
    if (!h || !x || !y || !result)
        return SPARSE_INVALID_VALUE;
    int bad = sparse_launch(h, "spvv_kernel", 2 * sparse_bytes(x), 0, (double)x->nnz);
    return bad ? bad : sparse_result(h, result, (size_t)sparse_value_bytes(type));
}

CALL(cusparseSparseToDense_bufferSize, handle h, const object *a, const object *b, int algorithm,
     size_t *bytes)
{
    (void)algorithm;
    return h && a && b ? answer(bytes, 1024) : SPARSE_INVALID_VALUE;
}

CALL(cusparseSparseToDense, handle h, const object *a, object *b, int algorithm, void *buffer)
{
    (void)algorithm, (void)buffer;
    if (!h || !a || !b)
        return SPARSE_INVALID_VALUE;
    return sparse_launch(h, "sparse_to_dense_kernel", sparse_bytes(a) + sparse_bytes(b), 0,
                         (double)a->nnz);
}

CALL(cusparseDenseToSparse_bufferSize, handle h, const object *a, const object *b, int algorithm,
     size_t *bytes)
{
    (void)algorithm;
    return h && a && b ? answer(bytes, 1024) : SPARSE_INVALID_VALUE;
}

/* Memory holds zeros but for small copies: half of the elements is a guess. */
CALL(cusparseDenseToSparse_analysis, handle h, const object *a, object *b, int algorithm,
     void *buffer)
{
    (void)algorithm, (void)buffer;
    if (!h || !a || !b)
        return SPARSE_INVALID_VALUE;
    b->nnz = a->nnz / 2;
    return sparse_launch(h, "dense_to_sparse_count_kernel", sparse_bytes(a), 0, (double)a->nnz);
}

CALL(cusparseDenseToSparse_convert, handle h, const object *a, object *b, int algorithm,
     void *buffer)
{
    (void)algorithm, (void)buffer;
    if (!h || !a || !b)
        return SPARSE_INVALID_VALUE;
    return sparse_launch(h, "dense_to_sparse_kernel", sparse_bytes(a) + sparse_bytes(b), 0,
                         (double)a->nnz);
}
