/* A/B statistics: which savings are confirmed, smaller than predicted or refuted, and when the test
 * cannot decide. */
#include "tests/unit/test.h"
#include "analyzer/compare/ab.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 60 };

static double uniform(uint64_t *state) /* -1 .. 1 */
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)*state / 9.3e18;
}

/* `runs` runs of steps around step_ms; runs differ by run_noise, steps by 2 %. */
static struct ab_arm make(size_t runs, double step_ms, double run_noise, uint64_t seed)
{
    struct ab_arm arm = {.count = runs};
    for (size_t i = 0; i < runs; i++) {
        struct ab_run *r = &arm.run[i];
        double centre = step_ms * 1e6 * (1 + run_noise * uniform(&seed));
        r->ns = calloc(STEPS, sizeof *r->ns);
        ck_assert_ptr_nonnull(r->ns);
        for (r->count = 0; r->count < STEPS; r->count++)
            r->ns[r->count] = (int64_t)(centre * (1 + 0.02 * uniform(&seed)));
    }
    return arm;
}

static struct ab_result judge(struct ab_arm a, struct ab_arm b, struct ab_prediction p)
{
    struct ab_result r;
    struct err e = ERR_INIT;
    ck_assert_int_eq(ab_judge(&a, &b, &p, &r, &e), 0);
    ab_release(&a);
    ab_release(&b);
    return r;
}

static const struct ab_prediction fifth = {true, 0.18, 0.2, 0.22, 0}, nothing = {0};

TEST(a_saving_as_predicted_is_confirmed)
{
    struct ab_result r = judge(make(4, 40, 0.002, 1), make(4, 32, 0.002, 2), fifth);
    ck_assert_int_eq(r.verdict, AB_CONFIRMED);
    ck_assert_double_eq_tol(r.saved, 0.2, 0.01);
    ck_assert(r.low <= r.saved && r.saved <= r.high);
    ck_assert(r.high - r.low < 0.02);
}

TEST(less_and_more_are_told_from_as_predicted)
{
    ck_assert_int_eq(judge(make(4, 40, 0.002, 1), make(4, 36, 0.002, 2), fifth).verdict,
                     AB_SMALLER);
    ck_assert_int_eq(judge(make(4, 40, 0.002, 1), make(4, 20, 0.002, 2), fifth).verdict, AB_LARGER);
    ck_assert_int_eq(judge(make(4, 40, 0.002, 1), make(4, 44, 0.002, 2), fifth).verdict,
                     AB_REFUTED);
    ck_assert_int_eq(judge(make(4, 40, 0.002, 1), make(4, 32, 0.002, 2), nothing).verdict,
                     AB_MEASURED);
}

/* Without a prediction, but with a bound: advice is wrong that makes the step longer, or saves more
 * than was possible. What nobody advised is only measured. */
TEST(advice_with_a_bound_is_refuted)
{
    const struct ab_prediction third = {.at_most = 0.33};
    ck_assert_int_eq(judge(make(4, 40, 0.002, 1), make(4, 44, 0.002, 2), third).verdict,
                     AB_REFUTED);
    ck_assert_int_eq(judge(make(4, 40, 0.002, 1), make(4, 20, 0.002, 2), third).verdict,
                     AB_REFUTED);
    ck_assert_int_eq(judge(make(4, 40, 0.002, 1), make(4, 32, 0.002, 2), third).verdict,
                     AB_MEASURED);
    ck_assert_int_eq(judge(make(4, 40, 0.05, 1), make(4, 40, 0.05, 2), third).verdict,
                     AB_UNDERPOWERED);
    ck_assert_int_eq(judge(make(4, 40, 0.002, 1), make(4, 44, 0.002, 2), nothing).verdict,
                     AB_MEASURED);
}

/* The interval holds 0, but nothing of what was predicted. */
TEST(far_less_than_predicted_is_refuted)
{
    ck_assert_int_eq(judge(make(6, 40, 0.02, 1), make(6, 40, 0.02, 2), fifth).verdict, AB_REFUTED);
}

/* The baseline went from 229 to 426 ms: what it then shows refutes nothing, also after two runs. */
TEST(a_baseline_that_drifts_decides_nothing)
{
    for (size_t runs = 2; runs <= 4; runs++) {
        struct ab_arm a = make(runs, 229, 0.002, 1);
        for (size_t i = runs / 2; i < runs; i++)
            for (size_t k = 0; k < a.run[i].count; k++)
                a.run[i].ns[k] = a.run[i].ns[k] * 426 / 229;
        struct ab_result r = judge(a, make(runs, 440, 0.002, 2), fifth);
        ck_assert_int_eq(r.verdict, AB_UNDERPOWERED);
        ck_assert_ptr_nonnull(strstr(r.why, "too noisy"));
    }
    struct ab_result quiet = judge(make(4, 40, 0.002, 1), make(4, 40, 0.002, 2), fifth);
    ck_assert_int_eq(quiet.verdict, AB_REFUTED); /* it is as fast as before, for sure */
}

TEST(no_effect_is_never_confirmed)
{
    for (uint64_t seed = 1; seed < 9; seed++) {
        enum ab_verdict v =
            judge(make(4, 40, 0.01, seed), make(4, 40, 0.01, seed + 100), fifth).verdict;
        ck_assert_int_ne(v, AB_CONFIRMED);
        ck_assert_int_ne(v, AB_LARGER);
    }
}

TEST(too_little_to_tell)
{
    ck_assert_int_eq(judge(make(1, 40, 0, 1), make(1, 32, 0, 2), fifth).verdict, AB_UNDERPOWERED);
    ck_assert_int_eq(judge(make(2, 40, 0, 1), make(2, 32, 0, 2), fifth).verdict, AB_UNDERPOWERED);
    ck_assert_double_eq_tol(judge(make(2, 40, 0, 1), make(2, 32, 0, 2), fifth).saved, 0.2, 0.01);
    ck_assert_int_eq(judge(make(0, 40, 0, 1), make(0, 32, 0, 2), fifth).verdict, AB_UNDERPOWERED);
    struct ab_arm a = make(4, 40, 0, 1), late = make(2, 32, 0, 5); /* the machine got faster */
    for (int i = 0; i < 2; i++) {
        free(a.run[2 + i].ns);
        a.run[2 + i] = late.run[i];
    }
    ck_assert_int_eq(judge(a, make(4, 30, 0, 2), fifth).verdict, AB_UNDERPOWERED);
}

TEST(the_same_runs_give_the_same_answer)
{
    struct ab_result x = judge(make(3, 40, 0.01, 1), make(3, 32, 0.01, 2), fifth),
                     y = judge(make(3, 40, 0.01, 1), make(3, 32, 0.01, 2), fifth);
    ck_assert(x.low >= y.low && x.low <= y.low && x.high >= y.high && x.high <= y.high);
}

/* Nine workers deliver together: of 14 steps two wait for 400 ms, the others for nothing. */
TEST(bursts_are_drawn_as_a_whole)
{
    struct ab_arm a = make(3, 10, 0.002, 1), b = make(3, 10, 0.002, 2);
    for (size_t i = 0; i < a.count; i++) {
        a.run[i].count = b.run[i].count = 14;
        for (size_t k = 0; k < 14; k++)
            b.run[i].ns[k] = k % 9 == 0 ? 400000000 : 200000;
    }
    struct ab_result r = judge(a, b, fifth);
    ck_assert_int_eq(r.verdict, AB_REFUTED);
    ck_assert_double_lt(r.high, 0);
}

TEST(spread_is_that_of_runs_inside_their_arm)
{
    struct ab_arm a = make(6, 40, 0.05, 1), b = make(6, 20, 0.05, 2);
    double spread = ab_spread(&a, &b);
    ck_assert(spread > 0.01 && spread < 0.06); /* 5 % uniform: 2.9 % */
    ab_release(&a);
    ab_release(&b);
    ck_assert(ab_spread(&a, &b) <= 0);
}
