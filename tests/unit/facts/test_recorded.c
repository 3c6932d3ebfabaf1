/* Analysis of runs recorded in windows: the time between two windows is neither idle time nor a
 * slow step. */
#include "tests/unit/test.h"
#include "analyzer/facts/recorded.h"
#include "tests/unit/build_timeline.h"

#include <math.h>

enum { PERIOD = 10000000, STEPS = 8 };

/* Kernels of 6 ms in steps of 10 ms: 60 % busy. The host is `ahead` of the GPU. */
static void step(struct builder *b, int64_t at, int64_t ahead)
{
    build_range(b, "step", at, at + PERIOD);
    build_kernel(b, "k", at + US(10), at + US(20) + ahead, MS(6));
}

static void recorded(struct builder *b, int64_t from, int64_t to, int64_t gpu_start,
                     int64_t first_step)
{
    struct row_recorded r = {.id = ++b->next_id,
                             .process = 1,
                             .start_ns = from,
                             .end_ns = to,
                             .gpu_start_ns = gpu_start,
                             .gpu_end_ns = to + MS(50),
                             .first_step = first_step};
    build_put(b, ROW_RECORDED, &r);
}

/* Steps 1 to 8, and 101 to 108 a second later; the run ends after 10 s. */
static struct builder two_windows(int64_t ahead)
{
    struct builder b = build_start();
    for (int i = 0; i < STEPS; i++)
        step(&b, (int64_t)i * PERIOD, ahead);
    for (int i = 0; i < STEPS; i++)
        step(&b, MS(1000) + (int64_t)i * PERIOD, ahead);
    recorded(&b, 0, STEPS * (int64_t)PERIOD, 0, 0);
    recorded(&b, MS(1000), MS(1000) + STEPS * (int64_t)PERIOD, -1, 101);
    struct row_step_block block = {
        .id = 1, .process = 1, .first_step = 1, .steps = 1000, .end_ns = MS(10000)};
    build_put(&b, ROW_STEP_BLOCK, &block);
    return b;
}

TEST(the_time_between_is_neither_a_step_nor_a_gap)
{
    struct builder b = two_windows(0);
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->window_count, 2);
    ck_assert_uint_eq(a->facts->steps.count, 2 * STEPS);
    for (size_t i = 0; i < a->facts->steps.count; i++) {
        int64_t sum = 0;
        for (int p = 0; p < PART_COUNT; p++)
            sum += a->facts->step_parts[i][p];
        ck_assert_int_eq(a->facts->steps.at[i].end_ns - a->facts->steps.at[i].start_ns, PERIOD);
        ck_assert_int_eq(sum, a->facts->steps.at[i].to_ns - a->facts->steps.at[i].from_ns);
    }
    for (size_t i = 0; i < a->facts->gap_count; i++)
        ck_assert_int_le(a->facts->gaps[i].end_ns - a->facts->gaps[i].start_ns, MS(4));
    ck_assert_int_eq(a->facts->steps.max_ns, PERIOD);
    ck_assert_int_eq(a->facts->breakdown_ns[PART_COMPUTE], MS(6));
    ck_assert_msg(fabs(a->facts->gpu.busy_pct - 61.5) < 1, /* the last 4 ms are not looked at */
                  "%g %%", a->facts->gpu.busy_pct);
}

/* In the first step of the second window work of the step before it may run, unseen. */
TEST(the_step_that_leads_in_does_not_count)
{
    struct builder b = two_windows(0);
    const struct advice *a = build_analyze(&b);
    ck_assert(!a->facts->steps.at[STEPS].used && a->facts->steps.at[STEPS + 1].used);
    ck_assert(a->facts->steps.at[STEPS - 1].used && a->facts->steps.at[2 * STEPS - 1].used);
    ck_assert_int_eq(facts_step_number(a->facts, 0), 1);
    ck_assert_int_eq(facts_step_number(a->facts, STEPS - 1), STEPS);
    ck_assert_int_eq(facts_step_number(a->facts, STEPS), 101);
    ck_assert_int_eq(facts_step_number(a->facts, 2 * STEPS - 1), 100 + STEPS);
}

/* 25 ms behind: what the GPU does in the first three steps of a window was launched before it. */
TEST(steps_before_the_gpu_is_known_do_not_count)
{
    struct builder b = two_windows(MS(25));
    const struct advice *a = build_analyze(&b);
    for (size_t i = STEPS; i < STEPS + 3; i++)
        ck_assert(!a->facts->steps.at[i].used);
    ck_assert(a->facts->steps.at[STEPS + 3].used);
    ck_assert_int_eq(a->facts->step_parts[STEPS][PART_UNEXPLAINED], MS(4));
}

/* No GPU was seen in the whole run: there is nothing to lead in. */
TEST(without_a_gpu_all_steps_count)
{
    struct builder b = build_start();
    for (int i = 0; i < STEPS; i++)
        build_range(&b, "step", MS(100) + (int64_t)i * PERIOD, MS(100) + (int64_t)(i + 1) * PERIOD);
    recorded(&b, MS(100), MS(100) + STEPS * (int64_t)PERIOD, -1, 101);
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->steps.count, STEPS);
    ck_assert_uint_eq(a->facts->steps.used, STEPS);
}

/* Cut off by size, in the middle of a step: neither it nor steps whose kernels are missing count.
 */
TEST(unfinished_steps_do_not_count)
{
    struct builder b = build_start();
    for (int i = 0; i < STEPS; i++)
        step(&b, (int64_t)i * PERIOD, 0);
    for (int i = STEPS; i < STEPS + 3; i++) { /* launched, and not recorded any more */
        build_range(&b, "step", (int64_t)i * PERIOD, (int64_t)(i + 1) * PERIOD);
        build_api(&b, "cudaLaunchKernel", (int64_t)i * PERIOD + US(10), CALL_NS);
    }
    recorded(&b, 0, (STEPS + 2) * (int64_t)PERIOD + MS(5), 0, -1);
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->steps.count, STEPS + 3);
    ck_assert(a->facts->steps.at[STEPS - 1].used);
    for (size_t i = STEPS; i < STEPS + 3; i++)
        ck_assert(!a->facts->steps.at[i].used);
}

static void block(struct builder *b, int64_t first, int64_t from, int64_t to, int64_t most)
{
    struct row_step_block x = {.id = ++b->next_id,
                               .process = 1,
                               .first_step = first,
                               .steps = 1,
                               .start_ns = from,
                               .end_ns = to,
                               .min_ns = most,
                               .max_ns = most};
    build_put(b, ROW_STEP_BLOCK, &x);
}

/* The first window has eight steps; ninety others follow, of which each tenth takes `long_ns`. */
static const struct advice *chosen(const char *way, int64_t long_ns)
{
    struct builder b = build_start();
    int64_t at = 0;
    for (int i = 0; i < STEPS; i++)
        step(&b, (int64_t)i * PERIOD, 0);
    recorded(&b, 0, STEPS * (int64_t)PERIOD, 0, 0);
    for (int i = 0; i < 98; i++) {
        int64_t length = i % 10 == 9 ? long_ns : PERIOD;
        block(&b, i + 1, at, at + length, length);
        at += length;
    }
    build_meta(&b, "windows.way", way);
    return build_analyze(&b);
}

TEST(it_says_what_it_did_not_see)
{
    const struct health_facts *h = &chosen("enough", MS(60))->facts->health;
    ck_assert_int_eq(h->run_steps, 98);
    ck_assert_ptr_nonnull(strstr(h->recorded_short, "in full steps 1 to 8, "));
    ck_assert_msg(fabs(h->unseen_pct - 100.0 * 9 * 50 / (98 * 10 + 9 * 50)) < 0.1, "%g",
                  h->unseen_pct);
    ck_assert_ptr_nonnull(strstr(h->unseen_text, "at least 9 steps"));
    ck_assert_ptr_nonnull(strstr(h->unseen_text, "--full"));
    h = &chosen("light", MS(60))->facts->health;
    ck_assert_ptr_nonnull(strstr(h->unseen_text, "without `--light`"));
    h = &chosen("enough", PERIOD)->facts->health;
    ck_assert(!h->unseen_text && h->unseen_pct < 0.001 && h->recorded_short);
}

TEST(it_says_how_much_was_recorded)
{
    struct builder b = two_windows(0);
    const struct advice *a = build_analyze(&b);
    ck_assert_msg(fabs(a->facts->health.recorded_pct - 1.6) < 0.01, "%g",
                  a->facts->health.recorded_pct);
    ck_assert_int_eq(a->facts->health.run_steps, 1000);
    ck_assert_int_eq(a->facts->health.run_mean_ns, MS(10));
    ck_assert_ptr_nonnull(a->facts->health.recorded_text);
    ck_assert_ptr_nonnull(strstr(a->facts->health.recorded_text, "16 of 1000 steps"));
    b = build_start();
    for (int i = 0; i < STEPS; i++)
        step(&b, (int64_t)i * PERIOD, 0);
    a = build_analyze(&b);
    ck_assert(a->facts->health.recorded_pct >= 100 && !a->facts->health.recorded_text);
}

/* Steps 1 to 8 and 101 to 108 are recorded, of 1,000. */
TEST(what_was_not_recorded_has_the_numbers_of_its_steps)
{
    struct builder b = two_windows(0);
    const struct facts *f = build_analyze(&b)->facts;
    struct unrecorded before = recorded_gap(f, 0, 0, MS(10000)),
                      between = recorded_gap(f, 1, 0, MS(10000)),
                      behind = recorded_gap(f, 2, 0, MS(10000));
    ck_assert_int_le(before.to_ns, before.from_ns);
    ck_assert_int_eq(between.from_ns, STEPS * PERIOD);
    ck_assert_int_eq(between.to_ns, MS(1000));
    ck_assert_int_ge(between.known_ns, between.to_ns);
    ck_assert_int_eq(between.first_step, STEPS + 1);
    ck_assert_int_eq(between.last_step, 100);
    ck_assert_int_eq(behind.first_step, 101 + STEPS);
    ck_assert_int_eq(behind.last_step, 1000);
    ck_assert_int_eq(behind.to_ns, MS(10000));
}

/* A window by time: the blocks number its steps. Its first step, cut off, began before it. */
TEST(windows_by_time_have_numbers_too)
{
    struct builder b = build_start();
    for (int i = 0; i < STEPS; i++)
        step(&b, MS(500) + (int64_t)i * PERIOD, 0);
    recorded(&b, MS(495), MS(500) + STEPS * (int64_t)PERIOD, -1, -1);
    for (int i = 0; i < 70; i++)
        block(&b, 2 * i + 1, (2 * i - 1) * (int64_t)PERIOD, (2 * i + 1) * (int64_t)PERIOD, PERIOD);
    const struct facts *f = build_analyze(&b)->facts;
    ck_assert_int_eq(facts_step_number(f, 0), 52);
    ck_assert_int_eq(facts_step_number(f, STEPS - 1), 51 + STEPS);
    ck_assert_int_eq(recorded_gap(f, 0, 0, MS(700)).last_step, 51);
    ck_assert_int_eq(recorded_gap(f, 1, 0, MS(700)).first_step, 52 + STEPS);
}
