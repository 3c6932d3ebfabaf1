/* Edits of the host's work: launches that block, checks, copies within its memory, reading of
 * files. */
#include "analyzer/queries/training/outside.h"
#include "tests/unit/edit_case.h"
#include "tests/unit/rule_case.h"

/* Fifty launches that come back when their kernel of 145 us has run; one each 200 us. */
static void fill_blocking(struct builder *b, int64_t at)
{
    for (int i = 0; i < 50; i++) {
        int64_t t = at + US(200 * i), c = build_api(b, "cudaLaunchKernel", t, US(160));
        build_kernel_of(b, "gemm", c, t + US(8), US(145), 64);
    }
}

TEST(launches_that_no_longer_block_keep_the_gpu_busy)
{
    struct bench x = bench_start(MS(10), fill_blocking);
    ck_assert(x.g->launches_block);
    ck_assert_int_eq(bench_step(&x), MS(10));
    struct edit unblock = {.kind = &edit_unblock};
    ck_assert_int_eq(with(&x, unblock, &lucky), 50 * (US(145) + 900));
    ck_assert_int_eq(with(&x, unblock, &unlucky), 50 * US(147));
    const struct outcome *o = case_outcome(x.b.a, "debug-switches");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert(!o->upper_bound);
    ck_assert_int_gt(o->saves_mid_ns, MS(2.6));
    ck_assert_int_lt(o->saves_mid_ns, MS(2.75));
    /* A shorter kernel lets its launch come back sooner. */
    plan_reset(&x.plan, x.g);
    for (size_t i = 0; i < x.g->count; i++)
        if (x.g->tasks[i].kind == TASK_KERNEL)
            x.plan.dur[i] = US(45);
    ck_assert_int_eq(bench_step(&x), MS(5));
}

/* A check behind each kernel, whose answer is read: 20 x (300 + 10 + 20 us and what the host does).
 */
static void fill_checks(struct builder *b, int64_t at)
{
    for (int i = 0; i < 20; i++) {
        int64_t t = at + US(480 * i);
        build_kernel(b, "gemm", t, t + US(10), US(300));
        build_kernel(b, "isnan_kernel(float const*, int)", t + US(8), t + US(310), US(20));
        build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 4, t + US(15), US(325),
                   t + US(332), US(2));
    }
}

TEST(waits_for_the_answers_of_checks_go_with_the_checks)
{
    struct bench x = bench_start(MS(9.6), fill_checks);
    const struct outcome *o = case_outcome(x.b.a, "debug-switches");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_int_gt(o->saves_mid_ns, MS(3)); /* 20 kernels of 300 us are left */
    ck_assert_int_ne(case_outcome(x.b.a, "sync-in-loop")->verdict, RULE_FIRES);
}

/* 7 ms of kernels; meanwhile and afterwards the training thread copies for 8.9 ms, in two ranges of
 * which one lies in the other. */
static void fill_host_copy(struct builder *b, int64_t at)
{
    build_kernel(b, "gemm", at, at + US(10), MS(7));
    build_range_at(b, "aten::clone", 1, at + MS(1), at + MS(9.9));
    build_range_at(b, "aten::contiguous", 2, at + MS(2), at + MS(3));
    build_sync(b, at + MS(9.92), US(5));
}

TEST(copies_within_the_hosts_memory_take_their_time_along_once)
{
    struct bench x = bench_start(MS(10), fill_host_copy);
    bool *marks = calloc(x.b.t->range_count + 1, sizeof *marks);
    for (size_t i = 0; i < x.b.t->range_count; i++)
        marks[i] = strncmp(tl_text(x.b.t, x.b.t->ranges[i].name), "aten::", 6) == 0;
    int64_t ns = with(&x, (struct edit){.kind = &edit_skip, .skip.range_marks = marks}, &middle);
    ck_assert_int_gt(ns, MS(7)); /* the wait is for the kernel then */
    ck_assert_int_lt(ns, MS(7.3));
    struct edit long_ones = {.kind = &edit_skip,
                             .skip = {.range_marks = marks, .pause_ns = MS(11)}};
    ck_assert_int_eq(with(&x, long_ones, &middle), MS(10)); /* there are none */
    free(marks);
    const struct outcome *o = case_outcome(x.b.a, "host-copies");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert(!o->upper_bound);
    ck_assert_int_eq(case_outcome(x.b.a, "host-work")->verdict, RULE_SILENT);
}

/* 4 ms in a range, of which the GPU is idle for 2; then launches, for which the GPU waits. */
static void fill_half_hidden(struct builder *b, int64_t at)
{
    build_kernel(b, "k", at + US(10), at + US(20), MS(2));
    build_range(b, "metrics", at + US(30), at + MS(4));
    for (int i = 0; i < 100; i++)
        build_kernel(b, "k", at + MS(4) + US(59) * i, at + MS(4) + US(59) * i + US(10), US(20));
}

/* Without it all launches are earlier by the whole of it, not by what shows. */
TEST(host_work_beside_the_gpu_counts_where_the_host_sets_the_pace)
{
    struct bench x = bench_start(MS(10), fill_half_hidden);
    const struct outcome *o = case_outcome(x.b.a, "host-work");
    int64_t shown = x.b.a->facts->breakdown_ns[PART_IDLE_HOST];
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert(o->upper_bound);
    ck_assert(shown > MS(1.9) && shown < MS(2.1));
    ck_assert_int_gt(o->saves_high_ns, MS(3.8));
    ck_assert_int_lt(o->saves_high_ns, MS(4.2));
    const struct evidence *spent = &o->evidence[o->evidence_count - 1];
    ck_assert_ptr_nonnull(strstr(spent->text, "the host's time there in all"));
    ck_assert(fabs(spent->value - 3.97) < 0.01); /* no less than the bound, but for the pauses */
    ck_assert_int_le(o->saves_high_ns, (int64_t)(spent->value * 1e6));
}

static void fill_decode(struct builder *b, int64_t at)
{
    build_range(b, "data.decode", at, at + MS(8));
    build_kernel(b, "k", at + MS(8.1), at + MS(8.11), MS(1));
    build_sync(b, at + MS(8.2), US(920));
}

TEST(reading_for_nothing_leaves_the_share_that_computes)
{
    struct bench x = bench_start(MS(10), fill_decode);
    int64_t ns = with(&x, (struct edit){.kind = &edit_read_free, .read_free.left = 0.25}, &middle);
    ck_assert_int_gt(ns, MS(3.9));
    ck_assert_int_lt(ns, MS(4.1));
}

/* A batch of 3 ms made in line, and 6.8 ms of the training thread's own work. */
static void fill_batch_and_work(struct builder *b, int64_t at)
{
    build_range(b, "data.decode", at, at + MS(3));
    build_kernel(b, "k", at + MS(3) + US(10), at + MS(3) + US(20), US(100));
    build_sync(b, at + MS(3) + US(30), US(100));
}

TEST(busy_workers_may_slow_the_training_thread_down)
{
    struct bench x = bench_start(MS(10), fill_batch_and_work);
    struct edit workers = {.kind = &edit_workers, .workers.count = 4};
    int64_t best = with(&x, workers, &lucky), worst = with(&x, workers, &unlucky);
    ck_assert_int_lt(best, MS(7.1));
    ck_assert_int_gt(worst, best + MS(1.2)); /* a fifth of 6.8 ms */
    ck_assert_int_lt(worst, best + MS(1.5));
}

/* Four kernels of 10 us, 2 ms of the host from each launch to the next. */
static void fill_pauses(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++)
        build_kernel(b, "k", at + MS(2 * i), at + MS(2 * i) + US(10), US(10));
}

/* They are the program's own, or the thread had no core: then nobody knows. */
TEST(long_pauses_between_launches_may_go_while_the_thread_has_no_core)
{
    struct bench x = bench_start(MS(8), fill_pauses);
    struct edit capture = {.kind = &edit_graph};
    ck_assert_int_gt(with(&x, capture, &lucky), MS(7.5));
    ((struct facts *)(void *)(uintptr_t)x.b.a->facts)->host.starved_ns = MS(4);
    ck_assert_int_lt(with(&x, capture, &lucky), MS(1));
    ck_assert_int_gt(with(&x, capture, &unlucky), MS(7.5));
}

/* 20 kernels of a pass and 20 of the optimizer, one each 50 us. */
static void fill_update(struct builder *b, int64_t at)
{
    for (int i = 0; i < 40; i++)
        build_kernel(b, i < 20 ? "k" : "multi_tensor_apply_kernel<AdamFunctor>", at + US(50 * i),
                     at + US(50 * i + 8), US(5));
}

/* The same 20, and 20 that a loss launches in its operators. */
static void fill_loss(struct builder *b, int64_t at)
{
    for (int i = 0; i < 40; i++)
        build_kernel(b, "k", at + US(50 * i), at + US(50 * i + 8), US(5));
    build_range(b, "aten::mse_loss", at + US(995), at + US(1500));
    build_range(b, "MseLossBackward0", at + US(1500), at + US(1990));
}

/* torch.compile and make_graphed_callables leave them outside; a capture by hand takes them in. */
TEST(optimizer_and_loss_may_stay_outside_of_a_graph_under_pytorch)
{
    void (*const fill[])(struct builder *, int64_t) = {fill_update, fill_loss};
    for (int i = 0; i < 2; i++) {
        struct edit capture = {.kind = &edit_graph};
        struct bench x = bench_start(MS(2), fill[i]);
        ck_assert_int_lt(with(&x, capture, &unlucky), MS(0.5));
        capture.at.op_marks = query_outside_model(x.b.a->facts, &x.b.a->arena);
        ck_assert_int_lt(with(&x, capture, &lucky), MS(0.5));
        ck_assert_int_gt(with(&x, capture, &unlucky), MS(0.9));
    }
}

/* Twenty kernels of 10 us, one each 150 us; every other one starts 92 us late. */
static void fill_late(struct builder *b, int64_t at, int64_t call_ns)
{
    for (int i = 0; i < 20; i++) {
        int64_t t = at + US(150 * i), late = i % 2 ? US(92) : 0;
        int64_t c = build_api(b, "cudaLaunchKernel", t, late ? call_ns : US(4));
        build_kernel_of(b, "k", c, t + US(8) + late, US(10), 64);
    }
}

static void fill_late_starts(struct builder *b, int64_t at)
{
    fill_late(b, at, US(4));
}

static void fill_long_calls(struct builder *b, int64_t at)
{
    fill_late(b, at, US(96));
}

/* A graph goes to the GPU once. What a call takes while it loads code is none of its business. */
TEST(a_graph_saves_the_way_to_the_gpu_of_each_launch)
{
    struct edit capture = {.kind = &edit_graph};
    struct bench x = bench_start(MS(3), fill_late_starts);
    ck_assert_int_lt(with(&x, capture, &lucky), MS(0.3));
    ck_assert_int_gt(with(&x, capture, &unlucky), MS(1.1));
    x = bench_start(MS(3), fill_long_calls);
    ck_assert_int_gt(with(&x, capture, &lucky), MS(1.1));
}
