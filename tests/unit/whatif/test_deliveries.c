/* A loop that waits for data-loading workers, of which only the waits were recorded. */
#include "tests/unit/test.h"
#include "analyzer/queries/input/delivery.h"

#include "tests/unit/replay_steps.h"

static const char awaits[] = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

/* The rest of a step: 4 ms on the GPU, which the host awaits. */
static void compute(struct builder *b, int64_t at)
{
    build_kernel(b, "volta_sgemm_128x64_nn", at + US(10), at + US(20), MS(3.8));
    build_sync(b, at + US(30), MS(3.8));
}

static void fill_held_up(struct builder *b, int64_t at)
{
    build_range(b, awaits, at, at + MS(6));
    compute(b, at + MS(6));
}

/* Two workers deliver together: every other batch is ready. Steps of 10 ms in the mean. */
static void fill_bursts(struct builder *b, int64_t at)
{
    bool second = (at - MS(100)) / MS(10) % 2 == 1;
    int64_t from = second ? at + MS(5.5) : at;
    build_range(b, awaits, from, second ? from + US(100) : at + MS(11.4));
    compute(b, second ? from + US(100) : at + MS(11.4));
}

static void fill_ready(struct builder *b, int64_t at)
{
    build_range(b, awaits, at, at + US(200));
    compute(b, at + US(200));
}

static void fill_sleeps(struct builder *b, int64_t at)
{
    build_range_in(b, OS_DOMAIN, "poll", -1, at, at + MS(6));
    compute(b, at + MS(6));
}

/* How much longer than usual the host is at work in the step that begins at `at`. */
static int64_t uneven(int64_t at)
{
    static const int64_t more[] = {US(0), US(300), US(100), US(500), US(200)};
    return more[(at - MS(100)) / MS(5) % 5];
}

static void take(struct builder *b, int64_t at, int64_t wait)
{
    build_range(b, awaits, at, at + wait);
    build_kernel(b, "volta_sgemm_128x64_nn", at + wait + US(10), at + wait + US(20), MS(3));
    build_sync(b, at + wait + US(30), MS(3));
}

/* Each step begins late by what the host did: the wait ends when it would have, */
static void fill_waits_for_workers(struct builder *b, int64_t at)
{
    take(b, at + uneven(at), US(900) - uneven(at));
}

/* or takes as long as ever. */
static void fill_unpacks(struct builder *b, int64_t at)
{
    take(b, at + uneven(at), US(900));
}

static void fill_even(struct builder *b, int64_t at)
{
    take(b, at, US(900));
}

static enum delivery_reading reading(const struct bench *x)
{
    struct deliveries d;
    ck_assert_int_eq(query_deliveries(x->b.a->facts, &d), 0);
    ck_assert_uint_eq(d.n, STEPS);
    enum delivery_reading r = query_delivery_reading(x->b.a->facts, &d);
    query_deliveries_release(&d);
    return r;
}

static size_t found(const struct bench *x)
{
    struct deliveries d;
    ck_assert_int_eq(query_deliveries(x->b.a->facts, &d), 0);
    size_t n = d.n;
    query_deliveries_release(&d);
    return n;
}

static bool every_kernel(const struct facts *f, uint32_t op)
{
    return f->tl->op_count > op;
}

static void batches_come_no_faster_and_more_workers_may_bring_them(struct bench *x)
{
    ck_assert_uint_eq(found(x), STEPS);
    ck_assert_double_lt(x->b.a->whatif.unexplained_pct, 1);
    struct edit quick = {.kind = &edit_scale, .at.ops = every_kernel, .scale = {0.5, 0.5}};
    ck_assert_int_lt(bench_span(x, quick).high_ns, US(250));
    struct span_ns more = bench_span(x, (struct edit){.kind = &edit_more_workers});
    ck_assert_int_ge(more.low_ns, 0);
    ck_assert_int_lt(more.low_ns, MS(1.5));
    ck_assert_int_gt(more.mid_ns, MS(3));
    ck_assert_int_gt(more.high_ns, MS(5.5)); /* what computing leaves */
    ck_assert_int_le(more.high_ns, MS(6.3));
}

TEST(workers_that_hold_up_every_step_set_its_pace)
{
    struct bench x = bench_start(MS(10), fill_held_up);
    batches_come_no_faster_and_more_workers_may_bring_them(&x);
}

TEST(so_does_a_thread_that_sleeps_in_the_operating_system)
{
    struct bench x = bench_start(MS(10), fill_sleeps);
    batches_come_no_faster_and_more_workers_may_bring_them(&x);
}

TEST(a_batch_of_a_burst_was_made_between_its_neighbours)
{
    struct bench x = bench_start(MS(10), fill_bursts);
    struct deliveries d;
    ck_assert_int_eq(query_deliveries(x.b.a->facts, &d), 0);
    ck_assert_uint_eq(d.n, STEPS);
    for (size_t i = 3; i + 1 < d.n; i += 2) {
        ck_assert_int_le(d.at[i].made_ns, d.at[i].from_ns);
        ck_assert_int_ge(d.at[i].made_ns, d.at[i - 1].made_ns);
        ck_assert_int_eq(d.at[i + 1].made_ns, d.at[i + 1].to_ns);
    }
    query_deliveries_release(&d);
    ck_assert_double_lt(x.b.a->whatif.unexplained_pct, 5);
}

TEST(a_wait_that_ends_when_the_batch_comes_is_for_the_workers)
{
    struct bench x = bench_start(MS(5), fill_waits_for_workers);
    ck_assert_int_eq(reading(&x), DELIVERY_LIMITS);
    struct edit quick = {.kind = &edit_scale, .at.ops = every_kernel, .scale = {0.5, 0.5}};
    ck_assert_int_lt(bench_span(&x, quick).mid_ns, US(250));
}

TEST(a_wait_as_long_whenever_the_loop_asks_is_the_cost_of_taking)
{
    struct bench x = bench_start(MS(5), fill_unpacks);
    ck_assert_int_eq(reading(&x), DELIVERY_COSTS);
    struct edit quick = {.kind = &edit_scale, .at.ops = every_kernel, .scale = {0.5, 0.5}};
    ck_assert_int_gt(bench_span(&x, quick).low_ns, US(1200));
    struct edit more = {.kind = &edit_more_workers};
    ck_assert_int_lt(bench_span(&x, more).high_ns, US(100));
}

TEST(where_nothing_decides_the_interval_holds_both)
{
    struct bench x = bench_start(MS(5), fill_even);
    ck_assert_int_eq(reading(&x), DELIVERY_EITHER);
    struct edit quick = {.kind = &edit_scale, .at.ops = every_kernel, .scale = {0.5, 0.5}};
    struct span_ns s = bench_span(&x, quick);
    ck_assert_int_lt(s.low_ns, US(250));
    ck_assert_int_gt(s.mid_ns, US(1200));
    ck_assert_ptr_nonnull(strstr(x.b.a->whatif.wider, "batches were ready"));
}

TEST(batches_that_are_ready_say_nothing_about_workers)
{
    struct bench x = bench_start(MS(5), fill_ready);
    ck_assert_uint_eq(found(&x), 0);
    struct edit quick = {.kind = &edit_scale, .at.ops = every_kernel, .scale = {0.5, 0.5}};
    ck_assert_int_gt(bench_span(&x, quick).mid_ns, MS(1.5));
}

TEST(the_rule_says_what_more_workers_would_bring)
{
    struct bench x = bench_start(MS(10), fill_held_up);
    const struct outcome *first = x.b.a->ranked_count ? x.b.a->ranked[0] : NULL;
    ck_assert_ptr_nonnull(first);
    ck_assert_str_eq(first->rule->id, "num-workers");
    ck_assert_ptr_eq(first->edit.kind, &edit_more_workers);
    ck_assert(!first->upper_bound);
}

static void fill_far_behind(struct builder *b, int64_t at)
{
    build_range(b, awaits, at, at + MS(9.3));
    build_kernel(b, "volta_sgemm_128x64_nn", at + MS(9.31), at + MS(9.32), US(500));
    build_sync(b, at + MS(9.33), US(500));
}

/* Ten times as many and more: nobody knows whether there are cores for them, so samples that cost
 * less stand beside more workers. */
TEST(workers_that_are_far_behind_have_too_much_to_do)
{
    struct bench x = bench_start(MS(10), fill_far_behind);
    ck_assert_str_eq(x.b.a->ranked[0]->rule->id, "num-workers");
    ck_assert_str_eq(x.b.a->ranked[1]->rule->id, "expensive-samples");
    ck_assert_int_lt(query_workers_lack(x.b.a->facts), 16);
}

/* What torch.profiler records with active=3: it is not known where the first one begins. */
TEST(two_batches_are_enough_if_both_were_awaited)
{
    struct bench x = bench_start_of(3, MS(10), fill_held_up);
    ck_assert_uint_eq(found(&x), 3);
    ck_assert_str_eq(x.b.a->ranked[0]->title, "Give the loader more workers");
    x = bench_start_of(2, MS(10), fill_held_up);
    ck_assert_uint_eq(found(&x), 0);
}

/* 6 ms for a batch that nobody knows the maker of, then 40 launches, one each 100 us. */
static void fill_launches_behind_a_batch(struct builder *b, int64_t at)
{
    build_range(b, awaits, at, at + MS(6));
    for (int i = 0; i < 40; i++)
        build_kernel(b, "k", at + MS(6) + US(100 * i), at + MS(6) + US(100 * i + 8), US(5));
}

TEST(a_graph_makes_no_batches)
{
    struct bench x = bench_start_of(1, MS(10), fill_launches_behind_a_batch);
    for (size_t i = 0; i < x.b.a->outcome_count; i++) {
        const struct outcome *o = &x.b.a->outcomes[i];
        if (strcmp(o->rule->id, "cuda-graphs") == 0) {
            ck_assert_int_eq(o->verdict, RULE_FIRES);
            ck_assert_int_le(o->saves_high_ns, MS(4.1));
        }
    }
}
