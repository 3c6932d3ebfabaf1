/* Cases of the rule python-threads: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: its threads run Python. */
#include "analyzer/facts/lines.h"
#include "tests/unit/rule_case.h"
#include "tests/rules/stacks.h"

static void look(struct builder *b, int64_t thread, int64_t stack, int state, const char *call,
                 int64_t at)
{
    struct row_stack_sample r = {++b->next_id,        1,    thread, at, at, 1, state,
                                 build_text(b, call), stack};
    build_put(b, ROW_STACK_SAMPLE, &r);
}

/* Steps of 10 ms with a kernel of 2 ms. In the other 8 the training thread sleeps in `call`, and a
 * second thread is in `state`. */
static const struct advice *loop(const char *call, int state)
{
    struct builder b = build_start();
    int64_t trains = stack_of(&b, "/home/me/train.py", "Net.forward", 9);
    int64_t writes = stack_of(&b, "/home/me/log.py", "Writer.run", 31);
    build_thread(&b, 9, "python");
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        build_kernel(&b, case_gemm, at + US(10), at + US(20), MS(2));
        build_range(&b, "step", at, at + MS(10));
        for (int k = 0; k < 4; k++) {
            look(&b, 1, trains, STACK_ASLEEP, call, at + MS(2.5 + 2 * k));
            look(&b, 9, writes, state, "", at + MS(2.5 + 2 * k) + US(80));
        }
    }
    return build_analyze(&b);
}

TEST(test_python_threads)
{
    const struct advice *a = loop("futex", STACK_RUNNING);
    const struct outcome *o = case_first(a, "python-threads", MS(8));
    ck_assert_ptr_eq(a->ranked[0], o);
    ck_assert_str_eq(o->title, "Take Writer.run() out of the training process");
    ck_assert_str_eq(o->remedy.object.place, "log.py:31");
    ck_assert(o->upper_bound);
    ck_assert_int_ge(facts_lines(a->facts, LINES_THREADS)->looks, 4 * (CASE_STEPS - 1));
    case_verdict(loop("futex", STACK_READY), "python-threads", RULE_FIRES);
}

TEST(test_threads_that_do_not_hold_up)
{
    case_verdict(loop("wait4", STACK_RUNNING), "python-threads", RULE_SILENT);
    case_verdict(loop("futex", STACK_ASLEEP), "python-threads", RULE_SILENT);
    case_verdict(case_advice(case_busy), "python-threads", RULE_CANNOT_TELL);
}
