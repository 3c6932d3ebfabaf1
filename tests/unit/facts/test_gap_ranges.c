/* In which range of which thread the host was while the GPU was idle. */
#include "tests/unit/test.h"
#include "analyzer/advice/advice.h"
#include "tests/unit/build_timeline.h"

static struct advice *run(struct builder *b, void (*fill)(struct builder *, int64_t start))
{
    for (int i = 0; i < 12; i++) {
        fill(b, MS(100) + MS(10) * i);
        build_range(b, "step", MS(100) + MS(10) * i, MS(110) + MS(10) * i);
    }
    return build_analyze(b);
}

static bool gap_in(const struct advice *a, const char *range)
{
    const struct timeline *t = a->facts->tl;
    for (size_t i = 0; i < a->facts->gap_count; i++) {
        const struct gap *g = &a->facts->gaps[i];
        if (g->range != TL_NONE && g->part == PART_IDLE_HOST &&
            strcmp(tl_text(t, t->ranges[g->range].name), range) == 0)
            return true;
    }
    return false;
}

static void fill_host(struct builder *b, int64_t at)
{
    build_range(b, "augment", at + US(100), at + MS(4));
    build_kernel(b, "k", at + MS(4), at + MS(4) + US(10), MS(6) - US(10));
}

TEST(long_host_work_is_named_by_its_range)
{
    struct builder b = build_start();
    const struct advice *a = run(&b, fill_host);
    ck_assert_int_le(llabs(a->facts->breakdown_ns[PART_IDLE_HOST] - MS(4)), US(20));
    ck_assert(gap_in(a, "augment"));
    ck_assert_str_eq(a->verdict_class, "host");
    ck_assert_ptr_nonnull(strstr(a->verdict, "other work"));
    ck_assert_ptr_nonnull(strstr(a->why, "'augment'"));
}

static void fill_other_range(struct builder *b, int64_t at)
{
    b->thread = 2; /* launches less, in a range of its own all the time */
    build_range(b, "prefetch", at, at + MS(10));
    build_kernel(b, "small", at + MS(9), at + MS(9) + US(10), US(5));
    b->thread = 1;
    build_range(b, "augment", at + US(100), at + MS(4));
    build_kernel(b, "k", at + MS(4), at + MS(4) + US(10), MS(6) - US(10));
    build_kernel(b, "more", at + MS(4) + US(50), at + MS(10) - US(1), US(1));
}

TEST(the_range_is_that_of_the_thread_that_launches)
{
    struct builder b = build_start();
    build_thread(&b, 2, "copier");
    const struct advice *a = run(&b, fill_other_range);
    ck_assert(gap_in(a, "augment"));
    ck_assert(!gap_in(a, "prefetch"));
}

static void fill_backward(struct builder *b, int64_t at)
{
    build_kernel(b, "forward", at, at + US(10), MS(1));
    build_range(b, "loss", at + US(20), at + MS(4));
    b->thread = 2; /* was asleep until then */
    build_kernel(b, "backward", at + MS(4), at + MS(4) + US(10), MS(6) - US(10));
    b->thread = 1;
}

TEST(a_thread_without_a_range_waits_for_the_one_that_called_last)
{
    struct builder b = build_start();
    build_thread(&b, 2, "autograd");
    ck_assert(gap_in(run(&b, fill_backward), "loss"));
}

/* Frames as Python's stacks have them: short ones in which the middle of the gap happens to lie,
 * and those of every program. */
static void fill_frames(struct builder *b, int64_t at)
{
    build_range_at(b, "hooks.py(268): _set_context", 1, at + US(100), at + MS(4));
    build_range_at(b, "torch/nn/modules/module.py(2868): named_modules", 2, at + US(200),
                   at + MS(3.9));
    build_range_at(b, "<built-in function next>", 3, at + US(300), at + MS(3.8));
    build_range_at(b, "hooks.py(12): of_one", 4, at + MS(1.9), at + MS(2.1));
    build_kernel(b, "k", at + MS(4), at + MS(4) + US(10), MS(6) - US(10));
}

TEST(the_range_holds_most_of_the_gap_and_says_where_it_is)
{
    struct builder b = build_start();
    const struct advice *a = run(&b, fill_frames);
    ck_assert(gap_in(a, "hooks.py(268): _set_context"));
    ck_assert_ptr_nonnull(strstr(a->why, "_set_context"));
}
