/* Calls beside a launch that only ask for something: it must not matter whether they were recorded.
 * And launches into a full queue: they cost the host as much as other launches. */
#include "tests/unit/test.h"
#include "tests/unit/replay_steps.h"

static bool asks;

static bool of_casts(const struct facts *f, uint32_t op)
{
    return strcmp(tl_text(f->tl, f->tl->ops[op].name), "cast") == 0;
}

/* Every 100 us the host launches 5 us of work, every other one a cast; before each it asks about
 * the function. */
static void fill_asking(struct builder *b, int64_t at)
{
    for (int i = 0; i < 40; i++) {
        int64_t call = at + US(100) * i;
        if (asks) {
            build_api(b, "cuKernelGetName", call + US(30), US(1));
            build_api(b, "cudaFuncGetAttributes", call + US(50), US(4));
        }
        build_kernel(b, i % 2 ? "cast" : "k", call + US(90), call + US(97), US(5));
    }
    build_sync(b, at + MS(4), US(20));
}

static struct span_ns without_casts(bool asked)
{
    asks = asked;
    struct bench x = bench_start(MS(4.1), fill_asking);
    struct span_ns s = bench_span(&x, (struct edit){.kind = &edit_remove, .at.ops = of_casts});
    return s;
}

TEST(questions_are_work_of_the_host)
{
    struct span_ns with = without_casts(true), without = without_casts(false);
    ck_assert_int_eq(with.low_ns, without.low_ns);
    ck_assert_int_eq(with.mid_ns, without.mid_ns);
    ck_assert_int_eq(with.high_ns, without.high_ns);
    ck_assert_int_ge(with.mid_ns, MS(1.5));
}

static struct span_ns fused(bool within)
{
    asks = false;
    struct bench x = bench_start(MS(4.1), fill_asking);
    struct span_ns s = bench_span(&x, (struct edit){.kind = &edit_fuse,
                                                    .at.ops = of_casts,
                                                    .fuse = {.bad = 1, .within = within}});
    return s;
}

/* 19 of 20 casts go, each with its call of 4 us; of 96 us before it, all or 0.6. */
TEST(a_part_of_an_operator_leaves_some_of_the_pause_before_it)
{
    struct span_ns alone = fused(false), within = fused(true);
    ck_assert_int_ge(alone.low_ns, 19 * US(90));
    ck_assert_int_le(within.low_ns, 19 * US(4 + 96 * 0.7));
    ck_assert_int_ge(within.low_ns, 19 * US(4 + 96 * 0.55));
    ck_assert_int_ge(within.high_ns, 19 * US(4 + 96 * 0.9));
    ck_assert_int_le(within.high_ns, alone.high_ns);
}

enum { LAUNCHES = 400, AHEAD = 1100 };

/* 400 kernels of 20 us each step, 1,100 launches ahead: the host, which needs 5 us for each, waits
 * in the launch of every fourth for room, and the driver notices 60 us late. */
static void fill_full_queue(struct builder *b, int64_t at)
{
    for (int i = 0; i < LAUNCHES; i++) {
        int64_t call = at + US(80) * (i / 4) + (i % 4 ? US(60) + US(5) * (i % 4) : 0);
        int64_t correlation = build_api(b, "cudaLaunchKernel", call, i % 4 ? US(5) : US(65));
        build_kernel_of(b, "k", correlation, at + US(20) * (i + AHEAD), US(20), 64);
    }
}

TEST(a_launch_that_waits_for_room_takes_what_others_take)
{
    struct bench x = bench_start(US(20) * LAUNCHES, fill_full_queue);
    for (uint32_t i = 0; i < x.g->count; i++)
        if (task_on_gpu(&x.g->tasks[i]))
            x.plan.dur[i] = US(1);
    ck_assert_int_le(bench_step(&x), US(5.5) * LAUNCHES);
    ck_assert_int_ge(bench_step(&x), US(4.5) * LAUNCHES);
}
