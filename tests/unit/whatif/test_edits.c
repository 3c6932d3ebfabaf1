/* Edits that rules aim at chosen tasks, edits of the whole step, and the replay's checks of
 * itself. */
#include "analyzer/advice/advice.h"
#include "tests/unit/edit_case.h"
#include "tests/unit/rule_case.h"

static bool is_sync(const struct facts *f, uint32_t api)
{
    return f->tl->apis[api].kind == API_SYNC_STREAM;
}

TEST(removed_operations_and_calls_cost_nothing)
{
    struct bench x = bench_start(MS(7), fill_mixed);
    int64_t ns = with(&x, (struct edit){.kind = &edit_remove, .at.ops = is_k}, &middle);
    ck_assert_int_gt(ns, MS(2.9));
    ck_assert_int_lt(ns, MS(3.1));
    /* Without its wait the host runs ahead: its own millisecond is hidden. */
    ns = with(&x, (struct edit){.kind = &edit_remove, .at.calls = is_sync}, &middle);
    ck_assert_int_gt(ns, MS(5.9));
    ck_assert_int_lt(ns, MS(6.1));
}

TEST(scaled_operations_take_a_time_within_the_range)
{
    struct bench x = bench_start(MS(7), fill_mixed);
    struct edit half = {.kind = &edit_scale, .at.ops = is_k, .scale = {0.25, 0.75}};
    ck_assert_int_eq(with(&x, half, &lucky), MS(4));
    ck_assert_int_eq(with(&x, half, &middle), MS(5));
    ck_assert_int_eq(with(&x, half, &unlucky), MS(6));
}

/* Of four milliseconds two go, the other two take half as long. */
TEST(scaled_operations_may_do_the_work_of_others_on_the_way)
{
    struct bench x = bench_start(MS(7), fill_mixed);
    const struct facts *f = x.g->a;
    bool *gone = calloc(f->tl->op_count, sizeof *gone);
    for (uint32_t i = 0, k = 0; i < f->tl->op_count; i++)
        gone[i] = is_k(f, i) && k++ % 4 < 2;
    struct edit half = {
        .kind = &edit_scale, .at.ops = is_k, .scale = {0.5, 0.5}, .at.gone_marks = gone};
    int64_t ns = with(&x, half, &middle);
    ck_assert_int_ge(ns, MS(4));
    ck_assert_int_le(ns, MS(4) + US(10));
    free(gone);
}

TEST(a_larger_batch_helps_where_the_host_or_small_kernels_set_the_pace)
{
    struct edit twice = {.kind = &edit_batch, .batch.times = 2};
    struct bench x = bench_start(MS(5), fill_host_bound); /* launches for 5 ms, kernels for 1 */
    int64_t ns = with(&x, twice, &unlucky);
    ck_assert_int_gt(ns, MS(2.4));
    ck_assert_int_lt(ns, MS(2.7));
    x = bench_start(MS(8) + US(100), fill_gpu_bound); /* 64 blocks: fewer than there are SMs */
    ck_assert_int_lt(with(&x, twice, &lucky), MS(4.2));
    ck_assert_int_gt(with(&x, twice, &unlucky), MS(8));
}

static int64_t full_blocks;

/* Eight kernels of blocks that have a multiprocessor each to themselves, of 108. */
static void fill_full(struct builder *b, int64_t at)
{
    for (int i = 0; i < 8; i++) {
        struct row_kernel r = {.id = ++b->next_id,
                               .process = 1,
                               .stream = b->stream,
                               .start_ns = at + US(10) + MS(i),
                               .end_ns = at + US(10) + MS(i + 1),
                               .name = build_text(b, "k"),
                               .correlation =
                                   build_api(b, "cudaLaunchKernel", at + US(10 * i), CALL_NS),
                               .grid_x = full_blocks,
                               .grid_y = 1,
                               .grid_z = 1,
                               .block_x = 256,
                               .block_y = 1,
                               .block_z = 1,
                               .registers = 255};
        build_put(b, ROW_KERNEL, &r);
    }
    build_sync(b, at + US(100), MS(8) - US(80));
}

TEST(a_larger_batch_does_not_speed_up_a_gpu_that_is_full)
{
    static const double best_ms[] = {7.9, 7.3}; /* 1 wave becomes 8, 2 become 15 */
    struct edit more = {.kind = &edit_batch, .batch.times = 8};
    for (int i = 0; i < 2; i++) {
        full_blocks = i ? 192 : 108;
        struct bench x = bench_start(MS(8) + US(100), fill_full);
        int64_t best = with(&x, more, &lucky), worst = with(&x, more, &unlucky);
        ck_assert_msg(best > MS(best_ms[i]), "%lld", (long long)best);
        ck_assert_msg(worst > MS(7.95), "%lld", (long long)worst);
    }
}

/* ---- syncs ---- */

/* Ten kernels of 1 ms issued at once, two waits for them one behind the other, then 4 ms of host
 * work. */
static void fill_two_syncs(struct builder *b, int64_t at)
{
    for (int i = 0; i < 10; i++)
        build_kernel(b, "k", at + US(10 * i), at + US(10) + MS(i), MS(1));
    build_sync(b, at + US(200), MS(10) - US(180)); /* until at + 10.02 ms */
    build_sync(b, at + MS(10) + US(30), US(5));
}

TEST(one_of_two_equal_syncs_saves_nothing_and_both_save_the_gain)
{
    struct bench x = bench_start(MS(14), fill_two_syncs);
    struct timeline *t = x.b.t;
    bool *calls = calloc(t->api_count, sizeof *calls);
    struct edit one = {.kind = &edit_remove, .at.call_marks = calls};
    for (int which = 0; which < 2; which++) {
        size_t n = 0;
        for (size_t i = 0; i < t->api_count; i++)
            calls[i] = t->apis[i].kind == API_SYNC_STREAM && (int)(n++ % 2) == which;
        ck_assert_uint_eq(n, 2 * STEPS);
        ck_assert_int_gt(with(&x, one, &lucky), MS(13.9));
    }
    for (size_t i = 0; i < t->api_count; i++)
        calls[i] = t->apis[i].kind == API_SYNC_STREAM;
    ck_assert_int_lt(with(&x, one, &lucky), MS(10.1));
    ck_assert_int_lt(with(&x, (struct edit){.kind = &edit_unsync}, &lucky), MS(10.1));
    const struct outcome *o = case_outcome(x.b.a, "sync-in-loop"); /* and the report says so */
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_msg(strstr(o->summary, "only one of these waits saves almost nothing"), "%s",
                  o->summary);
    ck_assert_msg(strstr(o->summary, "removing all of them saves 4.0"), "%s", o->summary);
    const struct evidence *last = &o->evidence[o->evidence_count - 1];
    ck_assert_msg(strstr(last->text, "only the best one of the waits"), "%s", last->text);
    ck_assert(last->value < 0.1);
    free(calls);
}

/* Ten kernels of 1 ms, a wait for them, memory freed, then 4 ms of host work. */
static void fill_sync_and_free(struct builder *b, int64_t at, const char *call)
{
    for (int i = 0; i < 10; i++)
        build_kernel(b, "k", at + US(10 * i), at + US(10) + MS(i), MS(1));
    build_sync(b, at + US(200), MS(10) - US(180)); /* until at + 10.02 ms */
    build_api(b, call, at + MS(10) + US(30), US(100));
}

static void fill_sync_and_free_now(struct builder *b, int64_t at)
{
    fill_sync_and_free(b, at, "cudaFree");
}

static void fill_sync_and_free_in_stream(struct builder *b, int64_t at)
{
    fill_sync_and_free(b, at, "cudaFreeAsync");
}

/* The same, and a free in the midst of the kernels that comes back at once. */
static void fill_free_beside_kernels(struct builder *b, int64_t at)
{
    build_api(b, "cudaFree", at + US(120), US(20));
    fill_sync_and_free(b, at, "cudaFree");
}

/* Freeing waits for the device itself, once nothing did so before it. Not where it was seen not to.
 */
TEST(a_wait_moves_on_to_what_frees_memory)
{
    struct edit unsync = {.kind = &edit_unsync};
    struct bench x = bench_start(MS(14), fill_sync_and_free_now);
    ck_assert_int_gt(with(&x, unsync, &lucky), MS(13.9));
    x = bench_start(MS(14), fill_sync_and_free_in_stream);
    ck_assert_int_lt(with(&x, unsync, &lucky), MS(10.1));
    x = bench_start(MS(14), fill_free_beside_kernels);
    ck_assert_int_lt(with(&x, unsync, &lucky), MS(10.1));
}

/* Waits for the GPU, then reads and prints for 2 ms inside a range of its own. */
static void fill_reading(struct builder *b, int64_t at)
{
    for (int i = 0; i < 10; i++)
        build_kernel(b, "k", at + US(300 * i), at + US(300 * i) + US(10), US(200));
    build_range(b, "log", at + MS(3), at + MS(5.5));
    build_sync(b, at + MS(3) + US(10), US(20));
}

TEST(what_is_done_with_a_result_goes_with_the_wait_for_it)
{
    struct bench x = bench_start(MS(6), fill_reading);
    int64_t ns = with(&x, (struct edit){.kind = &edit_unsync}, &middle);
    ck_assert_int_gt(ns, MS(3.4)); /* launches for 3 ms, and 0.5 ms behind the range */
    ck_assert_int_lt(ns, MS(3.7));
}

/* The wait is somebody else's: it stays, with all that it costs. */
TEST(waits_that_are_not_the_programs_stay)
{
    struct bench x = bench_start(MS(6), fill_reading);
    bool *marks = calloc(x.b.a->facts->tl->api_count + 1, sizeof *marks);
    ck_assert_ptr_nonnull(marks);
    for (size_t i = 0; i < x.b.a->facts->tl->api_count; i++)
        marks[i] = is_sync(x.b.a->facts, (uint32_t)i);
    struct edit edit = {.kind = &edit_unsync, .spared = marks};
    ck_assert_int_eq(with(&x, edit, &middle), MS(6));
    free(marks);
}

/* ---- a full queue ---- */

/* 200 kernels of 30 us a step, 1000 launches behind the host, which waits in each for room. */
static void fill_full_queue(struct builder *b, int64_t at)
{
    for (int i = 0; i < 200; i++) {
        int64_t call = at + US(30 * i);
        int64_t correlation = build_api(b, "cudaLaunchKernel", call + US(0.3), US(29.7));
        build_kernel_of(b, "k", correlation, call + MS(30), US(29.8), 128);
    }
}

TEST(waiting_for_room_in_the_queue_ends_with_the_kernels)
{
    struct bench x = bench_start(MS(6), fill_full_queue);
    struct edit tenth = {.kind = &edit_scale, .at.ops = is_k, .scale = {0.1, 0.1}};
    int64_t ns = with(&x, tenth, &middle);
    ck_assert_int_lt(ns, MS(1.5));
    ck_assert(x.b.a->whatif.trusted);
}

/* ---- self-checks ---- */

TEST(steady_steps_predict_one_another)
{
    struct bench x = bench_start(MS(7), fill_mixed);
    const struct whatif *w = &x.b.a->whatif;
    ck_assert(w->trusted);
    ck_assert_double_lt(w->holdout_error_pct, 0.5);
    ck_assert_double_ge(w->holdout_error_pct, 0);
    ck_assert_double_lt(w->unexplained_pct, 0.5);
    ck_assert_double_lt(w->identity_error_pct, 0.01);
}

static void fill_never_alike(struct builder *b, int64_t at)
{
    static int turn;
    int n = 3 + turn++ % 7;
    for (int i = 0; i < n; i++)
        build_kernel(b, "k", at + US(10 * i), at + US(20) + US(500 * i), US(500));
    build_sync(b, at + US(200), MS(5));
}

TEST(steps_of_different_work_widen_the_intervals)
{
    struct bench x = bench_start(MS(6), fill_never_alike);
    const struct whatif *w = &x.b.a->whatif;
    ck_assert(w->trusted);
    ck_assert_double_lt(w->holdout_error_pct, 0);
    ck_assert_ptr_nonnull(strstr(w->wider, "different work"));
}

/* Steps of 4 to 16 ms: the host waits for 0.4 ms of FP32 products, then works on. */
TEST(doubt_does_not_make_a_cause_larger)
{
    struct builder b = build_start();
    int64_t at = MS(100);
    for (int i = 0; i < 24; i++) {
        int64_t length = MS(4 + i * 7 % 13);
        build_kernel(&b, "volta_sgemm_128x64_nn", at, at + US(20), US(400));
        build_sync(&b, at + US(15), US(410));
        for (int64_t k = 1; k < length / MS(1); k++)
            build_kernel(&b, "other", at + MS(k), at + MS(k) + US(20), US(50));
        build_range(&b, "step", at, at + length);
        at += length;
    }
    build_predict(&b);
    const struct outcome *o = case_outcome(b.a, "tensor-cores");
    ck_assert_ptr_nonnull(b.a->whatif.wider);
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert(!o->upper_bound); /* its middle is known, and doubt takes no more than half of it */
    ck_assert_int_ge(case_replayed(o).low_ns, o->saves_mid_ns / 3);
    ck_assert_int_gt(o->saves_mid_ns, 0);
    ck_assert_int_le(o->saves_high_ns, US(500));
}

/* An edit of that kind which changes something, as far as the kind needs no aim. */
static struct edit some(const struct edit_kind *kind)
{
    struct edit x = {.kind = kind};
    if (kind == &edit_workers)
        x.workers.count = 2;
    if (kind == &edit_batch)
        x.batch.times = 2;
    return x;
}

TEST_EACH(every_edit_can_be_applied_to_any_steps, 0, (int)edit_kind_count)
{
    struct bench x = bench_start(MS(8), fill_comm);
    int64_t ns = with(&x, some(edit_kinds[_i]), &middle);
    ck_assert_int_gt(ns, 0);
    ck_assert_int_le(ns, MS(8));
}

/* A step that has something of all that edits look for: batches, copies, waits, exchanges. */
static void fill_all(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, false, 1 << 24, at + US(10), MS(1),
               at + US(30), US(900));
    fill_comm(b, at + MS(1));
    build_kernel(b, "volta_sgemm_128x64_nn", at + MS(8), at + MS(8) + US(20), MS(1));
    build_kernel(b, "convolve_sgemm", at + MS(8) + US(30), at + MS(9) + US(20), MS(1));
}

/* Which the plan takes out, or how long each takes: as a sum that differs where they do. */
static double gpu_work(const struct bench *x)
{
    double sum = 0;
    for (uint32_t i = 0; i < x->g->count; i++)
        if (task_on_gpu(&x->g->tasks[i]))
            sum += (i + 1.0) * (x->plan.mark[i] & PLAN_DROP ? 0 : (double)x->plan.dur[i]);
    return sum;
}

TEST_EACH(a_kind_does_what_its_properties_say, 0, (int)edit_kind_count)
{
    struct bench x = bench_start(MS(12), fill_all);
    const struct edit_kind *kind = edit_kinds[_i];
    with(&x, (struct edit){.kind = NULL}, &middle);
    double recorded = gpu_work(&x);
    int64_t best = with(&x, some(kind), &lucky);
    if (kind->of_host)
        ck_assert_double_eq_tol(gpu_work(&x), recorded, 0.5);
    if (kind->certain)
        ck_assert_int_eq(with(&x, some(kind), &unlucky), best);
    for (size_t i = 0; i < edit_kind_count; i++) /* trials of the past are found by it */
        ck_assert(edit_kinds[i] == kind || strcmp(edit_kinds[i]->name, kind->name) != 0);
}

static void fill_launch_and_wait(struct builder *b, int64_t at)
{
    build_kernel(b, "k", at, at + US(10), MS(1));
    build_sync(b, at + US(20), MS(1));
}

TEST(what_stops_a_capture_goes_with_the_calls_that_go)
{
    struct bench x = bench_start(MS(2), fill_launch_and_wait);
    const struct facts *f = x.b.a->facts;
    bool *waits = calloc(f->tl->api_count, 1), *launches = calloc(f->tl->api_count, 1);
    for (size_t i = 0; i < f->tl->api_count; i++)
        *(f->tl->apis[i].kind == API_LAUNCH ? &launches[i] : &waits[i]) = true;
    struct edit edit = {.kind = &edit_remove, .at.call_marks = waits};
    ck_assert(edit_takes_stops(&edit, f));
    edit.at.call_marks = launches;
    ck_assert(!edit_takes_stops(&edit, f));
    ck_assert(edit_takes_stops(&(struct edit){.kind = &edit_unsync}, f));
    ck_assert(!edit_takes_stops(&(struct edit){.kind = &edit_fuse}, f));
    ck_assert(!edit_takes_stops(&(struct edit){.kind = NULL}, f));
    free(waits);
    free(launches);
}
