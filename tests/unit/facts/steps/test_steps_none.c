/* Recordings in which no step repeats. */
#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

TEST(without_repetition_the_recording_is_one)
{
    struct builder b = build_start();
    char name[32];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "kernel_%d", i);
        build_kernel(&b, name, MS(i), MS(i) + US(10), US(100));
    }
    const struct advice *a = build_analyze(&b);
    ck_assert_int_eq(a->facts->steps.source, STEPS_NONE);
    ck_assert_uint_eq(a->facts->steps.count, 1);
    ck_assert_uint_eq(a->facts->steps.used, 1);
    ck_assert_int_eq(a->facts->steps.median_ns, MS(39) + US(100));
}

TEST(layers_of_a_model_that_ran_once_are_no_steps)
{
    struct builder b = build_start();
    char name[32];
    for (int layer = 0; layer < 8; layer++)
        for (int k = 0; k < 10; k++) {
            int64_t at = MS(1) + US(200 * layer + 20 * k);
            snprintf(name, sizeof name, "layer_kernel_%d", k);
            build_kernel(&b, name, at, at + US(8), US(10));
        }
    build_kernel(&b, "first_use", MS(300), MS(300) + US(8), US(10));
    ck_assert_int_eq(build_analyze(&b)->facts->steps.source, STEPS_NONE);
}

/* Layers of one graph, launched by one call: 40 of them, so that their number does not tell. */
TEST(layers_of_a_graph_are_no_steps)
{
    struct builder b = build_start();
    char name[32];
    int64_t correlation = build_api(&b, "cudaGraphLaunch", MS(1), US(5));
    for (int layer = 0; layer < 40; layer++)
        for (int k = 0; k < 10; k++) {
            snprintf(name, sizeof name, "layer_kernel_%d", k);
            build_kernel_of(&b, name, correlation, MS(2) + US(200 * layer + 20 * k), US(18), 64);
        }
    ck_assert_int_eq(build_analyze(&b)->facts->steps.source, STEPS_NONE);
}

/* What a server runs for one batch: its layers repeat, the batch does not. */
static void serve(struct builder *b, int64_t at)
{
    char name[32];
    build_range(b, "execute_32_context_0(sq0)_generation_32(sq32)", at, at + MS(10));
    for (int layer = 0; layer < 40; layer++)
        for (int k = 0; k < 10; k++) {
            int64_t call = at + US(200 * layer + 20 * k);
            snprintf(name, sizeof name, "layer_kernel_%d", k);
            build_kernel(b, name, call, call + US(8), US(10));
        }
}

TEST(passes_of_a_server_are_steps_if_there_are_several)
{
    for (int passes = 1; passes <= 3; passes++) {
        struct builder b = build_start();
        for (int i = 0; i < passes; i++)
            serve(&b, MS(10 * i));
        const struct advice *a = build_analyze(&b);
        ck_assert_int_eq(a->facts->steps.source, passes > 1 ? STEPS_NVTX : STEPS_NONE);
        ck_assert_uint_eq(a->facts->steps.count, (size_t)passes);
    }
}

TEST(an_empty_profile_is_answered)
{
    struct builder b = build_start();
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->steps.count, 0);
    ck_assert_str_eq(a->verdict_class, "not-enough-data");
    ck_assert_uint_eq(a->facts->gap_count, 0);
}

TEST(without_threads_the_training_thread_did_nothing)
{
    struct timeline t = {0};
    struct facts f = {.tl = &t};
    ck_assert_ptr_nonnull(facts_main_thread(&f));
    ck_assert_uint_eq(facts_main_thread(&f)->ranges + facts_main_thread(&f)->apis, 0);
}
