/* If records are missing, the verdict says so, for every kind of health row. */

#include "tests/unit/test.h"
#include "analyzer/facts/health_kinds.h"
#include "tests/unit/build_timeline.h"

static const char text[] = "what this row says";

/* A program that marked steps, or did nothing, and used no GPU as far as was recorded. */
static struct builder without_gpu(bool steps)
{
    struct builder b = build_start();
    build_meta(&b, "source", "run");
    for (int i = 0; steps && i < 20; i++)
        build_range(&b, "step", MS(10 * i), MS(10 * i + 9));
    return b;
}

/* Nothing stands in it but this row: the verdict names it, and claims nothing of a GPU. */
TEST_EACH(test_nothing_recorded, 0, (int)health_kind_count)
{
    const struct health_kind *k = &health_kinds[_i];
    for (int steps = 0; steps < 2; steps++) {
        struct builder b = without_gpu(steps);
        build_health(&b, k->code, text, 1, 1000000);
        const struct advice *a = build_analyze(&b);
        bool named = strstr(a->why, text) != NULL;
        if (k->meaning == HEALTH_NOTE && strcmp(k->code, "python-hook") != 0)
            ck_assert_msg(!named, "%s: %s %s", k->code, a->verdict, a->why);
        if (k->meaning != HEALTH_NOTE) {
            ck_assert_msg(named, "%s: %s %s", k->code, a->verdict, a->why);
            ck_assert_str_eq(a->verdict_class, "not-enough-data");
            ck_assert_ptr_null(strstr(a->why, "used no GPU"));
            ck_assert_ptr_nonnull(health_missing(a->facts));
        }
    }
}

static void put_steps(struct builder *b)
{
    for (int i = 0; i < 20; i++) {
        build_range(b, "step", MS(10 * i), MS(10 * i + 9));
        for (int k = 0; k < 8; k++)
            build_kernel(b, "volta_sgemm_128x64_nn", MS(10 * i + k), MS(10 * i + k) + US(20),
                         US(900));
    }
}

/* GPU work was recorded, and not all of it. */
TEST_EACH(test_something_recorded, 0, (int)health_kind_count)
{
    const struct health_kind *k = &health_kinds[_i];
    struct builder b = build_start();
    put_steps(&b);
    build_health(&b, k->code, text, 1, 1000000);
    const struct advice *a = build_analyze(&b);
    ck_assert_msg((strstr(a->why, text) != NULL) == (k->meaning >= HEALTH_MISSING), "%s: %s",
                  k->code, a->why);
    ck_assert_int_eq(health_missing(a->facts) != NULL, k->meaning >= HEALTH_MISSING);
}

/* A few of many records are told by their number alone. */
TEST(test_few_lost)
{
    struct builder b = build_start();
    put_steps(&b);
    build_health(&b, "ring-full", text, 1, 1);
    const struct advice *a = build_analyze(&b);
    ck_assert_ptr_null(strstr(a->why, text));
    ck_assert_int_eq(a->facts->health.dropped, 1);
}

/* Nobody is told to switch on the records of a GPU that the program does not use. */
TEST(an_accelerator_that_is_not_known_is_named)
{
    struct builder b = build_start();
    build_meta(&b, "source", "kineto");
    build_meta(&b, "framework", "pytorch");
    for (int i = 0; i < 8; i++) {
        build_range(&b, "step", MS(10 * i), MS(10 * i + 9));
        build_range(&b, "npu::npu_fused_attention", MS(10 * i + 1), MS(10 * i + 2));
    }
    const struct advice *a = build_analyze(&b);
    ck_assert_ptr_nonnull(strstr(a->why, "Ascend NPU"));
    ck_assert_ptr_null(strstr(a->next, "ProfilerActivity.CUDA"));
    for (size_t i = 0; i < a->outcome_count; i++)
        ck_assert(!a->outcomes[i].why || !strstr(a->outcomes[i].why, "ProfilerActivity.CUDA"));
}
