/* Steps of which the recording contains only blocks (several steps in one row). */
#include "tests/unit/test.h"
#include "analyzer/measure/marked.h"

static void put(struct sink *to, enum row_kind kind, const void *row)
{
    struct err e = ERR_INIT;
    ck_assert_int_eq(to->put(to->self, kind, row, &e), 0);
}

/* Process 1 is rank 1, process 2 is rank 0. */
static struct marked of(const struct row_step_block *blocks, size_t n, int64_t from_ns)
{
    struct err e = ERR_INIT;
    struct marked m;
    struct timeline *t = timeline_new(&e);
    struct sink to = timeline_sink(t);
    for (int64_t i = 1; i <= 2; i++) {
        struct row_process p = {.id = i, .pid = i, .rank = 2 - i, .end_ns = 10000};
        put(&to, ROW_PROCESS, &p);
    }
    for (size_t i = 0; i < n; i++)
        put(&to, ROW_STEP_BLOCK, &blocks[i]);
    ck_assert_int_eq(timeline_finish(t, &e), 0);
    ck_assert(marked_steps(t, from_ns, &m));
    timeline_free(t);
    return m;
}

#define BLOCK(p, first, n, from, to)                                                               \
    {                                                                                              \
        .process = (p), .first_step = (first), .steps = (n), .start_ns = (from), .end_ns = (to)    \
    }

TEST(each_step_counts_once)
{
    struct row_step_block b[] = {BLOCK(2, 1, 4, 0, 400), BLOCK(2, 5, 4, 400, 840),
                                 BLOCK(2, 9, 2, 840, 1840)};
    struct marked m = of(b, 3, 0);
    ck_assert_int_eq(m.steps, 10);
    ck_assert_int_eq(m.mean_ns, 184);
    ck_assert_int_eq(m.median_ns, 110);
    ck_assert_int_eq(m.p95_ns, 500);
}

TEST(only_what_ends_later_counts)
{
    struct row_step_block b[] = {BLOCK(2, 1, 4, 0, 400), BLOCK(2, 5, 4, 400, 840)};
    ck_assert_int_eq(of(b, 2, 400).steps, 4);
    ck_assert_int_eq(of(b, 2, 400).mean_ns, 110);
    ck_assert_int_eq(of(b, 2, 399).steps, 8);
    ck_assert_int_eq(of(b, 2, 840).steps, 0);
    ck_assert_int_eq(of(b, 0, 0).steps, 0);
}

TEST(the_first_rank_speaks)
{
    struct row_step_block b[] = {BLOCK(1, 1, 4, 0, 800), BLOCK(2, 1, 4, 0, 400)};
    ck_assert_int_eq(of(b, 2, 0).steps, 4);
    ck_assert_int_eq(of(b, 2, 0).median_ns, 100);
}

TEST(damaged_blocks_are_left_out)
{
    struct row_step_block b[] = {BLOCK(2, 1, 0, 0, 800), BLOCK(2, 2, -3, 0, 400),
                                 BLOCK(2, 3, 1, 0, 50)};
    ck_assert_int_eq(of(b, 3, 0).steps, 1);
    ck_assert_int_eq(of(b, 3, 0).p95_ns, 50);
}
