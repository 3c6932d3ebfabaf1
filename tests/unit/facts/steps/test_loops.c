/* Loops of C programs without marks: a few kernels and a wait for the GPU after them; and what must
 * not be taken for such a loop. */
#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

/* Launches it; returns when the host goes on. */
static int64_t kernel(struct builder *b, const char *name, int64_t at, int64_t *gpu, int64_t length)
{
    *gpu = *gpu > at + US(8) ? *gpu : at + US(8);
    build_kernel(b, name, at, *gpu, length);
    *gpu += length + US(1);
    return at + US(6);
}

static int64_t wait_for(struct builder *b, int64_t at, int64_t gpu)
{
    build_sync(b, at, gpu > at ? gpu - at : US(1));
    return (gpu > at ? gpu : at + US(1)) + US(5);
}

static void doubted(const struct steps *s, size_t count)
{
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    ck_assert_uint_eq(s->count, count);
    ck_assert_double_le(s->confidence, 0.6);
    ck_assert_ptr_nonnull(s->doubt);
}

/* Thirteen equal copies go to the GPU; then two kernels, eleven times. */
static const struct steps *two_kernels(struct builder *b, bool wait)
{
    int64_t at = MS(1), gpu = 0;
    *b = build_start();
    for (int i = 0; i < 13; i++, at += US(40))
        build_copy(b, 1, 1, 2, true, 105096, at, US(10), at + US(12), US(19));
    at = MS(3);
    for (int i = 0; i < 11; i++) {
        at = kernel(b, "seed_lines", at, &gpu, MS(2));
        at = kernel(b, "fit_lines", at, &gpu, MS(12));
        at = wait ? wait_for(b, at, gpu) : at;
    }
    return &build_analyze(b)->facts->steps;
}

TEST(two_kernels_and_a_wait_are_a_doubtful_step)
{
    struct builder b;
    doubted(two_kernels(&b, true), 10);
    ck_assert_int_eq(two_kernels(&b, false)->source, STEPS_NONE); /* as layers would be */
}

/* One kernel, 50 times, between the copies of what it reads and writes. */
static const struct steps *one_kernel(struct builder *b, bool wait)
{
    int64_t at = MS(1), gpu = 0;
    *b = build_start();
    build_copy(b, 1, 1, 2, true, 512 << 20, at, US(10), at + US(12), MS(130));
    at = gpu = MS(140);
    for (int i = 0; i < 50; i++) {
        at = kernel(b, "solve", at, &gpu, MS(10));
        at = wait ? wait_for(b, at, gpu) : at;
    }
    build_copy(b, 2, 2, 1, true, 512 << 20, gpu, US(10), gpu + US(12), MS(130));
    return &build_analyze(b)->facts->steps;
}

TEST(one_kernel_and_a_wait_are_a_doubtful_step)
{
    struct builder b;
    doubted(one_kernel(&b, true), 49);
    const struct steps *s = one_kernel(&b, false);
    ck_assert_int_eq(s->source, STEPS_NONE);
    ck_assert_ptr_nonnull(s->doubt);
}

TEST(marks_need_no_guess)
{
    struct builder b = build_start();
    int64_t at = MS(1), gpu = 0;
    for (int i = 0; i < 50; i++) {
        int64_t start = at;
        at = kernel(&b, "solve", at, &gpu, MS(1));
        at = wait_for(&b, at, gpu);
        if (i % 10 == 9)
            build_range(&b, "step", start - US(5), at);
    }
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_int_eq(s->source, STEPS_NVTX);
    ck_assert_uint_eq(s->detected_count, 0);
}

/* The program allocates for a second, then launches the same kernel for 2 ms. */
TEST(a_guess_is_not_worth_more_than_what_takes_the_time)
{
    struct builder b = build_start();
    build_api(&b, "cudaMalloc", MS(1), MS(1000));
    int64_t at = MS(1002), gpu = 0;
    for (int i = 0; i < 100; i++) {
        at = kernel(&b, "generation", at, &gpu, US(8));
        at = wait_for(&b, at, gpu);
    }
    ck_assert_int_eq(build_analyze(&b)->facts->steps.source, STEPS_NONE);
}

/* Each step reduces a hundred times; before the first one the same reductions run now and then. */
TEST(a_long_step_is_found_around_a_loop_within_it)
{
    struct builder b = build_start();
    int64_t at = MS(1), gpu = 0;
    for (int i = 0; i < 40; i++) {
        at = kernel(&b, "prepare", at, &gpu, US(5));
        at = kernel(&b, "sort", at, &gpu, US(5));
    }
    for (int i = 0; i < 26; i++) {
        at = kernel(&b, "residuals", at, &gpu, MS(50));
        for (int k = 0; k < 100; k++) {
            at = kernel(&b, "reduce_tiles", at, &gpu, US(20));
            at = kernel(&b, "reduce_last", at, &gpu, US(6));
        }
        at = kernel(&b, "scan", at, &gpu, MS(7));
        at = kernel(&b, "copy", at, &gpu, MS(2));
    }
    doubted(&build_analyze(&b)->facts->steps, 25);
}

/* The host reads whether anything changed; now and then, at no regular distance, it goes on with
 * something else, which takes a fourth of the GPU's time. */
TEST(a_readback_in_each_of_many_is_a_doubtful_step)
{
    struct builder b = build_start();
    int64_t at = MS(1), gpu = 0;
    size_t n = 0;
    for (unsigned chance = 1, i = 0; i < 1200; i++, n++) {
        at = kernel(&b, "reset_changed", at, &gpu, US(2));
        at = kernel(&b, "solve", at, &gpu, US(4));
        build_copy(&b, 2, 2, 1, false, 4, at, gpu + US(8) - at, gpu + US(2), US(1));
        at = gpu + US(12);
        chance = chance * 1103515245 + 12345;
        if ((chance >> 16) % 13)
            continue;
        char name[32];
        for (unsigned k = 0; k < 2 + (chance >> 20) % 4; k++) {
            snprintf(name, sizeof name, "other_%u", (chance >> 18) % 3 + k);
            at = kernel(&b, name, at, &gpu, US(9));
        }
        build_copy(&b, 2, 2, 1, false, 4, at, gpu + US(8) - at, gpu + US(2), US(1));
        at = gpu + US(12);
    }
    doubted(&build_analyze(&b)->facts->steps, n - 1);
}

/* Behind the loop, from its last copy on, come as many operations as a step has; but no kernel. */
TEST(what_follows_the_loop_is_no_step_of_it)
{
    struct builder b = build_start();
    int64_t at = MS(1), gpu = 0;
    for (int i = 0; i < 40; i++) {
        gpu = at + US(6);
        build_memset(&b, 4, at, gpu, US(1));
        gpu += US(1);
        at = kernel(&b, "spread", at + US(2), &gpu, US(8));
        at = wait_for(&b, at, gpu);
        build_copy(&b, 2, 2, 1, false, 4, at, US(8), at + US(4), US(1));
        at += US(9);
    }
    for (int i = 0; i < 3; i++, at += US(20)) /* the last one is as those in the loop */
        build_copy(&b, 2, 2, 1, false, i < 2 ? 30000 + i : 4, at, US(8), at + US(4), US(1));
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    ck_assert_uint_eq(s->count, 40);
    ck_assert(!s->at[39].used);
}

/* Weights come, then 40 inferences: a batch, six layers of three kernels, the result, and other work
 * of the host. Without the copies, nothing tells a pass from a layer. */
static const struct steps *served(struct builder *b, bool copies)
{
    int64_t at = MS(1), gpu = 0;
    *b = build_start();
    for (int i = 0; i < 6; i++, at += MS(1))
        build_copy(b, 1, 1, 2, false, 4 << 20, at, US(700), at + US(12), US(680));
    for (int i = 0; i < 40; i++, at += MS(3)) {
        if (copies)
            build_copy(b, 1, 1, 2, false, 1 << 20, at, US(190), at + US(12), US(170));
        at += US(200);
        for (int k = 0; k < 6; k++) {
            at = kernel(b, "gemm", at, &gpu, US(15));
            at = kernel(b, "reduce", at, &gpu, US(3));
            at = kernel(b, "relu", at, &gpu, US(2));
        }
        at = gpu = gpu > at ? gpu : at;
        if (copies)
            build_copy(b, 2, 2, 1, false, 1 << 19, at, US(70), at + US(12), US(50));
    }
    return &build_analyze(b)->facts->steps;
}

TEST(a_pass_between_copies_is_the_step_and_no_layer)
{
    struct builder b;
    const struct steps *s = served(&b, true);
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    ck_assert_uint_eq(s->count, 39);
    ck_assert_uint_ne(served(&b, false)->count, 39);
}

/* Layers of a deep network whose weights come from the host, which waits for them. */
TEST(layers_that_the_host_waits_for_are_no_steps)
{
    struct builder b = build_start();
    int64_t at = MS(1), gpu = 0;
    for (int i = 0; i < 40; i++)
        at = kernel(&b, "vectorized_elementwise_kernel_add", at, &gpu, US(20));
    for (int i = 0; i < 12; i++) {
        at = kernel(&b, "vectorized_layer_norm_kernel", at, &gpu, US(15));
        at = kernel(&b, "ampere_sgemm_128x64_tn", at, &gpu, US(100));
        at = kernel(&b, "softmax_warp_forward", at, &gpu, US(15));
        at = kernel(&b, "ampere_sgemm_64x64_nn", at, &gpu, US(100));
        at = wait_for(&b, at, gpu);
    }
    ck_assert_int_eq(build_analyze(&b)->facts->steps.source, STEPS_NONE);
}
