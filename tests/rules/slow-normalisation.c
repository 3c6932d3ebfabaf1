/* Cases of the rule slow-normalisation: when it fires, when it is silent, and when it cannot tell.
 * No trainer plants it: the virtual GPU's cuDNN has no kernels that are so slow. */
#include "tests/rules/gpu.h"
#include "tests/unit/rule_case.h"

static const char forward[] =
    "void cudnn::bn_fw_tr_1C11_singleread<__half, 512, false, 2, 2, 0>(int)";
static const char backward[] =
    "void cudnn::bn_bw_1C11_singleread<__half, 512, false, 3, 2, 0>(int)";

/* 51 MB forward and 77 MB backward: 25 and 38 us at the rate of an A100's memory. */
static struct row_call norm_of(int64_t at, int64_t layout, int64_t type)
{
    return (struct row_call){.start_ns = at,
                             .end_ns = at + US(9),
                             .family = SPOOL_CALL_NORM,
                             .in_type = type,
                             .in_layout = layout,
                             .dim = {64, 64, 56, 56}};
}

static void pair(struct builder *b, int64_t at, int64_t layout, int64_t type, int64_t length)
{
    build_call(b, norm_of(at, layout, type), "cudnnBatchNormalizationForwardTraining");
    build_kernel(b, forward, at + US(2), at + US(100), length);
    build_call(b, norm_of(at + US(10), layout, type), "cudnnBatchNormalizationBackward");
    build_kernel(b, backward, at + US(12), at + US(101) + length, length);
    build_kernel(b, case_gemm, at + US(22), at + US(102) + 2 * length, MS(9.8) - 2 * length);
    build_sync(b, at + US(100), US(9850));
}

static void fill_slow(struct builder *b, int64_t at)
{
    pair(b, at, SPOOL_LAYOUT_NHWC, SPOOL_DT_F16, MS(2));
}

static void fill_slow_bf16(struct builder *b, int64_t at)
{
    pair(b, at, SPOOL_LAYOUT_NHWC, SPOOL_DT_BF16, MS(2));
}

static void fill_nchw(struct builder *b, int64_t at)
{
    pair(b, at, SPOOL_LAYOUT_NCHW, SPOOL_DT_F16, MS(2));
}

static void fill_fast(struct builder *b, int64_t at)
{
    pair(b, at, SPOOL_LAYOUT_NHWC, SPOOL_DT_F16, US(120));
}

static void fill_extended(struct builder *b, int64_t at)
{
    build_call(b, norm_of(at, SPOOL_LAYOUT_NHWC, SPOOL_DT_F16),
               "cudnnBatchNormalizationForwardTrainingEx");
    build_kernel(b, forward, at + US(2), at + US(100), MS(2));
    build_kernel(b, case_gemm, at + US(22), at + US(101) + MS(2), MS(7.8));
    build_sync(b, at + US(100), US(9850));
}

static void fill_without_normalisation(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(2), at + US(100), MS(9.8));
}

TEST(slow_kernels_in_channels_last)
{
    struct builder b = build_start();
    case_loop(&b, fill_slow);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "slow-normalisation", MS(3.93));
    ck_assert_int_eq(o->error_class, ERROR_KERNEL_MODEL);
    case_does(o, ACTION_USE_NHWC_NORMALISATION);
    ck_assert_double_eq_tol(o->evidence[0].value, 2, 1e-9);
    ck_assert_double_eq_tol(o->evidence[3].value, 128.45, 0.1); /* MB */
    ck_assert_double_eq_tol(o->evidence[4].value, 32.1, 0.1);   /* GB/s */
    o = case_outcome(build_predict(&b), "slow-normalisation");
    ck_assert(!o->upper_bound);
    ck_assert_int_ge(case_replayed(o).low_ns, MS(3)); /* 0.5 ms are left at an eighth of the rate */
    ck_assert_int_le(case_replayed(o).high_ns, MS(4));
}

TEST(fires_in_bf16_as_well)
{
    case_first(case_advice(fill_slow_bf16), "slow-normalisation", MS(3.93));
}

TEST_EACH(silent_where_it_is_fast_or_in_nchw, 0, 4)
{
    static case_fill *const fills[] = {fill_fast, fill_nchw, fill_extended,
                                       fill_without_normalisation};
    case_verdict(case_advice(fills[_i]), "slow-normalisation", RULE_SILENT);
}

TEST(cannot_tell_without_sizes)
{
    case_cannot_tell(fill_slow, "kernels,api,ranges", "slow-normalisation");
    case_verdict(case_advice_with(fill_without_normalisation, "have", "kernels,api,ranges"),
                 "slow-normalisation", RULE_SILENT);
}
