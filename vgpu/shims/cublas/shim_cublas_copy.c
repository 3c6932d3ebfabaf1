/* cuBLAS's copies between host and device: vectors with strides, matrices with leading dimensions.
 */
#include "shims/cublas/shim_cublas.h"

/* Copies `count` columns of `height` bytes each. */
static cublasStatus_t columns(cudaStream_t stream, void *dst, size_t dst_pitch, const void *src,
                              size_t src_pitch, size_t height, size_t count, bool async)
{
    if (height == 0 || count == 0)
        return CUBLAS_STATUS_SUCCESS;
    int bad = vg_library_copy_rows((struct vg_stream *)stream, dst, dst_pitch, src, src_pitch,
                                   height, count, async);
    return bad ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t vector(cudaStream_t stream, int n, int size, const void *x, int incx, void *y,
                             int incy, bool async)
{
    if (n < 0 || size <= 0 || incx <= 0 || incy <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    size_t bytes = (size_t)size, count = (size_t)n;
    if (incx == 1 && incy == 1) {
        bytes *= count;
        count = n ? 1 : 0;
    }
    return columns(stream, y, (size_t)size * (size_t)incy, x, (size_t)size * (size_t)incx, bytes,
                   count, async);
}

static cublasStatus_t matrix(cudaStream_t stream, int rows, int cols, int size, const void *a,
                             int lda, void *b, int ldb, bool async)
{
    if (rows < 0 || cols < 0 || size <= 0 || lda < rows || ldb < rows || lda <= 0 || ldb <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    return columns(stream, b, (size_t)size * (size_t)ldb, a, (size_t)size * (size_t)lda,
                   (size_t)size * (size_t)rows, (size_t)cols, async);
}

/* The Set and Get calls share one body: the pointers tell the direction of the copy. */
#define COPIES(Verb)                                                                               \
    cublasStatus_t cublas##Verb##Vector(int n, int size, const void *x, int incx, void *y,         \
                                        int incy)                                                  \
    {                                                                                              \
        return vector(NULL, n, size, x, incx, y, incy, false);                                     \
    }                                                                                              \
    cublasStatus_t cublas##Verb##VectorAsync(int n, int size, const void *x, int incx, void *y,    \
                                             int incy, cudaStream_t stream)                        \
    {                                                                                              \
        return vector(stream, n, size, x, incx, y, incy, true);                                    \
    }                                                                                              \
    cublasStatus_t cublas##Verb##Matrix(int rows, int cols, int size, const void *a, int lda,      \
                                        void *b, int ldb)                                          \
    {                                                                                              \
        return matrix(NULL, rows, cols, size, a, lda, b, ldb, false);                              \
    }                                                                                              \
    cublasStatus_t cublas##Verb##MatrixAsync(int rows, int cols, int size, const void *a, int lda, \
                                             void *b, int ldb, cudaStream_t stream)                \
    {                                                                                              \
        return matrix(stream, rows, cols, size, a, lda, b, ldb, true);                             \
    }

COPIES(Set)
COPIES(Get)
