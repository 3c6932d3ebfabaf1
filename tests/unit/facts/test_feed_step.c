/* How many data-loading workers are advised: none if it is uncertain that a step becomes
 * shorter. */
#include "tests/unit/test.h"
#include "analyzer/queries/input/feed.h"

/* 64 steps of 5 ms on batches that take 8 ms of CPU time to make, on two cores, without workers. */
static struct feed inline_batches(double loops)
{
    return (struct feed){.steps = 64,
                         .loops = loops,
                         .step_ns = 13e6,
                         .wait_ns = 8e6,
                         .rest_ns = 5e6,
                         .train_ns = 5e6,
                         .batches = 1,
                         .fetch_ns = 8e6,
                         .cpu_ns = 8e6,
                         .sleep_known = true,
                         .collate_ns = -1,
                         .startup_ns = -1,
                         .hand_low = 0.2e6,
                         .hand_hi = 2e6,
                         .send_low = 0.1e6,
                         .send_hi = 1e6,
                         .cores = 2};
}

TEST(one_long_loop_is_worth_a_worker)
{
    struct feed f = inline_batches(1);
    ck_assert_int_eq(query_feed_best(&f), 1);
}

TEST(loops_of_four_steps_are_not)
{
    struct feed f = inline_batches(16); /* each waits for its first batch, and for the worker */
    struct feed_step one = query_feed_step(&f, 1);
    ck_assert_double_lt(one.mid_ns, f.step_ns); /* it would save time, more likely than not */
    ck_assert_int_eq(query_feed_best(&f), 0);
}

TEST(less_than_two_percent_for_certain_is_no_reason)
{
    struct feed f = inline_batches(1);
    f.step_ns = 1.01 * query_feed_step(&f, 1).high_ns; /* there are cores for one worker */
    ck_assert_int_eq(query_feed_best(&f), 0);
}
