/* Cases of the rule pointwise-fusion: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/phase.h"
#include "tests/unit/rule_case.h"

static const char add[] = "void at::native::vectorized_elementwise_kernel<4, at::native::"
                          "CUDAFunctor_add<float>, at::detail::Array<char*, 3>>";

static void fill_chain(struct builder *b, int64_t at)
{
    many(b, add, at, 4, US(300));
}

/* Behind a product all of it may go: into the epilogue. */
static void fill_epilogue(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(1), at + US(50), US(50));
    many(b, add, at + US(5), 4, US(300));
}

static void fill_compiled(struct builder *b, int64_t at)
{
    many(b, "triton_poi_fused_add_gelu_0", at, 4, US(300));
}

static void fill_half_compiled(struct builder *b, int64_t at)
{
    many(b, "triton_poi_fused_add_gelu_0", at, 4, US(300));
    many(b, add, at + MS(2), 4, US(300));
}

/* Nobody is told to compile what is compiled. */
TEST(what_a_compiler_leaves_out)
{
    for (int half = 0; half < 2; half++) {
        struct builder b = build_start();
        build_meta(&b, "framework", "pytorch");
        case_loop(&b, half ? fill_half_compiled : fill_chain);
        const struct outcome *o = case_verdict(build_analyze(&b), "pointwise-fusion", RULE_FIRES);
        const char *words = o->words[FRAMEWORK_PYTORCH];
        ck_assert_int_eq(strstr(words, "torch.compile(model)") == NULL, half);
        ck_assert_int_eq(strstr(words, "compile what torch.compile leaves out") != NULL, half);
    }
}

/* Between products, or over other shapes: no chain. */
static void fill_single(struct builder *b, int64_t at)
{
    int64_t gpu = at + US(100);
    for (int i = 0; i < 4; i++) {
        int64_t correlation = build_api(b, "cudaLaunchKernel", at + US(10) * i, CALL_NS);
        build_kernel_of(b, add, correlation, gpu, US(300), 64);
        correlation = build_api(b, "cudaLaunchKernel", at + US(10) * i + US(5), CALL_NS);
        build_kernel_of(b, i < 2 ? case_gemm : add, correlation, gpu + US(300), US(2000), 512);
        gpu += US(2300);
    }
}

/* A sum, its norm and casts, as autocast leaves them, between two products. */
static void fill_norm(struct builder *b, int64_t at)
{
    static const char *const chain[] = {
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda, float>",
        add, "void at::native::vectorized_layer_norm_kernel<float, float, false>",
        "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda>"};
    build_kernel(b, case_gemm, at + US(1), at + US(50), US(50));
    for (int i = 0; i < 4; i++)
        build_kernel(b, chain[i], at + US(5 + 5 * i), at + US(100) + US(2300) * i, US(2300));
    build_kernel(b, case_gemm, at + US(30), at + US(9300), US(600));
}

static void fill_norm_of_python(struct builder *b, int64_t at)
{
    if (at == MS(100))
        build_meta(b, "framework", "pytorch");
    fill_norm(b, at);
}

/* Where nobody compiles, norms and casts are no part of a chain that a person would fuse. */
TEST(a_compiler_fuses_norms_and_casts_too)
{
    const struct outcome *o =
        case_first(case_advice(fill_norm_of_python), "pointwise-fusion", US(7360));
    case_does(o, ACTION_FUSE_POINTWISE);
    case_verdict(case_advice(fill_norm), "pointwise-fusion", RULE_SILENT);
}

TEST(test_pointwise)
{
    const struct outcome *o = case_first(case_advice(fill_chain), "pointwise-fusion", US(900));
    ck_assert_ptr_eq(o->edit.kind, &edit_join);
    case_first(case_advice(fill_epilogue), "pointwise-fusion", US(1200));
    case_verdict(case_advice(fill_compiled), "pointwise-fusion", RULE_SILENT);
    case_verdict(case_advice(fill_single), "pointwise-fusion", RULE_SILENT);
    case_cannot_tell(fill_chain, "copies,api,ranges", "pointwise-fusion");
}

/* Scores, their softmax and its dropout between products; images beside it. */
static void fill_attention_and_images(struct builder *b, int64_t at)
{
    static const char *const row[] = {
        "ampere_fp16_s16816gemm_fp16_128x128",
        add,
        "void (anonymous namespace)::softmax_warp_forward<c10::Half, float, float, 9, false>",
        add,
        "ampere_fp16_s16816gemm_fp16_128x128",
        "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>",
        "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64"};
    if (at == MS(100))
        build_meta(b, "framework", "pytorch");
    for (int i = 0; i < 7; i++)
        build_kernel(b, row[i], at + US(5 * i), at + US(100) + US(1300) * i, US(1300));
}

/* torch.compile may do more than fuse: fuse attention, and keep images in channels-last. */
TEST(a_compiler_changes_attention_and_the_layout_too)
{
    struct builder b = build_start();
    case_loop(&b, fill_attention_and_images);
    const struct outcome *o = case_outcome(build_analyze(&b), "pointwise-fusion");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_ptr_nonnull(o->edit.at.op_calls);
    size_t gone = 0;
    for (size_t i = 0; i < b.a->facts->tl->op_count; i++)
        gone += o->edit.at.gone_marks[i];
    ck_assert_uint_eq(gone, 3 * b.a->facts->steps.used);
    b = build_start();
    build_meta(&b, "platform", "hip"); /* there it keeps the layout */
    case_loop(&b, fill_attention_and_images);
    ck_assert_ptr_null(case_outcome(build_analyze(&b), "pointwise-fusion")->edit.at.op_calls);
}
