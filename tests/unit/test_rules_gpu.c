/* Rules about the GPU's side of a step: layouts, tensor cores, algorithms, optimizer, zeroing.
 * Each: fires with its number, stays silent, is suppressed where it can be, cannot tell without its
 * data. */
#include "rule_case.h"

#define QUIET(a, ...) case_quiet(a, (const char *const[]){__VA_ARGS__, NULL})
static const char gemm[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";
static const char conv[] =
    "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage3_"
    "warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn";
static const char to_nhwc[] = "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, "
                              "true, (cudnnKernelDataType_t)0>";
static const char sgemm[] = "ampere_sgemm_128x64_nn";

/* ---- channels-last -----------------------------------------------------------------------------
 */

static void fill_layouts(struct builder *b, int64_t at)
{
    build_kernel(b, to_nhwc, at + US(1), at + US(10), MS(2));
    build_kernel(b, conv, at + US(6), at + US(2011), US(7980));
}

static void fill_transposes(struct builder *b, int64_t at)
{
    build_kernel(b, to_nhwc, at + US(1), at + US(10), MS(2));
    build_kernel(b, gemm, at + US(6), at + US(2011), US(7980));
}

static void fill_fp32_layouts(struct builder *b, int64_t at)
{
    build_kernel(b, to_nhwc, at + US(1), at + US(10), MS(2));
    build_kernel(
        b, "implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>",
        at + US(6), at + US(2011), US(7980));
}

START_TEST(test_layouts)
{
    struct builder b = build_start();
    case_loop(&b, fill_layouts);
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(case_first(a, "channels-last", MS(2))->knob, "channels_last=1");
    QUIET(a, "tensor-cores", "cuda-graphs", "fused-optimizer");
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_transposes); /* transposes, but not of convolutions */
    a = build_analyze(&b);
    case_verdict(a, "channels-last", RULE_SILENT);
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_fp32_layouts);
    a = build_analyze(&b);
    case_verdict(a, "channels-last", RULE_SUPPRESSED); /* slower there */
    build_end(&b);
    case_cannot_tell(fill_layouts, "copies,api,ranges", "channels-last");
}
END_TEST

/* ---- tensor-cores ------------------------------------------------------------------------------
 */

static void fill_fp32(struct builder *b, int64_t at)
{
    build_kernel(b, sgemm, at + US(10), at + US(100), MS(6));
    build_kernel(b, gemm, at + US(15), at + MS(6) + US(101), US(3850));
}

START_TEST(test_fp32)
{
    static const struct {
        const char *device;
        int cc;
        const char *knob;
    } gpus[] = {{"NVIDIA A100", 8, "precision=bf16"}, {"Tesla V100", 7, "precision=fp16"}};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start_on(gpus[i].device, gpus[i].cc, 0);
        case_loop(&b, fill_fp32);
        const struct advice *a = build_analyze(&b);
        ck_assert_str_eq(case_first(a, "tensor-cores", MS(6))->knob, gpus[i].knob);
        QUIET(a, "channels-last", "cudnn-algorithm", "cuda-graphs");
        build_end(&b);
    }
}
END_TEST

static void fill_conv_nchw(struct builder *b, int64_t at)
{
    build_kernel(b, "ampere_scudnn_128x64_relu_interior_nn_v1", at + US(10), at + US(100), MS(6));
}

static void fill_conv_nhwc(struct builder *b, int64_t at)
{
    build_kernel(b, "ampere_scudnn_128x64_ldg4_relu_exp_interior_nhwc_tn_v1", at + US(10),
                 at + US(100), MS(6));
}

/* Alone, 16 bits would make the library convert around every convolution in NCHW. */
START_TEST(test_fp32_with_layout)
{
    struct builder b = build_start();
    case_loop(&b, fill_conv_nchw);
    const struct outcome *o = case_first(build_analyze(&b), "tensor-cores", MS(6));
    ck_assert_str_eq(o->knob, "precision=bf16;channels_last=1");
    ck_assert_ptr_nonnull(strstr(o->remedy.pytorch, "channels_last"));
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_conv_nhwc);
    o = case_first(build_analyze(&b), "tensor-cores", MS(6));
    ck_assert_str_eq(o->knob, "precision=bf16");
    build_end(&b);
    b = build_start();
    build_meta(&b, "torch.weights.memory_format", "channels_last"); /* applied already */
    case_loop(&b, fill_conv_nchw);
    ck_assert_str_eq(case_first(build_analyze(&b), "tensor-cores", MS(6))->knob, "precision=bf16");
    build_end(&b);
}
END_TEST

static void fill_fp32_of_any_gpu(struct builder *b, int64_t at)
{
    build_kernel(b, "sgemm_largek_lds64", at + US(10), at + US(100), MS(6));
}

/* Operands of 16 bits, computed in float: mixed precision is in use already. */
static void fill_half_operands(struct builder *b, int64_t at)
{
    struct row_call c = {.start_ns = at + US(9),
                         .end_ns = at + US(14.5),
                         .family = SPOOL_CALL_GEMM,
                         .in_type = SPOOL_DT_F16};
    build_call(b, c, "cublasGemmEx");
    fill_fp32(b, at);
}

START_TEST(test_fp32_impossible)
{
    struct builder b = build_start_on("Tesla P100", 6, 0);
    case_loop(&b, fill_fp32);
    case_verdict(build_analyze(&b), "tensor-cores", RULE_SUPPRESSED);
    build_end(&b);
    b = build_start_on("some GPU", -1, -1);
    case_loop(&b, fill_fp32_of_any_gpu);
    case_verdict(build_analyze(&b), "tensor-cores", RULE_CANNOT_TELL);
    build_end(&b);
    b = build_start_on("some GPU", -1, -1); /* the kernel's name tells: Ampere at least */
    case_loop(&b, fill_fp32);
    case_verdict(build_analyze(&b), "tensor-cores", RULE_FIRES);
    build_end(&b);
    b = build_start();
    case_loop(&b, case_busy);
    case_verdict(build_analyze(&b), "tensor-cores", RULE_SILENT);
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_half_operands);
    case_verdict(build_analyze(&b), "tensor-cores", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_fp32, "copies,api,ranges", "tensor-cores");
}
END_TEST

/* ---- cudnn-algorithm ---------------------------------------------------------------------------
 */

/* Eight equal convolutions; each call and its kernel. `slow`: one of them takes four times as long.
 */
static void convolutions(struct builder *b, int64_t at, bool slow)
{
    int64_t gpu = at + US(100), host = at;
    for (int i = 0; i < 8; i++) {
        int64_t length = slow && i == 3 ? US(3600) : US(900);
        struct row_call c = {.start_ns = host,
                             .end_ns = host + US(9),
                             .family = SPOOL_CALL_CONV_FWD,
                             .in_type = SPOOL_DT_BF16,
                             .in_layout = SPOOL_LAYOUT_NHWC,
                             .algo = 1,
                             .dim = {32, 64, 56, 56, 64, 3, 3, 1, 1, 1, 1}};
        build_call(b, c, "cudnnConvolutionForward");
        build_kernel(b, conv, host + US(2), gpu, length);
        gpu += length + US(1);
        host += US(10);
    }
}

static void fill_even(struct builder *b, int64_t at)
{
    convolutions(b, at, false);
}

static void fill_slow(struct builder *b, int64_t at)
{
    convolutions(b, at, true);
}

START_TEST(test_algorithm)
{
    struct builder b = build_start();
    case_loop(&b, fill_slow);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "cudnn-algorithm", US(2700));
    ck_assert_int_eq(o->error_class, ERROR_RERUN_DECIDES);
    ck_assert_str_eq(o->knob, "cudnn_benchmark=1");
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_even);
    a = build_analyze(&b);
    case_verdict(a, "cudnn-algorithm", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_slow, "api,ranges", "cudnn-algorithm");
}
END_TEST

START_TEST(test_algorithm_measured_already)
{
    struct builder b = build_start();
    struct row_call find = {.start_ns = MS(50), .end_ns = MS(60), .family = SPOOL_CALL_FIND};
    build_call(&b, find, "cudnnFindConvolutionForwardAlgorithmEx");
    case_loop(&b, fill_slow);
    case_verdict(build_analyze(&b), "cudnn-algorithm", RULE_SUPPRESSED);
    build_end(&b);
    b = build_start();
    find.family = SPOOL_CALL_FIND; /* the heuristic is no measurement */
    build_call(&b, find, "cudnnGetConvolutionForwardAlgorithm_v7");
    case_loop(&b, fill_slow);
    case_verdict(build_analyze(&b), "cudnn-algorithm", RULE_FIRES);
    build_end(&b);
}
END_TEST

/* Without shapes the names of fallback algorithms decide. */
static void fill_fallback(struct builder *b, int64_t at)
{
    build_kernel(b, "void dgrad2d_alg1_1<float, 0, 6, 7, 4, 5, false, true>", at + US(1),
                 at + US(10), MS(3));
    build_kernel(b, conv, at + US(6), at + US(3011), US(6980));
}

START_TEST(test_algorithm_by_name)
{
    struct builder b = build_start();
    build_meta(&b, "have", "kernels,api,ranges");
    case_loop(&b, fill_fallback);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "cudnn-algorithm", RULE_FIRES);
    ck_assert_int_eq(case_outcome(a, "cudnn-algorithm")->saves_high_ns, MS(3));
    build_end(&b);
}
END_TEST

/* ---- fused-optimizer, zero-grad ----------------------------------------------------------------
 */

/* 163 updates of 10 us, 10 us apart, behind a kernel of 6 ms. */
static void fill_optimizer(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at, at + US(10), US(6700));
    for (int i = 0; i < 163; i++)
        build_kernel(b, "sgd_momentum_kernel(float*, float const*, float*, int)",
                     at + US(6720) + US(20 * i), at + US(6730) + US(20 * i), US(10));
}

static void fill_fused(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at, at + US(10), US(6700));
    build_kernel(b, "multi_tensor_apply_kernel<FusedSgdMathFunctor>", at + US(10), at + US(6711),
                 US(3270));
}

START_TEST(test_optimizer)
{
    struct builder b = build_start();
    case_loop(&b, fill_optimizer);
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(case_first(a, "fused-optimizer", US(3260))->knob, "optimizer=fused");
    QUIET(a, "cuda-graphs", "zero-grad"); /* the gaps between are its own */
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_fused);
    case_verdict(build_analyze(&b), "fused-optimizer", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_optimizer, "api,ranges", "fused-optimizer");
}
END_TEST

static void fill_zeroing(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at, at + US(10), US(6700));
    for (int i = 0; i < 163; i++)
        build_memset(b, 4096, at + US(6720) + US(20 * i), at + US(6730) + US(20 * i), US(10));
}

/* A memset here and there between kernels is no zeroing of gradients. */
static void fill_workspaces(struct builder *b, int64_t at)
{
    for (int i = 0; i < 24; i++) {
        build_memset(b, 4096, at + US(10 * i), at + US(300) + US(400 * i), US(20));
        build_kernel(b, gemm, at + US(10 * i + 5), at + US(321) + US(400 * i), US(378));
    }
}

START_TEST(test_zeroing)
{
    struct builder b = build_start();
    case_loop(&b, fill_zeroing);
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(case_first(a, "zero-grad", US(3260))->knob, "zero_grad=none");
    QUIET(a, "cuda-graphs", "fused-optimizer");
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_workspaces);
    case_verdict(build_analyze(&b), "zero-grad", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_zeroing, "kernels,api,ranges", "zero-grad");
}
END_TEST

Suite *test_rules_gpu_suite(void)
{
    Suite *suite = suite_create("rules_gpu");
    TCase *t = tcase_create("rules_gpu");
    tcase_add_test(t, test_layouts);
    tcase_add_test(t, test_fp32);
    tcase_add_test(t, test_fp32_with_layout);
    tcase_add_test(t, test_fp32_impossible);
    tcase_add_test(t, test_algorithm);
    tcase_add_test(t, test_algorithm_measured_already);
    tcase_add_test(t, test_algorithm_by_name);
    tcase_add_test(t, test_optimizer);
    tcase_add_test(t, test_zeroing);
    suite_add_tcase(suite, t);
    return suite;
}
