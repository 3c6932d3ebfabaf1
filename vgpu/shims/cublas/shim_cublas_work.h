/* Inside the cuBLAS shim: helpers for calls that are described in tables. They work without
 * cuBLAS's own types. */
#ifndef VGPU_SHIM_CUBLAS_WORK_H
#define VGPU_SHIM_CUBLAS_WORK_H

#include "core/core.h"
#include "shims/vendor_call.h"

struct cublasContext;
enum { BLAS_SUCCESS = 0, BLAS_NOT_INITIALIZED = 1, BLAS_INVALID_VALUE = 7 };

/* Parameters in such a table, most of which the model ignores: the handle, an int or an enumeration
 * (N), a pointer (P), the stride of a batch (L). */
#define HANDLE  struct cublasContext *h
#define N(name) int name __attribute__((unused))
#define P(name) const void *name __attribute__((unused))
#define L(name) long long name __attribute__((unused))

/* Expand X once for each element type of a call. */
#define EACH_REAL(X)                                                                               \
    X(S)                                                                                           \
    X(D)
#define EACH_COMPLEX(X)                                                                            \
    X(C)                                                                                           \
    X(Z)
#define EACH(X)  EACH_REAL(X) EACH_COMPLEX(X)
#define TYPE(T)  blas_letter(#T[0])
#define BYTES(T) ((double)TYPE(T).bytes)

/* The element type that a letter in a call's name, or a cudaDataType, stands for. */
struct blas_type {
    enum vg_dtype real;
    unsigned bytes; /* of an element, both parts of a complex one */
    bool complex;
};
struct blas_type blas_letter(char letter);
struct blas_type blas_type(int cuda_type);

/* The place of a setting that programs set and read but that does not change the model. NULL
 * without a handle. */
enum blas_setting {
    BLAS_EMULATION,
    BLAS_SPECIAL_VALUES,
    BLAS_MANTISSA_CONTROL,
    BLAS_MANTISSA_BITS,
    BLAS_MANTISSA_OFFSET,
    BLAS_SETTINGS
};
int *blas_setting(struct cublasContext *h, enum blas_setting which);

/* The following functions return a cublasStatus_t. */
/* Launches one kernel that takes `times` as long as a product of m x n x k. */
int blas_product(struct cublasContext *h, const char *name, struct blas_type type, int64_t m,
                 int64_t n, int64_t k, int64_t batch, int times);
/* Launches one kernel that moves `bytes` bytes. */
int blas_sweep(struct cublasContext *h, const char *name, double bytes);
/* Like blas_sweep, with a result: in host pointer mode the call copies it to the host and waits. */
int blas_reduce(struct cublasContext *h, const char *name, double bytes, void *result,
                size_t result_bytes);

#endif
