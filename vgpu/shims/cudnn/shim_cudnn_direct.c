/* Convolutions in NHWC without tensor cores, on devices whose profile says that cuDNN's algorithm 0
 * is a direct kernel (conv_direct_eff), such as an H200. This file plans that kernel and the FP32
 * kernels of the other algorithms, which compute in NCHW between two conversions. The kernels'
 * names are those recorded on an H200. */
#include "shims/cudnn/shim_cudnn.h"

#define ENGINE(types)         "_Z33convolve_common_engine_float_NHWCI" types
#define IMPLICIT_SGEMM(types) "_Z23implicit_convolve_sgemmI" types
#define WEIGHTS(types)        "_Z22wgrad_alg0_engine_NHWCI" types
#define DATA(types)           "_ZN5cudnn3cnn29dgrad2d_grouped_direct_kernelI" types
#define SCATTER(tile)                                                                              \
    "_ZN5cudnn6detail14dgrad2d_alg1_1IfLi0E" tile                                                  \
    "Lb0ELb1EEEviiiPKT_iS4_iPS2_18kernel_grad_paramsyiyifii"
#define SLICED                                                                                     \
    "_ZN5cudnn3cnn17wgrad_alg1_engineIffLi128ELi5ELi5ELi3ELi3ELi3ELb0ELb1EEEviiiPKT_iPT0_S4_18"    \
    "kernel_grad_paramsyiffiiPiS8_ii"
#define SMALL "Li1024ELi5ELi5ELi3ELi3ELi3E"
#define WIDE  "Li128ELi6ELi7ELi3ELi3ELi5E"
#define TILES(pass, layouts, index)                                                                \
    "sm80_xmma_" pass "_implicit_gemm_" index "f32f32_f32f32_f32_" layouts                         \
    "_tilesize32x32x8_stage3_warpsize1x2x1_g1_ffma_"

static const struct typed_name forward = {
    ENGINE("ff" SMALL
           "Lb1ELb0ELb0ELb0ELb0EEviiiPKT_S2_iPT0_25conv_kernel_common_paramsymffbPKS3_S7_bb"),
    ENGINE("6__halfS0_" WIDE
           "Lb1ELb0ELb0ELb0ELb0EEviiiPKT_S3_iPT0_25conv_kernel_common_paramsymffbPKS4_S8_bb"),
    ENGINE("13__nv_bfloat16S0_" WIDE
           "Lb1ELb0ELb0ELb0ELb0EEviiiPKT_S3_iPT0_25conv_kernel_common_paramsymffbPKS4_S8_bb")};
static const struct typed_name pointwise = {
    NULL,
    IMPLICIT_SGEMM("6__halfS0_" WIDE
                   "Li1ELb0ELb1ELb1EEviiiPKT_iPT0_S3_18kernel_conv_paramsyiffiPKS4_S8_bbii"),
    IMPLICIT_SGEMM("13__nv_bfloat16S0_" WIDE
                   "Li1ELb0ELb1ELb1EEviiiPKT_iPT0_S3_18kernel_conv_paramsyiffiPKS4_S8_bbii")};
static const struct typed_name weights = {
    WEIGHTS("fLi128ELi5ELi5ELi3ELi3ELi3ELb0ELi512EEviiiPKT_iPS0_S2_18kernel_grad_paramsyifiiii"),
    WEIGHTS("6__half" WIDE "Lb0ELi512EEviiiPKT_iPS1_S3_18kernel_grad_paramsyifiiii"),
    WEIGHTS("13__nv_bfloat16" WIDE "Lb0ELi512EEviiiPKT_iPS1_S3_18kernel_grad_paramsyifiiii")};
static const struct typed_name data = {
    DATA("fiffLb0ELb1ELi0ELi1EEEvNS0_24DgradGroupedDirectParamsEPKT_S5_PS3_T2_S7_"),
    DATA("6__halfiffLb0ELb1ELi0ELi1EEEvNS0_24DgradGroupedDirectParamsEPKT_S6_PS4_T2_S8_"),
    DATA("13__nv_bfloat16iffLb0ELb1ELi0ELi1EEEvNS0_24DgradGroupedDirectParamsEPKT_S6_PS4_T2_S8_")};

void conv_plan_direct(const struct vg_profile *p, const struct conv_problem *q, enum vg_pass pass,
                      struct conv_plan *plan)
{
    const struct vg_conv *c = &q->conv;
    const struct typed_name *n = pass == VG_DGRAD ? &data : pass == VG_WGRAD ? &weights : &forward;
    struct vg_conv plain = *c;
    if (pass == VG_FWD && c->r * c->s == 1 && q->data != CUDNN_DATA_FLOAT)
        n = &pointwise;
    plain.type = cudnn_dtype(q->data);
    plan->untried_ns = vg_cost_direct_contention(p, &plain, pass);
    conv_plan_product(plan, c, pass, typed_name(n, q->data),
                      (double)(vg_cost_direct(p, &plain, pass) + plan->untried_ns));
    plan->host_ns = p->cudnn_direct_host_ns;
}

/* The conversions around an FP32 kernel. The kernels read and write NCHW, except those of the
 * weight gradient, which work in NHWC. The filter of a 1x1 convolution has the same layout in both
 * and is never converted. */
static struct vg_conversions around(const struct vg_conv *c, enum vg_pass pass)
{
    double x = (double)(c->n * c->c * c->h * c->w) * 4, y = (double)(c->n * c->k * c->p * c->q) * 4;
    double w = c->r * c->s > 1 ? (double)(c->k * (c->c / c->groups) * c->r * c->s) * 4 : 0;
    if ((c->layout == VG_NCHW) != (pass == VG_WGRAD))
        return (struct vg_conversions){{0, 0}, 0};
    if (pass == VG_FWD)
        return (struct vg_conversions){{x, w}, y};
    if (pass == VG_DGRAD)
        return (struct vg_conversions){{y, w}, x};
    return (struct vg_conversions){{x, y}, w};
}

static const char *tiles_name(enum vg_pass pass, enum vg_fp32_kernel kernel)
{
    static const char *const names[] = {
        [VG_FWD] = TILES("fprop", "nchwkcrs_nchw", "") "aligna4_alignc4_execute_kernel__5x_cudnn",
        [VG_DGRAD] = TILES("dgrad", "nchwkcrs_nchw", "") "aligna4_alignc4_execute_kernel__5x_cudnn",
        [VG_WGRAD] = TILES("wgrad", "nhwckrsc_nhwc", "indexed_") "execute_kernel__5x_cudnn"};
    return kernel == VG_FP32_SCATTERED ? SCATTER("Li6ELi6ELi5ELi4ELi4E")
           : kernel == VG_FP32_SLICED  ? SLICED
                                       : names[pass];
}

void conv_plan_fp32_tiles(const struct vg_profile *p, const struct conv_problem *q,
                          enum vg_pass pass, struct conv_plan *plan)
{
    const struct vg_conv *c = &q->conv;
    struct vg_conversions v = around(c, pass);
    enum vg_fp32_kernel kernel;
    double ns = (double)vg_cost_fp32_tiles(p, c, pass, &kernel);
    if (kernel == VG_FP32_SLICED)
        v = (struct vg_conversions){{0, 0}, 0};
    /* true: convert from NHWC to NCHW and back; false: the other way. */
    bool in = c->layout == VG_NHWC;
    for (int i = 0; i < 2; i++)
        if (v.in_bytes[i] > 0)
            conv_plan_flat(plan, in ? vg_name_to_nchw(VG_F32) : vg_name_to_nhwc(VG_F32),
                           v.in_bytes[i], (double)vg_cost_layout(p, v.in_bytes[i], VG_F32, false));
    conv_plan_product(plan, c, pass, tiles_name(pass, kernel), ns);
    if (v.out_bytes > 0)
        conv_plan_flat(plan, in ? vg_name_to_nhwc(VG_F32) : vg_name_to_nchw(VG_F32), v.out_bytes,
                       (double)vg_cost_layout(p, v.out_bytes, VG_F32, c->adds));
    if (in && c->r * c->s == 1 && c->stride == 1)
        plan->host_ns = p->cudnn_fp32_product_host_ns;
}
