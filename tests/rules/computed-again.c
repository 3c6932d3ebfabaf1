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

/* Steps of 10 ms: a generator of 2 ms runs twice for one noise, with a backward pass of 3 ms, and a weight is
 * normalised twice, for 1 ms and as much backward. */
static const char *generator = "made.0 (Linear)";

static const struct outcome *modules(const char *told, enum verdict verdict)
{
    struct builder b = build_start();
    int64_t made = line_in(&b, generator, "Generator.forward", 5),
            weight = line_in(&b, "cell.parametrizations.weight.0 (_WeightNorm)", "Net.forward", 9);
    build_meta(&b, "torch.version", "2.14.1");
    if (told)
        build_meta(&b, "torch.modules.again", told);
    launches_have_lines(&b, MS(100), MS(100 + 10 * CASE_STEPS) - 1);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        for (int k = 0; k < 2; k++) {
            launch_from(&b, SPOOL_LINE_OWN, made, at + US(100 * k));
            build_kernel(&b, case_gemm, at + US(10 + 100 * k), at + US(20) + MS(2 * k), MS(2));
            launch_from(&b, SPOOL_LINE_OWN, weight, at + US(50 + 100 * k));
            build_kernel(&b, "weight_norm_fwd", at + US(60 + 100 * k), at + MS(4.1 + 0.5 * k),
                         US(500));
        }
        launch_from(&b, SPOOL_LINE_FORWARD, made, at + US(300));
        build_kernel(&b, case_gemm, at + US(310), at + MS(5.2), MS(3));
        for (int k = 0; k < 2; k++) {
            launch_from(&b, SPOOL_LINE_FORWARD, weight, at + US(350 + 50 * k));
            build_kernel(&b, "weight_norm_bwd", at + US(360 + 50 * k), at + MS(8.3 + 0.5 * k),
                         US(500));
        }
        build_range(&b, "step", at, at + MS(10));
    }
    return case_verdict(build_analyze(&b), "computed-again", verdict);
}

/* One of two calls: half of the forward work. */
TEST(of_a_module)
{
    const struct outcome *o = modules("made (Generator), 4 of 8 at train.py:23", RULE_FIRES);
    ck_assert_str_eq(o->title, "Keep what made (Generator) computes from the same tensors");
    ck_assert_str_eq(o->remedy.object.place, "train.py:23");
    case_said(o, CONDITION_IN_A_STEP, true);
    case_said(o, CONDITION_PARAMETRIZED, false);
    ck_assert_int_ge(o->saves_high_ns, MS(1.9));
    ck_assert_int_le(o->saves_high_ns, MS(2.5));
}

/* Half of it, forward and backward. */
TEST(of_a_computed_weight)
{
    const struct outcome *o = modules(
        "cell.parametrizations.weight (ParametrizationList), 8 of 16 at train.py:9", RULE_FIRES);
    case_said(o, CONDITION_PARAMETRIZED, true);
    ck_assert_int_ge(o->saves_high_ns, MS(0.9));
    ck_assert_int_le(o->saves_high_ns, MS(1.5));
}

/* Names within the first outermost module do not begin with its own: "cell..." and "made..." are its,
 * "Judge.0" is another's. */
TEST(of_an_outermost_module)
{
    const struct outcome *o = modules("Net but Judge, 4 of 8 at train.py:23", RULE_FIRES);
    ck_assert_str_eq(o->title, "Keep what Net computes from the same tensors");
    ck_assert_int_ge(o->saves_high_ns, MS(2.4)); /* half of 4 and 1 ms */
    ck_assert_int_le(o->saves_high_ns, MS(3));
    generator = "Judge.0 (Linear)";
    o = modules("Net but Judge, 8 of 8 at train.py:23", RULE_FIRES);
    ck_assert_int_le(o->saves_high_ns, MS(1.5));
    o = modules("Judge, 4 of 8 at train.py:23", RULE_FIRES);
    ck_assert_int_ge(o->saves_high_ns, MS(1.9));
    ck_assert_int_le(o->saves_high_ns, MS(2.5));
    generator = "made.0 (Linear)";
}

TEST(of_two_modules)
{
    const struct outcome *o =
        modules("cell.parametrizations.weight (ParametrizationList), 8 of 16; made (Generator), "
                "4 of 8 at train.py:9",
                RULE_FIRES);
    ck_assert_str_eq(o->title, "Keep what made (Generator) computes from the same tensors");
    ck_assert_ptr_nonnull(strstr(o->summary, "as other modules are"));
}

/* What nobody can read as such a fact says nothing. */
TEST(of_a_damaged_fact)
{
    modules("made", RULE_CANNOT_TELL);
    modules("made (Generator), of", RULE_CANNOT_TELL);
    modules("made (Generator), 4 of 0 at train.py:23", RULE_CANNOT_TELL);
    modules("made (Generator), 9 of 8; ; at train.py:23", RULE_CANNOT_TELL);
    modules(NULL, RULE_CANNOT_TELL);
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
