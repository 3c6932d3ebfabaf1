/* Forward passes of deep models without marks: their layers are not taken for steps, nor are the
 * parameters of an optimizer's update. */
#include "tests/unit/test.h"
#include "analyzer/advice/advice.h"
#include "tests/unit/build_timeline.h"

enum { LAYERS = 24 };

static int64_t between = 20; /* us from one launch to the next */

static int64_t kernel(struct builder *b, const char *name, int64_t at)
{
    build_kernel(b, name, at, at + US(8), US(15));
    return at + US(between);
}

/* Of a transformer: tokens are looked up, layers, and the scores of the next token. */
static int64_t pass(struct builder *b, int64_t at, const char *module)
{
    int64_t start = at;
    at = kernel(b, "indexSelectLargeIndex", at);
    for (int i = 0; i < LAYERS; i++) {
        at = kernel(b, "vectorized_layer_norm_kernel", at);
        at = kernel(b, "ampere_sgemm_128x64_tn", at);
        at = kernel(b, "ampere_sgemm_32x128_nn", at);
        at = kernel(b, "softmax_warp_forward", at);
        at = kernel(b, "ampere_sgemm_64x64_nn", at);
        at = kernel(b, "vectorized_elementwise_kernel_add", at);
        at = kernel(b, "GeluCUDAKernelImpl", at);
    }
    at = kernel(b, "rms_norm_last", at);
    at = kernel(b, "ampere_sgemm_128x128_tn", at);
    if (module)
        build_range(b, module, start - US(5), at + US(5));
    return at;
}

static const struct steps *passes(struct builder *b, int n, const char *module)
{
    int64_t at = MS(1);
    *b = build_start();
    for (int i = 0; i < n; i++)
        at = pass(b, at, module) + US(100);
    return &build_analyze(b)->facts->steps;
}

TEST(one_pass_in_a_module_has_no_steps)
{
    struct builder b;
    ck_assert_int_eq(passes(&b, 1, "nn.Module: Model_0")->source, STEPS_NONE);
}

TEST(one_pass_without_modules_has_doubtful_steps_at_most)
{
    struct builder b;
    const struct steps *s = passes(&b, 1, NULL);
    ck_assert(s->source == STEPS_NONE || s->confidence <= 0.6);
}

/* Twelve layers of one pass hold most of the GPU's work, but the host is slow before and behind them.
 * `rest`: ms that it takes for the other kernels. */
static const struct steps *layers_and(int rest)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    char name[32];
    for (int i = 0; i < 12 + 12; i++) {
        if (i >= 12) {
            snprintf(name, sizeof name, "head_%d", i);
            at = kernel(&b, name, at) + MS(rest) / 12;
            continue;
        }
        at = kernel(&b, "vectorized_layer_norm_kernel", at);
        at = kernel(&b, "ampere_sgemm_128x64_tn", at);
        at = kernel(&b, "softmax_warp_forward", at);
        at = kernel(&b, "ampere_sgemm_64x64_nn", at);
        at = kernel(&b, "GeluCUDAKernelImpl", at);
        at = kernel(&b, "vectorized_elementwise_kernel_add", at);
    }
    return &build_analyze(&b)->facts->steps;
}

TEST(layers_beside_a_slow_host_are_no_steps)
{
    ck_assert_int_eq(layers_and(0)->source, STEPS_DETECTED); /* they may as well be passes */
    ck_assert_int_eq(layers_and(4)->source, STEPS_NONE);
}

TEST(passes_are_steps_and_not_their_layers)
{
    const char *const modules[] = {NULL, "nn.Module: Model_0"};
    for (int i = 0; i < 2; i++) {
        struct builder b;
        const struct steps *s = passes(&b, 20, modules[i]);
        ck_assert_int_eq(s->source, STEPS_DETECTED);
        ck_assert_uint_ge(s->count, 19);
        ck_assert_uint_le(s->count, 20);
    }
}

/* Six equal repeats without an update may as well be parts of one step. */
TEST(few_passes_are_doubtful_steps)
{
    struct builder b;
    const struct steps *s = passes(&b, 6, NULL);
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    ck_assert_double_le(s->confidence, 0.6);
    ck_assert_ptr_nonnull(s->doubt);
}

/* A profiler that was just started slows the first of three passes, which then takes most of the
 * recorded time. But all that the GPU ran recurs in each. */
TEST(a_slow_first_pass_does_not_hide_that_passes_recur)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    between = 300;
    at = pass(&b, at, NULL);
    between = 20;
    for (int i = 0; i < 2; i++)
        at = pass(&b, at, NULL) + US(100);
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    ck_assert_uint_eq(s->count, 2);
    ck_assert_int_le(llabs(s->median_ns - MS(3.5)), MS(0.2));
    ck_assert_ptr_nonnull(s->doubt);
}

/* ... unless the user says how many they are. */
TEST(few_passes_that_the_user_counts_are_steps)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    build_meta(&b, "steps.count", "6");
    for (int i = 0; i < 7; i++)
        at = pass(&b, at, NULL) + US(100);
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_uint_eq(s->count, 6);
    ck_assert_double_gt(s->confidence, 0.6);
    ck_assert_ptr_null(s->doubt);
}

/* The loop over the parameters of an optimizer that is written in Python. */
static int64_t update(struct builder *b, int64_t at)
{
    static const char *const kernels[] = {
        "vectorized_elementwise_kernel_mul", "vectorized_elementwise_kernel_addcmul",
        "vectorized_elementwise_kernel_sqrt", "vectorized_elementwise_kernel_addcdiv"};
    int64_t start = at;
    for (int i = 0; i < 28 * 4; i++)
        at = kernel(b, kernels[i % 4], at);
    build_range(b, "Optimizer.step#CustomAdam.step", start - US(5), at + US(5));
    return at;
}

TEST(one_update_of_many_parameters_has_no_steps)
{
    struct builder b = build_start();
    update(&b, MS(1));
    ck_assert_int_eq(build_analyze(&b)->facts->steps.source, STEPS_NONE);
    b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < 20; i++)
        at = update(&b, pass(&b, at, NULL)) + US(100);
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_uint_ge(s->count, 19);
    ck_assert_uint_le(s->count, 20);
}

#define NODE "autograd::engine::evaluate_function: "

/* A convolution forward, and the same kernels for the gradient of its input. */
static int64_t convolution(struct builder *b, int64_t at)
{
    at = kernel(b, "winogradForwardData4x4", at);
    at = kernel(b, "winogradForwardFilter4x4", at);
    at = kernel(b, "volta_sgemm_128x64_nn", at);
    return kernel(b, "winogradForwardOutput4x4", at);
}

/* One training pass: the layers forward, then on autograd's thread backward. `noted`: the nodes of
 * the backward pass were recorded. */
static int64_t training_pass(struct builder *b, int64_t at, bool noted)
{
    for (int i = 0; i < LAYERS; i++)
        at = convolution(b, at);
    at = kernel(b, "nll_loss", at);
    b->thread = 2;
    for (int i = 0; i < LAYERS; i++) {
        int64_t start = at;
        at = kernel(b, "volta_sgemm_64x64_nt", convolution(b, at));
        if (noted)
            build_range(b, NODE "ConvolutionBackward0", start - US(2), at - US(2));
    }
    b->thread = 1;
    return at;
}

TEST(layers_of_one_backward_pass_are_no_steps)
{
    struct builder b = build_start();
    build_thread(&b, 2, "pt_autograd_0");
    training_pass(&b, MS(1), false);
    ck_assert_int_eq(build_analyze(&b)->facts->steps.source, STEPS_DETECTED); /* who knows */
    b = build_start();
    build_thread(&b, 2, "pt_autograd_0");
    training_pass(&b, MS(1), true);
    ck_assert_int_eq(build_analyze(&b)->facts->steps.source, STEPS_NONE);
    b = build_start();
    build_thread(&b, 2, "pt_autograd_0");
    int64_t at = MS(1);
    for (int i = 0; i < 20; i++)
        at = training_pass(&b, at, true) + US(100);
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    ck_assert_uint_ge(s->count, 19);
    ck_assert_uint_le(s->count, 20);
}
