/* When the agent stops recording by itself, and when it begins again (agent/core/steady.h). */
#include "tests/unit/test.h"

#include "agent/core/steady.c"

#include <string.h>

/* A loop, and which of its steps the plan records. */
struct loop {
    struct steady x;
    int64_t now_ns;
    uint64_t s;
    bool open;
    uint64_t opened[128], ended[128]; /* first steps of the windows, and the steps that end them */
    size_t windows, ends;
};

static const int64_t MS = 1000000;
static const struct steady_plan ENOUGH = {
    .enough = 100, .window = 20, .pause = 1000, .pause_ns = 0, .wake = 200};
static const struct steady_plan LIGHT = {
    .enough = 30, .window = 30, .pause = 1000, .pause_ns = 0, .wake = 1000, .light = true};

static struct loop loop_of(const struct steady_plan *plan)
{
    struct loop l = {.now_ns = 1000 * MS};
    steady_begin(&l.x, plan);
    l.open = l.x.first == 1;
    if (l.open)
        l.opened[l.windows++] = 1;
    return l;
}

/* One step that takes so long. As window.c does it, but for the step that leads in. */
static void step(struct loop *l, int64_t length_ns)
{
    uint64_t s = ++l->s;
    steady_step(&l->x, s, l->now_ns);
    if (s >= l->x.end) {
        if (l->open)
            l->ended[l->ends++] = s;
        l->open = false;
        steady_next(&l->x, s, l->now_ns, 0);
    }
    if (!l->open && s >= l->x.first && s < l->x.end) {
        ck_assert_uint_lt(l->windows, 128);
        l->opened[l->windows++] = s;
        l->open = true;
    }
    l->now_ns += length_ns;
}

static void steps(struct loop *l, size_t n, int64_t length_ns)
{
    for (size_t i = 0; i < n; i++)
        step(l, length_ns);
}

TEST(a_steady_loop_is_enough_after_so_many_steps)
{
    struct loop l = loop_of(&ENOUGH);
    steps(&l, 900, 10 * MS);
    ck_assert_uint_eq(l.windows, 1);
    ck_assert_uint_eq(l.ends, 1);
    ck_assert_uint_ge(l.ended[0], 101);
    ck_assert_uint_lt(l.ended[0], 101 + STEADY_BLOCK);
}

TEST(and_after_so_much_time)
{
    struct steady_plan plan = ENOUGH;
    plan.enough_ns = 2000 * MS;
    struct loop l = loop_of(&plan);
    steps(&l, 900, 10 * MS);
    ck_assert_uint_ge(l.ended[0], 201);
    ck_assert_uint_lt(l.ended[0], 201 + STEADY_BLOCK);
}

TEST(without_steps_all_is_recorded)
{
    struct loop l = loop_of(&ENOUGH);
    ck_assert(l.open && l.x.end == UINT64_MAX);
    steps(&l, 90, 10 * MS);
    ck_assert(l.open && l.ends == 0);
}

/* Each 32 steps another pace: no hundred steps are steady. */
TEST(a_loop_that_is_not_steady_is_recorded_on)
{
    struct loop l = loop_of(&ENOUGH);
    for (int i = 0; i < 60; i++)
        steps(&l, 2 * STEADY_BLOCK, (10 + 10 * (i % 3)) * MS);
    ck_assert(l.open && l.ends == 0);
}

/* The host runs ahead of the GPU until its queue is full. */
TEST(quick_first_steps_do_not_count)
{
    struct loop l = loop_of(&ENOUGH);
    steps(&l, 64, 2 * MS);
    steps(&l, 500, 10 * MS);
    ck_assert_uint_eq(l.ends, 1);
    ck_assert_uint_ge(l.ended[0], 164);
    ck_assert_uint_lt(l.ended[0], 164 + 3 * STEADY_BLOCK);
}

TEST(pauses_grow)
{
    struct loop l = loop_of(&ENOUGH);
    steps(&l, 30000, 10 * MS);
    ck_assert_uint_ge(l.windows, 4);
    ck_assert_uint_eq(l.opened[1], 2000);
    ck_assert_uint_eq(l.ended[1], 2020);
    for (size_t i = 2; i + 1 < l.windows; i++) {
        ck_assert_uint_ge(l.opened[i + 1] - l.opened[i], 2 * (l.opened[i] - l.opened[i - 1]) / 2);
        ck_assert_uint_eq(l.ended[i] - l.opened[i], 20);
    }
    ck_assert_uint_le(l.windows, 6);
}

/* Ranks that end their first window a few steps apart record the same steps afterwards. */
TEST(later_windows_are_at_round_steps)
{
    struct loop a = loop_of(&ENOUGH), b = loop_of(&ENOUGH);
    steps(&b, 40, 3 * MS);
    steps(&a, 9000, 10 * MS);
    steps(&b, 8960, 10 * MS);
    ck_assert_uint_ne(a.ended[0], b.ended[0]);
    ck_assert_uint_eq(a.windows, b.windows);
    for (size_t i = 1; i < a.windows; i++)
        ck_assert_uint_eq(a.opened[i], b.opened[i]);
}

TEST(pauses_of_an_hour_do_not_grow)
{
    struct loop l = loop_of(&ENOUGH);
    steps(&l, 10000, INT64_C(10000) * MS); /* 1000 steps of 10 s */
    for (size_t i = 2; i < l.windows; i++)
        ck_assert_uint_le(l.opened[i] - l.opened[i - 1], 2020);
    ck_assert_uint_ge(l.windows, 5);
}

TEST(short_steps_pause_for_so_long_at_least)
{
    struct steady_plan plan = ENOUGH;
    plan.pause_ns = 10000 * MS;
    struct loop l = loop_of(&plan);
    steps(&l, 40000, MS);
    ck_assert_uint_ge(l.windows, 2);
    ck_assert_uint_ge(l.opened[1] - l.ended[0], 10000);
}

TEST(another_pace_opens_a_window_until_enough_is_known)
{
    struct loop l = loop_of(&ENOUGH);
    steps(&l, 500, 10 * MS);
    steps(&l, 450, 15 * MS);
    ck_assert_uint_eq(l.windows, 2);
    ck_assert_uint_ge(l.opened[1], 500);
    ck_assert_uint_le(l.opened[1], 500 + 4 * STEADY_BLOCK);
    ck_assert_uint_eq(l.ends, 2);
    ck_assert_uint_ge(l.ended[1] - l.opened[1], 100);
}

/* Recording makes steps longer: that is no change of the pace. */
TEST(the_cost_of_recording_is_no_change)
{
    struct loop l = loop_of(&ENOUGH);
    while (l.s < 6000)
        step(&l, l.open ? 15 * MS : 10 * MS);
    ck_assert_uint_ge(l.windows, 2);
    ck_assert_uint_eq(l.opened[1], 2000);
    for (size_t i = 1; i < l.ends; i++)
        ck_assert_uint_eq(l.ended[i] - l.opened[i], 20);
}

TEST(a_short_disturbance_is_no_change)
{
    struct loop l = loop_of(&ENOUGH);
    steps(&l, 500, 10 * MS);
    steps(&l, 10, 40 * MS);
    steps(&l, 400, 10 * MS);
    ck_assert_uint_eq(l.windows, 1);
}

static void with_longs(struct loop *l, size_t n, size_t every, int64_t long_ns)
{
    for (size_t i = 1; i <= n; i++)
        step(l, i % every == 0 ? long_ns : 10 * MS);
}

/* A checkpoint each 60 steps takes a sixth of the time: recorded on until six are there. */
TEST(long_steps_that_matter_are_awaited)
{
    struct loop l = loop_of(&ENOUGH);
    with_longs(&l, 900, 60, 120 * MS);
    ck_assert_uint_eq(l.ends, 1);
    ck_assert_uint_gt(l.ended[0], 360);
    ck_assert_uint_le(l.ended[0], 360 + 2 * STEADY_BLOCK);
}

TEST(long_steps_that_do_not_matter_are_not)
{
    struct loop l = loop_of(&ENOUGH);
    with_longs(&l, 900, 300, 20 * MS);
    ck_assert_uint_eq(l.ends, 1);
    ck_assert_uint_le(l.ended[0], 101 + STEADY_BLOCK);
}

/* They begin only after the first window: they are recorded once they recur. */
TEST(long_steps_between_windows_open_one)
{
    struct loop l = loop_of(&ENOUGH);
    with_longs(&l, 1900, 200, 200 * MS);
    ck_assert_uint_eq(l.ends, 2);
    ck_assert_uint_ge(l.opened[1], 400);
    ck_assert_uint_le(l.opened[1], 400 + 2 * STEADY_BLOCK);
    ck_assert_uint_gt(l.ended[1], 1400); /* ten times a hundred steps are waited for six of them */
    ck_assert_uint_le(l.ended[1], 1420 + 2 * STEADY_BLOCK);
    with_longs(&l, 8000, 200, 200 * MS); /* they are known: only the usual windows follow */
    for (size_t i = 2; i < l.ends; i++)
        ck_assert_uint_eq(l.ended[i] - l.opened[i], 20);
}

/* What other programs do to a few steps is no reason to overlook what comes later. */
TEST(long_steps_of_a_larger_share_open_one)
{
    struct loop l = loop_of(&ENOUGH);
    with_longs(&l, 160, 15, 16 * MS); /* 4 % of the time */
    ck_assert_uint_eq(l.ends, 1);
    with_longs(&l, 640, 15, 16 * MS);
    ck_assert_uint_eq(l.windows, 1);
    with_longs(&l, 600, 60, 120 * MS);
    ck_assert_uint_eq(l.windows, 2);
    ck_assert_uint_lt(l.opened[1], 1400);
}

TEST(light_begins_when_the_loop_is_steady)
{
    struct loop l = loop_of(&LIGHT);
    ck_assert(!l.open);
    steps(&l, 900, 10 * MS);
    ck_assert_uint_eq(l.windows, 1);
    ck_assert_uint_gt(l.opened[0], 2 * STEADY_BLOCK);
    ck_assert_uint_le(l.opened[0], 3 * STEADY_BLOCK + STEADY_AHEAD + 1);
    ck_assert_uint_eq(l.ended[0] - l.opened[0], 30);
}

/* CUPTI needs a while, which is many of such steps. */
TEST(short_steps_are_recorded_as_well)
{
    struct loop l = loop_of(&LIGHT);
    steps(&l, 900, 2 * MS);
    ck_assert_uint_eq(l.windows, 1);
    ck_assert_uint_le(l.opened[0], 200);
    l = loop_of(&ENOUGH);
    steps(&l, 400, 2 * MS);
    steps(&l, 600, 3 * MS);
    ck_assert_uint_eq(l.windows, 2);
    ck_assert_uint_le(l.opened[1], 550);
}

TEST(light_records_a_loop_that_is_never_steady)
{
    struct loop l = loop_of(&LIGHT);
    for (int i = 0; i < 300; i++)
        step(&l, (10 + 20 * (i / STEADY_BLOCK % 2)) * MS);
    ck_assert_uint_eq(l.windows, 1);
    ck_assert_uint_le(l.opened[0], STEADY_LATEST + STEADY_BLOCK + STEADY_AHEAD);
}

/* Whatever the loop does: little is recorded. */
TEST(light_stays_light)
{
    struct loop l = loop_of(&LIGHT);
    uint64_t recorded = 0;
    for (int i = 0; i < 100000; i++) {
        int64_t ms = 10 + 10 * (i / 700 % 2) + (i % 90 == 0 ? 400 : 0);
        step(&l, ms * MS);
        recorded += l.open;
    }
    ck_assert_uint_ge(l.windows, 4);
    ck_assert_uint_le(recorded, 100000 * 3 / 100);
}

TEST(a_full_profile_doubles_the_pauses)
{
    struct steady x;
    steady_begin(&x, &ENOUGH);
    steady_next(&x, 150, MS, 3);
    ck_assert_uint_ge(x.first, 8000);
}
