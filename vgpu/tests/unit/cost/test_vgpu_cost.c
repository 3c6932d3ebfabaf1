/* Compares the cost model with what it was calibrated on: one training step of ResNet-50 with batch
 * 32, summed from its shapes. The published numbers are public traces of a V100 in FP32 and an
 * A100-40 in TF32 (both NCHW), and published rates of AMP in NHWC. They were used for the fit, so
 * this guards the implementation, not the model. Times are in ms, by class of kernel. */
#include "tests/unit/vgpu_profile.h"

#include <math.h>

Suite *test_vgpu_cost_suite(void);

struct step {
    double conv, layout, bn_fwd, bn_bwd, add, relu_fwd, relu_bwd, pool, optimizer;
    int kernels;
};

struct net {
    const struct vg_profile *p;
    enum vg_dtype type;
    enum vg_layout layout;
    int64_t batch, parameters;
    struct step step;
};

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

static void convert(struct net *n, double bytes)
{
    if (bytes <= 0)
        return;
    n->step.layout += ms(vg_cost_layout(n->p, bytes, VG_F32, false));
    n->step.kernels++;
}

static void relu(struct net *n, double bytes)
{
    n->step.relu_fwd += ms(vg_cost_memory(n->p, bytes, 2, n->p->pointwise_eff));
    n->step.relu_bwd += ms(vg_cost_memory(n->p, bytes, 3, n->p->pointwise_eff));
    n->step.kernels += 2;
}

/* Convolution and its normalisation, forward and backward. Returns the output's bytes. */
static double conv(struct net *n, int64_t c, int64_t size, int64_t k, int64_t r, int64_t stride)
{
    int64_t pad = r / 2, out = (size + 2 * pad - r) / stride + 1;
    struct vg_conv v = {.n = n->batch,
                        .c = c,
                        .h = size,
                        .w = size,
                        .k = k,
                        .r = r,
                        .s = r,
                        .p = out,
                        .q = out,
                        .stride = stride,
                        .pad = pad,
                        .dilation = 1,
                        .groups = 1,
                        .type = n->type,
                        .layout = n->layout};
    for (int pass = VG_FWD; pass <= VG_WGRAD; pass++) {
        if (pass == VG_DGRAD && c == 3)
            continue; /* nobody wants the image's gradient */
        struct vg_conversions t = vg_conv_conversions(&v, (enum vg_pass)pass);
        n->step.conv += ms(vg_cost_conv(n->p, &v, (enum vg_pass)pass));
        n->step.kernels++;
        convert(n, t.in_bytes[0]);
        convert(n, t.in_bytes[1]);
        convert(n, t.out_bytes);
    }
    double bytes = (double)(n->batch * k * out * out) * (double)vg_dtype_bytes(n->type);
    n->step.bn_fwd += ms(vg_cost_norm(n->p, bytes, 3, n->p->bn_fwd_eff));
    n->step.bn_bwd += ms(vg_cost_norm(n->p, bytes, 5, n->p->bn_bwd_eff));
    n->step.kernels += 2;
    n->parameters += k * c * r * r + 2 * k;
    return bytes;
}

static void block(struct net *n, int64_t in, int64_t size, int64_t planes, int64_t stride,
                  bool shortcut)
{
    relu(n, conv(n, in, size, planes, 1, 1));
    relu(n, conv(n, planes, size, planes, 3, stride));
    double out = conv(n, planes, size / stride, 4 * planes, 1, 1);
    if (shortcut)
        conv(n, in, size, 4 * planes, 1, stride);
    n->step.add += 2 * ms(vg_cost_memory(n->p, out, 3, n->p->pointwise_eff));
    n->step.kernels += 2;
    relu(n, out);
}

static struct step resnet50(const char *model, enum vg_dtype type, enum vg_layout layout)
{
    static const struct {
        int64_t planes, blocks, stride;
    } stages[] = {{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}};
    struct vg_profile p = load(model);
    struct net n = {.p = &p, .type = type, .layout = layout, .batch = 32};
    relu(&n, conv(&n, 3, 224, 64, 7, 2));
    double big = (double)(n.batch * 64 * 112 * 112) * (double)vg_dtype_bytes(type);
    double last = (double)(n.batch * 2048 * 7 * 7) * (double)vg_dtype_bytes(type);
    n.step.pool = ms(vg_cost_norm(&p, big * 1.25, 1, p.pool_eff)) +
                  ms(vg_cost_norm(&p, big * 1.25, 2, p.pool_eff)) +
                  2 * ms(vg_cost_norm(&p, last, 1, p.pool_eff));
    int64_t in = 64, size = 56;
    for (size_t s = 0; s < sizeof stages / sizeof stages[0]; s++)
        for (int b = 0; b < stages[s].blocks; b++) {
            int64_t stride = b == 0 ? stages[s].stride : 1;
            block(&n, in, size, stages[s].planes, stride, b == 0);
            in = 4 * stages[s].planes;
            size /= stride;
        }
    n.step.conv += ms(vg_cost_gemm(&p, type, 1000, 32, 2048, 1, 8)) +
                   ms(vg_cost_gemm(&p, type, 2048, 32, 1000, 1, 8)) +
                   ms(vg_cost_gemm(&p, type, 2048, 1000, 32, 1, 8));
    n.parameters += 2048 * 1000 + 1000;
    ck_assert_int_eq(n.parameters, 25557032);
    /* master weights stay FP32 */
    n.step.optimizer = ms(vg_cost_norm(&p, (double)n.parameters * 4, 8, p.optimizer_eff));
    return n.step;
}

static double total(const struct step *s)
{
    return s->conv + s->layout + s->bn_fwd + s->bn_bwd + s->add + s->relu_fwd + s->relu_bwd +
           s->pool + s->optimizer;
}

static void within(const char *what, double got, double published, double share)
{
    ck_assert_msg(fabs(got / published - 1) <= share, "%s: %.2f ms, published %.2f (%+.0f %%)",
                  what, got, published, 100 * (got / published - 1));
}

START_TEST(test_v100_fp32)
{
    struct step s = resnet50("v100", VG_F32, VG_NCHW);
    within("convolutions", s.conv, 60.1, 0.15);
    within("BN backward", s.bn_bwd, 11.35, 0.15);
    within("BN forward", s.bn_fwd, 5.86, 0.15);
    within("additions", s.add, 5.26, 0.15);
    within("ReLU backward", s.relu_bwd, 4.6, 0.15);
    within("ReLU forward", s.relu_fwd, 3.0, 0.15);
    within("pooling", s.pool, 1.36, 0.15);
    within("SGD", s.optimizer, 1.1, 0.15);
    ck_assert_double_eq(s.layout, 0);
    within("step", total(&s), 93.6, 0.10);
}
END_TEST

START_TEST(test_a100_tf32)
{
    struct step s = resnet50("a100-40", VG_TF32, VG_NCHW);
    within("convolutions", s.conv, 13.7, 0.15);
    within("BN backward", s.bn_bwd, 6.83, 0.15);
    within("layout conversions", s.layout, 5.04, 0.15);
    within("BN forward", s.bn_fwd, 3.63, 0.15);
    within("additions", s.add, 2.94, 0.15);
    within("ReLU backward", s.relu_bwd, 2.7, 0.15);
    within("ReLU forward", s.relu_fwd, 1.5, 0.15);
    within("pooling", s.pool, 0.76, 0.15);
    within("SGD", s.optimizer, 0.69, 0.15);
    within("step", total(&s), 38.55, 0.10);
}
END_TEST

static double images_per_s(const char *model, enum vg_dtype type, enum vg_layout layout)
{
    struct step s = resnet50(model, type, layout);
    return 32e3 / total(&s);
}

START_TEST(test_amp_rate)
{
    double rate = images_per_s("a100-80", VG_F16, VG_NHWC);
    ck_assert_msg(rate >= 2100 && rate <= 2550, "A100-80 AMP NHWC: %.0f img/s", rate);
}
END_TEST

START_TEST(test_directions)
{
    /* channels last without tensor cores loses */
    ck_assert_double_lt(images_per_s("v100", VG_F32, VG_NHWC),
                        0.75 * images_per_s("v100", VG_F32, VG_NCHW));
    /* with them it wins, and most in half precision */
    double tf32 =
        images_per_s("a100-80", VG_TF32, VG_NHWC) / images_per_s("a100-80", VG_TF32, VG_NCHW);
    double half =
        images_per_s("a100-80", VG_F16, VG_NHWC) / images_per_s("a100-80", VG_F16, VG_NCHW);
    ck_assert_double_gt(tf32, 1.05);
    ck_assert_double_gt(half, 1.3);
    /* AMP gains less where TF32 was on already */
    double on_a100 =
        images_per_s("a100-80", VG_F16, VG_NHWC) / images_per_s("a100-80", VG_TF32, VG_NCHW);
    double on_v100 = images_per_s("v100", VG_F16, VG_NHWC) / images_per_s("v100", VG_F32, VG_NCHW);
    ck_assert_double_lt(on_a100, on_v100);
    ck_assert_double_gt(on_a100, 1.5);
    /* a newer card is never slower at the same work */
    ck_assert_double_gt(images_per_s("h200", VG_BF16, VG_NHWC),
                        images_per_s("h100", VG_BF16, VG_NHWC));
    ck_assert_double_gt(images_per_s("h100", VG_BF16, VG_NHWC),
                        images_per_s("a100-80", VG_BF16, VG_NHWC));
    ck_assert_double_gt(images_per_s("v100", VG_F32, VG_NCHW), images_per_s("t4", VG_F32, VG_NCHW));
}
END_TEST

START_TEST(test_layout_conversions)
{
    struct step nchw = resnet50("a100-40", VG_TF32, VG_NCHW);
    struct step nhwc = resnet50("a100-40", VG_TF32, VG_NHWC);
    /* twenty convolutions are not 1x1 with stride 1, and three of them 1x1, whose filters lie alike
     * in both layouts; the first has no data gradient */
    ck_assert_int_eq(nchw.kernels - nhwc.kernels, 20 * 2 + 19 * 3 + 20 * 3 - 3 * 3);
    ck_assert_double_eq(nhwc.layout, 0);
    struct step half = resnet50("a100-40", VG_F16, VG_NCHW);
    ck_assert_int_eq(half.kernels - nhwc.kernels, 53 * 3 + 52 * 3 + 53 * 3 - 36 * 3);
}
END_TEST

static int64_t grouped_ns(const struct vg_profile *p, enum vg_dtype type, int64_t groups)
{
    struct vg_conv c = {.n = 64,
                        .c = 512,
                        .h = 14,
                        .w = 14,
                        .k = 512,
                        .r = 3,
                        .s = 3,
                        .p = 14,
                        .q = 14,
                        .stride = 1,
                        .pad = 1,
                        .dilation = 1,
                        .groups = groups,
                        .type = type,
                        .layout = VG_NCHW};
    return vg_cost_conv(p, &c, VG_FWD);
}

/* Half types and groups of one channel are as fast with groups as the profile says without. */
START_TEST(test_groups)
{
    struct vg_profile p = load("v100"), other = p;
    other.conv_group_k0 = 0;
    ck_assert_int_gt(grouped_ns(&p, VG_F32, 32), 4 * grouped_ns(&other, VG_F32, 32));
    ck_assert_int_lt(grouped_ns(&p, VG_F32, 2), 3 * grouped_ns(&other, VG_F32, 2) / 2);
    ck_assert_int_lt(grouped_ns(&p, VG_F32, 2), grouped_ns(&p, VG_F32, 1));
    ck_assert_int_eq(grouped_ns(&p, VG_F32, 1), grouped_ns(&other, VG_F32, 1));
    ck_assert_int_eq(grouped_ns(&p, VG_F32, 512), grouped_ns(&other, VG_F32, 512));
    ck_assert_int_eq(grouped_ns(&p, VG_F16, 32), grouped_ns(&other, VG_F16, 32));
    struct vg_profile a100 = load("a100-80");
    ck_assert_int_gt(grouped_ns(&a100, VG_TF32, 32), 2 * grouped_ns(&a100, VG_F16, 32));
}
END_TEST

/* Eight published bf16 products on H100 and H200 (TFLOP/s); the fit's own worst is 11 %. */
START_TEST(test_gemm_points)
{
    static const struct {
        int64_t m, n, k;
        double tflops;
    } points[] = {{8944, 2816, 1024, 610.7}, {8944, 1024, 1024, 579.8}, {8944, 1024, 2816, 674.3},
                  {5185, 4096, 1024, 745.8}, {5185, 1024, 4096, 662.8}, {5185, 1024, 1024, 498.5},
                  {16384, 16384, 1024, 708}, {8192, 8192, 8192, 788}};
    struct vg_profile p = load("h100");
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        double flops = 2.0 * points[i].m * points[i].n * points[i].k;
        double ns = vg_cost_gemm(&p, VG_BF16, points[i].m, points[i].n, points[i].k, 1, 8);
        ck_assert_msg(fabs(flops / ns / 1e3 / points[i].tflops - 1) < 0.15,
                      "%ldx%ldx%ld: %.0f TFLOP/s, published %.0f", points[i].m, points[i].n,
                      points[i].k, flops / ns / 1e3, points[i].tflops);
    }
}
END_TEST

START_TEST(test_gemm_shape)
{
    struct vg_profile p = load("a100-80");
    int64_t aligned = vg_cost_gemm(&p, VG_F16, 4096, 4096, 4096, 1, 8);
    ck_assert_int_gt(vg_cost_gemm(&p, VG_F16, 4096, 4096, 4096, 1, 1), aligned * 13 / 10);
    ck_assert_int_gt(vg_cost_gemm(&p, VG_F32, 4096, 4096, 4096, 1, 4), aligned * 8);
    /* a few tiles more than a wave cost a whole wave */
    int64_t full = vg_cost_gemm(&p, VG_F16, 128 * 54, 256, 8192, 1, 8);
    int64_t spill = vg_cost_gemm(&p, VG_F16, 128 * 55, 256, 8192, 1, 8);
    ck_assert_int_gt(spill, full * 17 / 10);
    ck_assert_int_ge(vg_cost_gemm(&p, VG_F16, 1, 1, 1, 1, 8), (int64_t)p.kernel_min_ns);
}
END_TEST

static const char *const models[] = {"t4",    "v100",    "a100-40", "a100-80", "a100-pcie",
                                     "h100",  "h200",    "l4",      "l40s",    "b200",
                                     "gb200", "rtx3090", "rtx4090", "rtx5090"};
enum { MODELS = sizeof models / sizeof *models };

/* Results of a multiprocessor in a clock, by compute capability (CUDA programming guide, throughput
 * of native arithmetic instructions); the data sheets' peaks follow from them. */
START_TEST(test_peaks_follow_from_units)
{
    static const struct {
        int cc;
        double fp32, fp64;
    } units[] = {{70, 64, 32}, {75, 64, 2},  {80, 64, 32},   {90, 128, 64},
                 {86, 128, 2}, {89, 128, 2}, {100, 128, 64}, {120, 128, 2}};
    struct vg_profile p = load(models[_i]);
    size_t at = 0;
    while (at < sizeof units / sizeof *units && units[at].cc != p.cc_major * 10 + p.cc_minor)
        at++;
    ck_assert_uint_lt(at, sizeof units / sizeof *units);
    double results = 2 * p.sm_count * p.clock_mhz * 1e6;
    ck_assert_double_eq_tol(p.fp32_flops / (units[at].fp32 * results), 1, 0.03);
    ck_assert_double_eq_tol(p.fp64_flops / (units[at].fp64 * results), 1, 0.03);
}
END_TEST

/* Data sheets, dense, in TFLOP/s: what a product of each type may reach at most. */
START_TEST(test_no_product_is_above_a_peak)
{
    static const enum vg_dtype type[] = {VG_F32, VG_TF32, VG_F16, VG_BF16, VG_F8, VG_I8, VG_F64};
    static const double peak[MODELS][7] = {{8.1, 8.1, 65, 8.1, 8.1, 130, 0.254},
                                           {15.7, 15.7, 125, 15.7, 15.7, 62.8, 7.8},
                                           {19.5, 156, 312, 312, 19.5, 624, 19.5},
                                           {19.5, 156, 312, 312, 19.5, 624, 19.5},
                                           {19.5, 156, 312, 312, 19.5, 624, 19.5},
                                           {67, 494.7, 989.4, 989.4, 1979, 1979, 66.9},
                                           {67, 494.7, 989.4, 989.4, 1979, 1979, 66.9},
                                           {30.3, 60, 121, 121, 242.5, 242.5, 0.48},
                                           {91.6, 183, 362, 362, 733, 733, 1.44},
                                           {75, 1125, 2250, 2250, 4500, 4500, 37},
                                           {80, 1250, 2500, 2500, 5000, 5000, 40},
                                           {35.6, 35.6, 71.2, 71.2, 35.6, 284.7, 0.56},
                                           {82.6, 82.6, 165.2, 165.2, 330.3, 660.6, 1.3},
                                           {104.8, 104.8, 209.5, 209.5, 419, 838, 1.65}};
    struct vg_profile p = load(models[_i]);
    for (int t = 0; t < 7; t++)
        for (int64_t size = 16; size <= 32768; size *= 2)
            for (int64_t k = 16; k <= 65536; k *= 16) {
                double flops = 2.0 * (double)size * (double)size * (double)k;
                double ns = (double)vg_cost_gemm(&p, type[t], size, size, k, 1, 16);
                ck_assert_double_le(flops / ns / 1e3, peak[_i][t]);
            }
    double ns = (double)vg_cost_gemm(&p, VG_F64, 8192, 8192, 8192, 1, 16);
    ck_assert_double_ge(2.0 * 8192 * 8192 * 8192 / ns / 1e3, peak[_i][6] / 2);
}
END_TEST

Suite *test_vgpu_cost_suite(void)
{
    Suite *suite = suite_create("vgpu_cost");
    TCase *t = tcase_create("vgpu_cost");
    tcase_add_test(t, test_v100_fp32);
    tcase_add_test(t, test_a100_tf32);
    tcase_add_test(t, test_amp_rate);
    tcase_add_test(t, test_directions);
    tcase_add_test(t, test_layout_conversions);
    tcase_add_test(t, test_groups);
    tcase_add_test(t, test_gemm_points);
    tcase_add_test(t, test_gemm_shape);
    tcase_add_loop_test(t, test_peaks_follow_from_units, 0, MODELS);
    tcase_add_loop_test(t, test_no_product_is_above_a_peak, 0, MODELS);
    suite_add_tcase(suite, t);
    return suite;
}
