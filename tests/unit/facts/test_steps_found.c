/* Steps of recordings in which something is missing. */
#include "tests/unit/build_timeline.h"

#include <check.h>

/* Somebody cut the trace down: of most work the launch is gone, and what was launched at the end of
 * the first step was not all launched before the recording. */
START_TEST(a_trace_with_few_launches_has_its_steps)
{
    struct builder b = build_start();
    for (int i = 0; i < 2; i++) {
        int64_t at = MS(1 + 100 * i);
        build_range(&b, "step", at, at + MS(100) - US(5));
        for (int k = 0; k < 6; k++)
            build_kernel_of(&b, "unlaunched", 90000 + 10 * i + k, at + MS(1 + 15 * k), MS(3), 64);
        build_kernel(&b, "launched", at + MS(95), at + MS(96), MS(1));
        build_kernel_of(&b, "behind", 90008 + 10 * i, at + MS(98), MS(1), 64);
    }
    const struct advice *a = build_analyze(&b);
    ck_assert_ptr_null(a->facts->contradiction);
    ck_assert_int_ge(a->facts->step_ns, MS(95));
    ck_assert_int_le(a->facts->step_ns, MS(105));
    build_end(&b);
}
END_TEST

Suite *test_steps_found_suite(void)
{
    Suite *s = suite_create("steps_found");
    TCase *c = tcase_create("steps_found");
    tcase_add_test(c, a_trace_with_few_launches_has_its_steps);
    suite_add_tcase(s, c);
    return s;
}
