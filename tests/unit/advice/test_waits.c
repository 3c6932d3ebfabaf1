/* What a finding about waits says of its saving. */
#include "tests/unit/replay_steps.h"

#include <string.h>

static void loads_then_waits(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at + US(10), at + MS(4));
    build_kernel(b, "volta_sgemm_128x64_nn", at + MS(4) + US(20), at + MS(4) + US(50), MS(5));
    build_sync(b, at + MS(4) + US(100), MS(5));
}

static void waits_then_idles(struct builder *b, int64_t at)
{
    build_kernel(b, "volta_sgemm_128x64_nn", at + US(20), at + US(50), MS(5));
    build_sync(b, at + US(100), MS(5));
    build_kernel(b, "volta_sgemm_128x64_nn", at + MS(7), at + MS(7) + US(50), MS(2));
}

static const char *said(const struct bench *x)
{
    const struct advice *a = x->b.a;
    for (size_t i = 0; i < a->outcome_count; i++)
        if (strcmp(a->outcomes[i].rule->id, "sync-in-loop") == 0)
            return a->outcomes[i].summary ? a->outcomes[i].summary : "";
    return "";
}

/* The GPU idles for 1 ms after the wait; without it 4 ms of loading go beside the kernel. */
START_TEST(a_saving_above_the_idle_time_has_its_reason)
{
    struct bench x = bench_start(MS(10), loads_then_waits);
    ck_assert_msg(strstr(said(&x), "larger than that because") && strstr(said(&x), "input data"),
                  "%s", said(&x));
    bench_end(&x);
    x = bench_start(MS(10), waits_then_idles);
    ck_assert_msg(strstr(said(&x), "waits for the GPU") && !strstr(said(&x), "larger than that"),
                  "%s", said(&x));
    bench_end(&x);
}
END_TEST

Suite *test_waits_suite(void)
{
    Suite *s = suite_create("waits");
    TCase *t = tcase_create("waits");
    tcase_add_test(t, a_saving_above_the_idle_time_has_its_reason);
    suite_add_tcase(s, t);
    return s;
}
