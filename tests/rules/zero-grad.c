/* Cases of the rule zero-grad: when it fires, when it is silent or suppressed, and when it cannot
 * tell. */
#include "tests/rules/gpu.h"
#include "tests/unit/rule_case.h"

static void fill_zeroing(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), US(6700));
    for (int i = 0; i < 163; i++)
        build_memset(b, 4096, at + US(6720) + US(20 * i), at + US(6730) + US(20 * i), US(10));
}

/* A memset here and there between kernels is no zeroing of gradients. */
static void fill_workspaces(struct builder *b, int64_t at)
{
    for (int i = 0; i < 24; i++) {
        build_memset(b, 4096, at + US(10 * i), at + US(300) + US(400 * i), US(20));
        build_kernel(b, case_gemm, at + US(10 * i + 5), at + US(321) + US(400 * i), US(378));
    }
}

TEST(test_zeroing)
{
    const struct advice *a = case_advice(fill_zeroing);
    ck_assert_str_eq(case_first(a, "zero-grad", US(3260))->setting, "zero_grad=none");
    QUIET(a, "cuda-graphs", "fused-optimizer");
    case_verdict(case_advice(fill_workspaces), "zero-grad", RULE_SILENT);
    case_cannot_tell(fill_zeroing, "kernels,api,ranges", "zero-grad");
}

/* The hook tells when the optimizer zeroes gradients: fills elsewhere are masks. */
TEST(test_fills_elsewhere)
{
    case_verdict(case_advice_with(fill_zeroing, "torch.optimizer", "AdamW(fused=True)"),
                 "zero-grad", RULE_SILENT);
    struct builder b = build_start();
    build_meta(&b, "torch.optimizer", "AdamW(fused=True)");
    case_loop(&b, fill_zeroing);
    for (int i = 0; i < CASE_STEPS; i++)
        build_range(&b, "zero_grad", MS(100) + MS(10) * i + US(6710),
                    MS(100) + MS(10) * i + US(9990));
    case_verdict(build_analyze(&b), "zero-grad", RULE_FIRES);
}
