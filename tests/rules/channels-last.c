/* Cases of the rule channels-last: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/gpu.h"
#include "tests/unit/rule_case.h"

static const char to_nhwc[] = "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, "
                              "true, (cudnnKernelDataType_t)0>";

static void fill_layouts(struct builder *b, int64_t at)
{
    build_kernel(b, to_nhwc, at + US(1), at + US(10), MS(2));
    build_kernel(b, conv, at + US(6), at + US(2011), US(7980));
}

static void fill_transposes(struct builder *b, int64_t at)
{
    build_kernel(b, to_nhwc, at + US(1), at + US(10), MS(2));
    build_kernel(b, case_gemm, at + US(6), at + US(2011), US(7980));
}

static void fill_fp32_layouts(struct builder *b, int64_t at)
{
    build_kernel(b, to_nhwc, at + US(1), at + US(10), MS(2));
    build_kernel(
        b, "implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>",
        at + US(6), at + US(2011), US(7980));
}

TEST(test_layouts)
{
    const struct advice *a = case_advice(fill_layouts);
    ck_assert_str_eq(case_first(a, "channels-last", MS(2))->setting, "channels_last=1");
    QUIET(a, "tensor-cores", "cuda-graphs", "fused-optimizer");
    struct builder b = build_start();
    case_loop(&b, fill_transposes); /* transposes, but not of convolutions */
    a = build_analyze(&b);
    case_verdict(a, "channels-last", RULE_SILENT);
    a = case_advice(fill_fp32_layouts);
    case_verdict(a, "channels-last", RULE_SUPPRESSED); /* slower there */
    case_cannot_tell(fill_layouts, "copies,api,ranges", "channels-last");
}

/* Matrix products on tensor cores do not make NHWC pay for convolutions that stay off them. */
static void fill_mixed(struct builder *b, int64_t at)
{
    build_kernel(b, "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>",
                 at + US(1), at + US(10), MS(2));
    build_kernel(b, case_gemm, at + US(6), at + US(2011), MS(4));
    build_kernel(
        b, "implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>",
        at + US(12), at + US(6012), US(3900));
}

TEST(test_layouts_of_fp32_convolutions)
{
    case_verdict(case_advice(fill_mixed), "channels-last", RULE_SUPPRESSED);
}

/* Conversions of 0.12 ms around convolutions of 9.6 ms, which may be a little slower in NHWC. */
static void fill_few_conversions(struct builder *b, int64_t at)
{
    build_kernel(b, "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>",
                 at + US(1), at + US(10), US(120));
    build_kernel(
        b,
        "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nchwkcrs_nchw_tilesize128x64x16_"
        "stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
        at + US(6), at + US(131), MS(9.6));
}

/* Its middle is nothing, its end is not. Where PyTorch measures cuDNN's algorithms, none was a
 * guess that could get better. */
TEST(test_what_may_save_nothing)
{
    static const char *const benchmark[] = {"True", "False"};
    for (size_t i = 0; i < sizeof benchmark / sizeof *benchmark; i++) {
        struct builder b = build_start();
        build_meta(&b, "torch.cudnn.benchmark", benchmark[i]);
        case_loop(&b, fill_few_conversions);
        const struct outcome *o = case_outcome(build_predict(&b), "channels-last");
        ck_assert_int_eq(o->edit.layout.best > 0, i == 1);
        if (i == 0) {
            ck_assert_int_eq(o->verdict, RULE_SUPPRESSED);
            ck_assert_ptr_nonnull(strstr(o->why, "most likely saves next to nothing; 0.120 ms"));
        }
    }
}

static void call_of(struct builder *b, int64_t at, struct row_call c, const char *function)
{
    c.start_ns = at;
    c.end_ns = at + US(8);
    build_call(b, c, function);
}

static void fill_call_in(struct builder *b, int64_t at, int64_t layout, const char *normalise)
{
    struct row_call c = {.family = SPOOL_CALL_CONV_FWD,
                         .in_type = SPOOL_DT_BF16,
                         .in_layout = layout,
                         .dim = {64, 64, 56, 56, 64, 3, 3, 1, 1, 1, 1}};
    call_of(b, at, c, "cudnnConvolutionForward");
    build_kernel(b, to_nhwc, at + US(1), at + US(10), MS(2));
    build_kernel(b, conv, at + US(6), at + US(2011), US(6000));
    c.family = SPOOL_CALL_NORM;
    call_of(b, at + US(10), c, normalise);
    build_kernel(b, "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__nv_bfloat16, float>", at + US(12),
                 at + US(8012), US(1900));
}

static void fill_nhwc_call(struct builder *b, int64_t at)
{
    fill_call_in(b, at, SPOOL_LAYOUT_NHWC, "cudnnBatchNormalizationForwardTrainingEx");
}

static void fill_nchw_call(struct builder *b, int64_t at)
{
    fill_call_in(b, at, SPOOL_LAYOUT_NCHW, "cudnnBatchNormalizationForwardTrainingEx");
}

static void fill_plain_call(struct builder *b, int64_t at)
{
    fill_call_in(b, at, SPOOL_LAYOUT_NCHW, "cudnnBatchNormalizationForwardTraining");
}

/* The library converts tensors in NHWC for kernels of its own; in NCHW normalisation gains, too,
 * and wants calls that have kernels for NHWC. */
TEST(test_layouts_of_calls)
{
    const struct advice *a = case_advice(fill_nhwc_call);
    case_verdict(a, "channels-last", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "channels-last")->why, "channels-last already"));
    a = case_advice(fill_nchw_call);
    /* 51 MB take 25 us at the rate of the memory */
    const struct outcome *o = case_first(a, "channels-last", US(3875));
    ck_assert(!o->remedy.conditions[CONDITION_PLAIN_NORM]);
    a = case_advice(fill_plain_call);
    o = case_first(a, "channels-last", US(3875));
    ck_assert(o->remedy.conditions[CONDITION_PLAIN_NORM]);
}

/* No conversions, as around depthwise convolutions, but a normalisation of 51 MB in 1.9 ms. */
static void fill_norm_alone(struct builder *b, int64_t at)
{
    struct row_call c = {.family = SPOOL_CALL_CONV_FWD,
                         .in_type = SPOOL_DT_BF16,
                         .in_layout = SPOOL_LAYOUT_NCHW,
                         .dim = {64, 64, 56, 56, 64, 3, 3, 1, 1, 1, 64}};
    call_of(b, at, c, "cudnnConvolutionForward");
    build_kernel(b, "void conv_depthwise2d_forward_kernel<c10::BFloat16>()", at + US(2),
                 at + US(11), US(7900));
    c.family = SPOOL_CALL_NORM;
    call_of(b, at + US(10), c, "cudnnBatchNormalizationForwardTrainingEx");
    build_kernel(b, "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__nv_bfloat16, float>", at + US(12),
                 at + US(7912), US(1900));
}

TEST(test_normalisation_alone)
{
    const struct outcome *o = case_first(case_advice(fill_norm_alone), "channels-last", US(1875));
    ck_assert_ptr_nonnull(
        strstr(o->summary, "batch normalisation of images in NCHW takes 1.90 ms"));
    ck_assert_double_eq_tol(case_value(o, "batch normalisation in NCHW"), 1.9, 0.01);
}

static int64_t groups;

static void fill_grouped_call(struct builder *b, int64_t at)
{
    struct row_call c = {.family = SPOOL_CALL_CONV_FWD,
                         .in_type = SPOOL_DT_F16,
                         .in_layout = SPOOL_LAYOUT_NCHW,
                         .dim = {64, 512, 56, 56, 512, 3, 3, 1, 1, 1, groups}};
    call_of(b, at, c, "cudnnBackendExecute");
    build_kernel(b, conv, at + US(2), at + US(11), US(7900));
    c.dim[10] = 1;
    call_of(b, at + US(10), c, "cudnnBackendExecute");
    build_kernel(b, conv, at + US(12), at + US(7911), MS(1));
    build_kernel(b, to_nhwc, at + US(20), at + US(8911), MS(1));
}

/* Wide groups may be much slower in NHWC: most of the convolutions' time, so nothing is advised.
 * Groups of 8 channels, and 32 groups or 64, are not. */
TEST(test_layouts_of_groups)
{
    static const struct {
        int64_t groups;
        bool fires;
    } cases[] = {{1, true},   {2, false}, {16, false}, {32, true},
                 {48, false}, {64, true}, {128, true}, {512, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        groups = cases[i].groups;
        const struct outcome *o = case_outcome(case_advice(fill_grouped_call), "channels-last");
        ck_assert_int_eq(o->verdict, cases[i].fires ? RULE_FIRES : RULE_SUPPRESSED);
        if (!cases[i].fires)
            ck_assert_ptr_nonnull(strstr(o->why, "7.900 ms of convolutions"));
    }
}

/* As in a CUDA graph: the kernels have no calls, but those recorded before the capture say NHWC. */
TEST(test_layouts_of_calls_before_the_capture)
{
    struct builder b = build_start();
    fill_nhwc_call(&b, MS(50));
    case_loop(&b, fill_layouts);
    case_verdict(build_analyze(&b), "channels-last", RULE_SUPPRESSED);
}
