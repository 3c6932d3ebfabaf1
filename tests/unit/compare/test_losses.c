/* Losses of runs with and without a change: equal, no further apart than without it, or changed. */
#include "tests/unit/build_timeline.h"
#include "tests/unit/test.h"
#include "analyzer/compare/losses.h"
#include "wire/fact_keys.h"

#include <math.h>

static void add(struct losses *l, double a, double b, double c)
{
    l->run[l->count++] = (struct losses_run){{a, b, c}, 3};
}

static struct losses_result compare(double b, double noisy)
{
    struct losses without = {0}, with = {0};
    add(&without, 2.5, 2.25, 2.125);
    add(&without, 2.5, 2.25 + noisy, 2.125);
    add(&with, 2.5, b, 2.125);
    return losses_compare(&without, &with);
}

TEST(losses_are_equal_only_to_the_bit)
{
    ck_assert_int_eq(compare(2.25, 0).verdict, LOSSES_EQUAL);
    struct losses_result r = compare(nextafter(2.25, 3), 0);
    ck_assert_int_eq(r.verdict, LOSSES_CHANGED);
    ck_assert_uint_eq(r.worst, 1);
    ck_assert_uint_eq(r.compared, 3);
    ck_assert_double_eq(r.without, 2.25);
}

TEST(losses_may_differ_as_much_as_without_the_change)
{
    ck_assert_int_eq(compare(2.3, 0.1).verdict, LOSSES_WITHIN);
    ck_assert_int_eq(compare(2.2, 0.1).verdict, LOSSES_WITHIN);
    ck_assert_int_eq(compare(2.0, 0.1).verdict, LOSSES_CHANGED);
    ck_assert_int_eq(compare(2.25, 0.1).verdict, LOSSES_WITHIN); /* the others are not equal */
}

TEST(a_loss_that_is_no_number_has_changed)
{
    struct losses_result r = compare(NAN, 0.1);
    ck_assert_int_eq(r.verdict, LOSSES_CHANGED);
    ck_assert(isinf(r.apart));
    ck_assert_int_eq(compare(INFINITY, 0).verdict, LOSSES_CHANGED);
}

TEST(without_losses_nothing_is_compared)
{
    struct losses none = {0}, some = {0};
    add(&some, 1, 2, 3);
    ck_assert_int_eq(losses_compare(&none, &some).verdict, LOSSES_UNKNOWN);
    ck_assert_int_eq(losses_compare(&some, &none).verdict, LOSSES_UNKNOWN);
    ck_assert_uint_eq(losses_compare(&some, &none).compared, 0);
}

TEST(the_shorter_run_says_how_many_are_compared)
{
    struct losses without = {0}, with = {0};
    add(&without, 1, 2, 3);
    with.run[with.count++] = (struct losses_run){{1, 2}, 2};
    struct losses_result r = losses_compare(&without, &with);
    ck_assert_uint_eq(r.compared, 2);
    ck_assert_int_eq(r.verdict, LOSSES_EQUAL);
}

TEST(losses_are_read_from_the_recording)
{
    static struct losses l;
    struct builder none = build_start(), some = build_start();
    losses_add(&l, build_finish(&none));
    ck_assert_uint_eq(l.count, 0);
    build_meta(&some, FACT_TORCH_LOSSES, "2.302585092994046 nan 1e-07 and no more");
    losses_add(&l, build_finish(&some));
    ck_assert_uint_eq(l.count, 1);
    ck_assert_uint_eq(l.run[0].count, 3);
    ck_assert_double_eq(l.run[0].at[0], 2.302585092994046);
    ck_assert(isnan(l.run[0].at[1]));
}
