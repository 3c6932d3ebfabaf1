/* Compares the H200's profile with the card that it was fitted to
 * (docs/measurements/h200-2026-11.md): kernel times of the calibration in us. They were used for
 * the fit, so this guards the implementation, not the model. */
#include "tests/unit/vgpu_profile.h"

#include <math.h>

Suite *test_vgpu_h200_suite(void);

static void within(const char *what, int64_t ns, double measured_us, double share)
{
    double us = (double)ns / 1e3;
    ck_assert_msg(fabs(us / measured_us - 1) <= share, "%s: %.1f us, measured %.1f (%+.0f %%)",
                  what, us, measured_us, 100 * (us / measured_us - 1));
}

START_TEST(products)
{
    static const struct {
        const char *name;
        enum vg_dtype type;
        int64_t size, align;
        double us;
    } cases[] = {{"bf16 512", VG_BF16, 512, 8, 3.1},      {"bf16 1024", VG_BF16, 1024, 8, 5.25},
                 {"bf16 2048", VG_BF16, 2048, 8, 22.4},   {"bf16 4096", VG_BF16, 4096, 8, 154.6},
                 {"bf16 8192", VG_BF16, 8192, 8, 1221.6}, {"fp16 4095", VG_F16, 4095, 1, 904},
                 {"tf32 4096", VG_TF32, 4096, 4, 314.2},  {"tf32 4095", VG_TF32, 4095, 1, 999.6},
                 {"fp32 2048", VG_F32, 2048, 4, 341},     {"fp32 8192", VG_F32, 8192, 4, 21508}};
    struct vg_profile p = load("h200");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t n = cases[i].size;
        within(cases[i].name, vg_cost_gemm(&p, cases[i].type, n, n, n, 1, (int)cases[i].align),
               cases[i].us, 0.2);
    }
}
END_TEST

/* Half precision and TF32 in NHWC, batch 64: forward, data gradient, weight gradient. */
START_TEST(convolutions)
{
    static const struct {
        enum vg_dtype type;
        int64_t in, out, size, window;
        double us[3];
    } cases[] = {{VG_BF16, 64, 64, 56, 3, {35.8, 41.4, 42.4}},
                 {VG_BF16, 256, 256, 14, 3, {27.2, 26.8, 33.3}},
                 {VG_BF16, 64, 256, 56, 1, {36, 33.3, 37}},
                 {VG_BF16, 512, 2048, 7, 1, {11.8, 10, 11.3}},
                 {VG_TF32, 64, 64, 56, 3, {69.1, 73.5, 156.9}},
                 {VG_TF32, 256, 256, 14, 3, {42.8, 51.9, 97.8}},
                 {VG_TF32, 64, 256, 56, 1, {75.2, 65.1, 69.8}}};
    struct vg_profile p = load("h200");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t size = cases[i].size, window = cases[i].window;
        struct vg_conv c = {.n = 64,
                            .c = cases[i].in,
                            .h = size,
                            .w = size,
                            .k = cases[i].out,
                            .r = window,
                            .s = window,
                            .p = size,
                            .q = size,
                            .stride = 1,
                            .pad = window / 2,
                            .dilation = 1,
                            .groups = 1,
                            .type = cases[i].type,
                            .layout = VG_NHWC};
        for (int pass = VG_FWD; pass <= VG_WGRAD; pass++) {
            char name[64];
            snprintf(name, sizeof name, "case %zu, pass %d", i, pass);
            within(name, vg_cost_conv(&p, &c, (enum vg_pass)pass), cases[i].us[pass], 0.35);
        }
    }
}
END_TEST

static struct vg_conv of(int64_t n, int64_t c, int64_t h, int64_t k, int64_t r, int64_t stride,
                         enum vg_dtype type)
{
    return (struct vg_conv){.n = n,
                            .c = c,
                            .h = h,
                            .w = h,
                            .k = k,
                            .r = r,
                            .s = r,
                            .p = (h - 1) / stride + 1,
                            .q = (h - 1) / stride + 1,
                            .stride = stride,
                            .pad = r / 2,
                            .dilation = 1,
                            .groups = 1,
                            .type = type,
                            .layout = VG_NHWC};
}

/* Trials of algorithm 0 on NHWC: of train_conv in FP32 (batch 16) and of train_amp (batch 8). */
START_TEST(direct_convolutions)
{
    static const struct {
        int64_t n, c, h, k, r, stride;
        enum vg_dtype type;
        enum vg_pass pass;
        double us;
    } cases[] = {{16, 1024, 14, 512, 1, 1, VG_F32, VG_FWD, 229},
                 {16, 256, 14, 1024, 1, 1, VG_F32, VG_FWD, 183},
                 {16, 3, 224, 64, 7, 2, VG_F32, VG_FWD, 192},
                 {16, 128, 28, 128, 3, 1, VG_F32, VG_WGRAD, 204},
                 {16, 256, 56, 64, 1, 1, VG_F32, VG_DGRAD, 3490},
                 {8, 2048, 4, 512, 1, 1, VG_F16, VG_FWD, 281},
                 {8, 64, 32, 256, 1, 1, VG_F16, VG_FWD, 21.1},
                 {8, 512, 4, 2048, 1, 1, VG_F16, VG_WGRAD, 85.6},
                 {8, 256, 32, 64, 1, 1, VG_F16, VG_WGRAD, 105}};
    struct vg_profile p = load("h200");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vg_conv c = of(cases[i].n, cases[i].c, cases[i].h, cases[i].k, cases[i].r,
                              cases[i].stride, cases[i].type);
        char name[64];
        snprintf(name, sizeof name, "case %zu", i);
        within(name, vg_cost_direct(&p, &c, cases[i].pass), cases[i].us, 0.2);
    }
    struct vg_conv half = of(8, 1024, 8, 256, 1, 1, VG_F16), single = half;
    within("contention", vg_cost_direct_contention(&p, &half, VG_WGRAD), 133, 0.2);
    single.type = VG_F32;
    ck_assert_int_eq(vg_cost_direct_contention(&p, &single, VG_WGRAD), 0);
    ck_assert_int_eq(vg_cost_direct_contention(&p, &half, VG_FWD), 0);
}
END_TEST

/* FP32's other algorithms work on tiles; a gradient over a stride may be scattered. */
START_TEST(fp32_convolutions_on_tiles)
{
    struct vg_profile p = load("h200");
    struct vg_conv c = of(16, 128, 28, 128, 3, 1, VG_F32);
    enum vg_fp32_kernel kernel;
    within("forward", vg_cost_fp32_tiles(&p, &c, VG_FWD, &kernel), 127, 0.2);
    within("data", vg_cost_fp32_tiles(&p, &c, VG_DGRAD, &kernel), 154, 0.2);
    ck_assert_int_eq(kernel, VG_FP32_TILES);
    c = of(16, 256, 28, 256, 3, 2, VG_F32);
    within("strided data", vg_cost_fp32_tiles(&p, &c, VG_DGRAD, &kernel), 199, 0.2);
    ck_assert_int_eq(kernel, VG_FP32_SCATTERED);
    c = of(16, 512, 14, 512, 3, 2, VG_F32);
    within("weights", vg_cost_fp32_tiles(&p, &c, VG_WGRAD, &kernel), 113, 0.2);
    c = of(32, 64, 56, 256, 1, 1, VG_F32);
    within("weights of many places", vg_cost_fp32_tiles(&p, &c, VG_WGRAD, &kernel), 605, 0.2);
    ck_assert_int_eq(kernel, VG_FP32_SLICED);
}
END_TEST

/* A gradient that is added to what is there reads it: 256 channels of 56 x 56, batch 64. */
START_TEST(adding_reads_the_result)
{
    struct vg_profile p = load("h200");
    struct vg_conv c = of(64, 256, 56, 64, 1, 1, VG_BF16);
    int64_t alone = vg_cost_conv(&p, &c, VG_DGRAD);
    c.adds = true;
    within("added", vg_cost_conv(&p, &c, VG_DGRAD) - alone, 25.2, 0.05);
    double bytes = 16.0 * 256 * 56 * 56 * 4;
    within("converted", vg_cost_layout(&p, bytes, VG_F32, false), 28.7, 0.1);
    within("converted and added", vg_cost_layout(&p, bytes, VG_F32, true), 51.8, 0.1);
}
END_TEST

/* 64 x 256 x 56 x 56 in half precision, as PyTorch's layers of 32 x 64 x 112 x 112. */
START_TEST(normalisation)
{
    struct vg_profile p = load("h200");
    double bytes = 64.0 * 256 * 56 * 56 * 2;
    within("forward", vg_cost_norm(&p, bytes, 3, p.bn_nhwc_fwd_eff), 109.2, 0.1);
    within("backward", vg_cost_norm(&p, bytes, 5, p.bn_nhwc_bwd_eff), 129.4, 0.1);
    within("forward, strided", vg_cost_norm(&p, 2 * bytes, 3, p.bn_strided_eff), 4039, 0.15);
    within("backward, strided", vg_cost_norm(&p, 2 * bytes, 5, p.bn_strided_eff), 6706, 0.15);
    within("forward, NCHW", vg_cost_norm_half_nchw(&p, 256, 64.0 * 56 * 56, false), 209.5, 0.15);
    within("backward, NCHW", vg_cost_norm_half_nchw(&p, 256, 64.0 * 56 * 56, true), 332, 0.15);
}
END_TEST

/* The four kernels of PyTorch's normalisation take rows and channels from their arguments. */
START_TEST(channels_last_norm_of_pytorch)
{
    static const struct {
        const char *name;
        int rows_at;
        double us; /* mean of ResNet-50's 53 layers at batch 32 */
    } kernels[] = {
        {"_ZN2at6native50batch_norm_collect_statistics_channels_last_kernelINS0_3VarEN3c108BFloat16"
         "EfLi4EEEvPKT0_PT1_S9_PVS8_PiiiS8_",
         5, 26.2},
        {"_ZN2at6native47batch_norm_transform_input_channels_last_kernelIN3c108BFloat16EffLi4EEEvPK"
         "T_S6_PKT0_S9_PKT1_SC_PS4_iib",
         7, 10.8},
        {"_ZN2at6native47batch_norm_backward_reduce_channels_last_kernelILi4EN3c108BFloat16EffEEvPK"
         "T0_S6_PKT1_S9_PS7_SA_PT2_SC_PVS7_Piii",
         10, 19.6},
        {"_ZN2at6native46batch_norm_backward_elemt_channels_last_kernelILi4EN3c108BFloat16EffEEvPKT"
         "0_S6_PKT1_S9_PKT2_S9_S9_PS4_S7_ii",
         9, 13.9},
    };
    const unsigned grid[3] = {8, 64, 1}, block[3] = {16, 32, 1};
    struct vg_profile p = load("h200");
    int rows = 32 * 56 * 56, channels = 67; /* as many bytes as the layers have on average */
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        void *args[16] = {NULL};
        args[kernels[i].rows_at] = &rows;
        args[kernels[i].rows_at + 1] = &channels;
        within(kernels[i].name, vg_cost_torch(&p, kernels[i].name, grid, block, args),
               kernels[i].us, 0.15);
        ck_assert_int_eq(vg_cost_torch(&p, kernels[i].name, grid, block, NULL), -1);
    }
}
END_TEST

/* In NCHW a block has a channel, and the first argument is a tensor with its sizes. */
START_TEST(norm_of_pytorch_by_channels)
{
    static const struct {
        const char *name;
        double us[2]; /* 64 channels, a mean of sizes; 256 channels */
    } kernels[] = {{"_ZN2at6native36batch_norm_collect_statistics_kernelINS0_3VarEN3c108BFloat16ES4"
                    "_fiEEvN5torch10headeronly",
                    {97, 86.4}},
                   {"_ZN2at6native26batch_norm_backward_kernelIN3c108BFloat16EffiEEvN5torch10"
                    "headeronly",
                    {235.8, 205.8}}};
    struct vg_profile p = load("h200");
    struct {
        void *data;
        int size[3], stride[3];
    } tensor = {NULL, {32, 64, 4480}, {0}};
    void *args[1] = {&tensor};
    unsigned grid[3] = {64, 1, 1}, block[3] = {512, 1, 1};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        tensor.size[1] = 64, tensor.size[2] = 4480; /* six layers of 56 x 56, one of 112 x 112 */
        within("64", vg_cost_torch(&p, kernels[i].name, grid, block, args), kernels[i].us[0], 0.2);
        tensor.size[1] = 256, tensor.size[2] = 2666; /* four of 56 x 56, one of 28 x 28 */
        within("256", vg_cost_torch(&p, kernels[i].name, grid, block, args), kernels[i].us[1],
               0.25);
        ck_assert_int_eq(vg_cost_torch(&p, kernels[i].name, grid, block, NULL), -1);
    }
}
END_TEST

/* With batch 8 a thread waits for its rows: 1568 of them in 98 turns. */
START_TEST(rows_that_a_thread_waits_for)
{
    struct vg_profile p = load("h200");
    void *args[16] = {0};
    int rows = 1568, channels = 256;
    unsigned grid[3] = {8, 1, 1}, block[3] = {32, 16, 1};
    args[5] = &rows, args[6] = &channels;
    within("statistics",
           vg_cost_torch(&p,
                         "_ZN2at6native50batch_norm_collect_statistics_channels_last_kernelINS0_3"
                         "VarEN3c108BFloat16EfLi4EEEvPKT0_PT1_S9_PVS8_PiiiS8_",
                         grid, block, args),
           26.6, 0.1);
}
END_TEST

/* A profile without the keys that only this card's has. */
START_TEST(keys_that_may_be_left_out)
{
    struct vg_profile a = load("a100-80"), h = load("h200");
    ck_assert_double_eq(a.conv_half_wgrad_eff, a.conv_half_eff);
    ck_assert_double_eq(a.bn_nhwc_fwd_eff, a.bn_fwd_eff);
    ck_assert_double_eq(a.gemm_align1_tf32, a.gemm_align1);
    ck_assert_double_eq(a.bn_half_fwd_clocks, 0);
    ck_assert_double_eq(a.conv_direct_eff, 0);
    ck_assert_double_eq(a.cudnn_direct_host_ns, 0);
    ck_assert_double_eq(a.layout_fp32_eff, a.layout_eff);
    ck_assert_double_eq(a.bn_strided_eff, h.bn_strided_eff);
    ck_assert_double_eq(a.cudnn_conv_host_ns, 0);
    ck_assert_double_gt(h.cudnn_product_host_ns, h.cudnn_conv_host_ns);
}
END_TEST

Suite *test_vgpu_h200_suite(void)
{
    Suite *suite = suite_create("vgpu_h200");
    TCase *t = tcase_create("vgpu_h200");
    tcase_add_test(t, products);
    tcase_add_test(t, convolutions);
    tcase_add_test(t, direct_convolutions);
    tcase_add_test(t, fp32_convolutions_on_tiles);
    tcase_add_test(t, adding_reads_the_result);
    tcase_add_test(t, normalisation);
    tcase_add_test(t, channels_last_norm_of_pytorch);
    tcase_add_test(t, norm_of_pytorch_by_channels);
    tcase_add_test(t, rows_that_a_thread_waits_for);
    tcase_add_test(t, keys_that_may_be_left_out);
    suite_add_tcase(suite, t);
    return suite;
}
