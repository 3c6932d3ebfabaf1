/* When compute-threads fires, when it stays silent, when it cannot tell. No trainer plants it: they
 * compute on the GPU. */
#include "tests/unit/rule_case.h"

static const struct advice *on_cpu(const char *threads)
{
    struct builder b = build_start();
    build_meta(&b, "torch.version", "2.9.0");
    build_meta(&b, "usable_cores", "4");
    if (threads)
        build_meta(&b, "torch.num_threads", threads);
    build_meta(&b, "torch.num_threads.where", "train.py:3");
    for (int i = 0; i < 30; i++) {
        int64_t at = MS(100 + 10 * i);
        build_range_at(&b, "gpuprof.step", 0, at, at + MS(10));
        build_range(&b, "backward", at + MS(1), at + MS(9));
        build_range(&b, "optimizer.step", at + MS(9), at + MS(10));
    }
    return build_analyze(&b);
}

TEST(test_compute_threads)
{
    const struct advice *a = on_cpu("1");
    const struct outcome *o = case_verdict(a, "compute-threads", RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.place, "train.py:3");
    ck_assert_msg(strstr(outcome_remedy(a->facts, o), "torch.set_num_threads(4)"), "%s",
                  outcome_remedy(a->facts, o));
    ck_assert_int_gt(o->saves_high_ns, MS(6));
    case_verdict(on_cpu("4"), "compute-threads", RULE_SILENT);
    case_verdict(case_advice(case_busy), "compute-threads", RULE_SILENT); /* on a GPU */
    case_verdict(on_cpu(NULL), "compute-threads", RULE_CANNOT_TELL);
}
