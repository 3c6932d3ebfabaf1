/* When fused-optimizer fires, when it stays silent or is refused, when it cannot tell. */
#include "tests/rules/gpu.h"
#include "tests/unit/rule_case.h"

/* 163 updates of 10 us, 10 us apart, behind a kernel of 6 ms. */
static void fill_optimizer(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), US(6700));
    for (int i = 0; i < 163; i++)
        build_kernel(b, "sgd_momentum_kernel(float*, float const*, float*, int)",
                     at + US(6720) + US(20 * i), at + US(6730) + US(20 * i), US(10));
}

static void fill_fused(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), US(6700));
    build_kernel(b, "multi_tensor_apply_kernel<FusedSgdMathFunctor>", at + US(10), at + US(6711),
                 US(3270));
}

START_TEST(test_optimizer)
{
    struct builder b = build_start();
    case_loop(&b, fill_optimizer);
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(case_first(a, "fused-optimizer", US(3260))->setting, "optimizer=fused");
    QUIET(a, "cuda-graphs", "zero-grad"); /* the gaps between are its own */
    build_end(&b);
    b = build_start();
    case_loop(&b, fill_fused);
    case_verdict(build_analyze(&b), "fused-optimizer", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_optimizer, "api,ranges", "fused-optimizer");
}
END_TEST

Suite *rule_fused_optimizer_suite(void)
{
    Suite *s = suite_create("fused-optimizer");
    TCase *t = tcase_create("fused-optimizer");
    tcase_add_test(t, test_optimizer);
    suite_add_tcase(s, t);
    return s;
}
