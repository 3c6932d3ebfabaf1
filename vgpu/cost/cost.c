/* The cost model: how long a matrix product, a convolution or a pass over memory takes on a
 * modelled device, by a roofline with the efficiencies in its profile. Pure functions of profile
 * and shape: no noise, no state; results in ns. On what it was fitted to it is accurate to about 15
 * %. Parts marked "assumed" rest on no published measurement. */
#include "core/core.h"

#include <math.h>

size_t vg_dtype_bytes(enum vg_dtype t)
{
    switch (t) {
    case VG_F16:
    case VG_BF16:
        return 2;
    case VG_F64:
        return 8;
    case VG_I8:
    case VG_F8:
        return 1;
    case VG_F32:
    case VG_TF32:
        break;
    }
    return 4;
}

static double peak_flops(const struct vg_profile *p, enum vg_dtype t)
{
    double peak = 0;
    switch (t) {
    case VG_TF32:
        peak = p->tf32_flops;
        break;
    case VG_F16:
        peak = p->fp16_flops;
        break;
    case VG_BF16:
        peak = p->bf16_flops;
        break;
    case VG_F8:
        peak = p->fp8_flops;
        break;
    case VG_I8:
        peak = p->int8_flops;
        break;
    case VG_F64:
        return fmax(p->fp64_flops, p->fp64_tensor_flops);
    case VG_F32:
        break;
    }
    /* The device has no such unit: ordinary arithmetic is used. */
    return peak > 0 ? peak : p->fp32_flops;
}

static bool on_tensor_cores(const struct vg_profile *p, enum vg_dtype t)
{
    return t != VG_F32 && t != VG_F64 && peak_flops(p, t) > p->fp32_flops;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static double at_least(double ns, double least)
{
    return ns > least ? ns : least;
}

/* Share of the device that T equal tiles keep busy. The last wave fills it only in part. */
static double wave_share(const struct vg_profile *p, int64_t tiles)
{
    return (double)tiles / (double)(ceil_div(tiles, p->sm_count) * p->sm_count);
}

static double alignment_factor(const struct vg_profile *p, enum vg_dtype t, int align)
{
    int bytes = align * (int)vg_dtype_bytes(t);
    if (align <= 0 || bytes >= 16)
        return 1;
    if (align != 1)
        return p->gemm_align_small;
    return t == VG_TF32 ? p->gemm_align1_tf32 : p->gemm_align1;
}

/* How a product is cut into tiles. cuBLAS takes the best tile of its kernels. It also cuts along K,
 * into slices of at least 256 numbers (assumed), if that fills the last wave better. */
struct cut {
    const struct tile {
        int64_t m, n;
        double share; /* of the speed that the largest tiles reach */
    } * tiles;
    size_t count;
    double k0;    /* cost of filling the pipeline, in steps of K */
    double slice; /* share of the speed that remains if K is cut */
};

static double best_cut(const struct vg_profile *p, const struct cut *c, int64_t m, int64_t n,
                       int64_t k, int64_t batch)
{
    enum { SLICES = 16, SLICE = 256 };
    double best = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct tile *t = &c->tiles[i];
        int64_t tiles = ceil_div(m, t->m) * ceil_div(n, t->n) * batch;
        double fill = (double)m * (double)n * (double)batch / (double)(tiles * t->m * t->n);
        for (int64_t s = 1; s <= SLICES && (s == 1 || k >= s * SLICE); s++) {
            double kk = (double)k / (double)s;
            double share = fill * t->share * wave_share(p, tiles * s) * kk / (kk + c->k0);
            share *= s > 1 ? c->slice : 1;
            best = share > best ? share : best;
        }
    }
    return best;
}

/* FP32 without tensor cores. Fitted to llm.c and train_gpt in FP32 on an H200: 43 of 49 shapes
 * within 15 %; and, not used for the fit, all of ViT's. FP32 on A100: K = 128 reaches 0.73 of the
 * peak. */
static double plain_share(const struct vg_profile *p, int64_t m, int64_t n, int64_t k,
                          int64_t batch)
{
    static const struct tile tiles[] = {
        {128, 128, 1}, {128, 64, 0.93}, {64, 128, 0.93}, {64, 64, 0.76}};
    const struct cut cut = {tiles, sizeof tiles / sizeof *tiles, 30, 0.97};
    return p->gemm_fp32_eff * best_cut(p, &cut, m, n, k, batch);
}

/* Tensor cores, for types with many kernels. llm.c in BF16 on an H200: 17 of 18 shapes within 9 %.
 * PyTorch's GPT-2, known at the fit: 17 of 18 within 13 %. */
static double several_tiles(const struct vg_profile *p, int64_t m, int64_t n, int64_t k,
                            int64_t batch, double k0)
{
    static const struct tile tiles[] = {{128, 128, 1},   {128, 160, 1}, {160, 128, 1},
                                        {128, 192, 1},   {192, 128, 1}, {128, 256, 1},
                                        {256, 128, 1},   {192, 192, 1}, {64, 128, 0.85},
                                        {128, 64, 0.85}, {64, 256, 1},  {256, 64, 1}};
    const struct cut cut = {tiles, sizeof tiles / sizeof *tiles, k0, 0.9};
    return best_cut(p, &cut, m, n, k, batch);
}

/* Tensor cores with tiles of 128. A product too small for the device is cut along K. */
static double one_tile(const struct vg_profile *p, int64_t m, int64_t n, int64_t k, int64_t batch,
                       double k0)
{
    const int64_t tile = 128;
    int64_t tiles = ceil_div(m, tile) * ceil_div(n, tile) * batch, slices = 1;
    double fill = (double)m * (double)n * (double)batch / (double)(tiles * tile * tile);
    if (tiles < p->sm_count && k > 256)
        slices = p->sm_count / tiles < k / 256 ? p->sm_count / tiles : k / 256;
    double kk = (double)k / (double)slices;
    return fill * wave_share(p, tiles * slices) * kk / (kk + k0);
}

/* If operands are not aligned, a step of K takes longer, and filling the pipeline takes fewer steps
 * (unaligned on H100: products with K = 64 and 5185 reach 51 and 67 TFLOP/s). Best published
 * products on H100: 0.71 of the peak in FP8, 0.80 in half precision. */
static double tensor_share(const struct vg_profile *p, enum vg_dtype t, int64_t m, int64_t n,
                           int64_t k, int64_t batch, int align)
{
    double aligned = alignment_factor(p, t, align), k0 = p->gemm_k0 * aligned;
    double eff = p->gemm_eff * aligned * (t == VG_F8 ? 0.88 : 1);
    bool several = p->gemm_tiles > 1 && aligned >= 1;
    return eff * (several ? several_tiles : one_tile)(p, m, n, k, batch, k0);
}

int64_t vg_cost_gemm(const struct vg_profile *p, enum vg_dtype t, int64_t m, int64_t n, int64_t k,
                     int64_t batch, int align_elements)
{
    if (m <= 0 || n <= 0 || k <= 0 || batch <= 0)
        return (int64_t)p->kernel_min_ns;
    double eff = on_tensor_cores(p, t) ? tensor_share(p, t, m, n, k, batch, align_elements)
                                       : plain_share(p, m, n, k, batch);
    double flops = 2.0 * (double)m * (double)n * (double)k * (double)batch;
    double bytes = (double)vg_dtype_bytes(t) * (double)batch *
                   ((double)m * (double)k + (double)k * (double)n + (double)m * (double)n);
    double compute = flops / (peak_flops(p, t) * eff) * 1e9;
    double memory = bytes / (p->memory_bytes_per_s * p->gemm_memory_eff) * 1e9;
    return (int64_t)at_least(fmax(compute, memory) + p->gemm_fixed_ns, p->kernel_min_ns);
}

struct product {
    double m, n, k; /* of the implicit matrix product of one group */
};

static struct product implicit_product(const struct vg_conv *c, enum vg_pass pass)
{
    double pixels = (double)(c->n * c->p * c->q), inputs = (double)(c->n * c->h * c->w);
    double out = (double)(c->k / c->groups), in = (double)(c->c / c->groups);
    double window = (double)(c->r * c->s);
    switch (pass) {
    case VG_DGRAD:
        return (struct product){inputs, in, out * window};
    case VG_WGRAD:
        return (struct product){out, in * window, pixels};
    case VG_FWD:
        break;
    }
    return (struct product){pixels, out, in * window};
}

/* True for grouped convolutions that use the general kernels: half types and groups of one channel
 * have kernels of their own. */
static bool in_groups(const struct vg_conv *c)
{
    return c->groups > 1 && c->c > c->groups && c->type != VG_F16 && c->type != VG_BF16;
}

/* Efficiency left in a grouped convolution: groups of few channels leave most of a kernel's tile
 * idle. */
static double group_share(const struct vg_profile *p, const struct vg_conv *c)
{
    double in = (double)(c->c / c->groups);
    return in_groups(c) ? in / (in + p->conv_group_k0) : 1;
}

static double conv_efficiency(const struct vg_profile *p, const struct vg_conv *c,
                              enum vg_pass pass)
{
    bool wgrad = pass == VG_WGRAD, first = c->c / c->groups <= 4 && !in_groups(c);
    if (!on_tensor_cores(p, c->type)) {
        double eff = wgrad ? p->conv_fp32_wgrad_eff : p->conv_fp32_eff;
        eff = c->layout == VG_NHWC ? p->conv_fp32_nhwc_eff : eff;
        return first ? fmin(eff, p->conv_fp32_first_eff) : eff;
    }
    if (first) /* three channels leave most of a tensor core idle */
        return wgrad ? p->conv_first_wgrad_eff : p->conv_first_eff;
    if (wgrad)
        return c->type == VG_TF32 ? p->conv_tf32_wgrad_eff : p->conv_half_wgrad_eff;
    double eff = c->type == VG_TF32 ? p->conv_tf32_eff : p->conv_half_eff;
    double k =
        implicit_product(c, pass).k; /* filling the pipeline costs k0 steps, as in vg_cost_gemm */
    return eff * k / (k + p->conv_k0);
}

/* The fitted efficiencies are averages over layers that fill the device. A smaller layer fills it
 * in part: 64x64 tiles, and the long K of wgrad in slices of 512 (assumed). */
static double conv_fill(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass)
{
    struct product g = implicit_product(c, pass);
    double tiles = ceil(g.m / 64) * ceil(g.n / 64) * (double)c->groups;
    double slices = pass == VG_WGRAD ? fmax(1, g.k / 512) : 1;
    return fmin(1, tiles * slices / p->sm_count);
}

bool vg_conv_is_product(const struct vg_profile *p, const struct vg_conv *c)
{
    return p->conv_product > 0 && c->r == 1 && c->s == 1 && c->stride == 1 && c->groups == 1 &&
           c->c > 4 && on_tensor_cores(p, c->type);
}

/* Time to read the result to which the kernel adds. */
static double adding_ns(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass)
{
    double result = pass == VG_FWD     ? (double)(c->n * c->k * c->p * c->q)
                    : pass == VG_DGRAD ? (double)(c->n * c->c * c->h * c->w)
                                       : (double)(c->k * (c->c / c->groups) * c->r * c->s);
    double bytes = c->adds ? result * (double)vg_dtype_bytes(c->type) : 0;
    return bytes / (p->memory_bytes_per_s * p->gemm_memory_eff) * 1e9;
}

static int64_t cost_of_product(const struct vg_profile *p, const struct vg_conv *c,
                               enum vg_pass pass)
{
    struct product g = implicit_product(c, pass);
    int64_t both = c->c | c->k, align = both & -both;
    int64_t ns = vg_cost_gemm(p, c->type, (int64_t)g.m, (int64_t)g.n, (int64_t)g.k, 1,
                              align > 16 ? 16 : (int)align);
    return (int64_t)((double)ns / p->conv_product + adding_ns(p, c, pass));
}

int64_t vg_cost_conv(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass)
{
    if (vg_conv_is_product(p, c))
        return cost_of_product(p, c, pass);
    double x = (double)(c->n * c->c * c->h * c->w), y = (double)(c->n * c->k * c->p * c->q);
    double w = (double)(c->k * (c->c / c->groups) * c->r * c->s);
    double flops = 2 * y * (double)(c->c / c->groups) * (double)(c->r * c->s);
    double bytes = (x + y + w) * (double)vg_dtype_bytes(c->type);
    double rate = peak_flops(p, c->type) * conv_efficiency(p, c, pass) * conv_fill(p, c, pass) *
                  group_share(p, c);
    double compute = flops / rate * 1e9;
    double memory = bytes / (p->memory_bytes_per_s * p->conv_memory_eff) * 1e9;
    return (int64_t)at_least(fmax(compute, memory) + p->conv_fixed_ns, p->kernel_min_ns) +
           (int64_t)adding_ns(p, c, pass);
}

struct vg_conversions vg_conv_conversions(const struct vg_conv *c, enum vg_pass pass)
{
    struct vg_conversions v = {{0, 0}, 0};
    bool half = c->type == VG_F16 || c->type == VG_BF16;
    bool pointwise = c->r == 1 && c->s == 1 && c->stride == 1;
    if (c->layout != VG_NCHW || !(half || (c->type == VG_TF32 && !pointwise)))
        return v;
    double size = (double)vg_dtype_bytes(c->type);
    double x = (double)(c->n * c->c * c->h * c->w) * size;
    double y = (double)(c->n * c->k * c->p * c->q) * size;
    /* 1x1 filters are the same in both layouts. */
    double w = c->r * c->s > 1 ? (double)(c->k * (c->c / c->groups) * c->r * c->s) * size : 0;
    switch (pass) {
    case VG_FWD: /* TF32 has kernels that write NCHW themselves */
        v = (struct vg_conversions){{x, w}, half ? y : 0};
        break;
    case VG_DGRAD:
        v = (struct vg_conversions){{y, w}, x};
        break;
    case VG_WGRAD:
        v = (struct vg_conversions){{x, y}, w};
        break;
    }
    return v;
}

static double memory_ns(const struct vg_profile *p, double bytes, double passes, double eff)
{
    double rate = p->memory_bytes_per_s * eff;
    return bytes * passes / rate * 1e9 + p->kernel_min_ns;
}

int64_t vg_cost_memory(const struct vg_profile *p, double bytes, double passes, double eff)
{
    bool cached = bytes < p->l2_share * p->l2_bytes;
    return (int64_t)memory_ns(p, bytes, passes, cached ? eff * p->l2_speed : eff);
}

int64_t vg_cost_norm(const struct vg_profile *p, double bytes, double passes, double eff)
{
    return (int64_t)memory_ns(p, bytes, passes, eff);
}

/* A kernel that adds also reads its output, a few bytes at a time, and takes 1.7 to 2.3 times as
 * long. */
int64_t vg_cost_layout(const struct vg_profile *p, double bytes, enum vg_dtype t, bool adds)
{
    double eff = vg_dtype_bytes(t) == 4 ? p->layout_fp32_eff : p->layout_eff;
    return (int64_t)memory_ns(p, bytes, adds ? 3.8 : 2, eff);
}
