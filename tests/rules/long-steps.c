/* When long-steps fires, when it stays silent or is refused, when it cannot tell. */
#include "tests/rules/trace.h"
#include "tests/unit/rule_case.h"

enum { LOOP = 24, EVERY = 6 };

/* Steps of 10 ms; every sixth has 30 ms of `rare`, or computes for so much longer. */
static struct builder loop(void (*rare)(struct builder *, int64_t from, int64_t to), bool slow)
{
    struct builder b = build_start();
    int64_t at = MS(100);
    for (int i = 0; i < LOOP; i++) {
        int64_t start = at;
        if (rare && i % EVERY == EVERY - 1) {
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

START_TEST(a_checkpoint_now_and_then)
{
    struct builder b = loop(saves, false);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "long-steps", MS(30) / EVERY);
    ck_assert_ptr_nonnull(strstr(o->summary, " steps take 40 ms, the others 10 ms"));
    ck_assert_ptr_nonnull(strstr(o->summary, "'save_checkpoint'"));
    QUIET(a, "host-work", "num-workers", "cuda-graphs");
    build_end(&b);
}
END_TEST

START_TEST(other_advice_is_about_long_waits_for_data)
{
    struct builder b = loop(waits_for_data, false);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "long-steps", RULE_SUPPRESSED);
    case_verdict(a, "num-workers", RULE_FIRES);
    build_end(&b);
}
END_TEST

START_TEST(nobody_knows_why_the_same_work_takes_longer)
{
    struct builder b = loop(NULL, true);
    case_verdict(build_analyze(&b), "long-steps", RULE_CANNOT_TELL);
    build_end(&b);
}
END_TEST

START_TEST(equal_steps_are_not_long)
{
    struct builder b = loop(NULL, false);
    case_verdict(build_analyze(&b), "long-steps", RULE_SILENT);
    build_end(&b);
}
END_TEST

Suite *rule_long_steps_suite(void)
{
    Suite *s = suite_create("long-steps");
    TCase *t = tcase_create("long-steps");
    tcase_add_test(t, a_checkpoint_now_and_then);
    tcase_add_test(t, other_advice_is_about_long_waits_for_data);
    tcase_add_test(t, nobody_knows_why_the_same_work_takes_longer);
    tcase_add_test(t, equal_steps_are_not_long);
    suite_add_tcase(s, t);
    return s;
}
