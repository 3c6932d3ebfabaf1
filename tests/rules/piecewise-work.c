/* Cases of the rule piecewise-work: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: the trainers make one call for many pieces. */
#include "tests/rules/gpu.h"
#include "tests/unit/rule_case.h"
#include "tests/rules/launch_lines.h"
#include "tests/rules/stacks.h"

enum { ROWS = 200, PAIRS = 40 };

static const char fill[] = "void at::native::vectorized_elementwise_kernel<4, "
                           "at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)";
static const char mul[] = "void at::native::vectorized_elementwise_kernel<4, "
                          "at::native::AUnaryFunctor<float, MulFunctor>, std::array<char*, 2ul> >";
static const char greater[] = "void at::native::vectorized_elementwise_kernel<4, at::native::"
                              "CompareFunctor<long>, std::array<char*, 3ul> >";
static const char add[] = "void at::native::vectorized_elementwise_kernel<4, "
                          "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)";

/* A product of 4 ms, then small operations of 2 us that the host launches every 25. */
static void fill_loop(struct builder *b, int64_t at, const char *odd, const char *even)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(4));
    for (int i = 0; i < ROWS; i++)
        build_kernel(b, i % 2 ? odd : even, at + US(4010 + 25 * i), at + US(4020 + 25 * i), US(2));
}

static void fill_rows(struct builder *b, int64_t at)
{
    fill_loop(b, at, fill, fill);
}

static void fill_average(struct builder *b, int64_t at)
{
    fill_loop(b, at, mul, add);
}

/* Each layer launches such operations, too, with its product between them. */
static void fill_layers(struct builder *b, int64_t at)
{
    for (int i = 0; i < ROWS; i++)
        build_kernel(b, i % 10 ? mul : case_gemm, at + US(25 * i), at + US(20 + 25 * i), US(2));
}

static void fill_update(struct builder *b, int64_t at)
{
    fill_average(b, at);
    build_range(b, "optimizer.step", at + US(4005), at + MS(9));
}

static void fill_zeroing(struct builder *b, int64_t at)
{
    fill_rows(b, at);
    build_range(b, "zero_grad", at + US(4005), at + MS(9.2));
}

/* As Python's max() of a tensor's elements: a comparison, its answer, a wait, again and again. */
static void fill_reading(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(4));
    for (int i = 0; i < ROWS; i++) {
        int64_t call = at + US(4010 + 25 * i);
        build_kernel(b, greater, call, call + US(4), US(2));
        build_copy(b, 2, 3, 1, true, 1, call + US(5), US(2), call + US(7), US(1));
        build_sync(b, call + US(8), US(2));
    }
}

/* As (table == x).nonzero() for each sample: a comparison, what finds the elements, their number. */
static void fill_masks(struct builder *b, int64_t at)
{
    static const char *const kernels[] = {greater, "cub::DeviceReduceSingleTileKernel<policy>(T)",
                                          "cub::DeviceCompactInitKernel<S>(T)",
                                          "cub::DeviceSelectSweepKernel<policy>(T)"};
    build_kernel(b, case_gemm, at, at + US(10), MS(4));
    for (int i = 0; i < ROWS / 4; i++) {
        int64_t call = at + US(4010 + 100 * i);
        for (int k = 0; k < 4; k++)
            build_kernel(b, kernels[k], call + US(15 * k), call + US(4 + 15 * k), US(2));
        build_copy(b, 2, 3, 1, true, 4, call + US(60), US(2), call + US(62), US(1));
        build_sync(b, call + US(63), US(5));
    }
}

/* Each turn of the loop takes the host 115 us. */
static void fill_slowly(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(2));
    for (int i = 0; i < 68; i++)
        build_kernel(b, i % 2 ? mul : add, at + US(2010 + 115 * i), at + US(2020 + 115 * i), US(2));
}

static struct builder with_looks(case_fill *of)
{
    struct builder b = build_start();
    build_meta(&b, "torch.optimizer", "AdamW(fused=True)");
    int64_t mask = stack_of(&b, "/home/me/train.py", "frame_mask", 8);
    int64_t other = stack_of(&b, "/home/me/train.py", "<module>", 30);
    case_loop(&b, of);
    for (int i = 0; i < CASE_STEPS; i++) {
        look_at(&b, other, MS(100) + MS(10) * i + MS(1));
        for (int k = 5; k < 9; k++)
            look_at(&b, mask, MS(100) + MS(10) * i + MS(k));
    }
    return b;
}

TEST(test_rows)
{
    struct builder b = with_looks(fill_rows);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "piecewise-work", US(25 * ROWS));
    ck_assert_str_eq(o->remedy.object.place, "train.py:8");
    case_said(o, CONDITION_FILLS, true);
    ck_assert_int_gt(o->saves_mid_ns, 0);
}

TEST(test_average)
{
    const struct outcome *o = case_first(case_advice_with(fill_average, "torch.version", "2.14.1"),
                                         "piecewise-work", US(25 * ROWS));
    ck_assert_ptr_null(o->remedy.object.place); /* nobody looked */
    case_said(o, CONDITION_FILLS, false);
}

/* The line that launches says more than where the thread was found. */
TEST(test_launching_line)
{
    struct builder b = with_looks(fill_average);
    int64_t product = line_in(&b, "net (Linear)", "Net.forward", 3);
    int64_t average = line_in(&b, "outside a module", "ema", 17);
    launches_have_lines(&b, MS(100), MS(100 + 10 * CASE_STEPS) - 1);
    for (int i = 0; i < CASE_STEPS; i++) {
        launch_from(&b, SPOOL_LINE_OWN, product, MS(100 + 10 * i));
        launch_from(&b, SPOOL_LINE_OWN, average, MS(100 + 10 * i) + US(4005));
    }
    const struct outcome *o = case_verdict(build_analyze(&b), "piecewise-work", RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.place, "train.py:17");
}

static const char cross_entropy[] =
    "void at::native::elementwise_kernel<128, 2, at::native::binary_cross_entropy_out_cuda>(int)";

static void fill_losses(struct builder *b, int64_t at)
{
    fill_loop(b, at, cross_entropy, add);
}

/* A loss for each of many classes, and the backward pass through them, which is another thread's. */
static const struct advice *losses(void)
{
    struct builder b = with_looks(fill_losses);
    int64_t product = line_in(&b, "net (Linear)", "Net.forward", 3);
    int64_t loss = line_in(&b, "outside a module", "losses", 17);
    launches_have_lines(&b, MS(100), MS(100 + 10 * CASE_STEPS) - 1);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        launch_from(&b, SPOOL_LINE_OWN, product, at);
        launch_from(&b, SPOOL_LINE_OWN, loss, at + US(4005));
        launch_from(&b, SPOOL_LINE_FORWARD, loss, at + US(9050));
        for (int k = 0; k < 40; k++)
            build_kernel(&b, k % 2 ? mul : case_gemm, at + US(9100 + 20 * k),
                         at + US(9110 + 20 * k), US(2));
    }
    return build_analyze(&b);
}

TEST(losses_one_by_one)
{
    const struct outcome *o = case_verdict(losses(), "piecewise-work", RULE_FIRES);
    ck_assert_str_eq(o->remedy.object.place, "train.py:17");
    case_measures(o, "small operations in such runs", ROWS + 40, 0.1);
}

/* The loop's own pauses go with it. */
TEST(test_slow_loop)
{
    struct builder b = build_start();
    build_meta(&b, "torch.version", "2.14.1");
    case_loop(&b, fill_slowly);
    case_verdict(build_analyze(&b), "piecewise-work", RULE_FIRES);
    ck_assert_int_gt(case_outcome(build_predict(&b), "piecewise-work")->saves_low_ns, MS(5));
}

/* Nothing but launches and waits fills the time, and all but one of the waits go. */
TEST(test_reading)
{
    const struct outcome *o = case_first(case_advice_with(fill_reading, "torch.version", "2.14.1"),
                                         "piecewise-work", US(25 * ROWS));
    case_said(o, CONDITION_READS, true);
    ck_assert_msg(strstr(o->summary, "reads a number behind 200 of them"), "%s", o->summary);
    ck_assert_int_gt(o->saves_mid_ns, US(20 * ROWS));
}

TEST(elements_found_one_by_one)
{
    const struct outcome *o = case_verdict(case_advice_with(fill_masks, "torch.version", "2.14.1"),
                                           "piecewise-work", RULE_FIRES);
    case_said(o, CONDITION_READS, true);
    ck_assert_msg(strstr(o->summary, "reads a number behind 50 of them"), "%s", o->summary);
}

/* Four functions of elements, each in three forms, as alignment and size have it from element to
 * element; `many`: as many functions as forms, which is no loop over elements. */
static void fill_forms(struct builder *b, int64_t at, bool many)
{
    static const char *const forms[] = {
        "void at::native::vectorized_elementwise_kernel<4, %s, std::array<char*, 3ul> >(int)",
        "void at::native::unrolled_elementwise_kernel<%s, std::array<char*, 3ul>, 4>(int)",
        "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<%s >"
        "(at::TensorIteratorBase&)::{lambda(int)#1}>(int, T)"};
    build_kernel(b, case_gemm, at, at + US(10), MS(4));
    for (int i = 0; i < ROWS; i++) {
        char function[64], name[256];
        snprintf(function, sizeof function, "at::native::Functor%d<float, float>",
                 many ? i % 12 : i % 4);
        snprintf(name, sizeof name, forms[i / 4 % 3], function);
        build_kernel(b, name, at + US(4010 + 25 * i), at + US(4020 + 25 * i), US(2));
    }
}

static void fill_elements(struct builder *b, int64_t at)
{
    fill_forms(b, at, false);
}

static void fill_functions(struct builder *b, int64_t at)
{
    fill_forms(b, at, true);
}

TEST(elements_in_kernels_of_several_forms)
{
    const struct outcome *o = case_verdict(
        case_advice_with(fill_elements, "torch.version", "2.14.1"), "piecewise-work", RULE_FIRES);
    case_measures(o, "in the longest run", ROWS, 0.1);
    case_verdict(case_advice_with(fill_functions, "torch.version", "2.14.1"), "piecewise-work",
                 RULE_SILENT);
}

/* Pairs of short products and sums, each from a line of its own, as a loss that goes from pair to
 * pair; in so many modules by turns. */
/* `backward`: backward passes of a step, if the loop calls the model itself. */
static const struct advice *pairs_of_passes(int modules, int backward)
{
    struct builder b = build_start();
    build_meta(&b, "torch.version", "2.14.1");
    int64_t net = line_in(&b, "net (Linear)", "Net.forward", 3), near[PAIRS], far[PAIRS];
    for (int i = 0; i < modules; i++) {
        char name[32];
        snprintf(name, sizeof name, "layers.%d (Layer)", i);
        near[i] = line_in(&b, name, "Layer.forward", 17);
        far[i] = line_in(&b, name, "Layer.forward", 18);
    }
    launches_have_lines(&b, MS(100), MS(100 + 10 * CASE_STEPS) - 1);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        build_range(&b, "step", at, at + MS(10));
        for (int k = 0; k < backward; k++)
            build_range(&b, "backward", at + MS(8.5) + US(10 * k), at + MS(8.5) + US(10 * k + 5));
        if (!backward)
            build_kernel(&b, case_gemm, at + US(10), at + US(20), MS(4));
        launch_from(&b, SPOOL_LINE_OWN, net, at);
        for (int k = 0; k < 2 * PAIRS; k++) {
            int64_t call = at + US(4100 + 50 * k);
            build_kernel(&b, k % 2 ? add : case_gemm, call, call + US(10), US(3));
            launch_from(&b, SPOOL_LINE_OWN, (k % 2 ? far : near)[k / 2 % modules], call - US(1));
        }
    }
    return build_predict(&b);
}

static const struct advice *pairs_from_lines(int modules)
{
    return pairs_of_passes(modules, 0);
}

/* A loop that calls the model for each sample is one; passes over micro-batches are none. */
TEST(test_loop_around_the_model)
{
    case_verdict(pairs_of_passes(1, 1), "piecewise-work", RULE_FIRES);
    case_verdict(pairs_of_passes(1, PAIRS), "piecewise-work", RULE_SILENT);
}

/* Lines that one module runs again and again are a loop, whatever they launch; those that many modules
 * run once each are layers. */
TEST(test_loop_of_lines)
{
    const struct outcome *o = case_verdict(pairs_from_lines(1), "piecewise-work", RULE_FIRES);
    ck_assert_msg(strstr(o->summary, "80 small operations"), "%s", o->summary);
    ck_assert_msg(strstr(o->summary, "run up to 40 times each"), "%s", o->summary);
    ck_assert_ptr_nonnull(strstr(o->remedy.object.place, "train.py:1"));
    case_said(o, CONDITION_LOOP, true);
    ck_assert_int_gt(o->saves_low_ns, MS(2.5));
    ck_assert_int_lt(o->saves_high_ns, MS(4.5));
    case_verdict(pairs_from_lines(PAIRS), "piecewise-work", RULE_SILENT);
}

TEST(test_others)
{
    case_fill *const quiet[] = {fill_layers, fill_update, fill_zeroing};
    for (int i = 0; i < 3; i++) {
        case_verdict(case_advice(quiet[i]), "piecewise-work", RULE_SILENT);
    }
    case_cannot_tell(fill_rows, "kernels", "piecewise-work");
}
