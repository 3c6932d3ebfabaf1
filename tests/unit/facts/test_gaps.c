/* Idle gaps of the GPU: each cause alone, with a known answer, and parts that add up. */
#include "tests/unit/test.h"
#include "analyzer/advice/advice.h"
#include "tests/unit/build_timeline.h"

#include <math.h>

enum { STEPS = 12 };

/* Fills STEPS steps of `period` with `fill` and returns the analysis; every part of the breakdown
 * is checked to sum to the step. */
static struct advice *run(struct builder *b, int64_t period,
                          void (*fill)(struct builder *, int64_t start))
{
    for (int i = 0; i < STEPS; i++) {
        fill(b, MS(100) + period * i);
        build_range(b, "step", MS(100) + period * i, MS(100) + period * (i + 1));
    }
    struct advice *a = build_analyze(b);
    ck_assert_int_eq(a->facts->steps.median_ns, period);
    for (size_t i = 0; i < a->facts->steps.count; i++) {
        int64_t sum = 0;
        for (int p = 0; p < PART_COUNT; p++)
            sum += a->facts->step_parts[i][p];
        ck_assert_int_eq(sum, a->facts->steps.at[i].to_ns - a->facts->steps.at[i].from_ns);
    }
    int64_t sum = 0;
    for (int p = 0; p < PART_COUNT; p++)
        sum += a->facts->breakdown_ns[p];
    ck_assert_int_eq(sum, period);
    return a;
}

static void expect(const struct advice *a, enum part part, int64_t ns, int64_t tolerance)
{
    ck_assert_msg(llabs(a->facts->breakdown_ns[part] - ns) <= tolerance, "%s is %lld, not %lld",
                  part_key[part], (long long)a->facts->breakdown_ns[part], (long long)ns);
}

static void fill_input(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(4));
    build_kernel(b, "k", at + MS(4), at + MS(4) + US(10), MS(5));
    build_sync(b, at + MS(4) + US(10), MS(5) + US(10)); /* loss.item() before the next wait */
}

TEST(waiting_for_data_is_input_even_after_a_sync)
{
    struct builder b = build_start();
    const struct advice *a = run(&b, MS(10), fill_input);
    expect(a, PART_COMPUTE, MS(5), US(1));
    expect(a, PART_IDLE_INPUT, MS(4), US(1));
    ck_assert_int_lt(a->facts->breakdown_ns[PART_IDLE_SYNC], MS(1) + US(5));
    ck_assert_str_eq(a->verdict_class, "input");
    ck_assert_int_eq(a->facts->host.wait_ns, MS(4));
}

static void fill_sync(struct builder *b, int64_t at)
{
    for (int i = 0; i < 50; i++) /* the host runs ahead, then throws its lead away */
        build_kernel(b, "k", at + US(20 * i), at + US(10) + US(180 * i), US(179));
    build_sync(b, at + MS(1), MS(8) + US(10)); /* GPU done at 9.009 */
}

TEST(launching_after_a_sync_is_charged_to_the_sync)
{
    struct builder b = build_start();
    const struct advice *a = run(&b, MS(10), fill_sync);
    expect(a, PART_COMPUTE, US(50 * 179), US(1));
    expect(a, PART_IDLE_SYNC, MS(1), US(20)); /* up to the next step's first kernel */
    expect(a, PART_IDLE_QUEUED, US(49), US(2));
}

static void fill_poor_sync(struct builder *b, int64_t at)
{
    for (int i = 0; i < 45; i++) /* the GPU keeps up: no lead to lose */
        build_kernel(b, "k", at + US(200 * i), at + US(200 * i + 10), US(50));
    build_sync(b, at + MS(9), US(10));
}

TEST(a_sync_that_took_no_lead_is_not_blamed)
{
    struct builder b = build_start();
    const struct advice *a = run(&b, MS(10), fill_poor_sync);
    expect(a, PART_COMPUTE, US(45 * 50), US(1));
    ck_assert_int_gt(a->facts->breakdown_ns[PART_IDLE_LAUNCH], MS(6));
    ck_assert_int_lt(a->facts->breakdown_ns[PART_IDLE_SYNC], US(20));
    ck_assert_str_eq(a->verdict_class, "host");
}

static void fill_old_event(struct builder *b, int64_t at)
{
    /* The host waits for the step before last, then loses 1 ms of its own: not the wait's fault. */
    build_api(b, "cudaEventSynchronize", at, MS(3)); /* work is queued up to 4 ms */
    build_kernel(b, "late", at + MS(5), at + MS(5) + US(10), MS(5) - US(10));
    build_kernel(b, "ahead", at + MS(5) + US(50), at + MS(10), MS(4));
}

TEST(a_wait_that_left_the_queue_full_is_not_blamed)
{
    struct builder b = build_start();
    const struct advice *a = run(&b, MS(10), fill_old_event);
    expect(a, PART_COMPUTE, MS(9) - US(10), US(400));
    ck_assert_int_gt(a->facts->breakdown_ns[PART_IDLE_HOST], US(900));
    expect(a, PART_IDLE_SYNC, 0, US(300)); /* the first step has nothing before it */
}

static void fill_copy(struct builder *b, int64_t at)
{
    /* pageable: the call stages 3 ms, the device record covers its last 2 ms */
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 30000000, at, MS(3), at + MS(1),
               MS(2));
    build_kernel(b, "k", at + MS(3), at + MS(3) + US(10), MS(6.9));
}

TEST(a_blocking_copy_is_copy_time)
{
    struct builder b = build_start();
    const struct advice *a = run(&b, MS(10), fill_copy);
    expect(a, PART_COPY, MS(2), US(1));
    expect(a, PART_COMPUTE, MS(6.9), US(1));
    ck_assert_int_ge(a->facts->breakdown_ns[PART_IDLE_COPY], MS(1));
    ck_assert_uint_eq(a->facts->totals.copy_count, 1);
    ck_assert_int_eq(a->facts->totals.copies[0].exposed_ns, a->facts->totals.copies[0].total_ns);
    ck_assert_int_eq(a->facts->totals.copies[0].host_blocked_ns,
                     (int64_t)a->facts->steps.used * MS(3));
}

static void fill_launch(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++)
        build_kernel(b, "tiny", at + US(40 * i), at + US(40 * i + 8), US(5));
}

TEST(short_kernels_launched_slowly_are_launch_bound)
{
    struct builder b = build_start();
    const struct advice *a = run(&b, MS(4), fill_launch);
    expect(a, PART_COMPUTE, US(500), US(1));
    expect(a, PART_IDLE_LAUNCH, US(3500), US(1));
    ck_assert_int_eq(a->facts->totals.short_kernels, (int64_t)a->facts->steps.used * 100);
}

static void fill_full_queue(struct builder *b, int64_t at)
{
    /* Back-pressure: launches block although they are plain launches; the GPU never starves. */
    for (int i = 0; i < 10; i++) {
        int64_t c = build_api(b, "cudaLaunchKernel", at + MS(i), MS(1) - US(1));
        build_kernel_of(b, "k", c, at + MS(i) + MS(5), MS(1), 1);
    }
}

TEST(a_full_queue_is_no_launch_overhead)
{
    struct builder b = build_start();
    const struct advice *a = run(&b, MS(10), fill_full_queue);
    expect(a, PART_COMPUTE, MS(10), US(1));
    expect(a, PART_IDLE_LAUNCH, 0, 0);
    ck_assert_str_eq(a->verdict_class, "gpu");
}

/* Both are launched at once, and the second does not start for 6 ms: not by a lack of launches, nor
 * because it zeroes a buffer. */
static void fill_held(struct builder *b, int64_t at)
{
    build_kernel(b, "k", at, at + US(10), MS(2));
    build_kernel(b, "FillFunctor<float>", at + US(20), at + MS(8), MS(2) - US(10));
}

TEST(work_that_is_launched_and_held_up_is_no_cost_of_what_it_does)
{
    struct builder b = build_start();
    const struct advice *a = run(&b, MS(10), fill_held);
    expect(a, PART_IDLE_QUEUED, MS(6), US(50));
    ck_assert_str_eq(a->verdict_class, "queue");
    ck_assert_ptr_nonnull(strstr(a->next, "waits for"));
    ck_assert_ptr_null(strstr(a->next, "other streams")); /* there is one */
    for (size_t i = 0; i < a->ranked_count; i++)
        ck_assert_int_lt(a->ranked[i]->saves_high_ns, MS(4));
}

static void fill_alloc(struct builder *b, int64_t at)
{
    build_api(b, "cudaMalloc", at, MS(2));
    build_kernel(b, "k", at + MS(2), at + MS(2) + US(10), MS(3) - US(10));
}

TEST(allocation_is_named)
{
    struct builder b = build_start();
    const struct advice *a = run(&b, MS(5), fill_alloc);
    expect(a, PART_IDLE_ALLOC, MS(2), US(1));
}

static void fill_unlaunched(struct builder *b, int64_t at)
{
    build_kernel_of(b, "k", 0, at + MS(1), MS(1), 1);
}

TEST(without_calls_nothing_is_explained)
{
    struct builder b = build_start();
    const struct advice *a = run(&b, MS(4), fill_unlaunched);
    ck_assert_int_ge(a->facts->breakdown_ns[PART_UNEXPLAINED], MS(2));
    expect(a, PART_COMPUTE, MS(1), US(1));
    ck_assert_double_gt(a->facts->health.unexplained_pct, 50);
}

static void fill_two_threads(struct builder *b, int64_t at)
{
    /* The main thread waits for data; the backward thread launches what ends the gap. */
    build_range(b, "DataLoader.__next__", at, at + MS(3));
    build_api(b, "cudaEventRecord", at + MS(3), US(3));
    b->thread = 2;
    build_kernel(b, "bwd", at + MS(3) + US(20), at + MS(3) + US(30), MS(6.9));
    b->thread = 1;
    build_kernel(b, "opt", at + MS(3) + US(60), at + MS(9.93), US(5));
}

TEST(the_main_threads_wait_is_seen_behind_another_threads_launch)
{
    struct builder b = build_start();
    build_thread(&b, 2, "autograd");
    const struct advice *a = run(&b, MS(10), fill_two_threads);
    expect(a, PART_IDLE_INPUT, MS(3), US(1));
}

static void fill_streams(struct builder *b, int64_t at)
{
    b->stream = 1;
    build_kernel(b, "gemm", at, at + MS(1), MS(4)); /* 1..5 */
    b->stream = 2;
    build_kernel(b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + US(10), at + MS(4),
                 MS(4)); /* 4..8 */
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 1000, at + US(20), US(5),
               at + MS(7), MS(2)); /* 7..9 */
    b->stream = 1;
    build_kernel(b, "gemm", at + US(40), at + MS(2), MS(1)); /* inside the first */
}

TEST(exposed_means_nothing_better_runs)
{
    struct builder b = build_start();
    build_stream(&b, 2, 1);
    const struct advice *a = run(&b, MS(10), fill_streams);
    expect(a, PART_COMPUTE, MS(4), US(1));
    expect(a, PART_COMM, MS(3), US(1));
    expect(a, PART_COPY, MS(1), US(1));
    double window = (double)(MS(10) * (STEPS - 1) + MS(8));
    ck_assert_double_eq_tol(a->facts->gpu.window_ns, window, 1);
    ck_assert_double_eq_tol(a->facts->gpu.busy_pct, 100.0 * STEPS * MS(8) / window, 0.01);
    ck_assert_double_eq_tol(a->facts->gpu.compute_pct, 100.0 * STEPS * MS(4) / window, 0.01);
    ck_assert_double_eq_tol(a->facts->gpu.comm_pct, 100.0 * STEPS * MS(4) / window, 0.01);
    ck_assert_double_eq_tol(a->facts->gpu.comm_exposed_pct, 100.0 * STEPS * MS(3) / window, 0.01);
    ck_assert_double_eq_tol(a->facts->gpu.copy_exposed_pct, 100.0 * STEPS * MS(1) / window, 0.01);
}

TEST(gaps_and_unlisted_idle_time_make_up_all_idle_time)
{
    struct builder b = build_start();
    struct advice *a = run(&b, MS(10), fill_sync);
    int64_t listed = a->facts->gaps_unlisted_ns, idle = 0;
    for (size_t i = 0; i < a->facts->gap_count; i++) {
        int64_t sum = 0;
        for (int p = 0; p < PART_COUNT; p++)
            sum += gap_ns(a->facts, &a->facts->gaps[i], (enum part)p);
        ck_assert_int_eq(sum, a->facts->gaps[i].end_ns - a->facts->gaps[i].start_ns);
        listed += sum;
    }
    for (size_t i = 0; i < a->facts->steps.count; i++)
        for (int p = PART_IDLE_INPUT; p < PART_COUNT; p++)
            idle += a->facts->step_parts[i][p];
    ck_assert_int_eq(listed, idle);
    ck_assert_int_gt(a->facts->gaps_unlisted_ns, 0);
}

TEST(the_virtual_gpu_is_named)
{
    struct builder b = build_start_on("Virtual NVIDIA H200", 9, 0);
    const struct advice *a = run(&b, MS(4), fill_launch);
    ck_assert(facts_virtual(a->facts));
    ck_assert_ptr_nonnull(strstr(a->verdict, "virtual"));
}
