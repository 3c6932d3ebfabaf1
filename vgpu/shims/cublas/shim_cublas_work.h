/* Inside the cuBLAS shim: calls in forms that name no type, for what is described by tables. */
#ifndef VGPU_SHIM_CUBLAS_WORK_H
#define VGPU_SHIM_CUBLAS_WORK_H

#include "core/core.h"
#include "shims/vendor_call.h"

struct cublasContext;
enum { BLAS_SUCCESS = 0, BLAS_NOT_INITIALIZED = 1, BLAS_INVALID_VALUE = 7 };

/* Parameters, where most are of no interest: the handle, an int or enumeration, a pointer, a stride
 * of a batch. */
#define HANDLE  struct cublasContext *h
#define N(name) int name __attribute__((unused))
#define P(name) const void *name __attribute__((unused))
#define L(name) long long name __attribute__((unused))

/* A line for each of the types that a call has. */
#define EACH_REAL(X)                                                                               \
    X(S)                                                                                           \
    X(D)
#define EACH_COMPLEX(X)                                                                            \
    X(C)                                                                                           \
    X(Z)
#define EACH(X)  EACH_REAL(X) EACH_COMPLEX(X)
#define TYPE(T)  blas_letter(#T[0])
#define BYTES(T) ((double)TYPE(T).bytes)

/* What a letter in a call's name, or a cudaDataType, stands for. */
struct blas_type {
    enum vg_dtype real;
    unsigned bytes; /* of an element */
    bool complex;
};
struct blas_type blas_letter(char letter);
struct blas_type blas_type(int cuda_type);

/* A setting that a program sets and reads and that changes nothing here. NULL without a handle. */
enum blas_setting {
    BLAS_EMULATION,
    BLAS_SPECIAL_VALUES,
    BLAS_MANTISSA_CONTROL,
    BLAS_MANTISSA_BITS,
    BLAS_MANTISSA_OFFSET,
    BLAS_SETTINGS
};
int *blas_setting(struct cublasContext *h, enum blas_setting which);

/* Each returns a cublasStatus_t. */
/* A kernel that takes as long as a product of m x n x k, `times` over. */
int blas_product(struct cublasContext *h, const char *name, struct blas_type type, int64_t m,
                 int64_t n, int64_t k, int64_t batch, int times);
/* One that moves so many bytes. */
int blas_sweep(struct cublasContext *h, const char *name, double bytes);
/* The same, with a result that goes to the host or stays on the device (pointer mode). */
int blas_reduce(struct cublasContext *h, const char *name, double bytes, void *result,
                size_t result_bytes);

#endif
