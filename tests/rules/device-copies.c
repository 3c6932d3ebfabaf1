/* Cases of the rule device-copies: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/buffers.h"
#include "tests/rules/launch_lines.h"
#include "tests/unit/rule_case.h"

TEST(small_broadcasts_at_the_start)
{
    const struct advice *a = case_advice(fill_start);
    const struct outcome *o = case_verdict(a, id, RULE_FIRES);
    ck_assert_int_ge(o->saves_high_ns, US(140));
    ck_assert_int_le(o->saves_high_ns, US(170));
    ck_assert_str_eq(o->setting, "broadcast_buffers=0");
    case_measures(o, "broadcasts at the start of a step,", 1, 0.01);
    case_quiet(a, (const char *const[]){"device-copies", "small-copies", "bucket-size", NULL});
}

static const char *asker;

static int64_t copy_ns;

/* A step of computing, and one copy that an operator asks for, of `copy_ns`. */
static void fill_copied(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(20), MS(7));
    build_range(b, asker, at + US(10), at + US(30));
    build_kernel(b,
                 "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
                 "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>>(int)",
                 at + US(15), at + MS(7) + US(25), copy_ns);
}

TEST(test_copies_on_the_device)
{
    static const char *const askers[] = {"aten::contiguous", "aten::cat", "aten::nothing_known"};
    static const char *const by[] = {"contiguous", "cat", NULL};
    for (int i = 0; i < 3; i++) {
        asker = askers[i];
        copy_ns = MS(2);
        const struct advice *a = case_advice(fill_copied);
        const struct outcome *o = case_verdict(a, "device-copies", RULE_FIRES);
        ck_assert_int_eq(o->saves_high_ns, MS(2));
        case_text(o, PARAM_OPERATOR, by[i]);
    }
}

/* Some copying is part of every model. */
TEST(test_few_copies_on_the_device)
{
    asker = "aten::contiguous";
    copy_ns = US(250);
    case_verdict(case_advice(fill_copied), "device-copies", RULE_SILENT);
    case_cannot_tell(fill_copied, "copies,api,ranges", "device-copies");
}

/* Without operators, the kernel's name may say who asks. */
static void fill_joined(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(20), MS(7));
    build_kernel(
        b, "void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2>, 4>(int)",
        at + US(15), at + MS(7) + US(25), MS(2));
}

TEST(joined_parts)
{
    const struct outcome *o = case_verdict(case_advice(fill_joined), "device-copies", RULE_FIRES);
    case_text(o, PARAM_OPERATOR, "cat");
}

/* Copies of 2 ms in a step of 10, launched in a recurrent layer or elsewhere. */
static const struct outcome *scattered(const char *module)
{
    struct builder b = build_start();
    int64_t layer = line_in(&b, module, "Net.forward", 27);
    build_meta(&b, "torch.version", "2.14.1");
    build_meta(&b, "torch.rnn.scattered", "rnn.lstm (LSTM) at train.py:27");
    launches_have_lines(&b, MS(100), MS(100 + 10 * CASE_STEPS) - 1);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100 + 10 * i);
        launch_from(&b, SPOOL_LINE_OWN, layer, at);
        build_kernel(&b, case_gemm, at + US(10), at + US(30), MS(7));
        build_copy(&b, COPY_D2D, MEMORY_DEVICE, MEMORY_DEVICE, true, 1 << 28, at + US(40), US(5),
                   at + MS(7.1), MS(2));
        build_range(&b, "step", at, at + MS(10));
    }
    return case_verdict(build_analyze(&b), "device-copies", RULE_FIRES);
}

TEST(weights_that_do_not_lie_in_one_piece)
{
    const struct outcome *o = scattered("rnn.lstm (LSTM)");
    case_does(o, ACTION_FLATTEN_WEIGHTS);
    ck_assert_str_eq(o->title, "Keep the weights of rnn.lstm (LSTM) in one piece");
    ck_assert_str_eq(o->remedy.object.place, "train.py:27");
    ck_assert_int_eq(o->saves_high_ns, MS(2));
    o = scattered("head (Linear)"); /* other copies have another cause */
    case_does(o, ACTION_COPY_LESS_ON_GPU);
}
