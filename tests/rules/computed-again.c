/* Cases of the rule computed-again: when it fires, when it is silent, and when it cannot tell. No trainer
 * plants it: the hook finds it in programs in Python. */
#include "tests/rules/launch_lines.h"
#include "tests/unit/rule_case.h"

/* Steps of 10 ms: two functions compute positions for 2 ms each, and a layer works for 5 ms with its
 * backward pass. */
static struct builder loop(const char *again, const char *name)
{
    struct builder b = build_start();
    int64_t positions = line_in(&b, SPOOL_NO_MODULE, name, 5);
    int64_t angles = line_in(&b, SPOOL_NO_MODULE, "angles", 7);
    int64_t layer = line_in(&b, "up (Linear)", "Net.forward", 9);
    build_meta(&b, "torch.version", "2.14.1");
    if (again)
        build_meta(&b, "torch.again", again);
    launches_have_lines(&b, MS(100), MS(100 + 10 * CASE_STEPS) - 1);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        launch_from(&b, SPOOL_LINE_OWN, positions, at);
        build_kernel(&b, "elementwise_kernel<128, 2, sin>", at + US(10), at + US(20), MS(2));
        launch_from(&b, SPOOL_LINE_OWN, angles, at + US(30));
        build_kernel(&b, "elementwise_kernel<128, 2, cos>", at + US(40), at + MS(2.1), MS(2));
        launch_from(&b, SPOOL_LINE_OWN, layer, at + US(50));
        build_kernel(&b, case_gemm, at + US(60), at + MS(4.2), MS(2));
        launch_from(&b, SPOOL_LINE_FORWARD, layer, at + US(70));
        build_kernel(&b, case_gemm, at + US(80), at + MS(6.3), MS(3));
        build_range(&b, "step", at, at + MS(10));
    }
    return b;
}

TEST(of_two_functions)
{
    struct builder b = loop("Net.positions; angles, 100 % at train.py:4", "Net.positions");
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_verdict(a, "computed-again", RULE_FIRES);
    ck_assert_str_eq(o->title, "Keep what Net.positions() computes from the same tensors");
    ck_assert_str_eq(o->remedy.object.place, "train.py:5");
    ck_assert_int_ge(o->saves_high_ns, MS(4));
    ck_assert_int_le(o->saves_high_ns, MS(5));
    case_said(o, CONDITION_SAME_INPUT, true);
    case_verdict(a, "forward-only", RULE_SILENT);
}

/* Half of the calls: half of the work may go. */
TEST(of_half_of_the_calls)
{
    struct builder b = loop("Net.positions; angles, 50 % at train.py:4", "Net.positions");
    const struct outcome *o = case_verdict(build_analyze(&b), "computed-again", RULE_FIRES);
    ck_assert_int_le(o->saves_high_ns, MS(3));
}

/* The first module gets the same tensor each time: the model is timed on one batch, unless others come. */
TEST(of_one_batch)
{
    const char *told = "one batch: Net.positions; angles, 100 % at train.py:4";
    struct builder b = loop(told, "Net.positions");
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "computed-again", RULE_SILENT);
    b = loop(told, "Net.positions");
    for (int i = 0; i < CASE_STEPS; i++)
        build_copy(&b, 1, 1, 3, false, 1 << 20, MS(108 + 10 * i), US(20), MS(108.2 + 10 * i),
                   US(50));
    const struct outcome *o = case_verdict(build_analyze(&b), "computed-again", RULE_FIRES);
    ck_assert_str_eq(o->title, "Keep what Net.positions() computes from the same tensors");
}

TEST(of_no_function)
{
    struct builder b = loop("none of 3 functions", "Net.positions");
    case_verdict(build_analyze(&b), "computed-again", RULE_SILENT);
    b = loop("positions, 100 % at train.py:4",
             "Net.positions"); /* another function's name is part of it */
    case_verdict(build_analyze(&b), "computed-again", RULE_SILENT);
    b = loop(NULL, "Net.positions");
    case_verdict(build_analyze(&b), "computed-again", RULE_CANNOT_TELL);
}
