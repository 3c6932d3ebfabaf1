/* The host's own pace varies within a recording and from run to run. An interval must include that
 * variation if the host is the limit before or after a change, and only then. */
#include "tests/unit/test.h"
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
    struct edit edit = {.kind = &edit_scale, .at.ops = is_k, .scale = {good, bad}};
    struct span_ns s = bench_span(&x, edit);
    return s.high_ns - s.low_ns;
}

/* The kernel ends long before the host has: the step takes what the host takes. That other runs
 * differ widens the interval as well; the larger of both decides. */
TEST(host_that_becomes_the_limit_widens_the_interval)
{
    ck_assert_int_gt(width(40, 0.1, 0.2), width(0, 0.1, 0.2) + US(400));
}

TEST(host_that_stays_hidden_does_not)
{
    ck_assert_int_lt(width(20, 0.7, 0.9), width(0, 0.7, 0.9) + US(100));
}

TEST(few_steps_say_nothing_about_the_pace)
{
    swing_pct = 20;
    struct bench x = bench_start_of(9, MS(10), fill_beside);
    struct host_pace h = host_pace_of(x.g);
    ck_assert_double_eq(h.fast, 1);
    ck_assert_double_eq(h.slow, 1);
    x = bench_start_of(MANY_STEPS, MS(10), fill_beside);
    h = host_pace_of(x.g);
    ck_assert_double_lt(h.fast, 0.95);
    ck_assert_double_gt(h.slow, 1.05);
}

/* 4 ms of the host's work, then 4 ms of the GPU's, for which the host waits. */
static void fill_in_turn(struct builder *b, int64_t at)
{
    for (int i = 1; i <= 40; i++)
        build_api(b, "cudaEventRecord", at + US(100 * i) - US(50), US(10));
    build_kernel(b, "k", at + MS(4), at + MS(4) + US(10), MS(3.9));
    build_sync(b, at + MS(4) + US(10), MS(3.9) + US(10));
}

static struct span_ns saved(int64_t period, void (*fill)(struct builder *, int64_t),
                            struct edit edit)
{
    struct bench x = bench_start_of(MANY_STEPS, period, fill);
    struct span_ns s = bench_span(&x, edit);
    return s;
}

/* Without the wait the longer one hides the other: half of the step where they take as long, and
 * less on a slower host as well as on a faster one. The change itself has no unknowns. */
TEST(another_runs_pace_widens_what_host_and_gpu_share)
{
    struct span_ns s = saved(MS(8), fill_in_turn, (struct edit){.kind = &edit_unsync});
    ck_assert_int_gt(s.mid_ns, MS(3.5));
    ck_assert_int_lt(s.low_ns, s.least_ns - US(150));
    ck_assert_int_gt(s.least_ns, s.mid_ns - US(200));
}

static void check_narrow(struct span_ns s, int64_t step)
{
    ck_assert_int_le(s.high_ns - s.low_ns, step * 3 / 100);
    ck_assert_int_ge(s.low_ns, s.least_ns - step / 200);
}

TEST(another_runs_pace_means_nothing_where_one_side_sets_it_throughout)
{
    struct edit less = {.kind = &edit_scale, .at.ops = is_k, .scale = {0.5, 0.5}};
    check_narrow(saved(MS(8), fill_gpu_bound, less), MS(8));
    check_narrow(saved(MS(5), fill_host_bound, (struct edit){.kind = &edit_unsync}), MS(5));
}

static void fill_batch_of_host(struct builder *b, int64_t at)
{
    build_range(b, "data.decode", at, at + MS(6));
    for (int i = 0; i < 40; i++)
        build_kernel(b, "k", at + MS(6) + US(100 * i), at + MS(6) + US(100 * i + 10), US(5));
}

/* Making batches is the host's work, too: a faster host makes them as much faster. */
TEST(a_run_loads_at_its_hosts_pace)
{
    struct edit edit = {.kind = &edit_workers, .workers.count = 1};
    struct span_ns s = saved(MS(10), fill_batch_of_host, edit);
    ck_assert_int_gt(s.mid_ns, MS(3.5));
    ck_assert_int_ge(s.low_ns, s.least_ns - US(100));
}

/* ---- stacks of Python ---- */

static int calls; /* of Python that were recorded in a step */

/* 8 ms of the host, then a kernel of 4 ms that nobody waits for. */
static void fill_stacked(struct builder *b, int64_t at)
{
    for (int i = 0; i < calls; i++)
        build_range_in(b, "python", "f", 1, at + MS(8) * i / calls, at + MS(8) * i / calls + 100);
    for (int i = 1; i <= 10; i++)
        build_api(b, "cudaEventRecord", at + MS(8) * i / 10 - US(20), US(10));
    build_kernel(b, "k", at + MS(8) - US(5), at + MS(8), MS(4));
}

/* Without stacks the host may have less to do than the GPU: then what the GPU does faster counts. */
TEST(recording_stacks_is_no_work_of_the_program)
{
    struct edit edit = {.kind = &edit_scale, .at.ops = is_k, .scale = {0.5, 0.5}};
    calls = 1;
    ck_assert_int_lt(saved(MS(8), fill_stacked, edit).high_ns, US(200));
    calls = 2500;
    ck_assert_int_gt(saved(MS(8), fill_stacked, edit).high_ns, MS(1));
}

/* A launch after each 80 us of the host; without its stacks the host takes no longer than the GPU. */
static void fill_stacked_launches(struct builder *b, int64_t at)
{
    for (int i = 0; i < calls; i++)
        build_range_in(b, "python", "f", 1, at + MS(8) * i / calls, at + MS(8) * i / calls + 100);
    for (int i = 0; i < 100; i++)
        build_kernel(b, "k", at + US(80 * i), at + US(80 * i + 12), US(30));
}

/* A slow host and stacks are two unknowns: both at their worst are rarer than one of ten. */
TEST(stacks_and_the_pace_of_a_run_are_two_unknowns)
{
    struct edit edit = {.kind = &edit_graph};
    calls = 1;
    struct span_ns pace = saved(MS(8), fill_stacked_launches, edit);
    calls = 700;
    struct span_ns both = saved(MS(8), fill_stacked_launches, edit);
    ck_assert_int_gt(pace.mid_ns, MS(4));
    ck_assert_int_lt(both.low_ns, pace.low_ns - US(300));
    ck_assert_int_gt(both.low_ns, MS(3.1)); /* 2.9 with both at their worst */
}

/* The order of findings is that of runs without stacks: there the GPU sets the pace. */
TEST(without_stacks_the_gpu_counts)
{
    calls = 2500;
    struct bench x = bench_start_of(MANY_STEPS, MS(8), fill_stacked);
    struct edit gpu = {.kind = &edit_scale, .at.ops = is_k, .scale = {0.5, 0.5}};
    struct err e = ERR_INIT;
    struct arena arena = {0};
    struct whatif w;
    struct engine engine;
    ck_assert_int_eq(engine_open(&engine, x.b.a->facts, &arena, &w, &e), 0);
    ck_assert_int_eq(engine_check(&engine, &w), 0);
    ck_assert_int_gt(engine_usually_saved(&engine, &gpu), US(500));
    engine_unstack(&engine, &w);
    ck_assert_double_gt(w.unstacked, 0.5);
    ck_assert_double_lt(w.unstacked, 0.9); /* 2500 calls of at least 0.5 us */
    engine_close(&engine);
    arena_release(&arena);
}
