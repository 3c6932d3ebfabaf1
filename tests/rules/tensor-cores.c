/* Cases of the rule tensor-cores: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/gpu.h"
#include "tests/rules/phase.h"
#include "tests/rules/refuse.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"
#include "analyzer/queries/query.h"

static const char sgemm[] = "ampere_sgemm_128x64_nn";

static void fill_fp32(struct builder *b, int64_t at)
{
    build_kernel(b, sgemm, at + US(10), at + US(100), MS(6));
    build_kernel(b, case_gemm, at + US(15), at + MS(6) + US(101), US(3850));
}

static void fill_conv_nchw(struct builder *b, int64_t at)
{
    build_kernel(b, "ampere_scudnn_128x64_relu_interior_nn_v1", at + US(10), at + US(100), MS(6));
}

static void fill_conv_nhwc(struct builder *b, int64_t at)
{
    build_kernel(b, "ampere_scudnn_128x64_ldg4_relu_exp_interior_nhwc_tn_v1", at + US(10),
                 at + US(100), MS(6));
}

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

/* The library converts tensors in NHWC for a kernel in NCHW. */
static void fill_given_nhwc(struct builder *b, int64_t at)
{
    struct row_call c = {.start_ns = at + US(9),
                         .end_ns = at + US(14.5),
                         .family = SPOOL_CALL_CONV_FWD,
                         .in_type = SPOOL_DT_F32,
                         .in_layout = SPOOL_LAYOUT_NHWC};
    build_call(b, c, "cudnnConvolutionForward");
    build_kernel(b,
                 "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_"
                 "stage3_warpsize1x2x1_g1_ffma_aligna4_alignc4_execute_kernel__5x_cudnn",
                 at + US(10), at + US(100), MS(6));
}

static void fill_vector(struct builder *b, int64_t at)
{
    build_kernel(b, "void gemv2T_kernel_val<int, int, float, float, float>", at + US(10),
                 at + US(100), MS(9));
}

/* A matrix times a vector waits for memory: tensor cores do not help. */
TEST(test_products_with_vectors)
{
    const struct advice *a = case_advice(fill_vector);
    ck_assert_int_gt(a->facts->totals.family_ns[FAMILY_GEMM], 0);
    case_verdict(a, "tensor-cores", RULE_SILENT);
}

TEST(test_fp32)
{
    static const struct {
        const char *device;
        int cc;
        const char *setting;
        bool tf32; /* it has that */
    } gpus[] = {{"NVIDIA A100", 8, "precision=bf16", true},
                {"Tesla V100", 7, "precision=fp16", false}};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start_on(gpus[i].device, gpus[i].cc, 0);
        case_loop(&b, fill_fp32);
        const struct advice *a = build_analyze(&b);
        const struct outcome *o = case_first(a, "tensor-cores", MS(6));
        ck_assert_str_eq(o->setting, gpus[i].setting);
        ck_assert_int_eq(strstr(o->title, "TF32") != NULL, gpus[i].tf32);
        QUIET(a, "channels-last", "cudnn-algorithm", "cuda-graphs");
    }
}

/* Alone, 16 bits would make the library convert around every convolution in NCHW. */
TEST(test_fp32_with_layout)
{
    const struct outcome *o = case_first(case_advice(fill_conv_nchw), "tensor-cores", MS(6));
    ck_assert_str_eq(o->setting, "precision=bf16;channels_last=1");
    case_does(o, ACTION_MIX_PRECISION);
    case_said(o, CONDITION_TO_CHANNELS_LAST, true);
    o = case_first(case_advice(fill_conv_nhwc), "tensor-cores", MS(6));
    ck_assert_str_eq(o->setting, "precision=bf16");
    o = case_first(case_advice(fill_given_nhwc), "tensor-cores", MS(6));
    ck_assert_str_eq(o->setting, "precision=bf16");
    ck_assert(o->edit.precision.layout); /* in 16 bits nothing converts them */
    struct builder b = build_start();
    build_meta(&b, "torch.weights.memory_format", "channels_last"); /* applied already */
    case_loop(&b, fill_conv_nchw);
    ck_assert_str_eq(case_first(build_analyze(&b), "tensor-cores", MS(6))->setting,
                     "precision=bf16");
}

/* A setting is offered to programs that read it. */
TEST(test_setting_by_program)
{
    static const struct {
        const char *command, *settings;
        bool offered;
    } of[] = {{NULL, NULL, true},
              {"./my_app --steps 3", NULL, false},
              {"./my_app --steps 3", "batch precision", true},
              {"./my_app --steps 3", "batch", false},
              {"/opt/bin/train_conv --steps 3", NULL, false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct builder b = build_start();
        if (of[i].command)
            build_meta(&b, "command", of[i].command);
        if (of[i].settings)
            build_meta(&b, "program.settings", of[i].settings);
        case_loop(&b, fill_fp32);
        const char *setting = case_first(build_analyze(&b), "tensor-cores", MS(6))->setting;
        ck_assert_msg((setting != NULL) == of[i].offered, "%zu", i);
    }
}

TEST(test_fp32_impossible)
{
    struct builder b = build_start_on("Tesla P100", 6, 0);
    case_loop(&b, fill_fp32);
    case_verdict(build_analyze(&b), "tensor-cores", RULE_SUPPRESSED);
    b = build_start_on("some GPU", -1, -1);
    case_loop(&b, fill_fp32_of_any_gpu);
    case_verdict(build_analyze(&b), "tensor-cores", RULE_CANNOT_TELL);
    b = build_start_on("some GPU", -1, -1); /* the kernel's name tells: Ampere at least */
    case_loop(&b, fill_fp32);
    case_verdict(build_analyze(&b), "tensor-cores", RULE_FIRES);
    case_verdict(case_advice(case_busy), "tensor-cores", RULE_SILENT);
    case_verdict(case_advice(fill_half_operands), "tensor-cores", RULE_SILENT);
    case_cannot_tell(fill_fp32, "copies,api,ranges", "tensor-cores");
}

/* One launch, one operation: a whole graph has a number and no grid. */
static void fill_graph(struct builder *b, int64_t at)
{
    int64_t correlation = build_api(b, "cudaGraphLaunch", at, CALL_NS);
    struct row_kernel r = {.id = ++b->next_id,
                           .process = 1,
                           .stream = b->stream,
                           .start_ns = at + US(10),
                           .end_ns = at + MS(9.98),
                           .name = build_text(b, "CUDA graph"),
                           .correlation = correlation,
                           .graph = 3};
    build_put(b, ROW_KERNEL, &r);
}

TEST(test_opaque_graphs)
{
    static const char *const inside[] = {"tensor-cores",       "channels-last",   "zero-grad",
                                         "misaligned-kernels", "fused-optimizer", NULL};
    const struct advice *a = case_advice(fill_graph);
    for (const char *const *id = inside; *id; id++) {
        case_verdict(a, *id, RULE_CANNOT_TELL);
        ck_assert_ptr_nonnull(strstr(case_outcome(a, *id)->why, "cuda-graph-trace=node"));
    }
    case_verdict(a, "host-work", RULE_SILENT); /* that needs no look inside */
    ck_assert_str_eq(a->verdict_class, "gpu");
}

/* 3 ms of data, then 6.9 ms of products in FP32: faster ones may save more, but what the step lacks
 * first is data. */
static void fill_wait_and_products(struct builder *b, int64_t at)
{
    build_range(b, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, at + MS(3));
    build_kernel(b, "volta_sgemm_128x64_nt", at + MS(3), at + MS(3) + US(10), US(6900));
}

TEST(the_wait_for_data_goes_first_where_it_is_most_of_what_is_lost)
{
    const struct advice *a = case_advice(fill_wait_and_products);
    ck_assert_str_eq(a->verdict_class, "input");
    case_verdict(a, "tensor-cores", RULE_FIRES);
    ck_assert_str_eq(a->ranked[0]->rule->id, "num-workers");
    ck_assert_int_gt(case_outcome(a, "tensor-cores")->saves_mid_ns, a->ranked[0]->saves_mid_ns);
}

/* A GPU of 2018 has no bf16: nothing that is said of a run on it names that. */
static void no_bf16(const struct advice *a, const char *id)
{
    const struct outcome *o = case_verdict(a, id, RULE_FIRES);
    const char *said[] = {o->summary, o->words[FRAMEWORK_PYTORCH], o->words[FRAMEWORK_XLA],
                          o->words[FRAMEWORK_CUDA], o->setting};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        ck_assert_msg(!said[i] || !query_name_has(said[i], "bf16|bfloat16|BF16|TF32"), "%s: %s", id,
                      said[i]);
    for (size_t i = 0; i < o->evidence_count; i++)
        ck_assert_msg(!strstr(o->evidence[i].text, "bf16"), "%s: %s", id, o->evidence[i].text);
}

static void fill_sgemm(struct builder *b, int64_t at)
{
    build_kernel(b, "volta_sgemm_128x64_nn", at + US(10), at + US(100), MS(9));
}

TEST_EACH(test_no_bf16_on_t4, 0, 3)
{
    static const struct {
        case_fill *fill;
        const char *id;
    } cases[] = {
        {fill_sgemm, "tensor-cores"}, {fill_unscale, "loss-scaling"}, {fill_casts, "type-casts"}};
    struct builder b = build_start_on("Tesla T4", 7, 5);
    case_loop(&b, cases[_i].fill);
    no_bf16(build_analyze(&b), cases[_i].id);
}

#define FMHA                                                                                       \
    "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, "      \
    "cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)"

#define TF32 "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4>(int)"

#define BF16 "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn"

#define RELU                                                                                       \
    "void at::native::vectorized_elementwise_kernel<4, at::native::launch_clamp(float)>(int)"

static void fill_attention(struct builder *b, int64_t at)
{
    build_kernel(b, FMHA, at + US(10), at + US(100), MS(6));
    build_kernel(b, RELU, at + US(20), at + US(6100), US(3800));
    build_sync(b, at + US(100), US(9850));
}

static void fill_tf32(struct builder *b, int64_t at)
{
    build_kernel(b, TF32, at + US(10), at + US(100), MS(5));
    build_kernel(b, RELU, at + US(20), at + US(5100), MS(4));
    build_sync(b, at + US(100), MS(9.05));
}

static void fill_little_tf32(struct builder *b, int64_t at)
{
    build_kernel(b, TF32, at + US(10), at + US(100), US(800));
    build_kernel(b, RELU, at + US(20), at + US(900), MS(9));
}

static void fill_tf32_beside_half(struct builder *b, int64_t at)
{
    build_kernel(b, TF32, at + US(10), at + US(100), MS(5));
    build_kernel(b, BF16, at + US(20), at + US(5100), MS(4));
}

static const struct outcome *precision(struct builder *b, case_fill *fill, const char *device)
{
    *b = build_start_on(device, 8, 0);
    case_loop(b, fill);
    return case_outcome(build_analyze(b), "tensor-cores");
}

TEST(attention_in_fp32_is_matrix_work)
{
    struct builder b;
    const struct outcome *o = precision(&b, fill_attention, NULL);
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_ptr_eq(b.a->ranked[0], o);
    ck_assert_int_eq(o->saves_high_ns, MS(6));
    ck_assert_ptr_nonnull(strstr(o->summary, "fmha_cutlassF_f32"));
    ck_assert_ptr_null(strstr(o->summary, "idle tensor cores")); /* nobody knows */
    o = case_outcome(build_predict(&b), "tensor-cores");
    ck_assert(!o->upper_bound);
    ck_assert_int_ge(o->saves_low_ns, MS(1)); /* at least some of 6 ms goes */
}

TEST(work_in_tf32_gains_from_16_bits)
{
    struct builder b;
    const struct outcome *o = precision(&b, fill_tf32, NULL);
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_str_eq(o->setting, "precision=bf16");
    ck_assert_ptr_nonnull(strstr(o->summary, "TF32"));
    case_said(o, CONDITION_HAS_TF32, true);
    ck_assert_ptr_null(strstr(o->title, "TF32"));
    ck_assert_int_eq(o->saves_high_ns, MS(7)); /* 5 ms, and half of 4 */
    o = case_outcome(build_predict(&b), "tensor-cores");
    ck_assert(!o->upper_bound);
    ck_assert_int_le(case_replayed(o).high_ns, MS(5)); /* 0.58 of 5 ms and half of 4 at best */
}

TEST(tf32_is_left_alone_where_16_bits_are_in_use_or_it_is_little)
{
    struct builder b;
    ck_assert_int_eq(precision(&b, fill_tf32_beside_half, NULL)->verdict, RULE_SILENT);
    ck_assert_int_eq(precision(&b, fill_little_tf32, NULL)->verdict, RULE_SILENT);
}

static void fill_fp32_refuse(struct builder *b, int64_t at)
{
    build_kernel(b, "ampere_sgemm_128x64_nn", at + US(10), at + US(100), US(9800));
}

TEST(test_override_is_told)
{
    static const char *const values[] = {"0", "1"};
    for (int i = 0; i < 2; i++) {
        const struct outcome *o =
            case_first(case_advice_with(fill_fp32_refuse, "env.NVIDIA_TF32_OVERRIDE", values[i]),
                       "tensor-cores", US(9800));
        ck_assert_int_eq(evidence(o, "NVIDIA_TF32_OVERRIDE") != NULL, i == 0);
    }
}
