/* Batches in the graph, taken from the rows of a framework's hook if no range names them. */
#include "tests/unit/test.h"
#include "tests/unit/replay_steps.h"
#include "wire/spool_format.h"

static size_t count(const struct graph *g, enum task_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++)
        n += g->tasks[i].kind == kind;
    return n;
}

enum { OTHER_PROCESS = 2, OTHER_THREAD = 3 };

static void row(struct builder *b, int what, int64_t thread, int worker, int64_t start, int64_t end)
{
    struct row_loader r = {.id = ++b->next_id,
                           .process = thread == OTHER_THREAD ? OTHER_PROCESS : 1,
                           .thread = thread,
                           .start_ns = start,
                           .end_ns = end,
                           .what = what,
                           .worker = worker,
                           .batch = 1,
                           .cpu_ns = -1};
    build_put(b, ROW_LOADER, &r);
}

/* The hook writes a span when it ends: the wait comes behind what is in it. */
static void fill_inline(struct builder *b, int64_t at)
{
    row(b, SPOOL_LOADER_COLLATE, 1, -1, at + MS(4), at + MS(5.9));
    row(b, SPOOL_LOADER_FETCH, 1, -1, at + US(20), at + MS(5.98));
    row(b, SPOOL_LOADER_WAIT, 1, -1, at, at + MS(6));
    build_kernel(b, "k", at + MS(6), at + MS(6) + US(10), MS(4) - US(40));
    build_sync(b, at + MS(6) + US(10), MS(4) - US(30));
}

TEST(workers_take_what_the_training_thread_makes_in_its_waits)
{
    struct bench x = bench_start(MS(10), fill_inline);
    ck_assert_uint_eq(count(x.g, TASK_LOAD), x.g->steps);
    struct span_ns one = bench_span(&x, (struct edit){.kind = &edit_workers, .workers.count = 1});
    ck_assert_int_gt(one.mid_ns, MS(3)); /* a batch still takes 6 ms */
    ck_assert_int_lt(one.mid_ns, MS(4.1));
}

/* It takes 2 ms out of the memory of a worker, which takes 1 ms to put it there. */
TEST(a_batch_from_another_process_takes_its_way)
{
    struct bench x = bench_start(MS(10), fill_inline);
    struct edit edit = {.kind = &edit_workers, .workers.count = 1};
    edit.workers.hand_over = (struct hand_over){.send_low = MS(1), .send_high = MS(1)};
    struct span_ns one = bench_span(&x, edit);
    ck_assert_int_gt(one.mid_ns, MS(2)); /* 6 and 1 ms for each batch, one after the other */
    ck_assert_int_lt(one.mid_ns, MS(3.1));
    edit.workers.count = 4;
    int64_t threads =
        bench_span(&x, (struct edit){.kind = &edit_workers, .workers.count = 4}).mid_ns;
    edit.workers.hand_over = (struct hand_over){.get_low = MS(1), .get_high = MS(4)};
    struct span_ns four = bench_span(&x, edit);
    ck_assert_int_gt(threads - four.mid_ns, MS(1.4)); /* the training thread: 1 to 4 ms */
    ck_assert_int_lt(threads - four.mid_ns, MS(2.4));
    ck_assert_int_gt(four.high_ns - four.low_ns, MS(1.5));
}

/* The training thread makes a batch, then works for 4 ms itself. */
static void fill_host(struct builder *b, int64_t at)
{
    row(b, SPOOL_LOADER_FETCH, 1, -1, at + US(20), at + MS(5.98));
    row(b, SPOOL_LOADER_WAIT, 1, -1, at, at + MS(6));
    build_kernel(b, "k", at + MS(6), at + MS(6) + US(10), US(20));
    build_kernel(b, "k", at + MS(9.9), at + MS(9.9) + US(10), US(20));
}

/* Two cores: a batch of 6 ms and the 4 ms fill them for 5 ms a step; where another thread works
 * for as long beside it, for 7. */
TEST(other_threads_of_the_trainer_take_cores_from_workers)
{
    struct bench x = bench_start(MS(10), fill_host);
    x.b.a->own->host.usable_cores = 2;
    struct edit edit = {.kind = &edit_workers, .workers.count = 4};
    struct draw middle = {{0.5, 0, 0}};
    edit_apply(&edit, x.g, &x.plan, &middle);
    ck_assert_double_eq(x.plan.pool.busy, 1);
    int64_t alone = replay_settle(&x.r, x.g, &x.plan);
    edit.workers.hand_over.train_ns = MS(8);
    plan_reset(&x.plan, x.g);
    edit_apply(&edit, x.g, &x.plan, &middle);
    ck_assert_double_eq_tol(x.plan.pool.busy, 2, 0.05);
    int64_t beside = replay_settle(&x.r, x.g, &x.plan);
    ck_assert_int_gt(alone, MS(4.7));
    ck_assert_int_lt(alone, MS(5.3));
    ck_assert_int_gt(beside, MS(6.7));
    ck_assert_int_lt(beside, MS(7.4));
}

/* Each has a core, and yet they share memory and clocks; one alone takes what the thread took. */
TEST(many_workers_may_take_longer_for_a_batch_than_one)
{
    struct bench x = bench_start(MS(10), fill_host);
    static const double longest[] = {1.05, 1.233, 1.417, 1.6, 1.6};
    for (int m = 1; m <= 5; m++) {
        struct edit edit = {.kind = &edit_workers, .workers.count = m};
        plan_reset(&x.plan, x.g);
        edit_apply(&edit, x.g, &x.plan, &(struct draw){{1, 0.5, 0.5}});
        ck_assert_double_eq_tol(x.plan.pool.slower, longest[m - 1], 0.001);
        edit_apply(&edit, x.g, &x.plan, &(struct draw){{0.5, 0.5, 0.5}});
        ck_assert_double_eq(x.plan.pool.slower, 1);
    }
    x.b.a->own->host.loader_workers = 4; /* recorded beside each other */
    struct edit edit = {.kind = &edit_workers, .workers.count = 4};
    edit_apply(&edit, x.g, &x.plan, &(struct draw){{1, 0.5, 0.5}});
    ck_assert_double_eq_tol(x.plan.pool.slower, 1.05, 0.001);
}

static void fill_waits(struct builder *b, int64_t at)
{
    row(b, SPOOL_LOADER_WAIT, 1, -1, at, at + MS(4));
    build_kernel(b, "k", at + MS(4), at + MS(4) + US(10), MS(1));
    build_sync(b, at + MS(4) + US(10), MS(1) + US(10));
}

static void fill_worker(struct builder *b, int64_t at)
{
    row(b, SPOOL_LOADER_FETCH, 2, 0, at - MS(2), at + MS(4) - US(5));
    fill_waits(b, at);
}

static size_t joined(const struct graph *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++)
        n += g->tasks[i].kind == TASK_GET && g->tasks[i].edges == 1;
    return n;
}

TEST(a_batch_is_taken_when_its_worker_has_fetched_it)
{
    struct bench x = bench_start(MS(6), fill_worker);
    ck_assert_uint_eq(count(x.g, TASK_GET), x.g->steps);
    ck_assert_uint_ge(joined(x.g), x.g->steps - 1);
}

/* It was busy all the time: two make twice as many batches, and do not wait for the recorded one.
 */
TEST(more_workers_than_were_recorded_work_at_the_same_time)
{
    struct bench x = bench_start(MS(6), fill_worker);
    struct span_ns two = bench_span(&x, (struct edit){.kind = &edit_workers, .workers.count = 2});
    ck_assert_int_gt(two.mid_ns, MS(2.6)); /* of 6 */
    ck_assert_int_lt(two.mid_ns, MS(3.1));
}

/* 3 ms on its way: the worker's queue has to wait for the batch behind it. */
static void fill_late(struct builder *b, int64_t at)
{
    row(b, SPOOL_LOADER_FETCH, 2, 0, at - MS(4.95), at + MS(1));
    fill_waits(b, at);
}

TEST(a_batch_that_is_long_on_its_way_is_no_riddle)
{
    struct bench x = bench_start(MS(6), fill_late);
    ck_assert_int_eq(x.g->way_ns, MS(3));
    ck_assert_double_lt(x.b.a->whatif.unexplained_pct, 1);
    struct span_ns two = bench_span(&x, (struct edit){.kind = &edit_workers, .workers.count = 2});
    ck_assert_int_gt(two.mid_ns, MS(2.6)); /* of 6, as if it came at once */
    ck_assert_int_lt(two.mid_ns, MS(3.1));
}

/* Each batch is fetched six steps before it is taken. The training thread waits for 1.5 ms all the
 * same: for a lock, say. */
static void fill_ahead(struct builder *b, int64_t at)
{
    enum { AHEAD = 6 };
    for (int i = 0; at == MS(100) && i < AHEAD; i++)
        row(b, SPOOL_LOADER_FETCH, 2, 0, at - MS(3) + US(400 * i), at - MS(3) + US(400 * i + 300));
    row(b, SPOOL_LOADER_FETCH, 2, 0, at + US(100), at + US(400));
    row(b, SPOOL_LOADER_WAIT, 1, -1, at, at + MS(1.5));
    build_kernel(b, "k", at + MS(1.5), at + MS(1.5) + US(10), MS(4));
    build_sync(b, at + MS(1.5) + US(10), MS(4) + US(10));
}

TEST(a_wait_for_something_else_is_no_way_of_a_batch)
{
    struct bench x = bench_start(MS(6), fill_ahead);
    ck_assert_int_eq(x.g->credits, 7);
    ck_assert_int_eq(x.g->way_ns, 0);
}

/* Another rank's worker, which left its rows in the same profile. */
static void fill_other_rank(struct builder *b, int64_t at)
{
    if (at == MS(100)) {
        struct row_process p = {.id = OTHER_PROCESS, .pid = 43, .rank = 1, .sealed = 1};
        p.end_ns = MS(10000);
        build_put(b, ROW_PROCESS, &p);
        struct row_thread t = {.id = OTHER_THREAD, .process = OTHER_PROCESS, .tid = 43};
        t.name = build_text(b, "worker");
        build_put(b, ROW_THREAD, &t);
    }
    row(b, SPOOL_LOADER_FETCH, OTHER_THREAD, 0, at - MS(3), at + MS(3));
    fill_worker(b, at);
}

TEST(workers_of_another_rank_make_no_batch_of_this_one)
{
    struct bench x = bench_start(MS(6), fill_other_rank);
    size_t loads = count(x.g, TASK_LOAD);
    ck_assert_uint_ge(loads, x.g->steps - 1);
    ck_assert_uint_le(loads, x.g->steps + 1);
    ck_assert_uint_ge(joined(x.g), x.g->steps - 1);
}

TEST(waits_alone_do_not_say_who_makes_the_batches)
{
    struct bench x = bench_start(MS(6), fill_waits);
    ck_assert_uint_eq(count(x.g, TASK_GET) + count(x.g, TASK_LOAD), 0);
}
