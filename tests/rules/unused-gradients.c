/* Cases of the rule unused-gradients: when it fires and when it is silent. Without the hook it cannot tell.
 * No trainer plants it: all weights of theirs learn. */
#include "tests/rules/launch_lines.h"
#include "tests/unit/rule_case.h"

static const char *const torch = "2.14.1";
static const char *const told = "14 weights, 37 % of the nodes at train.py:12";

/* Steps of 10 ms: forward 3 ms, and a backward pass of 1 ms for the head and 4 ms for what lies below it.
 * Steps 1 and 2 carry lines; the hook knows of the unused part in step 2. Odd steps, if `others`, have a
 * pass that launches something else. */
struct kernels {
    const char *even, *odd; /* of the encoder's backward pass, by step */
};

static struct builder steps(const char *version, const char *fact, const char *why,
                            struct kernels kernels)
{
    struct builder b = build_start();
    int64_t encoder = line_in(&b, SPOOL_NO_MODULE, "<module>", 9),
            head = line_in(&b, SPOOL_NO_MODULE, "<module>", 10);
    if (version)
        build_meta(&b, "torch.version", version);
    if (fact)
        build_meta(&b, "torch.gradients.unused", fact);
    if (why)
        build_meta(&b, "torch.gradients.unused.why", why);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        bool lined = i == 1 || i == 2;
        if (lined)
            launches_have_lines(&b, at, at + MS(9.9));
        if (lined)
            launch_from(&b, SPOOL_LINE_OWN, encoder, at);
        build_kernel(&b, case_gemm, at + US(10), at + US(20), MS(3));
        build_range(&b, "backward", at + US(100), at + US(400));
        if (lined)
            launch_from(&b, SPOOL_LINE_FORWARD, head, at + US(105));
        build_kernel(&b, "head_bwd", at + US(120), at + MS(4), MS(1));
        if (lined)
            launch_from(&b, i == 2 ? SPOOL_LINE_UNUSED : SPOOL_LINE_FORWARD, encoder, at + US(205));
        build_kernel(&b, i % 2 ? kernels.odd : kernels.even, at + US(220), at + MS(5.1), MS(4));
        build_range(&b, "step", at, at + MS(10));
    }
    return b;
}

static const struct advice *loop(const char *version, const char *fact, const char *why,
                                 bool others)
{
    struct builder b = steps(version, fact, why,
                             (struct kernels){"encoder_bwd", others ? "other_bwd" : "encoder_bwd"});
    return build_analyze(&b);
}

TEST(below_the_head)
{
    const struct outcome *o =
        case_verdict(loop(torch, told, "ownerless", false), "unused-gradients", RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.place, "train.py:9");
    case_does(o, ACTION_STOP_GRADIENTS);
    case_said(o, CONDITION_FROZEN, true);
    ck_assert_ptr_nonnull(strstr(o->summary, "the backward pass at train.py:12"));
    ck_assert_int_ge(o->saves_high_ns, MS(3.9)); /* the encoder's 4 ms, not the head's */
    ck_assert_int_le(o->saves_high_ns, MS(4.6));
}

/* Only passes that launch the same count as those in which it was seen. */
TEST(in_every_other_step)
{
    const struct outcome *o =
        case_verdict(loop(torch, told, "ownerless", true), "unused-gradients", RULE_FIRES);
    ck_assert_int_le(o->saves_high_ns, MS(2.6));
}

TEST(zeroed_before_the_step)
{
    const struct advice *a = loop(torch, told, "zeroed", false);
    const struct outcome *o = case_verdict(a, "unused-gradients", RULE_FIRES);
    case_said(o, CONDITION_FROZEN, false);
    ck_assert_ptr_nonnull(strstr(o->summary, "zeroed before their optimizer steps"));
}

TEST(at_rate_0)
{
    const struct advice *a = loop(torch, told, "at rest", false);
    const struct outcome *o = case_verdict(a, "unused-gradients", RULE_FIRES);
    case_said(o, CONDITION_FROZEN, true);
    ck_assert_ptr_nonnull(strstr(o->summary, "whose learning rate is 0"));
}

/* Of the encoder's 4 ms a half, unless the kernel's name says that all or none of it is for weights; of
 * products that half is sure. Gradients still go through. */
TEST(beside_what_is_needed)
{
    static const struct {
        const char *kernel;
        double saves, good, bad;
    } cases[] = {{"encoder_bwd", 2, 0.5, 1},
                 {"ampere_sgemm_128x64_nt", 2, 0.5, 0.5},
                 {"sm80_xmma_wgrad_implicit_gemm", 4, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct builder b =
            steps(torch, told, "zeroed", (struct kernels){cases[i].kernel, cases[i].kernel});
        build_meta(&b, "torch.gradients.unused.of", "weights");
        const struct outcome *o = case_verdict(build_analyze(&b), "unused-gradients", RULE_FIRES);
        ck_assert_int_ge(o->saves_high_ns, MS(cases[i].saves - 0.1));
        ck_assert_int_le(o->saves_high_ns, MS(cases[i].saves + 0.1));
        ck_assert_double_eq_tol(o->edit.scale.good, cases[i].good, 0.01);
        ck_assert_double_eq_tol(o->edit.scale.bad, cases[i].bad, 0.01);
        ck_assert_ptr_nonnull(strstr(o->summary, "also gradients of weights"));
        case_said(o, CONDITION_PASSED_THROUGH, true);
    }
    struct builder b = steps(torch, told, "zeroed", (struct kernels){"dgrad_bwd", "dgrad_bwd"});
    build_meta(&b, "torch.gradients.unused.of", "weights");
    case_verdict(build_analyze(&b), "unused-gradients", RULE_SILENT);
}

TEST(of_use)
{
    case_verdict(loop(torch, NULL, NULL, false), "unused-gradients", RULE_SILENT);
    case_verdict(loop(torch, "none", "ownerless", false), "unused-gradients",
                 RULE_SILENT); /* an optimizer came later */
}

TEST(without_the_hook)
{
    case_verdict(loop(NULL, told, "ownerless", false), "unused-gradients", RULE_CANNOT_TELL);
}
