/* Inside the cuSPARSE shim: handles, descriptors, and the durations of operations. The build needs
 * no header of cuSPARSE: the types here are those of its binary interface, the numbers those of its
 * enumerations. */
#ifndef VGPU_SHIM_CUSPARSE_H
#define VGPU_SHIM_CUSPARSE_H

#include "core/core.h"
#include "shims/vendor_call.h"

enum {
    SPARSE_SUCCESS = 0,
    SPARSE_NOT_INITIALIZED = 1,
    SPARSE_ALLOC_FAILED = 2,
    SPARSE_INVALID_VALUE = 3,
    SPARSE_EXECUTION_FAILED = 6,
};

struct sparse_handle {
    struct vg_stream *stream;
    int pointer_mode; /* 0: results go to the host */
};

/* A sparse or dense matrix as the program described it. */
enum sparse_format { /* the numbers of cusparseFormat_t for sparse matrices */
                     SPARSE_CSR = 1,
                     SPARSE_COO = 3,
                     SPARSE_DENSE = 100,
};
struct sparse_object {
    enum sparse_format format;
    int64_t rows, cols, nnz; /* of a dense matrix: all elements */
    int64_t leading, stride;
    void *offsets, *indices, *values;
    int offset_type, index_type, base, value_type, order;
    int batch;
};

/* Bytes of an element of a cudaDataType, and of an index of a cusparseIndexType_t (2: 32 bits, 3:
 * 64 bits). */
double sparse_value_bytes(int type);
double sparse_index_bytes(int type);
/* Bytes of the object's values, indices and offsets. */
double sparse_bytes(const struct sparse_object *o);

/* Launches one kernel of `threads` threads. It takes as long as moving `bytes` bytes at the
 * bandwidth share of sparse work, or as `flops` operations if they take longer. */
int sparse_launch(const struct sparse_handle *h, const char *name, double bytes, double flops,
                  double threads);
/* If the handle returns results to the host: copies `size` bytes of a kernel's result to `out`,
 * which waits for the kernel. */
int sparse_result(const struct sparse_handle *h, void *out, size_t size);

#endif
