/* The edit of kernel fusion, by hand and by PyTorch's compiler. */
#include "tests/unit/test.h"
#include "tests/unit/edit_case.h"

#include "analyzer/queries/kernels/shapes.h"

TEST(joined_neighbours_take_as_long_as_the_longest_to_a_quarter_more_each)
{
    struct bench x = bench_start(MS(7), fill_mixed);
    struct edit join = {.kind = &edit_join, .at.ops = is_k};
    ck_assert_int_le(with(&x, join, &lucky), MS(4));
    ck_assert_int_gt(with(&x, join, &lucky), MS(3.9));
    ck_assert_int_gt(with(&x, join, &unlucky), MS(4.6));
    ck_assert_int_lt(with(&x, join, &unlucky), MS(4.8));
}

static void fill_mixed_of_pytorch(struct builder *b, int64_t at)
{
    if (at == MS(100))
        build_meta(b, "framework", "pytorch");
    fill_mixed(b, at);
}

/* 0.2, 0.42 and 0.9 of all four, 4 ms. */
TEST(a_compiler_leaves_a_share_of_the_whole_chain)
{
    struct bench x = bench_start(MS(7), fill_mixed_of_pytorch);
    struct edit join = {.kind = &edit_join, .at.ops = is_k};
    ck_assert_int_le(llabs(with(&x, join, &lucky) - MS(3.8)), US(20));
    ck_assert_int_le(llabs(with(&x, join, &middle) - MS(4.68)), US(20));
    ck_assert_int_le(llabs(with(&x, join, &unlucky) - MS(6.6)), US(60));
}

static bool is_relu(const struct facts *f, uint32_t op)
{
    return strcmp(tl_text(f->tl, f->tl->ops[op].name), "relu") == 0;
}

static int64_t groups;

/* A convolution between conversions of 1 ms, then two of which attention may make nothing. */
static void fill_images(struct builder *b, int64_t at)
{
    static const char *const names[] = {
        "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>",
        "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64",
        "void cudnn::ops::nhwcToNchwKernel<__half, __half, float, false, true>", "relu", "relu"};
    if (at == MS(100))
        build_meta(b, "framework", "pytorch");
    build_call(b,
               (struct row_call){.start_ns = at,
                                 .end_ns = at + US(30),
                                 .family = SPOOL_CALL_CONV_FWD,
                                 .in_layout = SPOOL_LAYOUT_NCHW,
                                 .dim = {64, 64, 56, 56, 64, 3, 3, 1, 1, 1, groups}},
               "cudnnBackendExecute");
    for (int i = 0; i < 5; i++)
        build_kernel(b, names[i], at + US(10 * i), at + US(100) + MS(i), MS(1));
    build_sync(b, at + US(100), MS(5) - US(10));
}

TEST(a_compiler_may_leave_out_conversions_and_what_attention_needs)
{
    groups = 1;
    struct bench x = bench_start(MS(6), fill_images);
    const struct facts *f = x.b.a->facts;
    bool *gone = calloc(f->tl->op_count, sizeof *gone);
    struct edit join = {.kind = &edit_join, .at.ops = is_relu};
    int64_t before = with(&x, (struct edit){.kind = NULL}, &middle);
    int64_t kept = with(&x, join, &lucky);
    ck_assert_int_le(llabs(before - kept - US(1600)), US(60));
    join.at.op_calls = query_op_calls(f, &x.b.a->arena);
    ck_assert_int_le(llabs(kept - with(&x, join, &lucky) - MS(2)), US(60));
    ck_assert_int_le(llabs(before - with(&x, join, &unlucky) - US(200)),
                     US(60)); /* it keeps NCHW */
    for (uint32_t i = 0; i < f->tl->op_count; i++)
        gone[i] = is_relu(f, i);
    join.at.gone_marks = gone;
    ck_assert_int_le(llabs(before - with(&x, join, &lucky) - MS(4)), US(60));
    ck_assert_int_le(llabs(before - with(&x, join, &unlucky) - US(200)), US(60));
    free(gone);
}

/* Each channel for itself is no hindrance, several of them are. */
TEST_EACH(with_grouped_convolutions_the_layout_stays, 0, 2)
{
    static const int64_t of[] = {64, 32}, spared_ms[] = {2, 0};
    groups = of[_i];
    struct bench x = bench_start(MS(6), fill_images);
    struct edit join = {.kind = &edit_join, .at.ops = is_relu};
    int64_t kept = with(&x, join, &lucky);
    join.at.op_calls = query_op_calls(x.b.a->facts, &x.b.a->arena);
    ck_assert_int_le(llabs(kept - with(&x, join, &lucky) - MS(spared_ms[_i])), US(60));
}
