/* The kernels behind those calls of cuBLAS that the shim describes in tables (solve, matrix,
 * vector). A kernel's duration is that of a product with as many operations, or of the bytes that
 * it moves. */
#include "shims/cublas/shim_cublas.h"

struct blas_type blas_letter(char letter)
{
    switch (letter) {
    case 'D':
        return (struct blas_type){VG_F64, 8, false};
    case 'C':
        return (struct blas_type){VG_F32, 8, true};
    case 'Z':
        return (struct blas_type){VG_F64, 16, true};
    case 'H':
        return (struct blas_type){VG_F16, 2, false};
    case 'T':
        return (struct blas_type){VG_BF16, 2, false};
    default:
        return (struct blas_type){VG_F32, 4, false};
    }
}

struct blas_type blas_type(int cuda_type)
{
    switch (cuda_type) {
    case CUDA_R_64F:
        return blas_letter('D');
    case CUDA_C_32F:
        return blas_letter('C');
    case CUDA_C_64F:
        return blas_letter('Z');
    case CUDA_R_16F:
        return blas_letter('H');
    case CUDA_R_16BF:
        return blas_letter('T');
    case CUDA_R_8I:
        return (struct blas_type){VG_I8, 1, false};
    case CUDA_C_8I:
        return (struct blas_type){VG_I8, 2, true};
    default:
        return blas_letter('S');
    }
}

/* A complex product counts as a real one with twice the rows and twice the depth, which has as many
 * operations and moves as many bytes. */
int blas_product(cublasHandle_t h, const char *name, struct blas_type type, int64_t m, int64_t n,
                 int64_t k, int64_t batch, int times)
{
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0 || k < 0 || batch < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (m == 0 || n == 0 || batch == 0)
        return CUBLAS_STATUS_SUCCESS;
    const struct vg_profile *p = cublas_profile(h);
    int parts = type.complex ? 2 : 1;
    int64_t depth = k > 0 ? k : 1;
    struct vg_kernel kernel = {.name = name,
                               .grid = {(unsigned)((m + 63) / 64), (unsigned)((n + 63) / 64), 1},
                               .block = {128, 1, 1},
                               .registers = 64,
                               .duration_ns = times * vg_cost_gemm(p, type.real, m * parts, n,
                                                                   depth * parts, batch, parts)};
    return cublas_status(vg_library_launch((struct vg_stream *)h->stream, &kernel));
}

int blas_sweep(cublasHandle_t h, const char *name, double bytes)
{
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (bytes <= 0)
        return CUBLAS_STATUS_SUCCESS;
    const struct vg_profile *p = cublas_profile(h);
    struct vg_kernel k = {.name = name,
                          .grid = {(unsigned)(bytes / 4096) + 1, 1, 1},
                          .block = {128, 1, 1},
                          .registers = 24,
                          .duration_ns = vg_cost_memory(p, bytes, 1, p->pointwise_eff)};
    return cublas_status(vg_library_launch((struct vg_stream *)h->stream, &k));
}

int blas_reduce(cublasHandle_t h, const char *name, double bytes, void *result, size_t result_bytes)
{
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!result)
        return CUBLAS_STATUS_INVALID_VALUE;
    int status = blas_sweep(h, name, bytes);
    if (status != CUBLAS_STATUS_SUCCESS || h->pointer_mode == CUBLAS_POINTER_MODE_DEVICE)
        return status;
    struct vg_stream *stream = (struct vg_stream *)h->stream;
    int rc = vg_library_copy(stream, result, h->own_workspace, result_bytes);
    return cublas_status(rc != 0 ? rc : vg_library_sync(stream));
}
