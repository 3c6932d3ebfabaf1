/* The order in which changes are to be made, and what each saves on top of those before it. */
#include "tests/unit/test.h"
#include "analyzer/advice/advice.h"
#include "tests/unit/replay_steps.h"
#include "report/words/text.h"

static void check_order(const struct bench *x, const char *first, const char *then)
{
    const struct advice *a = x->b.a;
    ck_assert_uint_eq(a->stack_count, 2);
    ck_assert_str_eq(a->stack[0].outcome->rule->id, first);
    ck_assert_str_eq(a->stack[1].outcome->rule->id, then);
    int64_t step = x->b.a->facts->steps.median_ns;
    for (size_t i = 0; i < 2; i++) {
        step -= a->stack[i].saves_ns;
        ck_assert_int_eq(a->stack[i].step_ns, step);
        ck_assert_int_ge(a->stack[i].step_high_ns, step);
        ck_assert_int_le(a->stack[i].step_low_ns, step);
    }
}

/* Hundred launches and forty memsets of gradients set the pace. */
static void fill_launches_and_zeroing(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++)
        build_kernel(b, "k", at + US(50 * i), at + US(50 * i) + US(10), US(5));
    for (int i = 0; i < 40; i++)
        build_memset(b, 4096, at + MS(5) + US(20 * i), at + MS(5) + US(20 * i + 8), US(2));
    build_sync(b, at + US(5900), US(5));
}

TEST(what_heads_the_ranking_is_the_first_to_apply)
{
    struct bench x = bench_start(MS(6), fill_launches_and_zeroing);
    const struct advice *a = x.b.a;
    ck_assert_str_eq(a->ranked[0]->rule->id, "cuda-graphs"); /* saves most by itself */
    ck_assert_uint_ge(a->stack_count, 1);
    ck_assert_ptr_eq(a->stack[0].outcome, a->ranked[0]);
    ck_assert_int_eq(a->stack[0].saves_ns, a->ranked[0]->saves_mid_ns);
    struct text words;
    ck_assert_ptr_nonnull(text_interval(&words, a, a->ranked[0]));
    ck_assert_ptr_nonnull(strstr(words.s, "recorded steps replayed"));
}

/* A batch of 5 ms made in line, then 4 ms of kernels, a wait for them, and 3 ms of other work. */
static void fill_batch_and_wait(struct builder *b, int64_t at)
{
    build_range(b, "data.decode", at, at + MS(5));
    for (int i = 0; i < 8; i++)
        build_kernel(b, "k", at + MS(5) + US(10 * i), at + MS(5) + US(10) + US(500 * i), US(500));
    build_sync(b, at + MS(5) + US(100), MS(4) - US(80));
}

TEST(the_cause_of_waiting_for_data_comes_first)
{
    struct bench x = bench_start(MS(12), fill_batch_and_wait);
    check_order(&x, "num-workers", "sync-in-loop");
}

static void fill_with_memory_to_spare(struct builder *b, int64_t at)
{
    struct row_gpu_sample r = {.id = ++b->next_id,
                               .device = 1,
                               .time_ns = at + MS(3),
                               .util_pct = 10,
                               .memory_used_bytes = 1 << 30,
                               .throttle_reasons = -1,
                               .pcie_tx_bytes_per_s = -1,
                               .pcie_rx_bytes_per_s = -1};
    build_put(b, ROW_GPU_SAMPLE, &r);
    fill_launches_and_zeroing(b, at);
}

/* With another batch a step is not the same step. */
TEST(what_changes_the_training_is_not_put_on_the_others)
{
    struct bench x = bench_start(MS(6), fill_with_memory_to_spare);
    const struct advice *a = x.b.a;
    ck_assert_str_eq(a->ranked[a->ranked_count - 1]->rule->id, "batch-size");
    for (size_t i = 0; i < a->stack_count; i++)
        ck_assert(!a->stack[i].outcome->rule->changes_training);
    ck_assert_uint_ge(a->stack_count, 1);
    struct advice alone = *a; /* nor counted with them where nothing is stacked */
    alone.stack_count = 0;
    alone.ranked += a->ranked_count - 1;
    alone.ranked_count = 1;
    ck_assert_int_eq(stacked_saving_ns(&alone), 0);
}

static void fill_products(struct builder *b, int64_t at, int64_t apart)
{
    for (int i = 0; i < 100; i++)
        build_kernel(b, "volta_sgemm_128x64_nn", at + apart * i, at + US(10) + US(100) * i,
                     US(100));
    build_sync(b, at + apart * 100, MS(10) + US(12) - apart * 100);
}

static void fill_slow_host(struct builder *b, int64_t at)
{
    fill_products(b, at, US(60));
}

static void fill_fast_host(struct builder *b, int64_t at)
{
    fill_products(b, at, US(4));
}

static const struct outcome *graphs_of(const struct advice *a)
{
    for (size_t i = 0; i < a->outcome_count; i++)
        if (strcmp(a->outcomes[i].rule->id, "cuda-graphs") == 0)
            return &a->outcomes[i];
    ck_abort_msg("no such rule");
}

/* The GPU computes all the time. On tensor cores it would wait for launches, where these are slow.
 */
TEST(a_graph_waits_until_the_host_sets_the_pace)
{
    struct bench x = bench_start(MS(10) + US(20), fill_slow_host);
    check_order(&x, "tensor-cores", "cuda-graphs");
    ck_assert_int_eq(graphs_of(x.b.a)->verdict, RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(graphs_of(x.b.a)->why, "after the changes before it"));
    for (size_t i = 0; i < x.b.a->ranked_count; i++)
        ck_assert_ptr_ne(x.b.a->ranked[i], graphs_of(x.b.a));
    x = bench_start(MS(10) + US(20), fill_fast_host);
    ck_assert_int_eq(graphs_of(x.b.a)->verdict, RULE_SILENT);
    ck_assert_uint_le(x.b.a->stack_count, 1);
}
