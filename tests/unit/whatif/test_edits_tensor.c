/* How long FP32 products take on tensor cores: by rates, by bytes, and by the alignment of rows. */
#include "tests/unit/edit_case.h"
#include "analyzer/queries/kernels/shapes.h"
#include "tests/unit/rule_case.h"

static const int64_t (*sizes)[4]; /* m n k batch, of the product in each step */

static void fill_product(struct builder *b, int64_t at)
{
    const int64_t *d = *sizes;
    struct row_call c = {.start_ns = at,
                         .end_ns = at + US(9),
                         .family = SPOOL_CALL_GEMM,
                         .in_type = SPOOL_DT_F32,
                         .dim = {d[0], d[1], d[2], d[3]}};
    build_call(b, c, "cublasSgemm_v2");
    build_kernel(b, "ampere_sgemm_128x64_nn", at + US(2), at + US(100), MS(8));
    build_sync(b, at + US(20), MS(8) + US(80));
}

/* What is left of 8 ms on an A100, in the middle of what is not known. */
static int64_t left(const int64_t dims[4], bool tf32)
{
    sizes = (const int64_t(*)[4])dims;
    struct bench x = bench_start(MS(10), fill_product);
    struct edit edit = {.kind = &edit_precision,
                        .precision.tf32 = tf32,
                        .at.op_calls = query_op_calls(x.b.a->facts, &x.b.a->arena)};
    int64_t before = with(&x, (struct edit){.kind = NULL}, &middle);
    int64_t ns = MS(8) - (before - with(&x, edit, &middle));
    return ns;
}

static void near(int64_t ns, double ms)
{
    ck_assert_msg(llabs(ns - (int64_t)(ms * 1e6)) < US(20), "%lld ns, not %.3f ms", (long long)ns,
                  ms);
}

TEST(rates_hold_for_large_products)
{
    static const int64_t square[4] = {8192, 8192, 8192, 1};
    near(left(square, false), 8.0 / 16);
    near(left(square, true), 8.0 / 8);
}

/* 2.18 GB in 16 bits at 2,039 GB/s, 77 % of which products reach. */
TEST(bytes_hold_for_products_with_a_short_side)
{
    static const int64_t attention[4] = {8192, 8192, 64, 16}, rest[4] = {64, 8192, 8192, 16};
    near(left(attention, false), 1.389);
    near(left(attention, true), 2.778);
    near(left(rest, false), 1.389);
}

TEST(odd_rows_take_longer)
{
    static const int64_t odd[4] = {4097, 4096, 4096, 1}, even[4] = {4104, 4096, 4096, 1},
                         by_four[4] = {4100, 4096, 4096, 1};
    near(left(even, false), 8.0 / 16);
    near(left(odd, false), 8.0 / 8);
    near(left(by_four, false), 8.0 / 8);
    near(left(by_four, true), 8.0 / 8); /* four numbers of 32 bits are 16 bytes */
    near(left(odd, true), 8.0 / 4);
}

/* What holds for all of the 8 ms already cannot become shorter. */
TEST(a_product_that_waits_for_memory_stays)
{
    static const int64_t huge[4] = {65536, 65536, 8, 4};
    near(left(huge, true), 8);
}

#define FMHA                                                                                       \
    "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, "      \
    "cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)"

static void fill_attention(struct builder *b, int64_t at)
{
    build_kernel(b, FMHA, at + US(10), at + US(100), MS(6));
    build_kernel(b, "other", at + US(20), at + US(6100), US(3800));
    build_sync(b, at + US(100), US(9850));
}

static int64_t attention_saves(const char *device, int major, int minor)
{
    struct builder b = build_start_on(device, major, minor);
    case_loop(&b, fill_attention);
    const struct advice *a = build_predict(&b);
    int64_t ns = case_outcome(a, "tensor-cores")->saves_mid_ns;
    return ns;
}

/* Of 6 ms flash attention leaves 0.11 on Hopper, 0.2 on an A100, a third on other cards. */
TEST(attention_in_16_bits_gains_by_the_generation)
{
    int64_t h100 = attention_saves("NVIDIA H100 PCIe", 9, 0);
    int64_t a100 = attention_saves("NVIDIA A100-SXM4-80GB", 8, 0);
    int64_t a10 = attention_saves("NVIDIA A10G", 8, 6);
    ck_assert_int_le(llabs(h100 - a100 - US(540)), US(150));
    ck_assert_int_le(llabs(a100 - a10 - US(780)), US(150));
}
