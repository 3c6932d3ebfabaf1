/* A host that runs some steps ahead of the GPU: the recording begins with work that was launched
 * before it, and with waits for that work. */
#include "tests/unit/test.h"
#include "tests/unit/replay_steps.h"

enum { AHEAD_MOST = 4, FIRST_EVENT = 100 };

static int ahead, step_number;

static int64_t gpu_start(int64_t host)
{
    return host + MS(8.2) + MS(10) * (ahead - 1);
}

/* In each step the host waits 8 ms for the end of the one `ahead` steps before, and launches 10 ms
 * of work. Of what was launched before the first step, the calls were not recorded. */
static void fill_ahead(struct builder *b, int64_t at)
{
    struct row_sync wait = {.id = ++b->next_id,
                            .process = 1,
                            .start_ns = at,
                            .end_ns = at + MS(8) + US(10),
                            .type = SYNC_EVENT,
                            .stream = -1,
                            .event = -1,
                            .event_sync = FIRST_EVENT + step_number - ahead};
    struct row_event mark = {.id = ++b->next_id,
                             .process = 1,
                             .stream = 1,
                             .event = -1,
                             .event_sync = FIRST_EVENT + step_number,
                             .device_ns = -1};
    for (int k = step_number == 0 ? ahead : 0; k > 0; k--)
        build_kernel_of(b, "slow", 0, gpu_start(at) - MS(10) * k, MS(9.7), 64);
    wait.correlation = build_api(b, "cudaEventSynchronize", at, MS(8) + US(10));
    build_put(b, ROW_SYNC, &wait);
    build_kernel(b, "slow", at + MS(8.1), gpu_start(at), MS(9.7));
    b->stream = 2; /* nothing holds that one up */
    build_memset(b, 4096, at + MS(8.12), at + MS(8.13), US(2));
    b->stream = 1;
    mark.correlation = build_api(b, "cudaEventRecord", at + MS(8.2), CALL_NS);
    build_put(b, ROW_EVENT, &mark);
    step_number++;
}

/* As a rule names it: by what the steps are known to have launched. */
static bool of_steps(const struct facts *f, uint32_t op)
{
    return f->tl->ops[op].api != TL_NONE;
}

static struct span_ns shorter(int by, int steps)
{
    ahead = by, step_number = 0;
    struct bench x = bench_start_of(steps, MS(10), fill_ahead);
    struct span_ns s =
        bench_span(&x, (struct edit){.kind = &edit_scale, .at.ops = of_steps, .scale = {0.1, 0.1}});
    return s;
}

/* The host's 2 ms are what is left of 10, or 1.5 on a faster host; of work that the replay leaves
 * as long as it was, the steps behind it may still have a little to catch up. */
TEST(waits_that_reach_out_of_the_recording_hide_nothing)
{
    for (int by = 1; by <= AHEAD_MOST; by++) {
        struct span_ns s = shorter(by, 8);
        ck_assert_int_ge(s.low_ns, MS(7));
        ck_assert_int_le(s.low_ns, MS(by < 3 ? 7.9 : 8.6));
        ck_assert_int_ge(s.high_ns, MS(7.9));
        ck_assert_int_le(s.high_ns, MS(by < 3 ? 8.8 : 9.1));
    }
}

/* Of two and three steps, what other streams do at once does not say where the work of before ends.
 */
TEST(few_steps_know_what_was_left_over)
{
    for (int steps = 3; steps < 5; steps++) {
        struct span_ns s = shorter(2, steps);
        ck_assert_int_ge(s.low_ns, MS(6));
        ck_assert_int_ge(s.mid_ns, MS(7.5));
        ck_assert_int_le(s.mid_ns, MS(8.2));
    }
}

/* The work of before keeps its length in the replay: that limits nothing, and what is limited is
 * not certain. */
TEST(no_interval_is_without_width)
{
    for (int by = 1; by <= AHEAD_MOST; by++)
        for (int steps = 3; steps < 9; steps++) {
            struct span_ns s = shorter(by, steps);
            ck_assert_int_gt(s.high_ns - s.low_ns, US(100));
        }
}
