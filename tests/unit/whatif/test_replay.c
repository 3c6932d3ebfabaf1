/* Properties of the replay that must hold on any recording. */
#include "tests/unit/test.h"
#include "tests/unit/replay_steps.h"

/* Steps of 10 ms, some with 2 ms of writing a log besides: the host has nothing queued then. */
static int64_t pace_with_a_log(const char *steps, bool without_waits)
{
    struct err e = ERR_INIT;
    struct builder b = build_start();
    int64_t at = MS(100);
    for (int i = 0; i < 3 * STEPS; i++) {
        int64_t length = MS(steps[i] == 'L' ? 12 : 10);
        fill_gpu_bound(&b, at);
        build_range(&b, "step", at, at + length);
        at += length;
    }
    struct graph *g = graph_build(build_analyze(&b)->facts, &e);
    struct plan plan;
    struct replay r;
    ck_assert_ptr_nonnull(g);
    ck_assert(plan_init(&plan, g) == 0 && replay_init(&r, g) == 0);
    for (uint32_t i = 0; i < g->count; i++)
        if (without_waits && g->tasks[i].kind == TASK_WAIT)
            plan.mark[i] |= PLAN_DROP;
    replay_run(&r, g, &plan);
    int64_t pace = r.pace_ns;
    plan_release(&plan);
    replay_release(&r);
    graph_free(g);
    return pace;
}

TEST(a_step_that_is_rarely_long_does_not_set_the_pace)
{
    static const char *const steps[] = {
        "..........L.........L.........L.....", /* seldom */
        "..........L....LL....L.L....L....L..", /* one in four of those that count */
    };
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pace_with_a_log(steps[i], false), MS(10));
        int64_t hidden = pace_with_a_log(steps[i], true);
        ck_assert_int_gt(hidden, MS(7.9));
        ck_assert_int_lt(hidden, MS(8.1));
    }
    ck_assert_int_gt(pace_with_a_log(".L.L.LL.L.L.LL.L.L.LL.L.L.LL.L.L.LL.", false), MS(10.9));
}

static void (*const fills[])(struct builder *, int64_t) = {fill_host_bound, fill_gpu_bound};
enum { FILLS = sizeof fills / sizeof *fills };

TEST_EACH(without_a_change_every_task_starts_when_it_did, 0, FILLS)
{
    struct bench x = bench_start(MS(10), fills[_i]);
    ck_assert_int_eq(replay_run(&x.r, x.g, &x.plan), MS(10));
    for (size_t i = 0; i < x.g->count; i++)
        ck_assert_int_eq(x.r.start[i], x.g->tasks[i].at_ns);
}

TEST_EACH(scaling_everything_scales_the_result, 0, FILLS)
{
    struct bench x = bench_start(MS(10), fills[_i]);
    for (size_t i = 0; i < x.g->count; i++)
        x.plan.dur[i] *= 3;
    x.plan.scale_lags_permille = 3000;
    ck_assert_int_eq(replay_run(&x.r, x.g, &x.plan), MS(30));
}

/* The chain that ends last, walked back by what each task waited for, has no slack. */
TEST_EACH(delaying_a_task_without_slack_delays_the_end_by_as_much, 0, FILLS)
{
    struct bench x = bench_start(MS(10), fills[_i]);
    replay_run(&x.r, x.g, &x.plan);
    int64_t length = x.r.length_ns, end = -1;
    uint32_t at = TASK_NONE;
    for (uint32_t i = 0; i < x.g->count; i++)
        if (x.r.end[i] >= end) {
            end = x.r.end[i];
            at = i;
        }
    for (int n = 0; n < 40 && x.r.bind[at] != TASK_NONE; n++) {
        uint32_t on = x.r.bind[at];
        bool starts = x.g->tasks[at].issue == on; /* begins with it, not after it */
        at = on;
        if (starts || x.g->tasks[at].kind == TASK_WAIT)
            continue;
        x.plan.dur[at] += US(77);
        replay_run(&x.r, x.g, &x.plan);
        ck_assert_int_eq(x.r.length_ns, length + US(77));
        x.plan.dur[at] -= US(77);
        replay_run(&x.r, x.g, &x.plan);
    }
    ck_assert_int_eq(x.r.length_ns, length);
}

TEST_EACH(nothing_ends_later_when_a_task_is_shorter_or_gone, 0, FILLS)
{
    struct bench x = bench_start(MS(10), fills[_i]);
    replay_run(&x.r, x.g, &x.plan);
    int64_t length = x.r.length_ns;
    for (size_t i = 0; i < x.g->count; i++) {
        plan_reset(&x.plan, x.g);
        x.plan.dur[i] /= 2;
        replay_run(&x.r, x.g, &x.plan);
        ck_assert_int_le(x.r.length_ns, length);
        x.plan.mark[i] |= PLAN_DROP;
        replay_run(&x.r, x.g, &x.plan);
        ck_assert_int_le(x.r.length_ns, length);
    }
}

static void fill_two_waits(struct builder *b, int64_t at)
{
    for (int i = 0; i < 8; i++)
        build_kernel(b, "k", at + US(10 * i), at + US(10) + MS(i), MS(1));
    build_sync(b, at + US(100), MS(8) - US(80)); /* until at + 8.02 ms */
    build_sync(b, at + MS(8) + US(25), US(5));   /* nothing left to wait for */
}

static void drop_waits(struct bench *x, int which)
{
    plan_reset(&x->plan, x->g);
    int n = 0;
    for (size_t i = 0; i < x->g->count; i++)
        if (x->g->tasks[i].kind == TASK_WAIT && (which < 0 || n++ % 2 == which))
            x->plan.mark[i] |= PLAN_DROP;
}

TEST(a_removed_wait_moves_to_the_next_one)
{
    struct bench x = bench_start(MS(10), fill_two_waits);
    for (int which = 0; which < 2; which++) {
        drop_waits(&x, which);
        ck_assert_int_ge(replay_run(&x.r, x.g, &x.plan), MS(10) - US(50));
    }
    drop_waits(&x, -1);
    ck_assert_int_le(replay_run(&x.r, x.g, &x.plan), MS(8) + US(50));
}

/* Sums over the classes of a step. */
static int64_t path_sum(const struct whatif *w, bool idle)
{
    int64_t sum = 0;
    for (int c = 0; c < PATH_CLASSES; c++)
        sum += idle ? w->path[c].idle_ns : w->path[c].path_ns;
    return sum;
}

TEST_EACH(the_critical_path_tiles_the_step_and_idle_time_is_charged_completely, 0, FILLS)
{
    struct bench x = bench_start(MS(10), fills[_i]);
    const struct whatif *w = &x.b.a->whatif;
    ck_assert_int_eq(path_sum(w, false), w->step_ns);
    ck_assert_int_eq(path_sum(w, true), w->idle_ns);
    if (fills[_i] == fill_gpu_bound) { /* 8 kernels of 1 ms, then 2 ms of the program's own */
        ck_assert_int_eq(w->idle_ns, MS(2));
        ck_assert_int_gt(w->path[PATH_KERNEL].path_ns, MS(7.9));
        ck_assert_int_gt(w->path[PATH_HOST].path_ns, MS(1.9));
        ck_assert_int_gt(w->path[PATH_HOST].idle_ns, MS(1.9));
        ck_assert_int_gt(w->path[PATH_HOST].worth_ns, MS(1.9));
        ck_assert_str_eq(w->path_top[0].what, "k");
    } else { /* the host sets the pace: shorter kernels are worth nothing */
        ck_assert_int_eq(w->idle_ns, MS(9));
        ck_assert_int_gt(w->path[PATH_HOST].path_ns, MS(9));
        ck_assert_int_lt(w->path[PATH_KERNEL].worth_ns, US(150));
        ck_assert_int_eq(w->path_top[0].class, PATH_HOST);
    }
}

/* The second thread calls CUDA in the third step and again in the eleventh. */
static void fill_silent_thread(struct builder *b, int64_t at)
{
    int64_t step = (at - MS(100)) / MS(10);
    fill_gpu_bound(b, at);
    if (step == 2 || step == 10) {
        int64_t main = b->thread;
        b->thread = 2;
        build_api(b, "cudaGetDevice", at + US(300), US(2));
        b->thread = main;
    }
}

TEST(a_thread_that_is_silent_for_steps_ends_none_of_them)
{
    struct bench x = bench_start(MS(10), fill_silent_thread);
    bench_step(&x);
    for (size_t s = 0; s + 1 < x.g->steps; s++)
        ck_assert_int_lt(x.r.step_end[s], MS(10) * ((int64_t)s + 1) + US(1));
    ck_assert_int_eq(x.r.pace_ns, MS(10));
}

/* The first kernel of a step is launched by a recorded call, the others by a library that no profiler
 * sees; then the host waits. */
static void fill_unseen_launches(struct builder *b, int64_t at)
{
    build_kernel(b, "k", at + US(20), at + US(30), MS(1));
    for (int i = 1; i < 8; i++)
        build_kernel_of(b, "library", 0, at + US(40) + MS(1) * i, MS(1), 64);
    build_sync(b, at + US(60), MS(8) + US(20));
}

TEST(work_without_a_recorded_launch_ends_its_own_step)
{
    struct bench x = bench_start(MS(10), fill_unseen_launches);
    bench_step(&x);
    for (size_t s = 0; s + 1 < x.g->steps; s++)
        ck_assert_int_lt(x.r.step_end[s], MS(10) * ((int64_t)s + 1) + US(50));
    ck_assert_int_le(llabs(x.r.pace_ns - MS(10)), US(50));
}

/* A kernel of 8 ms that begins one step after its launch. */
static void fill_behind(struct builder *b, int64_t at)
{
    build_kernel(b, "k", at + US(20), at + MS(10) + US(100), MS(8));
}

/* However much of its cause an edit takes away, the work that stays takes its time, and no more:
 * what the last step leaves behind the window is not of the window. */
TEST_EACH(a_bound_leaves_the_work_of_the_fullest_stream, 0, 2)
{
    static const struct edit_kind *const kinds[] = {&edit_unsync, &edit_graph, &edit_workers};
    struct bench x = bench_start(MS(10), _i ? fill_behind : fill_gpu_bound);
    struct err e = ERR_INIT;
    struct arena arena = {0};
    struct whatif w;
    struct engine engine;
    ck_assert_int_eq(engine_open(&engine, x.b.a->facts, &arena, &w, &e), 0);
    ck_assert_int_eq(engine_check(&engine, &w), 0);
    engine.base_ns[0][0] = engine.now.pace_ns * 4; /* as where the replay is far off */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct edit edit = {.kind = kinds[i], .workers.count = kinds[i] == &edit_workers ? 2 : 0};
        ck_assert_int_le(engine_most(&engine, &edit), MS(2));
        ck_assert_int_ge(engine_most(&engine, &edit), MS(1.9));
    }
    engine_close(&engine);
    arena_release(&arena);
}

static void fill_loading(struct builder *b, int64_t at)
{
    build_api(b, "cuModuleLoadData", at + US(10), MS(3));
    build_api(b, "cudaMalloc", at + MS(4), MS(1));
    build_kernel(b, "k", at + MS(6), at + MS(6) + US(10), MS(1));
    build_sync(b, at + MS(6) + US(10), MS(1) + US(10));
}

TEST(loading_code_is_not_allocating)
{
    struct bench x = bench_start(MS(8), fill_loading);
    const struct path_share *path = x.b.a->whatif.path;
    ck_assert_int_le(llabs(path[PATH_MODULE].path_ns - MS(3)), US(20));
    ck_assert_int_le(llabs(path[PATH_ALLOC].path_ns - MS(1)), US(20));
}

/* Short launches, and one of 5 ms whose kernel begins as it returns. */
static void fill_long_launch(struct builder *b, int64_t at)
{
    for (int i = 0; i < 20; i++)
        build_kernel(b, "k", at + US(20 * i), at + US(20 * i + 8), US(20));
    int64_t correlation = build_api(b, "cudaLaunchKernel", at + US(400), MS(5));
    build_kernel_of(b, "k", correlation, at + MS(5) + US(400), MS(1), 64);
    build_sync(b, at + MS(5) + US(420), MS(1) + US(10));
}

TEST(a_kernel_that_waits_for_its_launch_is_explained)
{
    struct bench x = bench_start(MS(8), fill_long_launch);
    const struct path_share *path = x.b.a->whatif.path;
    ck_assert_int_ge(path[PATH_LAUNCH].idle_ns, MS(4.8));
    ck_assert_int_eq(path[PATH_UNEXPLAINED].idle_ns, 0);
}
