/* Which steps count: steps of unknown beginning, of two speeds, long ones. What is reported about
 * them is consistent. */
#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

/* `kernels` of `ns` each, launched every 100 us from `at` on, in a marked step that the host ends
 * `pause` later. Returns its end. */
static int64_t marked_step(struct builder *b, int64_t at, int kernels, int64_t ns, int64_t pause)
{
    int64_t start = at;
    for (int k = 0; k < kernels; k++, at += US(100))
        build_kernel(b, k % 2 ? "volta_sgemm_128x64_nn" : "relu_kernel", at, at + US(10), ns);
    build_range(b, "step", start, at + pause);
    return at + pause;
}

/* Nothing was recorded before the first of two steps: its time begins with its first kernel. */
TEST(one_known_step_is_enough)
{
    for (int more = 0; more < 2; more++) {
        struct builder b = build_start();
        int64_t at = marked_step(&b, MS(1), 10, US(40), 0);
        for (int i = 0; i <= more; i++)
            at = marked_step(&b, at + MS(5), 10, US(80), 0);
        const struct facts *f = build_analyze(&b)->facts;
        ck_assert_uint_eq(f->steps.at[0].used, 0);
        ck_assert_uint_eq(f->steps.used, (size_t)more + 1);
        ck_assert_int_le(llabs(f->step_ns - MS(6)), US(40));
        ck_assert_int_le(llabs(f->breakdown_ns[PART_COMPUTE] - 10 * US(80)), US(6));
        ck_assert_int_eq(f->totals.kernel_count_all, 10 * (more + 1));
    }
}

/* If no beginning is known, a step is what the host did in it, and its parts are those of that. */
TEST(a_step_alone_counts)
{
    struct builder b = build_start();
    marked_step(&b, MS(1), 10, US(80), 0);
    build_range(&b, "step", MS(5), MS(6)); /* nothing runs in it */
    const struct facts *f = build_analyze(&b)->facts;
    ck_assert_uint_eq(f->steps.used, 1);
    ck_assert_int_eq(f->breakdown_ns[PART_COMPUTE], 10 * US(80));
}

/* What long steps take and what the others take add up to what the loop takes. */
TEST(long_steps_and_the_others_make_up_the_mean)
{
    static const int64_t pauses[] = {9, 9, 21, 99}; /* ms */
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < 28; i++)
        at = marked_step(&b, at, 10, US(80), MS(pauses[i % 4]));
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert(s->recurs && s->slow >= 6 && s->used > 2 * s->slow);
    int64_t slow = (int64_t)s->slow, others = (int64_t)s->used - slow;
    ck_assert_int_gt(s->short_ns, s->min_ns * 5 / 4);
    ck_assert_int_le(llabs(slow * s->long_ns + others * s->short_ns - (slow + others) * s->pace_ns),
                     US(1));
}

/* Most steps are no exception. */
TEST(the_majority_is_not_called_long)
{
    for (int fewer = 0; fewer < 2; fewer++) { /* the pause lengthens the step behind it */
        struct builder b = build_start();
        int64_t at = MS(1);
        for (int i = 0; i < 10; i++)
            at = marked_step(&b, at, 10, US(80), i % 2 == fewer ? MS(20) : MS(1));
        const struct steps *s = &build_analyze(&b)->facts->steps;
        ck_assert_uint_eq(s->slow, fewer ? 4 : 0);
    }
}

/* Of two steps whose lengths are known nobody can say which is the exception; of three, one is. */
TEST(half_of_few_steps_are_no_exception)
{
    for (int more = 0; more < 2; more++) {
        struct builder b = build_start();
        int64_t at = marked_step(&b, MS(1), 10, US(80), MS(9)); /* its beginning is not known */
        at = marked_step(&b, at, 10, US(80), MS(9));
        if (more)
            at = marked_step(&b, at, 10, US(80), MS(9));
        at = marked_step(&b, at + MS(20), 10, US(80), MS(9));
        const struct facts *f = build_analyze(&b)->facts;
        ck_assert_int_eq(f->steps.recurs, !more);
        ck_assert_uint_eq(f->steps.used, 2);
        ck_assert_int_le(llabs(f->step_ns - (more ? MS(10) : MS(20))), US(500));
    }
}

/* Parameters are updated in every second step, or something else is done in every fourth. */
TEST(two_kinds_of_steps_in_turn_count_both)
{
    for (int turns = 2; turns < 5; turns += 2) {
        struct builder b = build_start();
        int64_t at = MS(1);
        for (int i = 0; i < 9; i++)
            at = marked_step(&b, at, i % turns == 1 ? 24 : 20, US(90), 0);
        const struct advice *a = build_analyze(&b);
        const struct steps *s = &a->facts->steps;
        ck_assert_uint_eq(s->used, turns == 2 ? 8 : 6);
        ck_assert_int_eq(s->recurs, turns == 2);
        ck_assert_int_le(llabs(a->facts->step_ns - MS(turns == 2 ? 2.2 : 2)), US(10));
        ck_assert_int_eq(strstr(a->verdict, "two kinds in turn") != NULL, turns == 2);
    }
}

/* The first two steps are no part of the share, nor of what it is said to be a share of. */
TEST(other_work_is_a_share_of_the_steps_looked_at)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < 9; i++)
        at = marked_step(&b, at, i == 5 || i == 6 ? 60 : 20, US(90), 0);
    const struct facts *f = build_analyze(&b)->facts;
    ck_assert_uint_eq(f->other_steps, 2);
    ck_assert_ptr_nonnull(strstr(f->other_text, "2 of the 7 steps behind the first two"));
    ck_assert_ptr_nonnull(strstr(f->other_text, "55 % of their time")); /* 12 of 22 ms */
}
