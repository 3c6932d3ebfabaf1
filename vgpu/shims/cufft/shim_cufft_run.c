/* The kernels of a transform. Each dimension needs one to three kernels, depending on its length,
 * and each kernel reads and writes all data once. A kernel takes as long as moving these bytes, or
 * as its share of the arithmetic (5 n log2 n operations) at half of the peak if that takes longer.
 * Both are assumptions. */
#include "shims/cufft/shim_cufft.h"

#include <math.h>

/* A length that fits into the shared memory of a multiprocessor needs one kernel only. */
enum { ONE_KERNEL = 1 << 13, TWO_KERNELS = 1 << 24, LARGEST_RADIX = 127 };

/* Bytes of one real number of a cudaDataType; 0: a type that cuFFT does not transform. */
static unsigned data_bytes(int type, bool *real)
{
    static const struct {
        int type;
        bool real;
        unsigned bytes;
    } types[] = {{0, true, 4},  {1, true, 8},  {2, true, 2},  {4, false, 4},
                 {5, false, 8}, {6, false, 2}, {14, true, 2}, {15, false, 2}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type) {
            *real = types[i].real;
            return types[i].bytes;
        }
    return 0;
}

bool fft_kind_of_data(int in_type, int out_type, struct fft_kind *out)
{
    unsigned in = data_bytes(in_type, &out->real_in), to = data_bytes(out_type, &out->real_out);
    out->real_bytes = in;
    return in && in == to && !(out->real_in && out->real_out);
}

double fft_points(const struct fft_plan *p)
{
    double points = (double)p->batch;
    for (int i = 0; i < p->rank; i++)
        points *= (double)p->n[i];
    return p->kind.real_in || p->kind.real_out ? points / 2 : points;
}

/* True if n has a large prime factor. cuFFT computes such a length as a convolution (Bluestein's
 * algorithm) whose length is the next power of 2 that holds n twice. */
static bool by_convolution(int64_t n)
{
    for (int64_t f = 2; f <= LARGEST_RADIX && n > 1; f++)
        while (n % f == 0)
            n /= f;
    return n > 1;
}

static int kernels_of(int64_t n)
{
    return n <= ONE_KERNEL ? 1 : n <= TWO_KERNELS ? 2 : 3;
}

size_t fft_area_bytes(const struct fft_plan *p)
{
    double bytes = 0, all = fft_points(p) * 2 * p->kind.real_bytes;
    for (int i = 0; i < p->rank; i++) {
        double need = by_convolution(p->n[i]) ? 4 * all : kernels_of(p->n[i]) > 1 ? all : 0;
        bytes = fmax(bytes, need);
    }
    if (p->rank > 1)
        bytes = fmax(bytes, all);
    return (size_t)bytes / 256 * 256;
}

static int launch(const struct fft_plan *p, const char *name, double points, double flops)
{
    const struct vg_profile *v = vg_profile(vg_current_device());
    double peak = p->kind.real_bytes == 8 ? v->fp64_flops : v->fp32_flops;
    int64_t memory = vg_cost_memory(v, points * 2 * p->kind.real_bytes, 2, v->pointwise_eff);
    int64_t compute = (int64_t)(flops / (peak * 0.5) * 1e9);
    unsigned blocks = (unsigned)fmin(fmax(points / 2048, 1), 65535.0 * 16);
    struct vg_kernel k = {.name = name,
                          .grid = {blocks, 1, 1},
                          .block = {256, 1, 1},
                          .smem_dynamic = 16384,
                          .registers = 64,
                          .duration_ns = memory > compute ? memory : compute};
    return vg_library_launch(p->stream, &k) == 0 ? FFT_SUCCESS : FFT_EXEC_FAILED;
}

int fft_run(const struct fft_plan *p)
{
    double points = fft_points(p);
    for (int i = 0; i < p->rank; i++) {
        bool convolution = by_convolution(p->n[i]);
        double length = (double)p->n[i], longer = 1;
        if (convolution)
            longer = exp2(ceil(log2(2 * length))) / length;
        int kernels = kernels_of((int64_t)(length * longer)) * (convolution ? 2 : 1);
        double flops = 5 * points * longer * log2(fmax(2, length * longer)) / kernels;
        const char *name = convolution                      ? "multi_bluestein_fft"
                           : i + 1 < p->rank || kernels > 1 ? "vector_fft"
                           : p->kind.real_in                ? "regular_fft_r2c"
                           : p->kind.real_out               ? "regular_fft_c2r"
                                                            : "regular_fft";
        for (int k = 0; k < kernels; k++) {
            int bad = launch(p, name, points * longer, convolution ? 2 * flops : flops);
            if (bad)
                return bad;
        }
    }
    return FFT_SUCCESS;
}

static int run(int handle, const void *in, const void *out)
{
    const struct fft_plan *p = fft_plan_of(handle);
    if (!p || !p->made)
        return FFT_INVALID_PLAN;
    return in && out ? fft_run(p) : FFT_INVALID_VALUE;
}

CALL(cufftXtExec, int handle, void *in, void *out, int direction)
{
    (void)direction;
    return run(handle, in, out);
}
