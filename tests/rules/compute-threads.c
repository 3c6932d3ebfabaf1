/* Cases of the rule compute-threads: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: they compute on the GPU. */
#include "tests/rules/cores.h"
#include "tests/rules/stacks.h"
#include "tests/unit/rule_case.h"

#include <string.h>

static bool stands_in_line;

/* A line of the program waits for `held` of the 8 ms between the calls of the model. */
static const struct advice *with_steps(const char *threads, int held, int64_t unit)
{
    struct builder b = build_start();
    build_meta(&b, "torch.version", "2.9.0");
    build_meta(&b, "usable_cores", "4");
    if (threads)
        build_meta(&b, "torch.num_threads", threads);
    build_meta(&b, "torch.num_threads.where", "train.py:3");
    int64_t own = stack_of(&b, "/home/me/train.py", "record", 9);
    int64_t loop = stack_of(&b, "/home/me/train.py", "<module>", 20);
    struct row_stack torch = {.id = ++b.next_id,
                              .caller = loop,
                              .file = build_text(&b, "/x/lib/python3.11/site-packages/torch/a.py"),
                              .function = build_text(&b, "_engine_run_backward"),
                              .line = 800};
    build_put(&b, ROW_STACK, &torch);
    for (int i = 0; i < 30; i++) {
        int64_t at = MS(100) + 10 * i * unit;
        build_range_at(&b, "gpuprof.step", 0, at, at + 10 * unit);
        build_range(&b, "backward", at + unit, at + 9 * unit);
        build_range(&b, "optimizer.step", at + 9 * unit, at + 10 * unit);
        for (int k = 1; held && k < 9; k++)
            look_at(&b, k <= held ? own : torch.id, at + k * unit + unit / 2);
    }
    if (stands_in_line)
        clocks(&b, 1, (struct share){0.4, 0.5, 0, 0, 0});
    return build_analyze(&b);
}

static const struct advice *with_line(const char *threads, int held)
{
    return with_steps(threads, held, MS(1));
}

static const struct advice *on_cpu(const char *threads)
{
    return with_line(threads, 0);
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

/* Far more threads than cores are no advice while nobody stands in line. */
TEST(test_more_threads_than_cores)
{
    case_verdict(on_cpu("32"), "compute-threads", RULE_SILENT);
    stands_in_line = true;
    const struct advice *a = on_cpu("32");
    const struct outcome *o = case_verdict(a, "compute-threads", RULE_FIRES);
    ck_assert_msg(strstr(outcome_remedy(a->facts, o), "torch.set_num_threads(4)"), "%s",
                  outcome_remedy(a->facts, o));
    case_verdict(on_cpu("4"), "compute-threads", RULE_SILENT);
    stands_in_line = false;
}

/* Where the one thread stands in line, others have the cores: a second thread would wait as well. */
TEST(test_one_thread_without_a_core)
{
    stands_in_line = true;
    case_verdict(on_cpu("1"), "compute-threads", RULE_SILENT);
    stands_in_line = false;
}

/* What holds up the loop between the model's calls is not its computing, nor what it is bound by. */
TEST(a_line_that_waits_between_its_calls)
{
    const struct advice *a = with_line("1", 2);
    const struct outcome *o = case_outcome(a, "compute-threads");
    ck_assert_msg(o->verdict == RULE_FIRES, "%s", o->why);
    ck_assert_int_eq(o->saves_high_ns, MS(6)); /* three quarters of 10 ms without 2 */
    ck_assert_int_eq(a->class, VERDICT_CPU);
    a = with_line("1", 6);
    case_verdict(a, "compute-threads", RULE_SILENT);
    ck_assert_int_eq(a->class, VERDICT_HOST);
    ck_assert_msg(strncmp(a->verdict, "Host-bound (no GPU): program work outside", 41) == 0, "%s",
                  a->verdict);
}

/* Below a millisecond the way to the operations counts, not their work. */
TEST(a_model_of_small_operations)
{
    case_verdict(with_steps("1", 0, US(90)), "compute-threads", RULE_SILENT);
    case_verdict(with_steps("1", 0, US(200)), "compute-threads", RULE_FIRES);
}
