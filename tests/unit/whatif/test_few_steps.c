/* Recordings that lack steps, events or waits: the prediction must then hold for whatever was not
 * recorded. */
#include "tests/unit/test.h"
#include "analyzer/advice/advice.h"
#include "tests/unit/replay_steps.h"
#include "tests/unit/rule_case.h"
#include "report/words/text.h"

static bool any(const struct facts *f, uint32_t op)
{
    return f->tl->op_count > op;
}
static bool first_stream(const struct facts *f, uint32_t op)
{
    return f->tl->streams[f->tl->ops[op].stream].row.id == 1;
}

static struct edit scale(bool (*ops)(const struct facts *, uint32_t), double by)
{
    return (struct edit){.kind = &edit_scale, .at.ops = ops, .scale = {by, by}};
}

/* The first of several is left out: it is not known where it begins. */
TEST(a_step_repeated_takes_as_long_as_one_of_many)
{
    for (int steps = 1; steps < 5; steps++) {
        struct bench x = bench_start_of(steps, MS(5), fill_host_bound);
        ck_assert_uint_eq(x.g->recorded_steps, (size_t)(steps > 1 ? steps - 1 : 1));
        ck_assert_uint_ge(x.g->steps, 6);
        ck_assert_int_le(llabs(bench_step(&x) - MS(5)), US(10));
        x = bench_start_of(steps, MS(8) + US(100), fill_gpu_bound);
        ck_assert_int_le(llabs(bench_step(&x) - MS(8) - US(100)), US(10));
    }
}

/* Nobody knows whether the next step launches the same, and the finding says so. */
TEST(a_graph_is_predicted_from_one_step)
{
    struct bench x = bench_start_of(1, MS(5), fill_host_bound);
    const struct outcome *o = NULL;
    for (size_t i = 0; i < x.b.a->ranked_count; i++)
        if (strcmp(x.b.a->ranked[i]->rule->id, "cuda-graphs") == 0)
            o = x.b.a->ranked[i];
    ck_assert_ptr_nonnull(o);
    ck_assert(!o->upper_bound);
    ck_assert_int_gt(case_replayed(o).low_ns, 0);
    ck_assert_ptr_nonnull(strstr(o->summary, "check that every step launches the same"));
}

TEST(one_step_says_what_many_say_less_exactly)
{
    struct edit edits[] = {{.kind = &edit_graph}, scale(any, 0.5)};
    for (int i = 0; i < 2; i++) {
        void (*fill)(struct builder *, int64_t) = i ? fill_gpu_bound : fill_host_bound;
        int64_t period = i ? MS(8) + US(100) : MS(5);
        struct bench x = bench_start_of(1, period, fill), y = bench_start(period, fill);
        struct span_ns one = bench_span(&x, edits[i]), all = bench_span(&y, edits[i]);
        ck_assert_ptr_nonnull(strstr(x.b.a->whatif.wider, "one step"));
        ck_assert_ptr_null(y.b.a->whatif.wider);
        ck_assert_int_le(llabs(one.mid_ns - all.mid_ns), period / 50);
        ck_assert_int_lt(one.low_ns, all.low_ns);
        ck_assert_int_gt(one.high_ns, all.high_ns);
    }
}

/* A kernel of the step before runs on into the only one that was recorded. */
static void fill_behind(struct builder *b, int64_t at)
{
    build_kernel_of(b, "k", 0, at - MS(1), MS(3), 64);
    for (int i = 0; i < 10; i++)
        build_kernel(b, "k", at + US(500 * i), at + MS(2) + US(500 * i), US(100));
    build_sync(b, at + US(4600), MS(2));
}

/* ... and so do others, of which the recording has nothing. */
static void fill_far_behind(struct builder *b, int64_t at)
{
    build_kernel_of(b, "k", 0, at - MS(1), MS(2), 64);
    struct row_event r = {
        .id = ++b->next_id, .process = 1, .stream = 1, .event = -1, .device_ns = -1};
    r.event_sync = r.id;
    r.correlation = build_api(b, "cudaEventRecord", at, US(2));
    build_put(b, ROW_EVENT, &r);
    for (int i = 0; i < 10; i++)
        build_kernel(b, "k", at + US(500 * i) + US(3), at + MS(2) + US(500 * i), US(400));
    build_sync(b, at + US(4600), MS(2));
}

/* The host is a step ahead and waits, in a full queue of its own making, for the GPU to have done
 * the step before: an event of which the recording holds the wait alone. */
static void fill_ahead(struct builder *b, int64_t at)
{
    static const int64_t period = 4000000;
    if (at == MS(100))
        for (int i = 0; i < 4; i++)
            build_kernel_of(b, "k", 0, at + MS(i), MS(1), 64);
    for (int i = 0; i < 4; i++)
        build_kernel(b, "k", at + US(10 * i), at + period + MS(i), MS(1));
    int64_t correlation = build_api(b, "cudaEventSynchronize", at + US(100), MS(3.85));
    struct row_sync r = {.id = ++b->next_id,
                         .process = 1,
                         .start_ns = at + US(100),
                         .end_ns = at + MS(3.95),
                         .type = SYNC_EVENT,
                         .stream = 1,
                         .event = 1,
                         .event_sync = 1000000 + b->next_id,
                         .correlation = correlation};
    build_put(b, ROW_SYNC, &r);
}

TEST(a_host_that_waits_for_the_step_before_is_as_fast_as_the_gpu)
{
    struct bench x = bench_start_of(1, MS(4), fill_ahead);
    int64_t now = bench_step(&x);
    for (size_t i = 0; i < x.g->count; i++)
        if (x.g->tasks[i].kind == TASK_KERNEL)
            x.plan.dur[i] /= 4;
    ck_assert_int_le(llabs(now - MS(4)), US(100));
    ck_assert_int_lt(bench_step(&x), MS(1.2));
}

TEST(what_was_launched_before_belongs_to_no_copy)
{
    struct bench x = bench_start_of(1, MS(6.6), fill_behind);
    size_t kernels = 0;
    for (size_t i = x.g->recorded; i < x.g->count; i++)
        kernels += x.g->tasks[i].kind == TASK_KERNEL;
    ck_assert_uint_eq(kernels, 10 * (x.g->steps - 1));
    x = bench_start_of(1, MS(6.6), fill_far_behind);
    ck_assert_double_lt(x.b.a->whatif.unexplained_pct, 1);
}

/* Work on the second stream follows that on the first, behind a wait of which no event is known. */
static void fill_two_streams(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++) {
        build_kernel(b, "a", at + MS(2) * i, at + MS(2) * i + US(10), MS(1));
        build_api(b, "cudaStreamWaitEvent", at + MS(2) * i + US(20), US(2));
        b->stream = 2;
        build_kernel(b, "b", at + MS(2) * i + US(30), at + MS(2) * i + MS(1) + US(20), US(900));
        build_sync(b, at + MS(2) * i + US(40), MS(1.9));
        b->stream = 1;
    }
}

TEST(waits_for_unknown_events_may_be_for_the_first_or_the_last_work)
{
    struct bench x = bench_start(MS(8), fill_two_streams);
    ck_assert_ptr_nonnull(strstr(x.b.a->whatif.wider, "which events"));
    ck_assert_double_lt(x.b.a->whatif.unexplained_pct, 1); /* the last work explains it */
    struct span_ns s = bench_span(&x, scale(first_stream, 0.5));
    ck_assert_int_lt(s.low_ns, US(200));
    ck_assert_int_gt(s.mid_ns, MS(1.8));
    ck_assert_int_gt(s.high_ns, MS(1.9));
}

/* The GPU is done before the next step, and nothing says that the host waited for that. */
static void fill_no_wait(struct builder *b, int64_t at)
{
    for (int i = 0; i < 8; i++)
        build_kernel(b, "k", at + US(500) * i, at + US(500) * i + US(10), US(480));
    build_kernel(b, "k", at + MS(4), at + MS(4) + US(10), MS(2));
}

TEST(a_host_that_was_not_seen_to_wait_may_or_may_not)
{
    struct bench x = bench_start(MS(6.1), fill_no_wait);
    ck_assert_uint_eq(x.b.a->whatif.waits, 0);
    ck_assert_ptr_nonnull(strstr(x.b.a->whatif.wider, "no wait of the host"));
    struct span_ns s = bench_span(&x, scale(any, 0.1));
    ck_assert_int_lt(s.low_ns, US(200)); /* the host alone takes as long */
    ck_assert_int_lt(s.mid_ns, US(200));
}

/* The first launch loads code for 2 ms, which no later step does. */
static void fill_first_launch(struct builder *b, int64_t at)
{
    fill_host_bound(b, at);
    int64_t call = build_api(b, "cudaLaunchKernel", at + US(4700), MS(6));
    build_kernel_of(b, "first", call, at + US(10720), US(50), 64);
    build_sync(b, at + US(10730), US(50));
}

TEST(one_time_work_in_the_only_step_may_be_gone_behind_a_change)
{
    struct edit edit = {.kind = &edit_graph};
    struct bench x = bench_start_of(1, MS(11), fill_first_launch);
    struct bench many = bench_start(MS(11), fill_first_launch);
    struct span_ns one = bench_span(&x, edit), all = bench_span(&many, edit);
    ck_assert_ptr_nonnull(strstr(x.b.a->whatif.wider, "one-time work may be gone"));
    ck_assert(!many.b.a->whatif.wider || !strstr(many.b.a->whatif.wider, "one-time"));
    ck_assert_int_gt(one.high_ns, all.high_ns + MS(3));
    ck_assert_int_lt(llabs(one.mid_ns - all.mid_ns), MS(1));
}

/* One pass: products in FP32 of 1 to 5 ms, and nothing that repeats. */
TEST(a_window_without_steps_carries_predictions)
{
    static const char *const names[] = {"volta_sgemm_128x64_nn", "softmax", "layer_norm",
                                        "volta_sgemm_32x128_tn", "gelu"};
    struct builder b = build_start();
    struct text words;
    for (int i = 0; i < 5; i++)
        build_kernel(&b, names[i], MS(6) * i, MS(6) * i + US(10), MS(1 + i));
    build_sync(&b, MS(24) + US(20), MS(5));
    build_predict(&b);
    const struct outcome *o = case_outcome(b.a, "tensor-cores");
    ck_assert(analysis_of_window(b.a->facts));
    ck_assert(b.a->whatif.trusted && !o->upper_bound);
    ck_assert_ptr_nonnull(strstr(b.a->whatif.wider, "no repeating step"));
    ck_assert_int_gt(o->saves_low_ns, 0);
    ck_assert_ptr_nonnull(strstr(text_interval(&words, b.a, o), "1 recorded window replayed"));
}

/* All is launched while the GPU still works on what came before the recording, and the host waits
 * before the window begins. This wait follows the GPU, as one that begins in the window does. */
TEST(a_wait_that_began_before_the_window_follows_the_gpu)
{
    static const char *const names[] = {"volta_sgemm_128x64_nn", "softmax", "layer_norm",
                                        "volta_sgemm_32x128_tn", "gelu"};
    struct builder b = build_start();
    for (int i = 0; i < 5; i++)
        build_kernel(&b, names[i], US(20) * i, MS(30) + MS(4) * i, MS(4));
    build_sync(&b, MS(1), MS(49) + US(20));
    build_predict(&b);
    const struct outcome *o = case_outcome(b.a, "tensor-cores");
    ck_assert(analysis_of_window(b.a->facts));
    ck_assert_ptr_null(strstr(b.a->whatif.wider, "no wait of the host"));
    ck_assert(!o->upper_bound);
    ck_assert_int_gt(o->saves_mid_ns, MS(2)); /* of 8 */
    ck_assert_int_gt(o->saves_low_ns, 0);
}

/* The thread that launches the backward pass is done long before the GPU is, and another one waits
 * for the GPU: what is left of the window is no work of the host. */
TEST(a_window_that_the_gpu_ends_is_no_work_of_the_host)
{
    struct builder b = build_start();
    build_thread(&b, 2, "pt_autograd_0");
    int64_t at = MS(1);
    for (int i = 0; i < 12; i++, at += MS(4)) {
        b.thread = i < 4 ? 1 : 2;
        build_kernel(&b, i % 2 ? "volta_sgemm_128x64_nn" : "layer_norm", US(100) * i, at, MS(4));
    }
    b.thread = 1;
    build_sync(&b, MS(2), at - MS(2) + US(20));
    build_predict(&b);
    const struct outcome *o = case_outcome(b.a, "tensor-cores");
    ck_assert(analysis_of_window(b.a->facts));
    ck_assert_int_gt(o->saves_mid_ns, MS(8)); /* of 24 */
    ck_assert_int_gt(o->saves_low_ns, 0);
}
