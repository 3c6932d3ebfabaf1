/* Cases of the rule repeated-backward: when it fires and when it is silent. Without the hook it cannot tell.
 * No trainer plants it: they have one loss. */
#include "tests/rules/cpu.h"
#include "tests/unit/rule_case.h"

static const char *const torch = "2.14.1";

/* Steps of 10 ms: forward 2 ms, and `passes` backward passes of 2 ms each, of which the shared part
 * takes 1.6 ms. */
static struct builder loop(const char *version, const char *again, int passes)
{
    static const char *const heads[] = {"head_a_bwd", "head_b_bwd", "head_c_bwd"};
    struct builder b = build_start();
    if (version)
        build_meta(&b, "torch.version", version);
    if (again)
        build_meta(&b, "torch.backward.again", again);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        build_kernel(&b, case_gemm, at, at + US(10), MS(2));
        for (int k = 0; k < passes; k++) {
            int64_t from = at + US(100) + MS(2) * k;
            build_range(&b, "backward", from, from + US(100));
            build_kernel(&b, heads[k], from + US(10), at + MS(2.1 + 2 * k), US(400));
            build_kernel(&b, "trunk_bwd", from + US(30), at + MS(2.5 + 2 * k), MS(1.6));
        }
        build_range(&b, "step", at, at + MS(10));
    }
    return b;
}

TEST(of_three_losses)
{
    struct builder b = loop(torch, "3 passes, 80 % at train.py:30", 3);
    const struct outcome *o = case_verdict(build_analyze(&b), "repeated-backward", RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.place, "train.py:30");
    case_does(o, ACTION_SUM_LOSSES);
    ck_assert_int_ge(o->saves_high_ns, MS(3.2));
    ck_assert_int_le(o->saves_high_ns, MS(3.6));
}

TEST(of_one_loss)
{
    struct builder b =
        loop(torch, "3 passes, 80 % at train.py:30", 1); /* only the first steps had several */
    case_verdict(build_analyze(&b), "repeated-backward", RULE_SILENT);
    b = loop(torch, NULL, 3); /* each of a graph of its own */
    case_verdict(build_analyze(&b), "repeated-backward", RULE_SILENT);
}

TEST(without_the_hook)
{
    struct builder b = loop(NULL, NULL, 3);
    case_verdict(build_analyze(&b), "repeated-backward", RULE_CANNOT_TELL);
}

/* Two passes take 4 ms, and the second goes through half of the first one's graph again. */
TEST(test_repeated_backward_on_a_cpu)
{
    struct builder b = cpu_training("12 tensors, 1000 numbers, float32, on cpu", 2);
    build_meta(&b, "torch.backward.again", "2 passes, 50 % at train.py:9");
    const struct outcome *o = case_first(build_analyze(&b), "repeated-backward", MS(1));
    ck_assert_str_eq(o->remedy.object.place, "train.py:9");
    b = cpu_training("12 tensors, 1000 numbers, float32, on cpu", 1); /* through earlier steps */
    build_meta(&b, "torch.backward.again", "12 passes, 90 % at train.py:9");
    case_verdict(build_analyze(&b), "repeated-backward", RULE_SILENT);
    b = cpu_training(NULL, 1);
    case_verdict(build_analyze(&b), "repeated-backward", RULE_CANNOT_TELL);
}
