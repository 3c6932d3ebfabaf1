/* Several ranks without a GPU: which one is late, and how many threads they start. */
#include "tests/unit/rule_case.h"

#include "wire/spool_format.h"

static struct builder start(void)
{
    struct builder b = build_start();
    build_meta(&b, "usable_cores", "4");
    build_meta(&b, "torch.num_threads", "4");
    build_meta(&b, "torch.version", "2.9.0");
    return b;
}

static int64_t step_ns = MS(20),
               swing_ns; /* of all steps; every other one is longer, the rest shorter */

/* The third step of a rank takes `once` longer, in its backward pass. */
static void held_up_rank(struct builder *b, int64_t rank, int64_t world, int64_t forward,
                         int64_t once)
{
    int64_t id = 10 + rank;
    struct row_process p = {.id = id,
                            .pid = 100 + rank,
                            .rank = rank,
                            .local_rank = rank,
                            .world_size = world,
                            .end_ns = MS(10000),
                            .sealed = 1};
    struct row_thread th = {
        .id = id, .process = id, .tid = 100 + rank, .name = build_text(b, "python3")};
    build_put(b, ROW_PROCESS, &p);
    build_put(b, ROW_THREAD, &th);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + step_ns * i + (i > 2 ? once : 0) - (i % 2 ? swing_ns : 0);
        int64_t end = at + step_ns + (i == 2 ? once : 0) + (i % 2 ? swing_ns : -swing_ns);
        const struct {
            const char *name;
            int64_t start, end, depth;
        } of[] = {{"gpuprof.step", at, end, 0},
                  {"backward", at + MS(1) + forward, end - MS(1), 1},
                  {"optimizer.step", end - MS(1), end, 1}};
        for (int k = 0; k < 3; k++) {
            struct row_range r = {.id = ++b->next_id,
                                  .process = id,
                                  .thread = id,
                                  .start_ns = of[k].start,
                                  .end_ns = of[k].end,
                                  .name = build_text(b, of[k].name),
                                  .depth = of[k].depth};
            build_put(b, ROW_RANGE, &r);
        }
        struct row_loader wait = {.id = ++b->next_id,
                                  .process = id,
                                  .thread = id,
                                  .start_ns = at,
                                  .end_ns = at + US(500),
                                  .what = SPOOL_LOADER_WAIT,
                                  .worker = -1,
                                  .batch = -1,
                                  .cpu_ns = -1};
        build_put(b, ROW_LOADER, &wait);
    }
}

static void rank_of(struct builder *b, int64_t rank, int64_t world, int64_t forward)
{
    held_up_rank(b, rank, world, forward, 0);
}

TEST(late_rank_works_longest_before_it_meets_the_others)
{
    struct builder b = start();
    for (int r = 0; r < 4; r++)
        rank_of(&b, r, 4, r == 2 ? MS(12) : MS(3));
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->cpu_ranks.count, 4);
    ck_assert_uint_eq(a->facts->cpu_ranks.late, 2);
    ck_assert_int_eq(a->facts->cpu_ranks.late_ns, MS(9));
    ck_assert_str_eq(a->verdict_class, "straggler");
    ck_assert_str_eq(a->verdict_class, "straggler");
    ck_assert_int_eq(a->facts->cpu_ranks.at[a->facts->cpu_ranks.late].rank, 2);
    ck_assert_ptr_nonnull(strstr(a->why, "'forward and loss'"));
    ck_assert_ptr_null(strstr(a->why, "not recorded"));
}

/* 3.6 ms more of each of its 20 ms on average: the steps of both are as long but for one. */
TEST(late_rank_that_was_held_up_once_is_late_all_the_same)
{
    struct builder b = start();
    rank_of(&b, 0, 2, MS(1));
    held_up_rank(&b, 1, 2, MS(15), MS(40));
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->cpu_ranks.late, 1);
    ck_assert_str_eq(a->verdict_class, "straggler");
}

TEST(equal_ranks_are_not_acquitted)
{
    struct builder b = start();
    for (int r = 0; r < 2; r++)
        rank_of(&b, r, 4, MS(5));
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->cpu_ranks.late, TL_NONE);
    ck_assert_str_ne(a->verdict_class, "straggler");
    ck_assert_ptr_nonnull(strstr(a->why, "whether one is late within backward is unknown"));
    ck_assert_ptr_nonnull(strstr(a->why, "2 of 4 ranks are missing"));
}

/* Where other programs take the cores, the median of a few steps says little. */
TEST(late_rank_whose_steps_vary_is_late_all_the_same)
{
    struct builder b = start();
    rank_of(&b, 0, 2, MS(1));
    swing_ns = MS(4);
    rank_of(&b, 1, 2, MS(12));
    const struct advice *a = build_analyze(&b);
    const struct cpu_rank *r = a->facts->cpu_ranks.at;
    ck_assert_int_gt(llabs(r[0].median_ns - r[1].median_ns) * 10, r[0].median_ns);
    ck_assert_uint_eq(a->facts->cpu_ranks.late, 1);
}

TEST(a_rank_for_which_nobody_waits_is_not_late)
{
    struct builder b = start();
    rank_of(&b, 0, 2, MS(3));
    step_ns = MS(30);
    rank_of(&b, 1, 2, MS(13));
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->cpu_ranks.late, TL_NONE);
    ck_assert_msg(strstr(a->why,
                         "rank 1 works for 15.0 ms per step before backward, the next "
                         "slowest rank for 5.00 ms, but the other ranks do not wait") != NULL,
                  "%s", a->why);
}

/* The workers of a rank's loader have its number, too. */
TEST(more_threads_than_cores)
{
    struct builder b = start();
    for (int r = 0; r < 2; r++) {
        rank_of(&b, r, 2, MS(5));
        struct row_process worker = {.id = 20 + r,
                                     .pid = 200 + r,
                                     .rank = r,
                                     .local_rank = r,
                                     .world_size = 2,
                                     .end_ns = MS(10000),
                                     .sealed = 1};
        build_put(&b, ROW_PROCESS, &worker);
    }
    const struct advice *a = build_analyze(&b);
    ck_assert_ptr_nonnull(strstr(a->next, "Start no more threads than there are cores: 2 in each"));
    ck_assert_msg(strstr(a->why, "4 threads in each of 2 ranks") != NULL, "%s", a->why);
}
