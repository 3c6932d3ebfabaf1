/* Cases of the rule double-backward: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: the gradients are autograd's. */
#include "tests/unit/rule_case.h"

static const char *grad; /* the range of the first gradient; NULL: none */
static bool aside;       /* no backward pass goes through it */

/* A forward pass of 2 ms, a gradient of 2 ms and a backward pass of 5 ms, both launched by the engine's
 * thread, and an update of 1 ms. */
static void fill_gradients(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(2));
    if (grad)
        build_range_at(b, grad, 1, at + MS(1), at + MS(1.4));
    build_range_at(b, aside ? "other" : "backward", 1, at + MS(1.5), at + MS(1.9));
    b->thread = 2;
    build_kernel(b, case_gemm, at + MS(1.1), at + MS(2), MS(2));
    build_kernel(b, case_gemm, at + MS(1.6), at + MS(4), MS(5));
    b->thread = 1;
    build_kernel(b, case_gemm, at + MS(2), at + MS(9), US(900));
}

static const struct advice *answer(struct builder *b)
{
    *b = build_start();
    build_thread(b, 2, "pt_autograd_0");
    case_loop(b, fill_gradients);
    return build_analyze(b);
}

TEST(test_double_backward)
{
    struct builder b;
    grad = "autograd.grad(create_graph=True) gan.py:18";
    aside = false;
    const struct outcome *o = case_verdict(answer(&b), "double-backward", RULE_FIRES);
    ck_assert(o->upper_bound);
    ck_assert_int_ge(o->saves_high_ns, MS(7));
    ck_assert_int_le(o->saves_high_ns, MS(7.2));
    ck_assert_str_eq(o->remedy.object.place, "gan.py:18");
    ck_assert_double_eq_tol(case_value(o, "their GPU time"), 2, 0.01);
    case_does(o, ACTION_DIFFERENTIATE_LESS);
    aside = true;
    ck_assert_int_le(case_verdict(answer(&b), "double-backward", RULE_FIRES)->saves_high_ns,
                     MS(2.2));
}

/* A trace of PyTorch's profiler, with and without nodes of a second derivative. */
static bool second;
static void fill_trace(struct builder *b, int64_t at)
{
    build_range_at(b, "gan.py(16): penalty", 0, at + MS(0.9), at + MS(1.45));
    fill_gradients(b, at);
    if (second)
        build_range_at(b, "ConvolutionBackwardBackward0", 2, at + MS(1.6), at + MS(1.7));
}

TEST(test_double_backward_in_a_trace)
{
    grad = "torch/autograd/__init__.py(448): grad";
    aside = false;
    for (int k = 0; k < 2; k++) {
        struct builder b = build_start();
        second = k;
        build_thread(&b, 2, "pt_autograd_0");
        case_loop(&b, fill_trace);
        const struct outcome *o =
            case_verdict(build_analyze(&b), "double-backward", k ? RULE_FIRES : RULE_SILENT);
        if (k)
            ck_assert_str_eq(o->remedy.object.place, "gan.py:16");
    }
}

TEST(test_plain_gradients)
{
    struct builder b;
    grad = NULL;
    aside = false;
    case_verdict(answer(&b), "double-backward", RULE_SILENT);
    case_cannot_tell(fill_gradients, "kernels", "double-backward");
}
