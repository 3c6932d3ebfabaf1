/* Cases of the rule expensive-samples: when it fires, when it is silent, and when it cannot tell.
 * No trainer plants it: it names lines of a dataset in Python. */
#include "tests/rules/loading.h"
#include "tests/rules/stacks.h"
#include "tests/unit/rule_case.h"

/* Steps of 10 ms that wait 9 for a batch of a worker, on four cores. */
static const struct advice *looped(struct builder *b, int64_t cpu_ns, bool looks)
{
    *b = loading_loop(0, MS(9), MS(30), cpu_ns);
    for (int i = 0; looks && i < CASE_STEPS; i++)
        build_kernel(b, case_gemm, MS(109.05) + MS(10) * i, MS(109.1) + MS(10) * i, US(800));
    return build_analyze(b);
}

TEST(test_expensive_samples)
{
    struct builder b;
    const struct advice *a = looped(&b, MS(28), true); /* 7 ms on four cores, and 1 ms is left */
    const struct outcome *o = case_verdict(a, "expensive-samples", RULE_FIRES);
    ck_assert_double_eq_tol(case_value(o, "the same work on all cores takes at least"), 7, 0.01);
    ck_assert(o->upper_bound);
    a = looped(&b, MS(2), true); /* four cores make it in time: a matter of workers */
    case_verdict(a, "expensive-samples", RULE_SILENT);
    a = looped(&b, -1, true);
    case_verdict(a, "expensive-samples", RULE_CANNOT_TELL);
}
