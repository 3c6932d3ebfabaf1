/* Cases of the rule host-copies: when it fires, when it is silent or suppressed, and when it cannot
 * tell. */
#include "tests/unit/rule_case.h"

static const char *copy_range;

static void fill_host_copy(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(7));
    build_range(b, copy_range, at + MS(7.1), at + MS(8.9));
    build_kernel(b, case_gemm, at + MS(9), at + MS(9.01), US(980));
}

TEST(test_host_copies)
{
    struct builder b = build_start();
    copy_range = "aten::clone";
    case_loop(&b, fill_host_copy);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "host-copies", RULE_FIRES);
    ck_assert_int_le(llabs(case_outcome(a, "host-copies")->saves_high_ns - MS(1.8)), US(50));
    ck_assert_int_le(case_outcome(a, "host-work")->saves_high_ns, US(250)); /* the rest alone */
    b = build_start();
    copy_range = "metrics";
    case_loop(&b, fill_host_copy);
    a = build_analyze(&b);
    case_verdict(a, "host-copies", RULE_SILENT);
    case_first(a, "host-work", MS(2));
    case_cannot_tell(fill_host_copy, "kernels,api", "host-copies");
}
