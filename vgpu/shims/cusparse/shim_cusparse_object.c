/* cuSPARSE's vectors and matrices: made of the program's pointers, asked, changed, destroyed. */
#include "shims/cusparse/shim_cusparse.h"

#include <stdlib.h>
#include <string.h>

static int make(struct sparse_object **out, struct sparse_object as)
{
    if (!out || as.rows < 0 || as.cols < 0 || as.nnz < 0)
        return SPARSE_INVALID_VALUE;
    *out = malloc(sizeof **out);
    if (*out)
        **out = as;
    return *out ? SPARSE_SUCCESS : SPARSE_ALLOC_FAILED;
}

/* Calls on objects that only read them have a form of their own, which is the same. */
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
BOTH(cusparseCreate, Csc,
     LIST(struct sparse_object **out, int64_t rows, int64_t cols, int64_t nnz, void *offsets,
          void *indices, void *values, int offset_type, int index_type, int base, int type),
     .format = SPARSE_CSC, .rows = rows, .cols = cols, .nnz = nnz, .offsets = offsets,
     .indices = indices, .values = values, .offset_type = offset_type, .index_type = index_type,
     .base = base, .value_type = type)
BOTH(cusparseCreate, Coo,
     LIST(struct sparse_object **out, int64_t rows, int64_t cols, int64_t nnz, void *row_indices,
          void *indices, void *values, int index_type, int base, int type),
     .format = SPARSE_COO, .rows = rows, .cols = cols, .nnz = nnz, .offsets = row_indices,
     .indices = indices, .values = values, .offset_type = index_type, .index_type = index_type,
     .base = base, .value_type = type)
BOTH(cusparseCreate, BlockedEll,
     LIST(struct sparse_object **out, int64_t rows, int64_t cols, int64_t block, int64_t ell_cols,
          void *indices, void *values, int index_type, int base, int type),
     .format = SPARSE_BLOCKED_ELL, .rows = rows, .cols = cols, .nnz = rows * ell_cols,
     .leading = block, .indices = indices, .values = values, .index_type = index_type, .base = base,
     .value_type = type)
BOTH(cusparseCreate, SpVec,
     LIST(struct sparse_object **out, int64_t size, int64_t nnz, void *indices, void *values,
          int index_type, int base, int type),
     .format = SPARSE_VECTOR, .rows = size, .cols = 1, .nnz = nnz, .indices = indices,
     .values = values, .index_type = index_type, .base = base, .value_type = type)
BOTH(cusparseCreate, DnVec, LIST(struct sparse_object **out, int64_t size, void *values, int type),
     .format = SPARSE_DENSE_VECTOR, .rows = size, .cols = 1, .nnz = size, .values = values,
     .value_type = type)
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
DESTROY(cusparseDestroySpVec)
DESTROY(cusparseDestroyDnVec)
DESTROY(cusparseDestroyDnMat)

/* ---- asked and changed ---- */

#define GET_VALUES(name)                                                                           \
    CALL(name, const struct sparse_object *o, void **values)                                       \
    {                                                                                              \
        if (!o || !values)                                                                         \
            return SPARSE_INVALID_VALUE;                                                           \
        *values = o->values;                                                                       \
        return SPARSE_SUCCESS;                                                                     \
    }
GET_VALUES(cusparseSpVecGetValues)
GET_VALUES(cusparseConstSpVecGetValues)
GET_VALUES(cusparseDnVecGetValues)
GET_VALUES(cusparseConstDnVecGetValues)
GET_VALUES(cusparseSpMatGetValues)
GET_VALUES(cusparseConstSpMatGetValues)
GET_VALUES(cusparseDnMatGetValues)
GET_VALUES(cusparseConstDnMatGetValues)

#define SET_VALUES(name)                                                                           \
    CALL(name, struct sparse_object *o, void *values)                                              \
    {                                                                                              \
        if (!o)                                                                                    \
            return SPARSE_INVALID_VALUE;                                                           \
        o->values = values;                                                                        \
        return SPARSE_SUCCESS;                                                                     \
    }
SET_VALUES(cusparseSpVecSetValues)
SET_VALUES(cusparseDnVecSetValues)
SET_VALUES(cusparseSpMatSetValues)
SET_VALUES(cusparseDnMatSetValues)

#define SET_POINTERS(name)                                                                         \
    CALL(name, struct sparse_object *o, void *offsets, void *indices, void *values)                \
    {                                                                                              \
        if (!o)                                                                                    \
            return SPARSE_INVALID_VALUE;                                                           \
        o->offsets = offsets;                                                                      \
        o->indices = indices;                                                                      \
        o->values = values;                                                                        \
        return SPARSE_SUCCESS;                                                                     \
    }
SET_POINTERS(cusparseCsrSetPointers)
SET_POINTERS(cusparseCscSetPointers)
SET_POINTERS(cusparseCooSetPointers)

#define GET_MATRIX(name)                                                                           \
    CALL(name, const struct sparse_object *o, int64_t *rows, int64_t *cols, int64_t *nnz,          \
         void **offsets, void **indices, void **values, int *offset_type, int *index_type,         \
         int *base, int *type)                                                                     \
    {                                                                                              \
        if (!o)                                                                                    \
            return SPARSE_INVALID_VALUE;                                                           \
        *rows = o->rows, *cols = o->cols, *nnz = o->nnz;                                           \
        *offsets = o->offsets, *indices = o->indices, *values = o->values;                         \
        *offset_type = o->offset_type, *index_type = o->index_type;                                \
        *base = o->base, *type = o->value_type;                                                    \
        return SPARSE_SUCCESS;                                                                     \
    }
GET_MATRIX(cusparseCsrGet)
GET_MATRIX(cusparseConstCsrGet)
GET_MATRIX(cusparseCscGet)
GET_MATRIX(cusparseConstCscGet)

CALL(cusparseDnVecGet, const struct sparse_object *o, int64_t *size, void **values, int *type)
{
    if (!o)
        return SPARSE_INVALID_VALUE;
    *size = o->nnz, *values = o->values, *type = o->value_type;
    return SPARSE_SUCCESS;
}

CALL(cusparseDnMatGet, const struct sparse_object *o, int64_t *rows, int64_t *cols,
     int64_t *leading, void **values, int *type, int *order)
{
    if (!o)
        return SPARSE_INVALID_VALUE;
    *rows = o->rows, *cols = o->cols, *leading = o->leading;
    *values = o->values, *type = o->value_type, *order = o->order;
    return SPARSE_SUCCESS;
}

CALL(cusparseSpMatGetSize, const struct sparse_object *o, int64_t *rows, int64_t *cols,
     int64_t *nnz)
{
    if (!o)
        return SPARSE_INVALID_VALUE;
    *rows = o->rows, *cols = o->cols, *nnz = o->nnz;
    return SPARSE_SUCCESS;
}

#define GET_INT(name, member)                                                                      \
    CALL(name, const struct sparse_object *o, int *out)                                            \
    {                                                                                              \
        if (!o || !out)                                                                            \
            return SPARSE_INVALID_VALUE;                                                           \
        *out = (int)o->member;                                                                     \
        return SPARSE_SUCCESS;                                                                     \
    }
GET_INT(cusparseSpMatGetFormat, format)
GET_INT(cusparseSpMatGetIndexBase, base)
GET_INT(cusparseSpVecGetIndexBase, base)
GET_INT(cusparseSpMatGetStridedBatch, batch)

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

CALL(cusparseDnMatGetStridedBatch, const struct sparse_object *o, int *batch, int64_t *stride)
{
    if (!o)
        return SPARSE_INVALID_VALUE;
    *batch = o->batch, *stride = o->stride;
    return SPARSE_SUCCESS;
}

/* Attribute 0: which triangle; 1: what its diagonal is. */
CALL(cusparseSpMatSetAttribute, struct sparse_object *o, int attribute, const void *data,
     size_t size)
{
    if (!o || !data || size != sizeof(int) || attribute < 0 || attribute > 1)
        return SPARSE_INVALID_VALUE;
    memcpy(attribute == 0 ? &o->fill : &o->diagonal, data, size);
    return SPARSE_SUCCESS;
}

CALL(cusparseSpMatGetAttribute, const struct sparse_object *o, int attribute, void *data,
     size_t size)
{
    if (!o || !data || size != sizeof(int) || attribute < 0 || attribute > 1)
        return SPARSE_INVALID_VALUE;
    memcpy(data, attribute == 0 ? &o->fill : &o->diagonal, size);
    return SPARSE_SUCCESS;
}
