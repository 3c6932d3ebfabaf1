/* Cases of the rule tracing: when it fires, when it is silent, and when it cannot tell. No trainer
 * plants it: it only occurs in Python programs. */
#include "tests/unit/rule_case.h"

/* Kernels of 50 us that the host launches every 200. */
static void fill_slow(struct builder *b, int64_t at)
{
    for (int i = 0; i < 50; i++)
        build_kernel(b, case_gemm, at + US(200 * i), at + US(200 * i + 20), US(50));
}

static const struct advice *with(struct builder *b, case_fill *fill, const char *key,
                                 const char *value)
{
    *b = build_start();
    build_meta(b, "torch.version", "2.14.1");
    if (key)
        build_meta(b, key, value);
    case_loop(b, fill);
    return build_analyze(b);
}

TEST(test_tracing)
{
    struct builder b;
    const struct advice *a = with(&b, fill_slow, "python.tracer", "sys.settrace: coverage");
    case_verdict(a, "tracing", RULE_FIRES);
    case_text(case_outcome(a, "tracing"), PARAM_CALL, "sys.settrace: coverage");
    ck_assert(case_outcome(a, "tracing")->upper_bound);
    a = with(&b, fill_slow, "torch.profiler", "on at train.py:9");
    case_verdict(a, "tracing", RULE_FIRES);
    ck_assert_str_eq(case_outcome(a, "tracing")->remedy.object.place, "train.py:9");
    case_verdict(with(&b, fill_slow, NULL, NULL), "tracing", RULE_SILENT);
    case_verdict(with(&b, case_busy, "torch.profiler", "on at train.py:9"), "tracing", RULE_SILENT);
    case_cannot_tell(fill_slow, "kernels,api,ranges,steps", "tracing");
}
