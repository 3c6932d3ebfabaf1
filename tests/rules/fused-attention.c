/* Cases of the rule fused-attention: when it fires, when it is silent or suppressed, and when it
 * cannot tell. No trainer plants it: every run of train_gpt has it (tests/e2e/support.py). */
#include "tests/unit/rule_case.h"

static const char forward[] = "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, "
                              "c10::BFloat16, float, 10, false, false>";
static const char forward_log[] = "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, "
                                  "c10::BFloat16, float, 10, true, false>";
static const char forward_log_mangled[] = "_ZN43_GLOBAL__N__f71e7945_10_SoftMax_cu_"
                                          "9f978f6320softmax_warp_forwardIN3c108BFloat16ES2_fLi10E"
                                          "Lb1ELb0ELi32EEEvPT0_PKT_iiiPKbib";
static const char backward[] = "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, "
                               "c10::BFloat16, float, c10::BFloat16, SoftMaxBackwardEpilogue>";
static const char masks[] = "void at::native::vectorized_elementwise_kernel<4, at::native::"
                            "masked_fill_kernel>";
static const char copies[] = "void at::native::elementwise_kernel<128, 4, at::native::"
                             "direct_copy_kernel_cuda>";
static const char sorts[] = "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>";
static const char norms[] = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel";

/* Kernels of a row, each with its time; the last fills the step. */
struct kernels {
    const char *name;
    int64_t ns;
};
static void row_of(struct builder *b, int64_t at, const struct kernels *k, size_t n)
{
    int64_t gpu = at + US(100);
    for (size_t i = 0; i < n; i++) {
        build_kernel(b, k[i].name, at + US(5) * (int64_t)i, gpu, k[i].ns);
        gpu += k[i].ns;
    }
    build_kernel(b, norms, at + US(90), gpu, at + US(9950) - gpu);
}
#define ROW(b, at, ...)                                                                            \
    row_of(b, at, (const struct kernels[]){__VA_ARGS__},                                           \
           sizeof((const struct kernels[]){__VA_ARGS__}) / sizeof(struct kernels))

static void fill_forward(struct builder *b, int64_t at)
{
    ROW(b, at, {norms, US(50)}, {case_gemm, US(400)}, {masks, US(300)}, {forward, US(500)},
        {copies, US(100)}, {case_gemm, US(400)});
}

static void fill_backward(struct builder *b, int64_t at)
{
    ROW(b, at, {norms, US(50)}, {case_gemm, US(400)}, {case_gemm, US(400)}, {backward, US(600)},
        {masks, US(400)}, {case_gemm, US(400)}, {case_gemm, US(400)});
}

/* The softmax is the program's own, and on the default stream; the products are not. */
static void fill_streams(struct builder *b, int64_t at)
{
    static const int64_t lengths[] = {400, 400, 600, 400, 400};
    int64_t gpu = at + US(100);
    for (size_t i = 0; i < 5; i++) {
        b->stream = i == 2 ? 2 : 1;
        build_kernel(b, i == 2 ? "my_softmax_backward_kernel" : case_gemm, at + US(5) * (int64_t)i,
                     gpu, US(lengths[i]));
        gpu += US(lengths[i]);
    }
    b->stream = 1;
    build_kernel(b, norms, at + US(90), gpu, at + US(9950) - gpu);
}

/* Products in TF32, beside which fused kernels are slow. */
static const char product_tf32[] = "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4";

static void fill_tf32(struct builder *b, int64_t at)
{
    ROW(b, at, {product_tf32, US(400)}, {forward, US(900)}, {product_tf32, US(400)});
}

static void fill_tf32_masks(struct builder *b, int64_t at)
{
    ROW(b, at, {product_tf32, US(400)}, {masks, US(900)}, {forward, US(1500)},
        {product_tf32, US(400)});
}

static void fill_loss(struct builder *b, int64_t at)
{
    ROW(b, at, {case_gemm, US(400)}, {forward_log, US(900)}, {case_gemm, US(400)});
}

static void fill_loss_mangled(struct builder *b, int64_t at)
{
    ROW(b, at, {case_gemm, US(400)}, {forward_log_mangled, US(900)}, {case_gemm, US(400)});
}

static void fill_router(struct builder *b, int64_t at)
{
    ROW(b, at, {case_gemm, US(400)}, {forward, US(900)}, {sorts, US(50)}, {case_gemm, US(400)});
}

static void fill_short(struct builder *b, int64_t at)
{
    ROW(b, at, {case_gemm, US(400)}, {forward, US(60)}, {case_gemm, US(400)});
}

/* Graph attention: a score is the sum of two numbers, each a product with a vector. */
static void fill_graph(struct builder *b, int64_t at)
{
    static const char product[] = "void gemv2T_kernel_val<int, int, float, float, float, float, "
                                  "128, 16, 2, 2, false, false>";
    ROW(b, at, {case_gemm, US(400)}, {product, US(20)}, {masks, US(300)}, {forward, US(500)},
        {case_gemm, US(400)});
}

/* Layers of one pass, without marks: they are taken for steps that begin where the host pauses, and
 * that is between a product and its softmax. */
static const struct advice *unmarked_layers(void)
{
    static const struct kernels layer[] = {{norms, US(50)},      {"ampere_sgemm_64x64_nn", US(300)},
                                           {case_gemm, US(100)}, {masks, US(200)},
                                           {forward, US(300)},   {copies, US(300)},
                                           {case_gemm, US(100)}};
    struct builder b = build_start();
    int64_t call = MS(1), gpu = call;
    for (int i = 0; i < 40; i++)
        for (size_t k = 0; k < sizeof layer / sizeof *layer; k++) {
            call += layer[k].name == masks ? US(60) : US(8);
            gpu = gpu > call + US(8) ? gpu : call + US(8);
            build_kernel(&b, layer[k].name, call, gpu, layer[k].ns);
            gpu += layer[k].ns;
        }
    build_kernel(&b, "last", call + US(8), gpu, US(10));
    return build_analyze(&b);
}

TEST(layers_begin_anywhere_in_an_attention)
{
    const struct advice *a = unmarked_layers();
    const struct step *s = &a->facts->steps.at[20];
    ck_assert(a->facts->steps.layers);
    ck_assert_str_eq(tl_text(a->facts->tl, a->facts->tl->ops[s->first_op].name),
                     "vectorized_elementwise_kernel<4, masked_fill_kernel>");
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "fused-attention")->summary, "written out"));
}

TEST(test_fused_attention)
{
    /* mask and softmax go, the products take a quarter at best */
    const struct outcome *o = case_first(case_advice(fill_forward), "fused-attention", US(1400));
    ck_assert_ptr_eq(o->edit.kind, &edit_scale);
    ck_assert(o->edit.at.gone_marks && o->edit.at.op_marks);
    o = case_first(case_advice(fill_backward), "fused-attention", US(2200));
    ck_assert_double_eq_tol(case_value(o, "softmaxes between matrix products, forward,"), 0, 1e-9);
    ck_assert_double_eq_tol(case_value(o, "... backward,"), 1, 1e-9);
    struct builder b = build_start();
    build_stream(&b, 2, 1);
    case_loop(&b, fill_streams);
    case_first(build_analyze(&b), "fused-attention", US(1800));
    case_verdict(case_advice(fill_tf32), "fused-attention", RULE_SUPPRESSED);
    b = build_start();
    case_loop(&b, fill_tf32_masks); /* fused, the products take as long at best */
    case_first(build_analyze(&b), "fused-attention", US(2400));
    b = build_start_on("NVIDIA GeForce RTX 3060", 8, 6);
    case_loop(&b, fill_tf32_masks);
    case_first(build_analyze(&b), "fused-attention", US(2560));
    case_fill *const silent[] = {fill_loss, fill_loss_mangled, fill_router, fill_short, fill_graph};
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        case_verdict(case_advice(silent[i]), "fused-attention", RULE_SILENT);
    }
    case_cannot_tell(fill_forward, "copies,api,ranges", "fused-attention");
}
