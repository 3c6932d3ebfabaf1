/* Steps that become shorter or longer while the loop runs. */
#include "tests/unit/test.h"
#include "tests/unit/replay_steps.h"

enum { MANY = 96 };

static int64_t length_of(int i, int way)
{
    int64_t part = MS(8) / MANY;
    return MS(1) + (way < 0 ? part * (MANY - i) : way > 0 ? part * i : i % 4 ? 0 : MS(2));
}

/* way: -1 shorter and shorter, 1 longer and longer, 0 every fourth is long. */
static struct builder steps_going(int way)
{
    struct builder b = build_start();
    int64_t at = MS(100);
    for (int i = 0; i < MANY; i++) {
        int64_t ns = length_of(i, way);
        build_kernel(&b, "k", at + US(10), at + US(20), ns - US(200));
        build_sync(&b, at + US(30), ns - US(200));
        build_range(&b, "step", at, at + ns);
        at += ns;
    }
    return b;
}

TEST_EACH(steps_that_become_shorter_are_not_called_long_and_short_ones, -1, 2)
{
    struct builder b = steps_going(_i);
    const struct facts *f = build_analyze(&b)->facts;
    ck_assert_ptr_nonnull(f->long_text);
    const char *text = _i < 0 ? "become shorter" : _i > 0 ? "become longer" : "the others";
    ck_assert_msg(strstr(f->long_text, text), "%s", f->long_text);
    ck_assert_int_eq(f->steps.drift_to_ns > f->steps.drift_from_ns, _i > 0);
    ck_assert_int_eq(f->steps.drift_to_ns < f->steps.drift_from_ns, _i < 0);
}

TEST_EACH(steps_of_average_length_are_replayed, 0, 2)
{
    struct builder b = steps_going(_i ? 1 : -1);
    struct advice *a = build_predict(&b);
    int64_t mean = a->facts->step_ns;
    ck_assert_int_gt(mean, MS(4));
    ck_assert_int_le(llabs(a->whatif.pace_ns - mean), mean / 20);
    ck_assert_msg(a->whatif.trusted, "%s", a->whatif.why_not);
    ck_assert_ptr_nonnull(strstr(a->whatif.wider, "those of average length are replayed"));
}
