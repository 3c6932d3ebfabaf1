/* Inside the cuSPARSE shim: handles, descriptors, and what an operation takes. cuSPARSE's header is
 * not asked for: the types are those of its binary interface, the numbers those of its
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

/* A matrix, sparse or dense: what the program gave for it. */
enum sparse_format { /* of matrices: the numbers of cusparseFormat_t */
                     SPARSE_CSR = 1,
                     SPARSE_COO = 3,
                     SPARSE_DENSE = 100,
};
struct sparse_object {
    enum sparse_format format;
    int64_t rows, cols, nnz; /* of a dense one: all elements */
    int64_t leading, stride;
    void *offsets, *indices, *values;
    int offset_type, index_type, base, value_type, order;
    int batch;
};

/* Bytes of an element of a cudaDataType, and of an index (2: 32 bits, 3: 64 bits). */
double sparse_value_bytes(int type);
double sparse_index_bytes(int type);
/* Bytes of all that the object holds. */
double sparse_bytes(const struct sparse_object *o);

/* One kernel that moves `bytes` at the share of the memory's rate that sparse work gets, or does
 * `flops` if that takes longer; `threads` of work. */
int sparse_launch(const struct sparse_handle *h, const char *name, double bytes, double flops,
                  double threads);
/* A result of `size` bytes that a kernel has left, where pointers are the host's: waits. */
int sparse_result(const struct sparse_handle *h, void *out, size_t size);

#endif
