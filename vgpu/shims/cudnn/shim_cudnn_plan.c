/* The plan of one convolution algorithm for one problem: whether it is supported, its workspace,
 * and its kernels with names and durations. The cost model gives the
 * duration of the best algorithm. The others are slower by 1.05 to 1.3 (assumed), a factor of the
 * algorithm and, by a hash, of the shape. Tensor cores are used by the precomputed implicit product
 * and, for 3x3 filters in NCHW, by the unfused Winograd transform, as documented; in NHWC by the
 * plain implicit product, too, with a worse tile (assumed), unless the profile says that it is a
 * direct kernel (shim_cudnn_direct.c). */
#include "shims/cudnn/shim_cudnn.h"

#include <string.h>

enum kind { IMPLICIT, PRECOMPUTED, EXPLICIT, NEVER, FFT, FFT_TILED, WINOGRAD, WINOGRAD_UNFUSED };

struct algo {
    enum kind kind;
    bool deterministic;
};
static const struct algo forward[] = {
    {IMPLICIT, true}, {PRECOMPUTED, true}, {EXPLICIT, true}, {NEVER, true},
    {FFT, true},      {FFT_TILED, true},   {WINOGRAD, true}, {WINOGRAD_UNFUSED, true}};
static const struct algo backward_data[] = {{IMPLICIT, false}, {PRECOMPUTED, true},
                                            {FFT, true},       {FFT_TILED, true},
                                            {WINOGRAD, true},  {WINOGRAD_UNFUSED, true}};
static const struct algo backward_filter[] = {
    {IMPLICIT, false}, {PRECOMPUTED, true},      {FFT, true},      {EXPLICIT, false},
    {NEVER, true},     {WINOGRAD_UNFUSED, true}, {FFT_TILED, true}};

static const struct {
    const struct algo *algo;
    int count;
} passes[] = {
    [VG_FWD] = {forward, sizeof forward / sizeof forward[0]},
    [VG_DGRAD] = {backward_data, sizeof backward_data / sizeof backward_data[0]},
    [VG_WGRAD] = {backward_filter, sizeof backward_filter / sizeof backward_filter[0]},
};

int conv_algo_count(enum vg_pass pass)
{
    return passes[pass].count;
}

/* A number from 0 to 1 that depends on the shape and the pass only. */
static double shape_hash(const struct vg_conv *c, enum vg_pass pass)
{
    const int64_t parts[] = {c->n, c->c, c->h, c->w, c->k, c->r, c->s, c->stride, (int64_t)pass};
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        h = (h ^ (uint64_t)parts[i]) * 1099511628211u;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 33;
    return (double)(h >> 40) / (double)(1 << 24);
}

static double guessed_factor(const struct vg_conv *c, enum vg_pass pass)
{
    return 1.05 + 0.25 * shape_hash(c, pass);
}

static bool winograd_fits(const struct vg_conv *c)
{
    return c->r == 3 && c->s == 3 && c->stride == 1 && c->dilation == 1 && c->groups == 1 &&
           c->layout == VG_NCHW;
}

static bool supported(const struct conv_problem *q, enum kind kind)
{
    const struct vg_conv *c = &q->conv;
    bool single = q->data == CUDNN_DATA_FLOAT;
    switch (kind) {
    case IMPLICIT:
    case PRECOMPUTED:
        return true;
    case EXPLICIT:
        return c->layout == VG_NCHW && c->groups == 1 && !q->tensor;
    case FFT:
    case FFT_TILED:
        return c->layout == VG_NCHW && c->stride == 1 && c->dilation == 1 && c->groups == 1 &&
               c->r > 1 && single && c->h <= 224;
    case WINOGRAD:
        return winograd_fits(c) && single;
    case WINOGRAD_UNFUSED:
        return winograd_fits(c);
    case NEVER:
        break;
    }
    return false;
}

struct sizes {
    double x, y, w; /* bytes as stored */
};

static struct sizes sizes_of(const struct conv_problem *q)
{
    const struct vg_conv *c = &q->conv;
    double e = (double)cudnn_type_bytes(q->data);
    return (struct sizes){.x = (double)(c->n * c->c * c->h * c->w) * e,
                          .y = (double)(c->n * c->k * c->p * c->q) * e,
                          .w = (double)(c->k * (c->c / c->groups) * c->r * c->s) * e};
}

static double workspace_of(const struct conv_problem *q, enum vg_pass pass, enum kind kind,
                           bool tensor)
{
    const struct vg_conv *c = &q->conv;
    struct sizes z = sizes_of(q);
    switch (kind) {
    case PRECOMPUTED:
        if (tensor && c->layout == VG_NCHW) {
            struct vg_conversions v = vg_conv_conversions(c, pass);
            return v.in_bytes[0] + v.in_bytes[1] + v.out_bytes;
        }
        /* offsets, and for the weight gradient partial sums, because its long dimension is split */
        return pass == VG_WGRAD ? 4096 + 4 * z.w : 4096 + 8.0 * (double)(c->p * c->q);
    case EXPLICIT:
        return (double)(c->c * c->r * c->s * c->p * c->q * 4);
    case FFT:
        return 2.5 * (z.x + z.y + z.w * 64);
    case FFT_TILED:
        return 1.2 * (z.x + z.y) + z.w * 16;
    case WINOGRAD:
        return 16.0 / 9 * z.w;
    case WINOGRAD_UNFUSED:
        return 2.25 * (z.x + z.y) + 4 * z.w;
    case IMPLICIT:
    case NEVER:
        break;
    }
    return 0;
}

static void add_kernel(struct conv_plan *plan, struct vg_kernel k)
{
    if (plan->kernels == CONV_MAX_KERNELS)
        return;
    plan->duration_ns += k.duration_ns;
    plan->kernel[plan->kernels++] = k;
}

void conv_plan_flat(struct conv_plan *plan, const char *name, double bytes, double ns)
{
    double blocks = bytes / 4096;
    add_kernel(plan, (struct vg_kernel){.name = name,
                                        .grid = {blocks > 1 ? (unsigned)blocks : 1, 1, 1},
                                        .block = {256, 1, 1},
                                        .registers = 40,
                                        .duration_ns = (int64_t)ns});
}

void conv_plan_product(struct conv_plan *plan, const struct vg_conv *c, enum vg_pass pass,
                       const char *name, double ns)
{
    int64_t m = c->n * c->p * c->q, n = c->k;
    if (pass == VG_DGRAD) {
        m = c->n * c->h * c->w;
        n = c->c;
    } else if (pass == VG_WGRAD) {
        m = c->k;
        n = c->c / c->groups * c->r * c->s;
    }
    struct vg_kernel k = {0};
    vg_name_launch(&k, name, m, n, 1);
    k.duration_ns = (int64_t)ns;
    add_kernel(plan, k);
}

static double converting_ns(const struct vg_profile *p, const struct vg_conv *c,
                            const struct vg_conversions *v)
{
    double ns = 0;
    for (int i = 0; i < 2; i++)
        if (v->in_bytes[i] > 0)
            ns += (double)vg_cost_layout(p, v->in_bytes[i], c->type, false);
    return v->out_bytes > 0 ? ns + (double)vg_cost_layout(p, v->out_bytes, c->type, c->adds) : ns;
}

/* The conversions around a convolution on tensor cores.
 *
 * A 1x1 layer in NCHW is a batched product of the tensors as they are, without conversion, if the
 * number of pixels of a picture is a multiple of 8 (seen with cuDNN 9.19 on an H200: 56 x 56 is not
 * converted, 7 x 7 is). A merely even number (14 x 14) allows a slower product: *unaligned is set
 * to its duration, or the tensors are converted if that takes less time. For an even number the
 * weight gradient is always converted, and so is everything in the graph interface. */
static struct vg_conversions conversions(const struct vg_profile *p, const struct conv_problem *q,
                                         enum vg_pass pass, double *unaligned)
{
    const struct vg_conv *c = &q->conv;
    struct vg_conversions none = {{0, 0}, 0}, v = vg_conv_conversions(c, pass);
    int64_t picture = c->p * c->q, n = pass == VG_FWD ? c->k : c->c, k = c->c + c->k - n;
    *unaligned = 0;
    if (!vg_conv_is_product(p, c) || v.in_bytes[0] <= 0 || picture % 8 == 0)
        return vg_conv_is_product(p, c) ? none : v;
    if (pass == VG_WGRAD || picture % 2 != 0 || q->graph)
        return v;
    double product =
        (double)vg_cost_gemm(p, c->type, picture, n, k, c->n, (int)(picture & -picture));
    if (product > converting_ns(p, c, &v) + (double)vg_cost_conv(p, c, pass))
        return v;
    *unaligned = product;
    return none;
}

/* Plans the implicit product on tensor cores, and for NCHW the conversions before and after it. */
static void plan_tensor(const struct vg_profile *p, const struct conv_problem *q, enum vg_pass pass,
                        bool other_tile, double factor, struct conv_plan *plan)
{
    const struct vg_conv *c = &q->conv;
    double unaligned;
    struct vg_conversions v = conversions(p, q, pass, &unaligned);
    struct vg_conv own = *c;
    own.adds &= v.out_bytes <= 0; /* otherwise the conversion of the result adds to the output */
    double ns = (unaligned > 0 ? unaligned : (double)vg_cost_conv(p, &own, pass)) * factor;
    for (int i = 0; i < 2; i++)
        if (v.in_bytes[i] > 0)
            conv_plan_flat(plan, vg_name_to_nhwc(c->type), v.in_bytes[i],
                           (double)vg_cost_layout(p, v.in_bytes[i], c->type, false));
    /* A 1x1 layer as a batched product, without conversion. */
    if (c->layout == VG_NCHW && v.in_bytes[0] <= 0) {
        int align = unaligned > 0 ? 2 : c->type == VG_TF32 ? 4 : 8;
        struct vg_product g = {c->type, false, pass == VG_DGRAD, c->p * c->q, c->k, c->c,
                               c->n,    align};
        conv_plan_product(plan, c, pass, vg_name_gemm(p, &g, 0), ns);
    } else {
        conv_plan_product(plan, c, pass, vg_name_conv(p, c, pass, other_tile), ns);
    }
    if (v.out_bytes > 0)
        conv_plan_flat(plan, vg_name_to_nchw(c->type), v.out_bytes,
                       (double)vg_cost_layout(p, v.out_bytes, c->type, c->adds));
}

/* Plans an algorithm that transforms its inputs, multiplies, and transforms the result back. */
static void plan_transformed(const struct vg_profile *p, const struct conv_problem *q,
                             enum vg_pass pass, enum kind kind, double ns, struct conv_plan *plan)
{
    static const char *const winograd[] = {
        "_ZN5cudnn17winograd_nonfused22winogradForwardData4x4IffEEvNS0_18WinogradDataParamsIT_"
        "T0_EE",
        "_ZN5cudnn17winograd_nonfused24winogradForwardFilter4x4IffEEvNS0_20WinogradFilterParamsIT_"
        "T0_EE",
        "_ZN5cudnn17winograd_nonfused24winogradForwardOutput4x4IffEEvNS0_20WinogradOutputParamsIT_"
        "T0_EE"};
    static const char *const winograd_filter[] = {
        "_ZN5cudnn17winograd_nonfused20winogradWgradData4x4IffEEvNS0_18WinogradDataParamsIT_T0_"
        "EE",
        "_ZN5cudnn17winograd_nonfused21winogradWgradDelta4x4IffEEvNS0_19WinogradDeltaParamsIT_T0_"
        "EE",
        "_ZN5cudnn17winograd_nonfused22winogradWgradOutput4x4IffEEvNS0_"
        "25WinogradWgradOutputParamsIT_T0_EE"};
    static const char *const fft[] = {
        "_Z15fft2d_r2c_16x16IfEvP6float2PKT_iiiiiiii",
        "_Z15fft2d_r2c_16x16IfEvP6float2PKT_iiiiiiii",
        "_Z15fft2d_c2r_32x32IfLb0ELb0ELj0ELb0ELb0EEvPT_PK6float2iiiiiiiiiffN5cudnn15reduced_"
        "divisorEbS1_S1_4int221cudnnActivationStructii"};
    const struct vg_conv *c = &q->conv;
    struct sizes z = sizes_of(q);
    bool wino = kind == WINOGRAD_UNFUSED;
    const char *const *names = wino ? pass == VG_WGRAD ? winograd_filter : winograd : fft;
    struct vg_product g = {
        wino ? c->type : VG_F32, false, false, c->n * c->p * c->q / 16 + 1, c->k, c->c, 36, 4};
    if (wino && q->data != CUDNN_DATA_FLOAT)
        g.align = 8;
    conv_plan_flat(plan, names[0], z.x, 0.16 * ns);
    conv_plan_flat(plan, names[1], z.w, 0.06 * ns);
    conv_plan_product(
        plan, c, pass,
        wino ? vg_name_gemm(p, &g, 0)
             : "_Z12cgemm_largekILb0ELb0ELb0ELb0ELi4ELi4ELi4ELi3ELi3ELi16EEvP6float2PKS0_"
               "S3_iiiiiiS3_S3_S0_S0_iiPiS4_",
        0.64 * ns);
    conv_plan_flat(plan, names[2], z.y, 0.14 * ns);
}

static const char *winograd_name(const struct vg_profile *p)
{
    return p->cc_major >= 8
               ? "_5x_cudnn_ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148n_nt_v1"
               : "_5x_cudnn_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1";
}

static double unfused_ns(const struct vg_profile *p, const struct conv_problem *q,
                         enum vg_pass pass, double best)
{
    bool known = q->graph && pass == VG_WGRAD && p->conv_direct_eff > 0;
    return known ? (double)vg_cost_fp32_winograd_weights(p, &q->conv) : best * 1.08;
}

/* Plans an algorithm with ordinary arithmetic. Winograd stands for it with 3x3 filters. */
static void plan_ordinary(const struct vg_profile *p, const struct conv_problem *q,
                          enum vg_pass pass, enum kind kind, struct conv_plan *plan)
{
    static const char *const engines[] = {
        [VG_FWD] = VG_IMPLICIT_SGEMM, [VG_DGRAD] = VG_DGRAD_ENGINE, [VG_WGRAD] = VG_WGRAD_ENGINE};
    struct vg_conv plain = q->conv;
    if (plain.type != VG_F64)
        plain.type = VG_F32;
    bool fits = winograd_fits(&plain) && q->data == CUDNN_DATA_FLOAT && pass != VG_WGRAD;
    double best = (double)vg_cost_conv(p, &plain, pass), guess = guessed_factor(&plain, pass);
    switch (kind) {
    case IMPLICIT:
        conv_plan_product(plan, &plain, pass,
                          plain.layout == VG_NHWC ? vg_name_conv(p, &plain, pass, true)
                                                  : engines[pass],
                          best * guess);
        break;
    case PRECOMPUTED:
        if (plain.layout == VG_NCHW)
            conv_plan_flat(plan,
                           "_ZN14cask__5x_cudnn20computeOffsetsKernelILb0ELb0EEEvNS_"
                           "20ComputeOffsetsParamsE",
                           1, p->kernel_min_ns);
        conv_plan_product(plan, &plain, pass, vg_name_conv(p, &plain, pass, false),
                          fits ? best * 1.18 : best);
        break;
    case EXPLICIT:
        conv_plan_flat(plan,
                       "_ZN5cudnn19engines_precompiled15im2col4d_kernelIflEEvNS0_15im2col4d_paramsE"
                       "22cudnnConvolutionStruct17cudnnTensorStructPKT_PS5_",
                       sizes_of(q).x, 0.4 * best);
        conv_plan_product(plan, &plain, pass,
                          p->cc_major >= 8 ? "ampere_sgemm_128x64_nn" : "volta_sgemm_128x64_nn",
                          1.1 * best);
        break;
    case WINOGRAD:
        conv_plan_product(plan, &plain, pass, winograd_name(p), best);
        break;
    case WINOGRAD_UNFUSED:
        plan_transformed(p, q, pass, kind, unfused_ns(p, q, pass, best), plan);
        break;
    case FFT_TILED:
        plan_transformed(p, q, pass, kind, best * 1.5, plan);
        break;
    case FFT:
        plan_transformed(p, q, pass, kind, best * 1.9, plan);
        break;
    case NEVER:
        break;
    }
}

/* True if the library takes this algorithm when it does not search. It is rarely the best one. */
static bool is_guess(const struct vg_profile *p, const struct conv_problem *q, enum vg_pass pass,
                     enum kind kind)
{
    if (q->graph && !q->tensor && pass == VG_WGRAD && winograd_fits(&q->conv) &&
        p->conv_direct_eff > 0)
        return kind == WINOGRAD_UNFUSED;
    if ((q->tensor ? q->conv.layout == VG_NHWC : q->graph) && p->conv_direct_eff > 0)
        return kind == PRECOMPUTED;
    if (q->tensor && q->conv.layout == VG_NCHW)
        return kind == (winograd_fits(&q->conv) ? WINOGRAD_UNFUSED : PRECOMPUTED);
    return kind == IMPLICIT;
}

void conv_plan_make(const struct vg_profile *p, const struct conv_problem *q, enum vg_pass pass,
                    int algo, struct conv_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->algo = algo;
    plan->status = CUDNN_STATUS_NOT_SUPPORTED;
    if (algo < 0 || algo >= passes[pass].count) {
        plan->status = CUDNN_STATUS_BAD_PARAM;
        return;
    }
    enum kind kind = passes[pass].algo[algo].kind;
    plan->deterministic = passes[pass].algo[algo].deterministic;
    if (!supported(q, kind))
        return;
    bool nhwc = q->conv.layout == VG_NHWC;
    plan->status = CUDNN_STATUS_SUCCESS;
    bool direct = kind == IMPLICIT && p->conv_direct_eff > 0 &&
                  (nhwc || (pass == VG_FWD && q->data != CUDNN_DATA_FLOAT));
    plan->tensor = q->tensor && (kind == PRECOMPUTED || kind == WINOGRAD_UNFUSED ||
                                 (kind == IMPLICIT && nhwc && !direct));
    plan->host_ns = plan->tensor && vg_conv_is_product(p, &q->conv) ? p->cudnn_product_host_ns
                                                                    : p->cudnn_conv_host_ns;
    plan->heuristic = is_guess(p, q, pass, kind);
    plan->workspace = (size_t)workspace_of(q, pass, kind, plan->tensor);
    if (plan->tensor && q->data != CUDNN_DATA_FLOAT)
        plan->math = CUDNN_TENSOR_OP_MATH;
    else if (plan->tensor || p->cc_major < 8)
        plan->math = CUDNN_DEFAULT_MATH;
    else
        plan->math = CUDNN_FMA_MATH;
    double guess = guessed_factor(&q->conv, pass);
    if (direct) {
        conv_plan_direct(p, q, pass, plan);
    } else if (!plan->tensor && (nhwc || (q->graph && kind == PRECOMPUTED)) &&
               p->conv_direct_eff > 0 && q->data == CUDNN_DATA_FLOAT) {
        conv_plan_fp32_tiles(p, q, pass, plan);
    } else if (!plan->tensor) {
        plan_ordinary(p, q, pass, kind, plan);
    } else if (kind == WINOGRAD_UNFUSED) {
        struct conv_plan best = {0};
        plan_tensor(p, q, pass, false, 1, &best);
        plan_transformed(p, q, pass, kind, (double)best.duration_ns * guess, plan);
    } else {
        plan_tensor(p, q, pass, kind == IMPLICIT, kind == IMPLICIT ? guess : 1, plan);
    }
}
