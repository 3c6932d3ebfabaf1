/* Cases of the rule bias-before-norm: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/unit/rule_case.h"

static const char conv[] = "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_"
                           "tilesize128x128x32_stage4_warpsize2x2x1_g1_tensor16x8x16_kernel_cudnn";

static const char bias[] = "void add_bias_kernel<float>(float*)";

static const char norm[] = "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>()";

static const char broadcast[] =
    "void at::native::elementwise_kernel<128, 2, CUDAFunctor_add<float>>(int)";

static const char cudnn_add[] = "_Z24op_generic_tensor_kernelILi2E6__halffS0_Li256EEvv";

static const char residual[] =
    "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>(int)";

static const char group[] =
    "void at::native::_GLOBAL__N__7fea3eb9_20_group_norm_kernel_cu_977e8e6d::"
    "RowwiseMomentsCUDAKernel<float, float>(long)";

static const char *behind = norm;
static const char *between; /* convolution and normalisation; NULL: nothing */

static void fill_layers(struct builder *b, int64_t at)
{
    for (int i = 0; i < 6; i++) {
        int64_t t = at + US(1600 * i);
        build_kernel(b, conv, t, t + US(10), US(1000));
        if (between)
            build_kernel(b, between, t + US(8), t + US(1010), US(200));
        build_kernel(b, behind, t + US(16), t + US(1210), US(390));
    }
}

static void bias_case(const char *name, enum verdict v)
{
    between = name;
    const struct advice *a = case_advice(fill_layers);
    case_verdict(a, "bias-before-norm", v);
    if (v == RULE_FIRES)
        ck_assert_int_eq(case_outcome(a, "bias-before-norm")->saves_high_ns, US(1200));
}

TEST(test_bias_before_norm)
{
    bias_case(bias, RULE_FIRES);
    bias_case(broadcast, RULE_FIRES);
    bias_case(cudnn_add, RULE_FIRES);
    bias_case(residual, RULE_SILENT); /* of two tensors */
    bias_case(NULL, RULE_SILENT);
    behind = group; /* of several channels */
    bias_case(bias, RULE_SILENT);
    behind = norm;
    case_cannot_tell(fill_layers, "copies,api", "bias-before-norm");
}

/* Six layers forward, six backward, then an update of their 24 parameters one by one. */
static void fill_parameters(struct builder *b, int64_t at)
{
    int64_t t = at;
    for (int i = 0; i < 6; i++, t += US(400)) {
        build_kernel(b, conv, t, t + US(10), US(100));
        build_kernel(b, bias, t + US(8), t + US(110), US(50));
        build_kernel(b, norm, t + US(16), t + US(160), US(200));
    }
    for (int i = 0; i < 6; i++, t += US(500)) {
        build_kernel(b, "void cudnn::bn_bw_1C11_kernel_new<float>()", t, t + US(10), US(100));
        build_kernel(b, "_Z14calc_bias_diffILi2E6__halffLi128ELi1EEvv", t + US(8), t + US(110),
                     US(50));
        build_kernel(b, "sm80_xmma_wgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc",
                     t + US(16), t + US(160), US(300));
    }
    for (int i = 0; i < 24; i++, t += US(20))
        build_kernel(b, "sgd_update_kernel", t, t + US(10), i % 4 ? US(5) : US(15));
}

TEST(test_what_is_done_for_each_parameter_goes_with_the_bias)
{
    const struct advice *a = case_advice(fill_parameters);
    case_verdict(a, "bias-before-norm", RULE_FIRES);
    const bool *gone = case_outcome(a, "bias-before-norm")->edit.at.op_marks;
    const struct timeline *t = a->facts->tl;
    size_t updates = 0, steps = a->facts->steps.count;
    for (size_t i = 0; i < t->op_count; i++)
        updates += gone[i] && strcmp(tl_text(t, t->ops[i].name), "sgd_update_kernel") == 0;
    ck_assert_uint_eq(updates, 6 * steps);
}
