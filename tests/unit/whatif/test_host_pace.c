/* The host's own pace varies: an interval holds that where a change leaves the host as the limit,
 * and nowhere else. */
#include "tests/unit/edit_case.h"

enum { MANY_STEPS = 33 };

static int64_t
    swing_pct; /* every second four steps the host takes so much longer, the others less */

/* One long kernel; meanwhile the host does 4 ms of its own work, launches a short one and waits. */
static void fill_beside(struct builder *b, int64_t at)
{
    int64_t step = (at - MS(100)) / MS(10);
    int64_t host = MS(4) + MS(4) * swing_pct / 100 * (step / 4 % 2 ? 1 : -1);
    build_kernel(b, "k", at, at + US(20), MS(9.5));
    for (int i = 1; i <= 10; i++)
        build_api(b, "cudaEventRecord", at + host * i / 10 - US(20), US(10));
    build_kernel(b, "short_one", at + host, at + MS(9.6), US(50));
    build_sync(b, at + host + US(20), MS(9.7) - host - US(20));
}

static int64_t width(int64_t swing, double good, double bad)
{
    swing_pct = swing;
    struct bench x = bench_start_of(MANY_STEPS, MS(10), fill_beside);
    struct edit edit = {.kind = EDIT_SCALE, .ops = is_k, .good = good, .bad = bad};
    struct span_ns s = bench_span(&x, edit);
    bench_end(&x);
    return s.high_ns - s.low_ns;
}

/* The kernel ends long before the host has: the step takes what the host takes. */
START_TEST(host_that_becomes_the_limit_widens_the_interval)
{
    ck_assert_int_gt(width(20, 0.1, 0.2), width(0, 0.1, 0.2) + US(400));
}
END_TEST

START_TEST(host_that_stays_hidden_does_not)
{
    ck_assert_int_lt(width(20, 0.7, 0.9), width(0, 0.7, 0.9) + US(100));
}
END_TEST

START_TEST(few_steps_say_nothing_about_the_pace)
{
    swing_pct = 20;
    struct bench x = bench_start_of(9, MS(10), fill_beside);
    struct host_pace h = host_pace_of(x.g);
    ck_assert_double_eq(h.fast, 1);
    ck_assert_double_eq(h.slow, 1);
    bench_end(&x);
    x = bench_start_of(MANY_STEPS, MS(10), fill_beside);
    h = host_pace_of(x.g);
    ck_assert_double_lt(h.fast, 0.95);
    ck_assert_double_gt(h.slow, 1.05);
    bench_end(&x);
}
END_TEST

Suite *test_host_pace_suite(void)
{
    Suite *s = suite_create("the host's pace");
    TCase *c = tcase_create("the host's pace");
    tcase_add_test(c, host_that_becomes_the_limit_widens_the_interval);
    tcase_add_test(c, host_that_stays_hidden_does_not);
    tcase_add_test(c, few_steps_say_nothing_about_the_pace);
    suite_add_tcase(s, c);
    return s;
}
