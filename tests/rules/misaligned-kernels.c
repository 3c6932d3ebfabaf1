/* Cases of the rule misaligned-kernels: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/unit/rule_case.h"

static void fill_misaligned(struct builder *b, int64_t at)
{
    build_kernel(b, "cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1", at + US(10),
                 at + US(20), MS(6));
    build_kernel(b, case_gemm, at + US(30), at + US(6020), US(3900));
}

/* Aligned products at 100 flops a nanosecond, one that is not at 50. */
static void fill_products(struct builder *b, int64_t at)
{
    static const char good[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";
    static const char bad[] = "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1";
    for (int i = 0; i < 3; i++) {
        int64_t length = i == 2 ? MS(4) : MS(1), call = at + US(20 * i);
        struct row_call r = {.family = SPOOL_CALL_GEMM,
                             .in_type = SPOOL_DT_BF16,
                             .start_ns = call - US(1),
                             .end_ns = call + US(10),
                             .dim = {100, 1000, i == 2 ? 1000 : 500, 1}};
        build_kernel(b, i == 2 ? bad : good, call, at + US(30) + MS(i), length);
        build_call(b, r, "cublasGemmEx");
    }
    build_sync(b, at + US(100), MS(6) + US(-50));
}

/* At the others' rate it takes half of the time; at a fifth more, 1/2.4 of it. */
TEST(test_misaligned_products_against_aligned_ones)
{
    struct builder b = build_start();
    case_loop(&b, fill_products);
    struct advice *a = build_predict(&b);
    const struct outcome *o = case_verdict(a, "misaligned-kernels", RULE_FIRES);
    ck_assert(!o->upper_bound);
    ck_assert_int_gt(case_replayed(o).low_ns, MS(1.85));
    ck_assert_int_gt(o->saves_mid_ns, MS(2));
    ck_assert_int_lt(o->saves_mid_ns, MS(2.35));
    ck_assert_int_lt(case_replayed(o).high_ns, MS(2.6));
}

TEST(test_misaligned)
{
    case_first(case_advice(fill_misaligned), "misaligned-kernels", MS(6));
}

/* Without the shapes of library calls those of operators tell the size; of a batch nobody speaks. */
static void fill_operators(struct builder *b, int64_t at)
{
    fill_misaligned(b, at);
    build_put(
        b, ROW_RANGE,
        &(struct row_range){.id = ++b->next_id,
                            .process = 1,
                            .thread = b->thread,
                            .start_ns = at + US(5),
                            .end_ns = at + US(25),
                            .depth = 1,
                            .name = build_text(b, "aten::bmm"),
                            .shapes = build_text(b, "7 x 96 x 768 BFloat16, [3 x 5], 7 x 768 x "
                                                    "50257 BFloat16, 9 x 9 float")});
}

TEST(sizes_of_operators)
{
    const struct advice *a = case_advice(fill_operators);
    const struct outcome *o = case_first(a, "misaligned-kernels", MS(6));
    case_measures(o, "size that is not a multiple of 8 in most products", 50257, 0);
}

/* The picture of 7 x 7 is odd, and no channel of it. */
static void fill_odd_picture(struct builder *b, int64_t at)
{
    struct row_call r = {.family = SPOOL_CALL_CONV_FWD,
                         .in_type = SPOOL_DT_BF16,
                         .in_layout = SPOOL_LAYOUT_NCHW,
                         .start_ns = at + US(9),
                         .end_ns = at + US(30),
                         .dim = {64, 512, 7, 7, 2048, 1, 1, 1, 0, 1, 1}};
    build_kernel(b, "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_nn_align2", at + US(10),
                 at + US(40), MS(6));
    build_call(b, r, "cudnnConvolutionForward");
    build_sync(b, at + US(100), MS(6) + US(-50));
}

TEST(test_odd_picture)
{
    case_verdict(case_advice(fill_odd_picture), "misaligned-kernels", RULE_SILENT);
}

/* Three channels, which become four. No vocabulary is the cause. */
static void fill_padding(struct builder *b, int64_t at)
{
    build_kernel(b, "nhwcAddPaddingKernel<__half, __half, float, true, 0>", at + US(10),
                 at + US(20), MS(6));
    build_kernel(b, case_gemm, at + US(30), at + US(6020), US(3900));
}

TEST(test_padding)
{
    const struct advice *a = case_advice(fill_padding);
    case_verdict(a, "misaligned-kernels", RULE_FIRES);
    ck_assert_ptr_null(case_outcome(a, "misaligned-kernels")->setting);
    case_said(case_outcome(a, "misaligned-kernels"), CONDITION_OF_CONVOLUTIONS, true);
}

TEST(test_aligned)
{
    case_verdict(case_advice(case_busy), "misaligned-kernels", RULE_SILENT);
    case_cannot_tell(case_busy, "api,ranges", "misaligned-kernels");
}
