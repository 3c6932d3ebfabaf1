/* cuSPARSE's matrix objects: made from the program's pointers, given a number of batches,
 * destroyed. */
#include "shims/cusparse/shim_cusparse.h"

#include <stdlib.h>

static int make(struct sparse_object **out, struct sparse_object as)
{
    if (!out || as.rows < 0 || as.cols < 0 || as.nnz < 0)
        return SPARSE_INVALID_VALUE;
    *out = malloc(sizeof **out);
    if (*out)
        **out = as;
    return *out ? SPARSE_SUCCESS : SPARSE_ALLOC_FAILED;
}

/* Each create call also exists in a form for objects that are only read (Const), which does the
 * same. */
#define BOTH(prefix, rest, params, ...)                                                            \
    CALL(prefix##rest, params)                                                                     \
    {                                                                                              \
        return make(out, (struct sparse_object){__VA_ARGS__});                                     \
    }                                                                                              \
    CALL(prefix##Const##rest, params)                                                              \
    {                                                                                              \
        return make(out, (struct sparse_object){__VA_ARGS__});                                     \
    }
#define LIST(...) __VA_ARGS__

BOTH(cusparseCreate, Csr,
     LIST(struct sparse_object **out, int64_t rows, int64_t cols, int64_t nnz, void *offsets,
          void *indices, void *values, int offset_type, int index_type, int base, int type),
     .format = SPARSE_CSR, .rows = rows, .cols = cols, .nnz = nnz, .offsets = offsets,
     .indices = indices, .values = values, .offset_type = offset_type, .index_type = index_type,
     .base = base, .value_type = type)
BOTH(cusparseCreate, Coo,
     LIST(struct sparse_object **out, int64_t rows, int64_t cols, int64_t nnz, void *row_indices,
          void *indices, void *values, int index_type, int base, int type),
     .format = SPARSE_COO, .rows = rows, .cols = cols, .nnz = nnz, .offsets = row_indices,
     .indices = indices, .values = values, .offset_type = index_type, .index_type = index_type,
     .base = base, .value_type = type)
BOTH(cusparseCreate, DnMat,
     LIST(struct sparse_object **out, int64_t rows, int64_t cols, int64_t leading, void *values,
          int type, int order),
     .format = SPARSE_DENSE, .rows = rows, .cols = cols, .nnz = rows * cols, .leading = leading,
     .values = values, .value_type = type, .order = order)

#define DESTROY(name)                                                                              \
    CALL(name, struct sparse_object *o)                                                            \
    {                                                                                              \
        free(o);                                                                                   \
        return SPARSE_SUCCESS;                                                                     \
    }
DESTROY(cusparseDestroySpMat)
DESTROY(cusparseDestroyDnMat)

static int set_batch(struct sparse_object *o, int batch, int64_t stride)
{
    if (!o || batch < 1)
        return SPARSE_INVALID_VALUE;
    o->batch = batch;
    o->stride = stride;
    return SPARSE_SUCCESS;
}

CALL(cusparseDnMatSetStridedBatch, struct sparse_object *o, int batch, int64_t stride)
{
    return set_batch(o, batch, stride);
}

CALL(cusparseCooSetStridedBatch, struct sparse_object *o, int batch, int64_t stride)
{
    return set_batch(o, batch, stride);
}

CALL(cusparseCsrSetStridedBatch, struct sparse_object *o, int batch, int64_t offset_stride,
     int64_t stride)
{
    (void)offset_stride;
    return set_batch(o, batch, stride);
}
