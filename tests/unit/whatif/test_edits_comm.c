/* Edits of communication. */
#include "tests/unit/edit_case.h"
#include "tests/unit/rule_case.h"

TEST(hidden_communication_leaves_its_last_bucket_and_slows_compute_down)
{
    struct bench x = bench_start(MS(8), fill_comm);
    struct edit hide = {.kind = &edit_hide_comm};
    int64_t best = with(&x, hide, &lucky), worst = with(&x, hide, &unlucky);
    ck_assert_int_gt(best, MS(5.9)); /* 1 ms of the host, 4 of compute, 0.9 left, some contention */
    ck_assert_int_lt(best, MS(6.2));
    ck_assert_int_gt(worst, best + MS(0.5));
    ck_assert_int_lt(worst, MS(8));
    ck_assert_int_gt(x.b.a->whatif.comm_bound_ns, MS(2.9));
}

/* One step may wait long for its exchange: what is left of it in each is a part of what was
 * transferred, not of that. */
TEST(waiting_is_no_transfer_that_has_to_stay)
{
    struct bench x = bench_start(MS(8), fill_comm);
    struct edit hide = {.kind = &edit_hide_comm};
    int64_t all = with(&x, hide, &lucky);
    struct rank_facts own = {
        .device = x.b.a->facts->steps.device, .comm_ns = MS(3), .wait_ns = MS(2)};
    x.b.a->own->ranks = (struct ranks){.at = &own, .count = 1, .late = TL_NONE};
    ck_assert_int_lt(with(&x, hide, &lucky), all - MS(0.3));
}

/* In every first collective of a step, 0.6 ms are waiting for the late rank. */
TEST(a_punctual_rank_takes_away_the_waiting_for_it_alone)
{
    struct bench x = bench_start(MS(8), fill_comm);
    struct advice *a = x.b.a;
    struct rank_facts members[2] = {{.rank = 0, .device = 0}, {.rank = 1, .device = 1}};
    struct late_wait waits[64];
    size_t n = 0, seen = 0;
    for (uint32_t i = 0; i < x.b.t->op_count; i++)
        if (x.b.t->ops[i].class.family == FAMILY_COMM && seen++ % 3 == 0)
            waits[n++] = (struct late_wait){i, MS(0.6)};
    a->own->ranks =
        (struct ranks){.at = members, .count = 2, .late = 1, .waits = waits, .wait_count = n};
    int64_t ns = with(&x, (struct edit){.kind = &edit_punctual}, &middle);
    ck_assert_int_gt(ns, MS(7.35));
    ck_assert_int_lt(ns, MS(7.45));
}

/* 2 ms of compute, then forty collectives of 50 us, most of which is what any costs. */
static void fill_small_comm(struct builder *b, int64_t at)
{
    build_kernel(b, "k", at, at + US(10), MS(2));
    for (int i = 0; i < 40; i++)
        build_kernel(b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + US(10 + 10 * i),
                     at + US(10) + MS(2) + US(50 * i), US(i ? 50 : 40));
    build_sync(b, at + US(500), MS(3.6));
}

TEST(few_large_collectives_pay_what_any_costs_a_few_times_only)
{
    struct bench x = bench_start(MS(4.2), fill_small_comm);
    struct edit bucket = {.kind = &edit_bucket};
    int64_t best = with(&x, bucket, &lucky), worst = with(&x, bucket, &unlucky);
    ck_assert_int_gt(best, MS(2.2)); /* compute, the host's 0.1 ms, and little more */
    ck_assert_int_lt(best, MS(2.5));
    ck_assert_int_gt(worst, best);
    ck_assert_int_lt(worst, MS(4));
}

/* 8 ms of compute; a collective waits beside all of it and 1 ms more, and the host for that. */
static void fill_waiting(struct builder *b, int64_t at)
{
    if (at == MS(100))
        build_stream(b, 2, 1);
    for (int i = 0; i < 8; i++)
        build_kernel(b, "k", at + US(10 * i), at + US(20) + MS(i), MS(1));
    b->stream = 2;
    build_kernel(b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + US(80), at + US(90),
                 MS(9) - US(70));
    build_sync(b, at + US(100), MS(9) - US(70));
    b->stream = 1;
}

/* It spins on multiprocessors that the kernels beside it then have for themselves. */
TEST(compute_beside_a_wait_is_faster_without_it)
{
    struct bench x = bench_start(MS(10), fill_waiting);
    struct advice *a = x.b.a;
    struct rank_facts members[2] = {{.rank = 0, .device = 0}, {.rank = 1, .device = 1}};
    struct late_wait waits[STEPS];
    size_t n = 0;
    for (uint32_t i = 0; i < x.b.t->op_count; i++)
        if (x.b.t->ops[i].class.family == FAMILY_COMM)
            waits[n++] = (struct late_wait){i, MS(9)};
    a->own->ranks =
        (struct ranks){.at = members, .count = 2, .late = 1, .waits = waits, .wait_count = n};
    struct edit punctual = {.kind = &edit_punctual};
    int64_t best = with(&x, punctual, &lucky), worst = with(&x, punctual, &unlucky);
    ck_assert_int_gt(worst, MS(7.9));
    ck_assert_int_lt(worst, MS(8.1));
    ck_assert_int_gt(best, MS(6.9)); /* 8 / 1.15 */
    ck_assert_int_lt(best, MS(7.1));
}
