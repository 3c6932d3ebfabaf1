/* Names of matrix products by architecture and type. Tiles go from the one for small results to the
 * one for large results; %s stands for the transposition letters. Copied from the string tables of
 * cuBLAS 13.1, except Hopper's half precision: the library composes `nvjet` names there, and so
 * does this file. */
#include "cost/names.h"

#include <stdio.h>
#include <string.h>

enum { TILES = 3 };

struct row {
    int cc;
    enum vg_dtype type;
    const char *tile[TILES]; /* 64-wide, 128x64 or so, 128-wide and more */
};

static const struct row rows[] = {
    {70,
     VG_F32,
     {"volta_sgemm_32x32_sliced1x4_%s", "volta_sgemm_128x64_%s", "volta_sgemm_128x128_%s"}},
    {80,
     VG_F32,
     {"ampere_sgemm_32x32_sliced1x4_%s", "ampere_sgemm_128x64_%s", "ampere_sgemm_128x128_%s"}},
    {70, VG_F64, {"volta_dgemm_64x64_%s", "volta_dgemm_128x64_%s", "volta_dgemm_128x64_%s"}},
    {80, VG_F64, {"ampere_dgemm_64x64_%s", "ampere_dgemm_128x64_%s", "ampere_dgemm_128x64_%s"}},
    {70,
     VG_F16,
     {"volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_%s", "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_%s",
      "volta_fp16_s884gemm_fp16_256x128_ldg8_f2f_%s"}},
    {75,
     VG_F16,
     {"turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_%s",
      "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_stages_32x1_%s",
      "turing_fp16_s1688gemm_fp16_256x128_ldg8_f2f_%s"}},
    {80,
     VG_F16,
     {"ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_%s",
      "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_%s",
      "ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_64x3_%s"}},
    {80,
     VG_BF16,
     {"ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_%s",
      "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_%s",
      "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_%s"}},
    {80,
     VG_TF32,
     {"sm80_xmma_gemm_f32f32_tf32f32_f32_%s_n_tilesize64x64x64_stage4_warpsize2x2x1_"
      "tensor16x8x8_aligna4_alignc4_execute_kernel__5x_cublas",
      "sm80_xmma_gemm_f32f32_tf32f32_f32_%s_n_tilesize128x64x32_stage5_warpsize2x2x1_"
      "tensor16x8x8_aligna4_alignc4_execute_kernel__5x_cublas",
      "sm80_xmma_gemm_f32f32_tf32f32_f32_%s_n_tilesize128x128x32_stage4_warpsize2x2x1_"
      "tensor16x8x8_aligna4_alignc4_execute_kernel__5x_cublas"}},
    {90, /* with a bfloat16 result */
     VG_F8,
     {"sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_%s_n_tilesize128x64x128_cgasize1x1x1_"
      "warpgroupsize1x1x1_aligna4_alignc4_execute_segment_k_off_kernel__5x_cublas",
      "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_%s_n_tilesize128x64x128_cgasize1x1x1_"
      "warpgroupsize1x1x1_aligna4_alignc4_execute_segment_k_on_kernel__5x_cublas",
      "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_%s_n_tilesize128x128x128_cgasize1x1x1_"
      "warpgroupsize1x1x1_aligna4_alignc4_execute_segment_k_off_kernel__5x_cublas"}},
    {90,
     VG_F16,
     {"nvjet_sm90_hsh_64x64_64x13_1x1_h_bz_%s", "nvjet_sm90_hsh_128x64_64x8_2x1_v_bz_%s",
      "nvjet_sm90_hsh_128x256_64x4_2x1_v_bz_coopA_%s"}},
    {90,
     VG_BF16,
     {"nvjet_sm90_tst_64x64_64x13_1x1_h_bz_%s", "nvjet_sm90_tst_128x64_64x8_2x1_v_bz_%s",
      "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_%s"}},
    {90,
     VG_TF32,
     {"nvjet_sm90_sss_64x64_32x13_1x1_h_bz_%s", "nvjet_sm90_sss_128x64_32x8_2x1_v_bz_%s",
      "nvjet_sm90_sss_128x256_32x4_2x1_v_bz_coopA_%s"}},
};

static const struct row *find_row(int cc, enum vg_dtype type)
{
    const struct row *best = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].cc <= cc && rows[i].type == type && (!best || rows[i].cc > best->cc))
            best = &rows[i];
    return best;
}

/* Operands that are not aligned to 16 bytes use older, general kernels. */
static const char *unaligned_name(const struct vg_product *g)
{
    char text[96];
    const char *type = g->type == VG_BF16 ? "bf16" : "f16";
    snprintf(text, sizeof text, "cutlass_75_tensorop_%s_s1688gemm_%s_128x128_%s_align%d", type,
             type, g->transpose_a ? (g->transpose_b ? "tt" : "tn") : (g->transpose_b ? "nt" : "nn"),
             g->align >= 4   ? 4
             : g->align >= 2 ? 2
                             : 1);
    return vg_name_keep(text);
}

static int tile_class(const struct vg_profile *p, const struct vg_product *g)
{
    int64_t tiles = ((g->m + 127) / 128) * ((g->n + 127) / 128) * g->batch;
    if (g->m <= 64 || g->n <= 64 || tiles * 4 < p->sm_count)
        return 0;
    return tiles * 2 < p->sm_count ? 1 : 2;
}

const char *vg_name_gemm(const struct vg_profile *p, const struct vg_product *g, int rank)
{
    int cc = p->cc_major * 10 + p->cc_minor;
    bool half = g->type == VG_F16 || g->type == VG_BF16;
    if (half && g->align > 0 && g->align < 8)
        return unaligned_name(g);
    const struct row *r = find_row(cc, g->type);
    if (!r) /* the device has no unit for this type */
        r = find_row(cc, VG_F32);
    char letters[4] = {g->transpose_a ? 't' : 'n', g->transpose_b ? 't' : 'n', '\0', '\0'};
    const char *format = r->tile[(tile_class(p, g) + rank) % TILES];
    if (cc >= 90 && r->cc == 90 && g->type != VG_F8) {
        letters[0] = g->transpose_a ? 'T' : 'N';
        letters[1] = g->transpose_b ? 'T' : 'N';
        letters[2] = g->transpose_b ? 'N' : 'T';
    }
    char text[192];
    const char *at = strstr(format, "%s");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - format), format, letters, at + 2);
    return vg_name_keep(text);
}
