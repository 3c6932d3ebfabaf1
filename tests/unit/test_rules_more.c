/* Rules about what a step does needlessly: each fires on its evidence, is silent without it, and
 * cannot tell where nothing was recorded. */
#include "rule_case.h"

static const char conv[] = "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_"
                           "tilesize128x128x32_stage4_warpsize2x2x1_g1_tensor16x8x16_kernel_cudnn";
static const char bias[] = "void add_bias_kernel<float>(float*)";
static const char norm[] = "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>()";
static const char broadcast[] =
    "void at::native::elementwise_kernel<128, 2, CUDAFunctor_add<float>>(int)";
static const char cudnn_add[] = "_Z24op_generic_tensor_kernelILi2E6__halffS0_Li256EEvv";
static const char residual[] =
    "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>(int)";

/* ---- bias-before-norm ------------------------------------------------------------------------ */

static const char *between; /* convolution and normalisation; NULL: nothing */

static void fill_layers(struct builder *b, int64_t at)
{
    for (int i = 0; i < 6; i++) {
        int64_t t = at + US(1600 * i);
        build_kernel(b, conv, t, t + US(10), US(1000));
        if (between)
            build_kernel(b, between, t + US(8), t + US(1010), US(200));
        build_kernel(b, norm, t + US(16), t + US(1210), US(390));
    }
}

static void bias_case(const char *name, enum verdict v)
{
    struct builder b = build_start();
    between = name;
    case_loop(&b, fill_layers);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "bias-before-norm", v);
    if (v == RULE_FIRES)
        ck_assert_int_eq(case_outcome(a, "bias-before-norm")->saves_high_ns, US(1200));
    build_end(&b);
}

START_TEST(test_bias_before_norm)
{
    bias_case(bias, RULE_FIRES);
    bias_case(broadcast, RULE_FIRES);
    bias_case(cudnn_add, RULE_FIRES);
    bias_case(residual, RULE_SILENT); /* of two tensors */
    bias_case(NULL, RULE_SILENT);
    case_cannot_tell(fill_layers, "copies,api", "bias-before-norm");
}
END_TEST

/* ---- debug-switches ---------------------------------------------------------------------------
 */

static void fill_blocking(struct builder *b, int64_t at)
{
    for (int i = 0; i < 50; i++) {
        int64_t t = at + US(200 * i), c = build_api(b, "cudaLaunchKernel", t, US(160));
        build_kernel_of(b, "gemm", c, t + US(8), US(145), 64);
    }
}

static void fill_async(struct builder *b, int64_t at)
{
    for (int i = 0; i < 50; i++)
        build_kernel(b, "gemm", at + US(10 * i), at + US(200 * i + 20), US(198));
}

static void fill_checks(struct builder *b, int64_t at)
{
    for (int i = 0; i < 20; i++) {
        int64_t t = at + US(480 * i);
        build_kernel(b, "gemm", t, t + US(10), US(300));
        build_kernel(b, "isnan_kernel(float const*, int)", t + US(8), t + US(310), US(20));
        build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 4, t + US(15), US(325),
                   t + US(332), US(2));
    }
}

START_TEST(test_debug_switches)
{
    struct builder b = build_start();
    case_loop(&b, fill_blocking);
    const struct advice *a = build_analyze(&b);
    case_first(a, "debug-switches", US(50 * 55));
    case_verdict(a, "cuda-graphs", RULE_SUPPRESSED);
    build_end(&b);

    b = build_start();
    case_loop(&b, fill_checks);
    a = build_analyze(&b);
    case_verdict(a, "debug-switches", RULE_FIRES);
    ck_assert_str_eq(a->ranked[0]->rule->id, "debug-switches"); /* before the waits it causes */
    ck_assert_str_eq(case_outcome(a, "debug-switches")->knob, "check_nan=0");
    build_end(&b);

    b = build_start();
    build_meta(&b, "env.NCCL_DEBUG", "INFO");
    case_loop(&b, fill_async);
    a = build_analyze(&b);
    case_verdict(a, "debug-switches", RULE_SILENT);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "debug-switches")->why, "NCCL_DEBUG"));
    build_end(&b);
    case_cannot_tell(fill_blocking, "kernels", "debug-switches");
}
END_TEST

/* ---- small-copies -----------------------------------------------------------------------------
 */

static int copies;

static void fill_small(struct builder *b, int64_t at)
{
    build_kernel(b, "gemm", at, at + US(10), MS(5));
    for (int i = 0; i < copies; i++) {
        int64_t t = at + MS(5.1) + US(100 * i);
        build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, false, 256, t, US(40), t + US(20),
                   US(2));
    }
    build_kernel(b, "gemm", at + MS(5.2) + US(100 * copies), at + MS(5.21) + US(100 * copies),
                 MS(4.7) - US(100 * copies));
}

START_TEST(test_small_copies)
{
    struct builder b = build_start();
    copies = 20;
    case_loop(&b, fill_small);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "small-copies", RULE_FIRES);
    ck_assert_int_ge(case_outcome(a, "small-copies")->saves_high_ns, US(500));
    build_end(&b);
    b = build_start();
    copies = 2;
    case_loop(&b, fill_small);
    case_verdict(build_analyze(&b), "small-copies", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_small, "kernels,api", "small-copies");
}
END_TEST

/* ---- allocation-in-loop -----------------------------------------------------------------------
 */

static int allocating_steps;

static void fill_allocations(struct builder *b, int64_t at)
{
    build_kernel(b, "gemm", at, at + US(10), MS(7));
    if (allocating_steps-- > 0) {
        build_api(b, "cudaFree", at + US(20), MS(7.1));
        build_api(b, "cudaMalloc", at + MS(7.13), MS(1.5));
    }
    build_kernel(b, "gemm", at + MS(8.7), at + MS(8.71), MS(1.29));
}

START_TEST(test_allocation_in_loop)
{
    struct builder b = build_start();
    allocating_steps = CASE_STEPS;
    case_loop(&b, fill_allocations);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "allocation-in-loop", MS(1.65));
    ck_assert_ptr_nonnull(strstr(o->summary, "2 times per step"));
    build_end(&b);
    b = build_start();
    allocating_steps = 2; /* a pool that grows */
    case_loop(&b, fill_allocations);
    case_verdict(build_analyze(&b), "allocation-in-loop", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_allocations, "kernels", "allocation-in-loop");
}
END_TEST

Suite *test_rules_more_suite(void);
Suite *test_rules_more_suite(void)
{
    Suite *s = suite_create("rules_more");
    TCase *c = tcase_create("needless work");
    tcase_add_test(c, test_bias_before_norm);
    tcase_add_test(c, test_debug_switches);
    tcase_add_test(c, test_small_copies);
    tcase_add_test(c, test_allocation_in_loop);
    suite_add_tcase(s, c);
    return s;
}
