/* Cases of the rule repeated-calls: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: they have no modules. */
#include "tests/rules/cpu.h"
#include "tests/unit/rule_case.h"
#include "tests/rules/launch_lines.h"

enum { CALLS = 10, EACH = 4 };

static bool acts; /* each call gets what an environment says, and its result is read for it */

static void upload(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 16, at, US(5), at + US(2), US(1));
}

/* Steps of 10 ms: CALLS calls, each with EACH kernels of `kernel_ns` that the host launches every
 * 200 us, and a product behind them. */
static struct builder loop(const char *told, int64_t kernel_ns)
{
    static const char *const names[EACH] = {"a", "b", "c", "d"};
    struct builder b = build_start();
    int64_t core = line_in(&b, "core (GRU)", "Policy.forward", 22);
    int64_t head = line_in(&b, "head (Linear)", "Policy.forward", 30);
    build_meta(&b, "torch.version", "2.14.1");
    if (told)
        build_meta(&b, "torch.modules.repeated", told);
    launches_have_lines(&b, MS(100), MS(100 + 10 * CASE_STEPS) - 1);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        launch_from(&b, SPOOL_LINE_OWN, core, at);
        for (int k = 0; k < CALLS * EACH; k++) {
            if (acts && k % EACH == 0)
                upload(&b, at + US(200 * k));
            build_kernel(&b, names[k % EACH], at + US(200 * k + 10), at + US(200 * k + 20),
                         kernel_ns);
            if (acts && k % EACH == EACH - 1)
                build_copy(&b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, true, 8,
                           at + US(200 * k + 30), US(10), at + US(200 * k + 35), US(1));
        }
        if (acts) {
            upload(&b, at + MS(8) - US(10));
            build_range(&b, "backward", at + MS(8), at + MS(9));
        }
        launch_from(&b, SPOOL_LINE_OWN, head, at + US(200 * CALLS * EACH));
        build_kernel(&b, case_gemm, at + MS(8) + US(10), at + MS(8) + US(20), MS(1));
        build_range(&b, "step", at, at + MS(10));
    }
    return b;
}

TEST(test_repeated_calls)
{
    struct builder b = loop("core (GRU), 10 times, in turn, takes sequences at train.py:22", US(5));
    const struct outcome *o = case_first(build_analyze(&b), "repeated-calls", MS(8.9));
    ck_assert_str_eq(o->remedy.object.place, "train.py:22");
    case_measures(o, "calls of it in one forward pass", CALLS, 0);
    case_said(o, CONDITION_SEQUENCE, true);
    case_said(o, CONDITION_IN_TURN, false);
    o = case_outcome(build_predict(&b), "repeated-calls");
    ck_assert(!o->upper_bound && o->saves_low_ns > MS(4));
    b = loop("core (Cell), 10 times, in turn at train.py:22", US(5)); /* one needs the other */
    o = case_verdict(build_analyze(&b), "repeated-calls", RULE_FIRES);
    case_said(o, CONDITION_IN_TURN, true);
    ck_assert(case_outcome(build_predict(&b), "repeated-calls")->upper_bound);
    b = loop("core (Cell), 10 times at train.py:22", US(5));
    o = case_verdict(build_analyze(&b), "repeated-calls", RULE_FIRES);
    case_said(o, CONDITION_IN_TURN, false);
    case_said(o, CONDITION_SEQUENCE, false);
}

/* The environment answers the action that was read, so the calls cannot become one. */
TEST(test_actions_of_an_agent)
{
    static const char told[] = "core (GRU), 10 times at train.py:22";
    acts = true;
    struct builder b = loop(told, US(5));
    case_verdict(build_analyze(&b), "repeated-calls", RULE_SILENT);
    acts = false;
    b = loop(told, US(5));
    case_verdict(build_analyze(&b), "repeated-calls", RULE_FIRES);
}

TEST(test_calls_that_are_worth_it)
{
    struct builder b = loop("core (GRU), 10 times at train.py:22", US(190)); /* long kernels */
    case_verdict(build_analyze(&b), "repeated-calls", RULE_SILENT);
    b = loop("head (Linear), 10 times at train.py:30", US(5)); /* hardly any of the step */
    case_verdict(build_analyze(&b), "repeated-calls", RULE_SILENT);
    b = loop(NULL, US(5));
    case_verdict(build_analyze(&b), "repeated-calls", RULE_SILENT);
    b = build_start(); /* no modules */
    case_loop(&b, case_busy);
    case_verdict(build_analyze(&b), "repeated-calls", RULE_CANNOT_TELL);
}

/* A loop over samples on a CPU: the call takes 2 of the forward pass's 4 ms, and its loss 1. */
static struct builder loop_on_cpu(const char *told, int reads)
{
    struct builder b = cpu_training("12 tensors, 1000 numbers, float32, on cpu", 1);
    int64_t call = stack_below(&b, stack_of(&b, "/home/me/train.py", "epoch", 22),
                               "/x/lib/python3.11/site-packages/torch/nn/modules/linear.py",
                               "Linear.forward", 100);
    int64_t loss = stack_of(&b, "/home/me/train.py", "epoch", 23);
    int64_t other = stack_of(&b, "/home/me/other.py", "step", 5);
    build_meta(&b, "torch.modules.repeated", told);
    for (int i = 0; i < CPU_STEPS; i++) {
        int64_t at = cpu_step_ns(i);
        look_at(&b, call, at + US(500));
        look_at(&b, call, at + US(1500));
        look_at(&b, loss, at + US(2500));
        look_at(&b, other, at + US(3500));
        for (int k = 0; k < 6; k++)
            look_at(&b, other, at + MS(4) + MS(k) + US(500));
        for (int k = 0; k < reads; k++)
            build_range(&b, "read .item() train.py:23", at + US(100 * k + 10),
                        at + US(100 * k + 20));
    }
    return b;
}

TEST(test_repeated_calls_on_a_cpu)
{
    struct builder b = loop_on_cpu("Sequential, 64 times at train.py:22", 0);
    const struct outcome *o = case_verdict(build_analyze(&b), "repeated-calls", RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.place, "train.py:22");
    case_said(o, CONDITION_IN_TURN, false);
    ck_assert(o->upper_bound);
    ck_assert_int_gt(o->saves_high_ns,
                     MS(7)); /* three quarters of the step, but for one call of 64 */
    ck_assert_int_lt(o->saves_high_ns, MS(7.5));
    b = loop_on_cpu("LSTMCell, 64 times, in turn, a cell at train.py:22", 0);
    o = case_verdict(build_analyze(&b), "repeated-calls", RULE_FIRES);
    case_said(o, CONDITION_CELL, true);
    case_said(o, CONDITION_IN_TURN, false);
}

/* What is read behind each call may be an action, and the next call gets the environment's answer. */
TEST(test_repeated_calls_of_an_agent_on_a_cpu)
{
    struct builder b = loop_on_cpu("Sequential, 12 times at train.py:22", 10);
    case_verdict(build_analyze(&b), "repeated-calls", RULE_SILENT);
}
