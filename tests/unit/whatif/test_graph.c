/* The graph: which tasks and edges a recording becomes, and which time stays unexplained. */
#include "tests/unit/test.h"
#include "tests/unit/replay_steps.h"

static size_t count(const struct graph *g, enum task_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++)
        n += g->tasks[i].kind == kind;
    return n;
}

TEST(calls_waits_and_kernels_become_tasks)
{
    struct bench x = bench_start(MS(5), fill_host_bound);
    ck_assert_uint_ge(x.g->steps, STEPS - 1); /* the first may count as warm-up */
    ck_assert_uint_eq(count(x.g, TASK_KERNEL), 10 * x.g->steps);
    ck_assert_uint_eq(count(x.g, TASK_HOST_API), 11 * x.g->steps);
    ck_assert_uint_eq(count(x.g, TASK_WAIT), x.g->steps);
    ck_assert_uint_eq(x.g->violations, 0);
}

TEST(everything_depends_on_earlier_tasks_only)
{
    struct bench x = bench_start(MS(10), fill_gpu_bound);
    for (uint32_t i = 0; i < x.g->count; i++) {
        const struct task *t = &x.g->tasks[i];
        ck_assert(t->prev == TASK_NONE || t->prev < i);
        ck_assert(t->issue == TASK_NONE || t->issue < i);
        for (uint32_t e = t->edge; e < t->edge + t->edges; e++)
            ck_assert_uint_lt(x.g->edges[e].from, i);
        if (t->kind == TASK_KERNEL)
            ck_assert_uint_ne(t->issue, TASK_NONE);
    }
}

static void fill_stalled(struct builder *b, int64_t at)
{
    build_kernel(b, "k", at, at + MS(3), MS(1)); /* 3 ms late, and nothing says why */
    build_sync(b, at + US(20), MS(4));
}

TEST(a_start_that_nothing_explains_is_a_stall)
{
    struct bench x = bench_start(MS(5), fill_gpu_bound);
    for (size_t i = 0; i < x.g->count; i++)
        ck_assert(!(x.g->tasks[i].flags & TASK_STALL));
    x = bench_start(MS(5), fill_stalled);
    size_t usual = 0; /* every step has the same delay: then it is the launch latency */
    for (size_t i = 0; i < x.g->count; i++)
        usual += x.g->tasks[i].kind == TASK_KERNEL && x.g->tasks[i].issue_lag_ns == MS(3);
    ck_assert_uint_eq(usual, x.g->steps);
}

static void fill_loader(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(4));
    build_kernel(b, "k", at + MS(4), at + MS(4) + US(10), MS(1));
    b->thread = 2;
    build_range_at(b, "data.decode", 0, at - MS(2), at + MS(4) - US(5));
    b->thread = 1;
}

TEST(a_batch_is_taken_when_its_worker_has_made_it)
{
    struct bench x = {.b = build_start()};
    build_thread(&x.b, 2, "loader");
    for (int i = 0; i < STEPS; i++) {
        fill_loader(&x.b, MS(100) + MS(6) * i);
        build_range(&x.b, "step", MS(100) + MS(6) * i, MS(100) + MS(6) * (i + 1));
    }
    struct err e = ERR_INIT;
    build_analyze(&x.b);
    x.g = graph_build(x.b.a->facts, &e);
    ck_assert_uint_eq(count(x.g, TASK_GET), x.g->steps);
    ck_assert_uint_ge(x.g->loads, x.g->steps - 1);
    size_t joined = 0;
    for (size_t i = 0; i < x.g->count; i++)
        joined += x.g->tasks[i].kind == TASK_GET && x.g->tasks[i].edges == 1;
    ck_assert_uint_ge(joined, x.g->steps - 1);
    graph_free(x.g);
}

/* The host polls an event every 20 us until the kernel of 3 ms has ended, then works for 1 ms. */
static void fill_polling(struct builder *b, int64_t at)
{
    build_kernel(b, "k", at, at + US(10), MS(3));
    for (int64_t t = at + US(20); t < at + MS(3) + US(30); t += US(20))
        build_api(b, "cudaEventQuery", t, US(2));
}

TEST(polling_for_an_event_is_one_wait)
{
    struct bench x = bench_start(MS(4), fill_polling);
    ck_assert_uint_eq(count(x.g, TASK_WAIT), x.g->steps);
    ck_assert_uint_eq(count(x.g, TASK_HOST_API), 2 * x.g->steps);
    ck_assert_int_eq(bench_step(&x), MS(4));
    for (size_t i = 0; i < x.g->count; i++)
        if (x.g->tasks[i].kind == TASK_KERNEL)
            x.plan.dur[i] = MS(1);
    ck_assert_int_eq(bench_step(&x), MS(2));
}

/* Thread 1 launches for 2 ms and is silent while thread 2 launches for 2 ms; then it goes on. */
static void fill_two_threads(struct builder *b, int64_t at)
{
    for (int i = 0; i < 10; i++)
        build_kernel(b, "forward", at + US(200 * i), at + US(200 * i) + US(10), US(20));
    b->thread = 2;
    for (int i = 0; i < 10; i++)
        build_kernel(b, "backward", at + MS(2) + US(200 * i), at + MS(2) + US(200 * i) + US(10),
                     US(20));
    b->thread = 1;
    build_sync(b, at + MS(4), US(10));
}

TEST(a_silent_thread_goes_on_when_the_other_one_hands_over)
{
    struct bench x = bench_start(MS(5), fill_two_threads);
    size_t handed = 0;
    for (size_t i = 0; i < x.g->count; i++)
        handed += (x.g->tasks[i].flags & TASK_HANDED) != 0;
    ck_assert_uint_ge(handed, 2 * (x.g->steps - 1)); /* there and back */
    ck_assert_int_eq(bench_step(&x), MS(5));
    for (size_t i = 0; i < x.g->count; i++) { /* pauses between launches: 1.8 ms on each thread */
        const struct task *t = &x.g->tasks[i];
        if (t->kind == TASK_HOST_GAP && t->dur_ns < US(198) && !(t->flags & TASK_HANDED))
            x.plan.dur[i] = 0;
    }
    ck_assert_int_lt(bench_step(&x), MS(2));
}

/* cudaEventRecord; stream -1: the source does not say which. */
static void record_event_of(struct builder *b, int64_t at, int64_t stream, int64_t event,
                            int64_t event_sync)
{
    struct row_event r = {.id = ++b->next_id,
                          .process = 1,
                          .stream = stream,
                          .event = event,
                          .event_sync = event_sync,
                          .device_ns = -1};
    r.correlation = build_api(b, "cudaEventRecord", at, US(5));
    build_put(b, ROW_EVENT, &r);
}

static void record_event(struct builder *b, int64_t at, int64_t stream, int64_t event_sync)
{
    record_event_of(b, at, stream, -1, event_sync);
}

static void wait_for_event_of(struct builder *b, int64_t at, int64_t event, int64_t event_sync)
{
    struct row_sync r = {.id = ++b->next_id,
                         .process = 1,
                         .start_ns = at,
                         .end_ns = at + US(10),
                         .type = SYNC_EVENT,
                         .stream = -1,
                         .event = event,
                         .event_sync = event_sync};
    r.correlation = build_api(b, "cudaEventSynchronize", at, US(10));
    build_put(b, ROW_SYNC, &r);
}

static void wait_for_event(struct builder *b, int64_t at, int64_t event_sync)
{
    wait_for_event_of(b, at, -1, event_sync);
}

static void fill_events_of_no_stream(struct builder *b, int64_t at)
{
    fill_host_bound(b, at);
    record_event(b, at + US(4700), -1, 7);
    record_event(b, at + US(4720), 1, -1);
    wait_for_event(b, at + US(4740), -1);
}

TEST(an_event_of_unknown_stream_is_nobodys)
{
    struct bench x = bench_start(MS(5), fill_events_of_no_stream);
    ck_assert_uint_eq(count(x.g, TASK_EV_REC), x.g->steps); /* that whose stream is known */
    for (size_t i = 0; i < x.g->count; i++) {
        const struct task *t = &x.g->tasks[i];
        ck_assert_uint_lt(t->lane, x.g->lanes);
        for (uint32_t k = t->edge; k < t->edge + t->edges; k++) /* an unknown number is no match */
            ck_assert_int_ne(x.g->tasks[x.g->edges[k].from].kind, TASK_EV_REC);
    }
}

/* An event that is recorded again and again stands for its last recording. */
static void fill_one_event(struct builder *b, int64_t at)
{
    fill_host_bound(b, at);
    record_event(b, at + US(4700), 1, 7);
    wait_for_event(b, at + US(4740), 7);
}

TEST(a_wait_is_for_the_last_recording_of_its_event)
{
    struct bench x = bench_start(MS(5), fill_one_event);
    size_t joined = 0;
    for (uint32_t i = 0; i < x.g->count; i++) {
        const struct task *t = &x.g->tasks[i];
        for (uint32_t k = t->edge; k < t->edge + t->edges; k++) {
            const struct task *from = &x.g->tasks[x.g->edges[k].from];
            if (from->kind != TASK_EV_REC)
                continue;
            ck_assert_int_lt(t->at_ns - from->at_ns, MS(1));
            joined++;
        }
    }
    ck_assert_uint_eq(joined, x.g->steps);
}

/* Before CUPTI counts recordings: two events that are recorded in each step. */
static void fill_events_by_id(struct builder *b, int64_t at)
{
    fill_host_bound(b, at);
    record_event_of(b, at + US(4700), 1, 1, -1);
    record_event_of(b, at + US(4720), 1, 2, -1);
    wait_for_event_of(b, at + US(4740), 2, -1);
}

/* As many events, of streams in two contexts, have the same id: which one is meant is not known. */
static void fill_events_of_two_contexts(struct builder *b, int64_t at)
{
    struct row_stream other = {.id = 3, .process = 1, .device = 1, .context = 2, .stream = 7};
    if (at == MS(100))
        build_put(b, ROW_STREAM, &other);
    fill_host_bound(b, at);
    record_event_of(b, at + US(4700), 3, 2, -1);
    record_event_of(b, at + US(4720), 1, 2, -1);
    wait_for_event_of(b, at + US(4740), 2, -1);
}

TEST_EACH(without_a_number_a_wait_is_for_the_events_last_recording, 0, 2)
{
    struct bench x = bench_start(MS(5), _i ? fill_events_of_two_contexts : fill_events_by_id);
    size_t joined = 0;
    for (uint32_t i = 0; i < x.g->count; i++) {
        const struct task *t = &x.g->tasks[i];
        for (uint32_t k = t->edge; t->kind == TASK_WAIT && k < t->edge + t->edges; k++) {
            const struct task *from = &x.g->tasks[x.g->edges[k].from];
            ck_assert_int_eq(from->kind, TASK_EV_REC);
            ck_assert_int_eq(x.b.t->events[from->source].event, 2);
            ck_assert_int_eq(from->step, t->step);
            joined++;
        }
    }
    ck_assert_uint_eq(joined, _i ? 0 : x.g->steps);
}

/* A kernel in the legacy default stream of context 1 or 2, then one in a blocking stream of 1. */
static int64_t legacy_context;

static void fill_legacy(struct builder *b, int64_t at)
{
    struct row_stream legacy = {.id = 3,
                                .process = 1,
                                .device = 1,
                                .context = legacy_context,
                                .stream = 7,
                                .flags = STREAM_LEGACY_DEFAULT};
    if (at == MS(100))
        build_put(b, ROW_STREAM, &legacy);
    b->stream = 3;
    build_kernel(b, "first", at, at + US(10), MS(1));
    b->stream = 1;
    build_kernel(b, "then", at + MS(1.5), at + MS(1.6), MS(1));
    build_sync(b, at + MS(1.7), MS(1));
}

TEST_EACH(the_legacy_default_stream_holds_up_its_own_context, 0, 2)
{
    legacy_context = 1 + _i;
    struct bench x = bench_start(MS(6), fill_legacy);
    uint32_t legacy = x.b.t->ops[0].stream;
    for (uint32_t i = 0; i < x.g->count; i++)
        if (x.g->tasks[i].kind == TASK_KERNEL && x.g->tasks[i].lane == legacy)
            x.plan.dur[i] = MS(3);
    bench_step(&x);
    for (uint32_t i = 0; i < x.g->count; i++) {
        const struct task *t = &x.g->tasks[i];
        if (t->kind == TASK_KERNEL && t->lane != legacy)
            ck_assert_int_eq(x.r.start[i] > t->at_ns + MS(1), _i == 0);
    }
}

/* torch.profiler writes its file within the last step. */
TEST(what_a_profiler_does_behind_the_last_call_is_no_part_of_a_step)
{
    struct bench x = bench_start_tail(6, MS(10), MS(50), fill_gpu_bound);
    ck_assert_int_le(llabs(bench_step(&x) - MS(10)), US(50));
    ck_assert_double_lt(x.b.a->whatif.holdout_error_pct, 1);
}

/* A kernel, three nodes of a graph that the driver runs in a stream of its own, a kernel behind
 * them: all launched at once. */
static void fill_graph_between(struct builder *b, int64_t at)
{
    build_kernel(b, "before", at + US(20), at + US(30), MS(1));
    int64_t graph = build_api(b, "cudaGraphLaunch", at + US(100), US(20));
    b->stream = 2;
    for (int i = 0; i < 3; i++)
        build_kernel_of(b, "node", graph, at + US(1031) + MS(2) * i, MS(2), 64);
    b->stream = 1;
    build_kernel(b, "after", at + US(200), at + US(7032), MS(2));
    build_sync(b, at + US(300), MS(8.74));
}

static bool of_the_graph(const struct facts *f, uint32_t op)
{
    return f->tl->apis[f->tl->ops[op].api].kind == API_GRAPH_LAUNCH;
}

TEST(nodes_of_a_graph_are_ordered_by_the_stream_of_its_launch)
{
    struct bench x = bench_start(MS(10), fill_graph_between);
    struct edit half = {.kind = &edit_scale, .at.ops = of_the_graph, .scale = {0.5, 0.5}};
    ck_assert_double_lt(x.b.a->whatif.unexplained_pct, 0.1);
    ck_assert_int_le(llabs(bench_span(&x, half).mid_ns - MS(3)), US(50));
}
