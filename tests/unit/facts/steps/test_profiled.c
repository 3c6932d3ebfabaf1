/* Steps in which the program's own profiler starts or stops do not count, unless most steps are
 * such. */
#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

#include "report/words/text.h"

enum { STEPS = 12 };

/* Steps of 1 ms; in those of `which` (a bit each) the profiler takes `profiler` more. */
static const char *profiler_name = "torch.profiler";

static struct builder profiled(unsigned which, int64_t profiler)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < STEPS; i++) {
        int64_t more = which >> i & 1 ? profiler : 0;
        build_kernel(&b, "gemm_forward", at + US(10), at + US(20), US(500));
        build_sync(&b, at + US(540), US(20));
        if (more) {
            build_range(&b, profiler_name, at + US(600), at + US(600) + more);
            build_range(&b, profiler_name, at + US(610), at + US(590) + more); /* inside */
        }
        build_range(&b, "step", at, at + MS(1) + more);
        at += MS(1) + more;
    }
    return b;
}

static const struct steps *steps_of(struct builder *b)
{
    return &build_analyze(b)->facts->steps;
}

TEST(a_stop_is_left_out)
{
    struct builder b = profiled(1u << 6 | 1u << 9, MS(40));
    const struct steps *s = steps_of(&b);
    struct text text;
    ck_assert_uint_eq(s->profiled, 2);
    ck_assert_int_eq(s->profiled_ns, 2 * MS(40));
    ck_assert_uint_eq(s->slow, 0);
    ck_assert_int_lt(s->max_ns, MS(2));
    ck_assert_ptr_nonnull(strstr(text_profiler(&text, b.a), "leave out 2 of the 12 steps"));
}

TEST(reading_the_memory_history_is_left_out)
{
    profiler_name = "gpuprof.memory";
    struct builder b = profiled(1u << 6, MS(40));
    profiler_name = "torch.profiler";
    ck_assert_uint_eq(steps_of(&b)->profiled, 1);
}

TEST(what_takes_nothing_stays)
{
    struct builder b = profiled(0xfff, US(10)); /* the call of each step */
    const struct steps *s = steps_of(&b);
    struct text text;
    ck_assert_uint_eq(s->profiled, 0);
    ck_assert_ptr_null(text_profiler(&text, b.a));
}

TEST(who_profiles_each_step_pays_for_it)
{
    struct builder b = profiled(0xffe, MS(4));
    const struct steps *s = steps_of(&b);
    ck_assert_uint_eq(s->profiled, 0);
    ck_assert_int_gt(s->median_ns, MS(4));
}
