/* A rank that ended leaves the others in a collective that it never called: that step does not
 * count as a step. */
#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

enum { STEPS = 8 };

static bool called = true; /* false: as profilers record it that see kernels alone */

static void reduce(struct builder *b, int64_t process, int64_t sequence, int64_t at, int64_t kernel)
{
    struct row_collective c = {.id = ++b->next_id,
                               .process = process,
                               .thread = called ? process : -1,
                               .start_ns = at,
                               .end_ns = at + US(3),
                               .name = build_text(b, "AllReduce"),
                               .kernel = kernel,
                               .communicator = 77,
                               .sequence = sequence,
                               .ranks = 2,
                               .rank = process - 1,
                               .root = -1};
    build_put(b, ROW_COLLECTIVE, &c);
}

/* Eight steps of 1 ms; the last one's collective takes `last`. The other rank calls `calls` of the
 * collectives, and its recording ends at `ended`. */
static struct builder two_ranks(int64_t last, int calls, int64_t ended, const char *host)
{
    struct builder b = build_start();
    struct row_process other = {.id = 2,
                                .pid = 43,
                                .rank = 1,
                                .local_rank = 1,
                                .world_size = 2,
                                .end_ns = ended,
                                .host = host ? build_text(&b, host) : 0};
    build_put(&b, ROW_PROCESS, &other);
    int64_t at = MS(1);
    for (int i = 0; i < STEPS; i++) {
        int64_t length = i == STEPS - 1 ? last : US(50);
        build_kernel(&b, "gemm_forward", at + US(10), at + US(20), US(500));
        build_kernel(&b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + US(520), at + US(530),
                     length);
        reduce(&b, 1, i + 1, at + US(520), b.next_id);
        if (i < calls)
            reduce(&b, 2, i + 1, at + US(520), -1);
        build_sync(&b, at + US(540), length + US(20));
        build_range(&b, "step", at, at + US(570) + length);
        at += US(600) + length;
    }
    return b;
}

static const struct steps *steps_of(struct builder *b)
{
    return &build_analyze(b)->facts->steps;
}

/* Their files name no host, and end by clocks of their own. */
TEST(kernels_that_are_numbered_tell_nothing_of_calls)
{
    called = false;
    struct builder b = two_ranks(MS(40), STEPS - 1, MS(6), NULL);
    called = true;
    const struct steps *s = steps_of(&b);
    ck_assert_uint_eq(s->count, STEPS);
    ck_assert_msg(s->at[STEPS - 1].slow || s->at[STEPS - 1].used, "the last step was left out");
}

TEST(a_step_that_waits_for_an_ended_rank_does_not_count)
{
    struct builder b = two_ranks(MS(800), STEPS - 1, MS(6), NULL);
    const struct steps *s = steps_of(&b);
    ck_assert_uint_eq(s->count, STEPS);
    ck_assert_uint_eq(s->at[STEPS - 1].used, 0);
    ck_assert_uint_eq(s->at[STEPS - 1].slow, 0); /* no long step that recurs */
    ck_assert_uint_eq(s->at[STEPS - 2].used, 1);
    ck_assert_int_lt(s->max_ns, MS(2));
}

TEST(a_collective_as_long_as_the_others_is_left_too)
{
    struct builder b = two_ranks(US(50), STEPS - 1, MS(5), NULL);
    ck_assert_uint_eq(steps_of(&b)->at[STEPS - 1].used, 0);
}

TEST(a_slow_collective_of_all_ranks_counts)
{
    struct builder b = two_ranks(US(80), STEPS, MS(5), NULL);
    ck_assert_uint_eq(steps_of(&b)->at[STEPS - 1].used, 1);
}

TEST(a_rank_that_lives_on_was_only_not_recorded)
{
    struct builder b = two_ranks(US(80), STEPS - 1, MS(10000), NULL);
    ck_assert_uint_eq(steps_of(&b)->at[STEPS - 1].used, 1);
    b = two_ranks(US(80), STEPS - 4, MS(5), NULL); /* its recording is shorter, no rank has ended */
    ck_assert_uint_eq(steps_of(&b)->at[STEPS - 1].used, 1);
    b = two_ranks(US(80), STEPS - 1, MS(5), "another"); /* with a clock of its own */
    ck_assert_uint_eq(steps_of(&b)->at[STEPS - 1].used, 1);
}
