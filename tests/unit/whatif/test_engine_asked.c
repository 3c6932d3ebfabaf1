/* Answers of the engine that were replayed ahead, several in one pass, are those that it gives when it
 * is asked one by one. */
#include "tests/unit/test.h"
#include "analyzer/whatif/engine.h"

#include "tests/unit/replay_steps.h"

enum { EDITS = 3 };

static bool any(const struct facts *f, uint32_t op)
{
    return f->tl->op_count > op;
}

static const struct edit products = {.kind = &edit_precision}, in_graph = {.kind = &edit_graph},
                         half = {.kind = &edit_scale, .at.ops = any, .scale = {0.3, 0.7}};

static void fill_both_bound(struct builder *b, int64_t at)
{
    for (int i = 0; i < 10; i++)
        build_kernel(b, i % 2 ? "volta_sgemm_128x64_nn" : "vectorized_elementwise_kernel<4>",
                     at + MS(i), at + MS(i) + US(10), US(300 + 60 * i));
}

struct said {
    struct span_ns span[EDITS];
    int64_t alone[EDITS];
    size_t replays; /* answers remembered before the first was asked for */
};

/* What n edits save together, for n from 1, and each behind the first. */
static struct said ask(struct bench *x, bool ahead)
{
    const struct edit *edits[EDITS] = {&products, &in_graph, &half};
    const struct edit *behind[EDITS][2];
    const struct edit *const *lists[EDITS];
    struct said out;
    struct err e = ERR_INIT;
    struct arena arena = {0};
    struct whatif w;
    struct engine engine;
    ck_assert_int_eq(engine_open(&engine, x->b.a->facts, &arena, &w, &e), 0);
    ck_assert_int_eq(engine_check(&engine, &w), 0);
    engine_take_cost_out(&engine, &w);
    for (int i = 0; i < EDITS; i++) {
        behind[i][0] = &products;
        behind[i][1] = edits[i];
        lists[i] = behind[i];
    }
    if (ahead) {
        engine_span_in_turn(&engine, &w, edits, EDITS);
        engine_ask_each(&engine, lists, 2, EDITS);
    }
    out.replays = engine.answers.n;
    for (int i = 0; i < EDITS; i++) {
        out.span[i] = engine_span(&engine, &w, edits, (size_t)i + 1);
        out.alone[i] = engine_saved_by(&engine, lists[i], 2, 0);
    }
    engine_close(&engine);
    arena_release(&arena);
    return out;
}

TEST(what_is_replayed_ahead_is_what_is_asked)
{
    struct bench x = bench_start(MS(11), fill_both_bound);
    struct said ahead = ask(&x, true), after = ask(&x, false);
    ck_assert_uint_eq(after.replays, 0);
    ck_assert_uint_ge(ahead.replays, 2 * DRAWS); /* of two edits, and of three */
    ck_assert_int_lt(after.span[1].low_ns, after.span[1].high_ns);
    ck_assert_int_ne(after.span[1].mid_ns, after.span[2].mid_ns);
    for (int i = 0; i < EDITS; i++) {
        ck_assert_int_eq(ahead.span[i].low_ns, after.span[i].low_ns);
        ck_assert_int_eq(ahead.span[i].mid_ns, after.span[i].mid_ns);
        ck_assert_int_eq(ahead.span[i].high_ns, after.span[i].high_ns);
        ck_assert_int_eq(ahead.alone[i], after.alone[i]);
    }
}
