/* Cases of the rule long-steps: when it fires, when it is silent or suppressed, and when it cannot
 * tell. */
#include "tests/rules/cores.h"
#include "tests/rules/trace.h"
#include "tests/unit/rule_case.h"

enum { LOOP = 24, EVERY = 6 };
static bool irregular;

/* Steps of 10 ms; every sixth has 30 ms of `rare`, or computes for so much longer. */
static struct builder loop(void (*rare)(struct builder *, int64_t from, int64_t to), bool slow)
{
    struct builder b = build_start();
    int64_t at = MS(100);
    for (int i = 0; i < LOOP; i++) {
        int64_t start = at;
        bool now = irregular ? i == 5 || i == 7 || i == 15 || i == 22 : i % EVERY == EVERY - 1;
        if (rare && now) {
            rare(&b, at, at + MS(30));
            at += MS(30);
        }
        int64_t takes = slow && i % EVERY == EVERY - 1 ? MS(40) : MS(10);
        build_kernel(&b, case_gemm, at, at + US(10), takes - US(20));
        at += takes;
        build_range(&b, "step", start, at);
    }
    return b;
}

static void saves(struct builder *b, int64_t from, int64_t to)
{
    build_range(b, "save_checkpoint", from, to);
}

static void waits_for_data(struct builder *b, int64_t from, int64_t to)
{
    build_range(b, "DataLoader.__next__", from, to);
}

TEST(a_checkpoint_now_and_then)
{
    struct builder b = loop(saves, false);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "long-steps", MS(30) / EVERY);
    ck_assert_double_eq_tol(case_value(o, "a long step, on average"), 40, 0.1);
    ck_assert_double_eq_tol(case_value(o, "any other step"), 10, 0.1);
    ck_assert_ptr_nonnull(strstr(o->summary, "'save_checkpoint'"));
    QUIET(a, "host-work", "num-workers", "cuda-graphs");
}

static void does_nothing_known(struct builder *b, int64_t from, int64_t to)
{
    (void)b, (void)from, (void)to;
}

/* Without a range: work every sixth step is the program's; pauses now and then may be anybody's. */
TEST(pauses_in_no_range)
{
    struct builder b = loop(does_nothing_known, false);
    case_verdict(build_analyze(&b), "long-steps", RULE_FIRES);
    irregular = true;
    b = loop(does_nothing_known, false);
    irregular = false;
    case_verdict(build_analyze(&b), "long-steps", RULE_CANNOT_TELL);
}

TEST(a_thread_without_a_core_has_long_steps)
{
    struct builder b = loop(saves, false);
    starve(&b, 0.4);
    case_verdict(build_analyze(&b), "long-steps", RULE_SUPPRESSED);
}

TEST(other_advice_is_about_long_waits_for_data)
{
    struct builder b = loop(waits_for_data, false);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "long-steps", RULE_SUPPRESSED);
    case_verdict(a, "num-workers", RULE_FIRES);
    int64_t average = MS(30) / EVERY,
            told = a->facts->host.wait_ns; /* the page tells it beside them */
    ck_assert_msg(llabs(told - average) < MS(0.3), "%lld ns of waiting", (long long)told);
}

static void allocates(struct builder *b, int64_t from, int64_t to)
{
    build_api(b, "cudaMalloc", from, to - from);
}

/* Few steps allocate, so allocation-in-loop says nothing of it. */
TEST(a_pool_that_grows_is_left_to_no_silent_rule)
{
    struct builder b = loop(allocates, false);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "long-steps", RULE_SUPPRESSED);
    case_verdict(a, "allocation-in-loop", RULE_SILENT);
    ck_assert_ptr_null(strstr(case_outcome(a, "long-steps")->why, "allocation-in-loop"));
}

TEST(nobody_knows_why_the_same_work_takes_longer)
{
    struct builder b = loop(NULL, true);
    case_verdict(build_analyze(&b), "long-steps", RULE_CANNOT_TELL);
}

TEST(equal_steps_are_not_long)
{
    struct builder b = loop(NULL, false);
    case_verdict(build_analyze(&b), "long-steps", RULE_SILENT);
}
