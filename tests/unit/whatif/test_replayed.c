/* One step after a change, event by event. */
#include "tests/unit/test.h"
#include "analyzer/whatif/replayed.h"

#include "tests/unit/replay_steps.h"

/* Engine over the bench's facts; `edit` made in it. */
static int replayed(struct bench *x, struct edit edit, struct replayed_step *out)
{
    struct err e = ERR_INIT;
    struct arena arena = {0};
    struct whatif w;
    struct engine engine;
    ck_assert_int_eq(engine_open(&engine, x->b.a->facts, &arena, &w, &e), 0);
    int rc = engine_replayed(&engine, &edit, out);
    engine_close(&engine);
    arena_release(&arena);
    return rc;
}

static const struct edit nothing = {.kind = &edit_scale, .scale = {1, 1}};

TEST(without_a_change_all_is_where_it_was)
{
    struct bench x = bench_start(MS(10), fill_gpu_bound);
    struct replayed_step r;
    ck_assert_int_eq(replayed(&x, nothing, &r), 1);
    const struct timeline *t = x.b.a->facts->tl;
    ck_assert_int_eq(r.to_ns, r.was_ns);
    ck_assert_uint_eq(r.op_count, 8);
    for (size_t i = 0; i < r.op_count; i++) {
        ck_assert_int_eq(r.ops[i].start_ns, t->ops[r.ops[i].op].start_ns);
        ck_assert_int_eq(r.ops[i].end_ns, t->ops[r.ops[i].op].end_ns);
    }
    ck_assert_uint_eq(r.moment_count, 2); /* a line */
    for (size_t i = 0; i < r.moment_count; i++)
        ck_assert_int_eq(r.moments[i].is_ns, r.moments[i].was_ns);
    replayed_release(&r);
}

static bool is_copy(const struct facts *f, uint32_t op)
{
    return f->tl->ops[op].kind == OP_COPY;
}

/* A copy of 4 ms, for which the host waits, then a kernel of 2 ms. */
static void fill_copy(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 1 << 20, at, US(10), at + US(50),
               MS(4));
    build_sync(b, at + US(20), MS(4.1));
    build_kernel(b, "k", at + MS(4.3), at + MS(4.35), MS(2));
    build_sync(b, at + MS(4.4), MS(2));
}

TEST(what_is_removed_is_gone_and_the_rest_moves_up)
{
    struct bench x = bench_start(MS(8), fill_copy);
    struct replayed_step r;
    ck_assert_int_eq(replayed(&x, (struct edit){.kind = &edit_remove, .at.ops = is_copy}, &r), 1);
    const struct timeline *t = x.b.a->facts->tl;
    ck_assert_uint_eq(r.op_count, 1);
    const struct placed_op *k = &r.ops[0];
    ck_assert_int_eq(t->ops[k->op].kind, OP_KERNEL);
    ck_assert_int_eq(k->end_ns - k->start_ns, MS(2));
    ck_assert_int_lt(k->start_ns, t->ops[k->op].start_ns - MS(3.5));
    ck_assert_int_lt(r.to_ns, r.was_ns - MS(3.5));
    int64_t start, end;
    for (uint32_t i = 0; i < t->op_count; i++)
        ck_assert_int_eq(replayed_op(&r, i, &start, &end), i == k->op);
    const struct step *s = &x.b.a->facts->steps.at[r.step];
    int64_t launch_was_ns = s->start_ns + MS(4.3), after_ns = INT64_MAX;
    for (size_t i = 1; i < r.moment_count; i++) {
        ck_assert_int_le(r.moments[i - 1].was_ns, r.moments[i].was_ns);
        ck_assert_int_le(r.moments[i - 1].is_ns, r.moments[i].is_ns);
        const struct moment *a = &r.moments[i - 1], *b = &r.moments[i];
        if (a->was_ns <= launch_was_ns && b->was_ns > launch_was_ns)
            after_ns = a->is_ns + (launch_was_ns - a->was_ns) * (b->is_ns - a->is_ns) /
                                      (b->was_ns - a->was_ns);
    }
    ck_assert_int_lt(after_ns, k->start_ns); /* the wait is over sooner: so is the launch */
    replayed_release(&r);
}

/* Batches that workers make leave the training thread. */
static void fill_decode(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(5));
    build_range(b, "data.decode", at + US(10), at + MS(5) - US(10));
    build_kernel(b, "k", at + MS(5) + US(10), at + MS(5) + US(30), MS(2));
    build_sync(b, at + MS(5) + US(20), MS(2) + US(20));
}

TEST(what_workers_do_is_elsewhere)
{
    struct bench x = bench_start(MS(8), fill_decode);
    struct replayed_step r;
    ck_assert_int_eq(replayed(&x, (struct edit){.kind = &edit_workers, .workers.count = 4}, &r), 1);
    size_t elsewhere = 0;
    for (size_t i = 0; i < r.moment_count; i++)
        elsewhere += r.moments[i].elsewhere;
    ck_assert_uint_eq(elsewhere, 1);
    ck_assert_int_lt(r.to_ns, r.was_ns - MS(4));
    replayed_release(&r);
}

/* With another batch a step does other work. */
TEST(a_step_of_another_batch_is_no_step_of_this_one)
{
    struct bench x = bench_start(MS(10), fill_gpu_bound);
    struct replayed_step r;
    ck_assert_int_eq(replayed(&x, (struct edit){.kind = &edit_batch, .batch.times = 2}, &r), 0);
    replayed_release(&r);
}

TEST(only_findings_with_a_prediction_have_such_a_step)
{
    struct bench x = bench_start(MS(8), fill_copy);
    struct err e = ERR_INIT;
    struct after all[2];
    struct outcome one = {.verdict = RULE_FIRES,
                          .edit = {.kind = &edit_remove, .at.ops = is_copy},
                          .saves_low_ns = MS(3.5),
                          .saves_mid_ns = MS(4),
                          .saves_high_ns = MS(4.5)};
    struct outcome bound = one, other = one;
    bound.upper_bound = true;
    const struct outcome *list[] = {&bound, &one};
    ck_assert_int_eq(advice_after(x.b.a, list, 2, all, &e), 1);
    ck_assert_ptr_eq(all[0].outcome, &one);
    advice_after_release(all, 1);
    /* a replay that contradicts the finding is not shown */
    other.saves_low_ns = other.saves_mid_ns = other.saves_high_ns = MS(1);
    list[0] = &other;
    ck_assert_int_eq(advice_after(x.b.a, list, 1, all, &e), 0);
}
