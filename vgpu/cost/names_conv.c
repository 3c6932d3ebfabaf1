/* Names of convolution kernels, copied from the string tables of cuDNN 9.19: for each architecture,
 * data type, layout and pass three tiles, from narrow to wide. A device uses the newest row that is
 * not newer than itself; so Hopper's weight gradients are Ampere's, as in the library. */
#include "cost/names.h"

struct row {
    int cc; /* major * 10 + minor */
    enum vg_dtype type;
    enum vg_layout layout;
    enum vg_pass pass;
    const char *tile[3];
};

static const struct row rows[] = {
    {70,
     VG_F32,
     VG_NCHW,
     VG_FWD,
     {"_5x_cudnn_volta_scudnn_128x32_relu_interior_nn_v1",
      "_5x_cudnn_volta_scudnn_128x64_relu_interior_nn_v1",
      "_5x_cudnn_volta_scudnn_128x128_relu_interior_nn_v1"}},
    {70,
     VG_F32,
     VG_NCHW,
     VG_DGRAD,
     {"_5x_cudnn_volta_scudnn_128x64_stridedB_small_nn_v1",
      "_5x_cudnn_volta_scudnn_128x64_stridedB_interior_nn_v1",
      "_5x_cudnn_volta_scudnn_128x128_stridedB_interior_nn_v1"}},
    {70,
     VG_F32,
     VG_NCHW,
     VG_WGRAD,
     {"_5x_cudnn_volta_scudnn_128x32_stridedB_splitK_small_nn_v1",
      "_5x_cudnn_volta_scudnn_128x64_stridedB_splitK_interior_nn_v1",
      "_5x_cudnn_volta_scudnn_128x128_stridedB_splitK_interior_nn_v1"}},
    {70,
     VG_F32,
     VG_NHWC,
     VG_FWD,
     {"_5x_cudnn_volta_scudnn_128x32_sliced1x4_ldg4_relu_exp_interior_nhwc_tn_v1",
      "_5x_cudnn_volta_scudnn_128x64_sliced1x2_ldg4_relu_exp_interior_nhwc_tn_v1",
      "_5x_cudnn_volta_scudnn_128x128_ldg4_relu_exp_interior_nhwc_tn_v1"}},
    {70,
     VG_F32,
     VG_NHWC,
     VG_DGRAD,
     {"_5x_cudnn_volta_scudnn_128x128_dgrad_exp_small_nhwc_tt_v1",
      "_5x_cudnn_volta_scudnn_128x128_dgrad_exp_medium_nhwc_tt_v1",
      "_5x_cudnn_volta_scudnn_128x128_dgrad_exp_interior_nhwc_tt_v1"}},
    {80,
     VG_F32,
     VG_NCHW,
     VG_FWD,
     {"_5x_cudnn_ampere_scudnn_128x32_relu_interior_nn_v1",
      "_5x_cudnn_ampere_scudnn_128x64_relu_interior_nn_v1",
      "_5x_cudnn_ampere_scudnn_128x128_relu_interior_nn_v1"}},
    {80,
     VG_F32,
     VG_NCHW,
     VG_DGRAD,
     {"_5x_cudnn_ampere_scudnn_128x64_stridedB_small_nn_v1",
      "_5x_cudnn_ampere_scudnn_128x64_stridedB_interior_nn_v1",
      "_5x_cudnn_ampere_scudnn_128x128_stridedB_interior_nn_v1"}},
    {80,
     VG_F32,
     VG_NCHW,
     VG_WGRAD,
     {"_5x_cudnn_ampere_scudnn_128x32_stridedB_splitK_small_nn_v1",
      "_5x_cudnn_ampere_scudnn_128x64_stridedB_splitK_interior_nn_v1",
      "_5x_cudnn_ampere_scudnn_128x128_stridedB_splitK_interior_nn_v1"}},
    {80,
     VG_F32,
     VG_NHWC,
     VG_FWD,
     {"_5x_cudnn_ampere_scudnn_128x32_sliced1x4_ldg4_relu_exp_interior_nhwc_tn_v1",
      "_5x_cudnn_ampere_scudnn_128x64_sliced1x2_ldg4_relu_exp_interior_nhwc_tn_v1",
      "_5x_cudnn_ampere_scudnn_128x128_ldg4_relu_exp_interior_nhwc_tn_v1"}},
    {80,
     VG_F32,
     VG_NHWC,
     VG_DGRAD,
     {"_5x_cudnn_ampere_scudnn_128x128_dgrad_exp_small_nhwc_tt_v1",
      "_5x_cudnn_ampere_scudnn_128x128_dgrad_exp_medium_nhwc_tt_v1",
      "_5x_cudnn_ampere_scudnn_128x128_dgrad_exp_interior_nhwc_tt_v1"}},
    {70,
     VG_F32,
     VG_NHWC,
     VG_WGRAD,
     {"_Z22wgrad_alg0_engine_NHWCIfLi128ELi5ELi5ELi3ELi3ELi3ELb0ELi512EEviiiPKT_iPS0_S2_18kernel_"
      "grad_paramsyifiiii",
      "_Z22wgrad_alg0_engine_NHWCIfLi128ELi6ELi7ELi3ELi3ELi5ELb0ELi512EEviiiPKT_iPS0_S2_18kernel_"
      "grad_paramsyifiiii",
      "_Z22wgrad_alg0_engine_NHWCIfLi512ELi6ELi5ELi3ELi3ELi3ELb0ELi512EEviiiPKT_iPS0_S2_18kernel_"
      "grad_paramsyifiiii"}},
    {70,
     VG_F16,
     VG_NHWC,
     VG_FWD,
     {"_5x_cudnn_volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_interior_nhwc_tn_v1",
      "_5x_cudnn_volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_f2f_exp_interior_nhwc_tn_v1",
      "_5x_cudnn_volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_f2f_exp_interior_nhwc_tn_v1"}},
    {70,
     VG_F16,
     VG_NHWC,
     VG_DGRAD,
     {"_5x_cudnn_volta_fp16_s884cudnn_fp16_256x64_ldg8_dgrad_f2f_exp_interior_nhwc_tt_v1",
      "_5x_cudnn_volta_fp16_s884cudnn_fp16_128x128_ldg8_dgrad_f2f_exp_interior_nhwc_tt_v1",
      "_5x_cudnn_volta_fp16_s884cudnn_fp16_256x128_ldg8_dgrad_f2f_exp_interior_nhwc_tt_v1"}},
    {70,
     VG_F16,
     VG_NHWC,
     VG_WGRAD,
     {"_5x_cudnn_volta_s884cudnn_fp16_128x64_sliced1x4_ldg8_wgrad_exp_interior_nhwc_nt_v1",
      "_5x_cudnn_volta_s884cudnn_fp16_128x128_ldg8_wgrad_exp_interior_nhwc_nt_v1",
      "_5x_cudnn_volta_s884cudnn_fp16_128x128_ldg8_wgrad_idx_exp_interior_nhwc_nt_v1"}},
    {75,
     VG_F16,
     VG_NHWC,
     VG_FWD,
     {"sm75_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize256x32x32_stage1_"
      "warpsize4x1x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm75_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage1_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm75_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage1_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn"}},
    {75,
     VG_F16,
     VG_NHWC,
     VG_DGRAD,
     {"sm75_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize256x32x32_stage1_"
      "warpsize4x1x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm75_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage1_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm75_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage1_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn"}},
    {75,
     VG_F16,
     VG_NHWC,
     VG_WGRAD,
     {"sm75_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x32x64_"
      "stage1_warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm75_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_"
      "stage1_warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm75_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
      "stage1_warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn"}},
    {80,
     VG_F16,
     VG_NHWC,
     VG_FWD,
     {"sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize256x32x32_stage4_"
      "warpsize4x1x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
      "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage5_"
      "warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
      "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_"
      "warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn"}},
    {80,
     VG_F16,
     VG_NHWC,
     VG_DGRAD,
     {"sm80_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize256x32x32_stage4_"
      "warpsize4x1x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
      "sm80_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage5_"
      "warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
      "sm80_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_"
      "warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn"}},
    {80,
     VG_F16,
     VG_NHWC,
     VG_WGRAD,
     {"sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x32x64_"
      "stage5_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
      "sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_"
      "stage5_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
      "sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
      "stage4_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn"}},
    {80,
     VG_BF16,
     VG_NHWC,
     VG_FWD,
     {"sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize256x32x32_stage4_"
      "warpsize4x1x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
      "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage5_"
      "warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
      "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_"
      "warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn"}},
    {80,
     VG_BF16,
     VG_NHWC,
     VG_DGRAD,
     {"sm80_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize256x32x32_stage4_"
      "warpsize4x1x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
      "sm80_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage5_"
      "warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
      "sm80_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_"
      "warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn"}},
    {80,
     VG_BF16,
     VG_NHWC,
     VG_WGRAD,
     {"sm80_xmma_wgrad_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize64x32x64_"
      "stage5_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
      "sm80_xmma_wgrad_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_"
      "stage5_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
      "sm80_xmma_wgrad_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
      "stage4_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn"}},
    {80,
     VG_TF32,
     VG_NHWC,
     VG_FWD,
     {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x32x64_stage5_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage5_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn"}},
    {80,
     VG_TF32,
     VG_NHWC,
     VG_DGRAD,
     {"sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x32x64_stage5_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage5_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn"}},
    {80,
     VG_TF32,
     VG_NHWC,
     VG_WGRAD,
     {"sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x32x64_"
      "stage5_warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x64x64_"
      "stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_"
      "stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn"}},
    {80,
     VG_TF32,
     VG_NCHW,
     VG_FWD,
     {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize64x32x64_stage5_"
      "warpsize2x2x1_g1_tensor16x8x8_alignc4_execute_kernel__5x_cudnn",
      "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x64x32_stage5_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
      "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn"}},
    {90,
     VG_F16,
     VG_NHWC,
     VG_FWD,
     {"sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize256x32x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
      "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
      "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"}},
    {90,
     VG_F16,
     VG_NHWC,
     VG_DGRAD,
     {"sm90_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize256x32x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
      "sm90_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
      "sm90_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"}},
    {90,
     VG_BF16,
     VG_NHWC,
     VG_FWD,
     {"sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
      "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
      "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"}},
    {90,
     VG_BF16,
     VG_NHWC,
     VG_DGRAD,
     {"sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
      "sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
      "sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"}},
    {90,
     VG_TF32,
     VG_NHWC,
     VG_FWD,
     {"sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize256x32x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
      "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
      "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"}},
    {90,
     VG_TF32,
     VG_NHWC,
     VG_DGRAD,
     {"sm90_xmma_dgrad_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize256x32x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
      "sm90_xmma_dgrad_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
      "sm90_xmma_dgrad_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"}},
};

static const struct row *find_row(int cc, enum vg_dtype type, enum vg_layout layout,
                                  enum vg_pass pass)
{
    const struct row *best = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        if (r->cc <= cc && r->type == type && r->layout == layout && r->pass == pass &&
            (!best || r->cc > best->cc))
            best = r;
    }
    return best;
}

/* Index of the tile, by the output channels of the implicit product; that of wgrad is channels x
 * channels. */
static int tile_class(const struct vg_conv *c, enum vg_pass pass)
{
    int64_t width = pass == VG_DGRAD ? c->c : c->k;
    return width <= 32 ? 0 : width <= 128 ? 1 : 2;
}

const char *vg_name_conv(const struct vg_profile *p, const struct vg_conv *c, enum vg_pass pass,
                         bool other_tile)
{
    int cc = p->cc_major * 10 + p->cc_minor;
    int tile = tile_class(c, pass);
    const struct row *r = find_row(cc, c->type, c->layout, pass);
    if (!r && c->layout == VG_NCHW) /* layout conversions surround the kernel */
        r = find_row(cc, c->type, VG_NHWC, pass);
    if (other_tile)
        tile = tile == 0 ? 1 : tile - 1;
    return r ? r->tile[tile] : VG_IMPLICIT_SGEMM;
}
