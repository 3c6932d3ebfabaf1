/* Steps of a loop on a CPU that updates its weights by hand: no optimizer's step marks it, and no loader. */
#include "tests/unit/rule_case.h"

enum { PASSES = 20 };

static struct builder training(int passes, bool clears, int in_each)
{
    struct builder b = build_start();
    build_meta(&b, "torch.version", "2.14.1");
    for (int i = 0; i < passes; i++) {
        int64_t at = MS(100) + MS(10) * i;
        if (clears && i % in_each == 0)
            build_range(&b, "zero_grad", at + MS(1), at + MS(1) + US(10));
        build_range(&b, "backward", at + MS(4), at + MS(8));
    }
    return b;
}

TEST(from_one_backward_pass_to_the_next)
{
    struct builder b = training(PASSES, false, 1);
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->steps.count, PASSES - 1);
    ck_assert_int_eq(a->facts->step_ns, MS(10));
    ck_assert_int_eq(a->facts->breakdown_ns[PART_BACKWARD], MS(4));
    ck_assert_int_eq(a->class, VERDICT_CPU);
}

/* Gradients of several losses or micro-batches are cleared once. */
TEST(from_one_clearing_to_the_next)
{
    struct builder b = training(PASSES, true, 2);
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->steps.count, PASSES / 2 - 1);
    ck_assert_int_eq(a->facts->step_ns, MS(20));
    ck_assert_int_eq(a->facts->breakdown_ns[PART_BACKWARD], MS(8));
}

TEST(two_passes_are_no_loop)
{
    struct builder b = training(2, false, 1);
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->steps.count, 0);
    ck_assert_int_eq(a->class, VERDICT_NOT_ENOUGH);
}

/* The verdict says where the time of the step passes, where no rule has a remedy for it. */
TEST(lines_of_a_step_that_only_computes)
{
    struct builder b = training(PASSES, false, 1);
    struct row_stack at = {
        ++b.next_id, 0, build_text(&b, "/home/me/train.py"), build_text(&b, "<module>"), 20, 0};
    build_put(&b, ROW_STACK, &at);
    struct row_stack in = {++b.next_id,
                           at.id,
                           build_text(&b, "/x/lib/python3.11/site-packages/torch/_tensor.py"),
                           build_text(&b, "Tensor.backward"),
                           800,
                           0};
    build_put(&b, ROW_STACK, &in);
    for (int i = 0; i < PASSES; i++)
        for (int k = 0; k < 10; k++) {
            int64_t ns = MS(100) + MS(10) * i + MS(k) + US(500);
            struct row_stack_sample r = {++b.next_id,   1, b.thread, ns, ns, 1,
                                         STACK_RUNNING, 0, in.id};
            build_put(&b, ROW_STACK_SAMPLE, &r);
        }
    const struct advice *a = build_analyze(&b);
    ck_assert_msg(
        strstr(a->why, "By line: 100 % train.py:20, in torch.Tensor.backward (computes)."), "%s",
        a->why);
}
