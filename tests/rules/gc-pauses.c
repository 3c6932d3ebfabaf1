/* Cases of the rule gc-pauses: when it fires, when it is silent or suppressed, and when it cannot
 * tell. No trainer plants it: it only occurs in Python programs (tests/python). */
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

static struct builder collected(double pause_ms, bool torch)
{
    struct builder b = build_start();
    if (torch)
        build_meta(&b, "torch.version", "2.9.0");
    for (int i = 0; i < CASE_STEPS; i++) {
        build_range_at(&b, "gpuprof.step", 0, MS(100 + 10 * i), MS(110 + 10 * i));
        build_range_at(&b, "gc", 1, MS(101 + 10 * i), MS(101 + 10 * i + pause_ms));
    }
    return b;
}

TEST(pauses_of_the_collector)
{
    struct builder b = collected(6, true);
    build_meta(&b, "torch.gc.where", "train.py:8");
    const struct outcome *o = case_first(build_analyze(&b), "gc-pauses", MS(7.2));
    ck_assert_str_eq(o->setting, "gc=freeze");
    ck_assert_ptr_nonnull(strstr(o->summary, "train.py:8"));
    b = collected(6, true);
    build_meta(&b, "torch.gc.asked", "train.py:8");
    o = case_first(build_analyze(&b), "gc-pauses", MS(7.2));
    case_does(o, ACTION_COLLECT_GARBAGE_RARELY);
    ck_assert_str_eq(o->remedy.object.place, "train.py:8");
    b = collected(0.1, true);
    case_verdict(build_analyze(&b), "gc-pauses", RULE_SILENT);
    b = collected(6, false);
    case_verdict(build_analyze(&b), "gc-pauses", RULE_CANNOT_TELL);
}
