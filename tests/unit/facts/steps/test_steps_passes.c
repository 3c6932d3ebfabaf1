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

/* A trace of PyTorch's profiler without a mark: each pass is a row of nodes on the thread that runs
 * the operators of the forward pass. `device`: autograd's own thread runs the nodes. */
static struct builder traced(int passes, bool device)
{
    struct builder b = build_start();
    build_thread(&b, 2, "pt_autograd_0");
    build_meta(&b, "source", "kineto");
    build_meta(&b, "trace.devices", "0");
    for (int i = 0; i < passes; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_range(&b, "aten::linear", at, at + MS(3));
        build_range(&b, "aten::mse_loss", at + MS(3), at + MS(4));
        b.thread = device ? 2 : 1;
        for (int k = 0; k < 4; k++) {
            int64_t node = at + MS(4) + MS(1) * k;
            build_range(&b, "autograd::engine::evaluate_function: AddmmBackward0", node,
                        node + MS(0.9));
        }
        b.thread = 1;
    }
    return b;
}

TEST(nodes_in_a_row_are_one_backward_pass)
{
    struct builder b = traced(PASSES, false);
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->steps.count, PASSES - 1);
    ck_assert_int_eq(a->facts->step_ns, MS(10));
    ck_assert_int_eq(a->facts->breakdown_ns[PART_BACKWARD] / US(100), 39);
    ck_assert_int_eq(a->class, VERDICT_CPU);
    b = traced(PASSES, true);
    ck_assert(!build_analyze(&b)->facts->on_cpu);
    b = traced(2, false);
    a = build_analyze(&b);
    ck_assert_int_eq(a->class, VERDICT_NOT_ENOUGH);
    ck_assert_ptr_null(strstr(a->next, "does not use PyTorch"));
}
