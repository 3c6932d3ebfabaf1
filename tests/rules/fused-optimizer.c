/* Cases of the rule fused-optimizer: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/gpu.h"
#include "tests/unit/rule_case.h"

/* 163 updates of 10 us, 10 us apart, behind a kernel of 6 ms. */
static void fill_optimizer(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), US(6700));
    for (int i = 0; i < 163; i++)
        build_kernel(b, "sgd_momentum_kernel(float*, float const*, float*, int)",
                     at + US(6720) + US(20 * i), at + US(6730) + US(20 * i), US(10));
}

static void fill_fused(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), US(6700));
    build_kernel(b, "multi_tensor_apply_kernel<FusedSgdMathFunctor>", at + US(10), at + US(6711),
                 US(3270));
}

/* The same in kernels of any pointwise operation, inside the range of an optimizer's step; the host
 * is slow. `closure`: the backward pass runs in the step as well. */
static void fill_plain_of(struct builder *b, int64_t at, const char *range, bool closure)
{
    static const char *const name[] = {"vectorized_elementwise_kernel<4, MulScalarFunctor<float>>",
                                       "vectorized_elementwise_kernel<4, AddFunctor<float>>"};
    build_kernel(b, case_gemm, at + US(10), at + US(30), US(5000));
    int64_t from = closure ? at + US(9000) : at + US(5100);
    for (int i = 0; i < 160; i++) {
        int64_t call = at + US(5120) + US(20 * i);
        build_kernel(b, name[i % 2], call, call + US(8), US(10));
    }
    build_range(b, range, at + US(5100), at + US(9100));
    if (closure)
        build_range_at(b, "autograd::engine::evaluate_function: AddBackward0", 2, at + US(5200),
                       from);
}

static void fill_plain(struct builder *b, int64_t at)
{
    fill_plain_of(b, at, "Optimizer.step#SGD.step", false);
}

static void fill_closure(struct builder *b, int64_t at)
{
    fill_plain_of(b, at, "Optimizer.step#SGD.step", true);
}

static void fill_own_class(struct builder *b, int64_t at)
{
    fill_plain_of(b, at, "Optimizer.step#Lion.step", false);
}

static void fill_muon(struct builder *b, int64_t at)
{
    fill_plain_of(b, at, "Optimizer.step#Muon.step", false);
    build_kernel(b, case_gemm, at + US(8900), at + US(8950), US(200));
}

/* The eight operations of a foreach update, 250 us each; `kinds`: of so many kinds. */
static void fill_lists_of(struct builder *b, int64_t at, const char *range, int kinds)
{
    static const char *const name[] = {
        "multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpScalarFunctor<float>>",
        "multi_tensor_apply_kernel<TensorListMetadata<4>, PointwiseOpScalarFunctor<float>>"};
    build_kernel(b, case_gemm, at + US(10), at + US(30), US(7000));
    for (int i = 0; i < 8; i++)
        build_kernel(b, name[i % kinds], at + US(7110 + 10 * i), at + US(7130 + 250 * i), US(250));
    build_range(b, range, at + US(7100), at + US(9200));
}

static void fill_lists(struct builder *b, int64_t at)
{
    fill_lists_of(b, at, "Optimizer.step#AdamW.step", 2);
}

static void fill_one_kind(struct builder *b, int64_t at)
{
    fill_lists_of(b, at, "Optimizer.step#SGD.step", 1);
}

static void fill_lists_own(struct builder *b, int64_t at)
{
    fill_lists_of(b, at, "Optimizer.step#Lion.step", 2);
}

static void fill_lists_hook(struct builder *b, int64_t at)
{
    fill_lists_of(b, at, "optimizer.step", 2);
}

TEST(test_lists)
{
    struct builder b = build_start();
    case_loop(&b, fill_lists); /* of 2 ms seven of twenty passes remain at best */
    const struct outcome *o = case_first(build_analyze(&b), "fused-optimizer", US(1300));
    case_does(o, ACTION_FUSE_OPTIMIZER);
    case_text(o, PARAM_OPTIMIZER, "AdamW");
    case_said(o, CONDITION_BY_LISTS, true);
    ck_assert_ptr_eq(o->edit.kind, &edit_scale);
    ck_assert_double_eq_tol(case_value(o, "optimizer kernels"), 8, 1e-9);
    ck_assert_double_eq_tol(case_value(o, "their GPU time"), 2, 0.01);
    o = case_first(case_advice_with(fill_lists_hook, "torch.optimizer",
                                    "Adam(foreach=None, fused=None, capturable=False)"),
                   "fused-optimizer", US(1300));
    case_text(o, PARAM_OPTIMIZER, "Adam");
    b = build_start(); /* whose kernels are whose is not known */
    build_meta(&b, "torch.optimizer", "Adam(foreach=None, fused=None, capturable=False)");
    build_meta(&b, "torch.optimizer", "AdamW(foreach=None, fused=None, capturable=False)");
    case_loop(&b, fill_lists_hook);
    case_verdict(build_analyze(&b), "fused-optimizer", RULE_SILENT);
    case_fill *const silent[] = {fill_one_kind, fill_lists_own};
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        case_verdict(case_advice(silent[i]), "fused-optimizer", RULE_SILENT);
    }
}

/* A loop over the parameters, told by the range around it. */
TEST(test_plain)
{
    const struct outcome *o = case_verdict(case_advice(fill_plain), "fused-optimizer", RULE_FIRES);
    ck_assert_double_eq_tol(case_value(o, "optimizer kernels"), 160, 1e-9);
    case_text(o, PARAM_OPTIMIZER, "SGD");
    case_said(o, CONDITION_BY_LISTS, false);
    ck_assert_int_gt(o->saves_high_ns, MS(2));
    o = case_outcome(case_advice(fill_own_class), "fused-optimizer");
    case_does(o, ACTION_WRITE_UPDATE_BY_LISTS);
    case_text(o, PARAM_OPTIMIZER, "Lion");
    ck_assert_ptr_null(o->setting);
}

static void fill_average(struct builder *b, int64_t at)
{
    fill_plain_of(b, at, "optimizer.step", false);
    build_kernel(b, "multi_tensor_apply_kernel<TernaryOpScalarFunctor<LerpFunctor>>", at + US(9200),
                 at + US(9210), US(500));
}

/* A list of tensors behind the update is an average of the weights, where the hook tells of updates. */
TEST(test_an_average_is_no_update)
{
    const struct advice *a =
        case_advice_with(fill_average, "torch.optimizer", "SGD(foreach=False, fused=None)");
    const struct outcome *o = case_verdict(a, "fused-optimizer", RULE_FIRES);
    ck_assert_double_eq_tol(case_value(o, "optimizer kernels"), 160, 1e-9);
}

/* What a closure computes is no update; one that multiplies matrices is no candidate. */
TEST(test_no_candidate)
{
    case_verdict(case_advice(fill_closure), "fused-optimizer", RULE_SILENT);
    const struct advice *a = case_advice(fill_muon);
    case_verdict(a, "fused-optimizer", RULE_SILENT);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "fused-optimizer")->why, "products of matrices"));
}

TEST(test_optimizer)
{
    const struct advice *a = case_advice(fill_optimizer);
    ck_assert_str_eq(case_first(a, "fused-optimizer", US(3260))->setting, "optimizer=fused");
    QUIET(a, "cuda-graphs", "zero-grad"); /* the gaps between are its own */
    case_verdict(case_advice(fill_fused), "fused-optimizer", RULE_SILENT);
    case_cannot_tell(fill_optimizer, "api,ranges", "fused-optimizer");
}

/* Forty passes in what the program calls a step, each with one update of all parameters. */
static void fill_flat(struct builder *b, int64_t at)
{
    for (int i = 0; i < 40; i++) {
        build_kernel_of(b, "forward(float*)", at + US(240 * i), at + US(240 * i + 10), US(150),
                        400);
        build_kernel_of(b, "adam(float*, float*, float*, float*, long)", at + US(240 * i + 5),
                        at + US(240 * i + 165), US(70), 9000);
    }
}

static void fill_by_tensor(struct builder *b, int64_t at)
{
    build_kernel_of(b, "forward(float*)", at, at + US(10), US(6000), 400);
    for (int i = 0; i < 40; i++)
        build_kernel_of(b, "adam(float*, float*, float*, float*, long)", at + US(20 + i),
                        at + US(6020 + 80 * i), US(70), 9000);
}

TEST(test_flat)
{
    case_verdict(case_advice(fill_flat), "fused-optimizer", RULE_SILENT);
    case_verdict(case_advice(fill_by_tensor), "fused-optimizer", RULE_FIRES);
}

/* A recording of nothing but one step. */
TEST(test_one_update)
{
    struct builder b = build_start();
    fill_own_class(&b, MS(100));
    const struct advice *a = build_analyze(&b);
    ck_assert(analysis_of_window(a->facts));
    const struct outcome *o = case_outcome(a, "fused-optimizer");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    case_text(o, PARAM_OPTIMIZER, "Lion");
}

/* A group for each parameter, though most have the same settings. */
TEST(test_groups)
{
    static const char *const groups[] = {"160 of 8 kinds", "160 of 160 kinds", "2 of 2 kinds"};
    for (int i = 0; i < 3; i++) {
        struct builder b = build_start();
        build_meta(&b, "torch.parameters", "160 tensors, 1000000 numbers, float32, on cuda");
        build_meta(&b, "torch.optimizer.groups", groups[i]);
        case_loop(&b, fill_plain);
        const struct outcome *o = case_verdict(build_analyze(&b), "fused-optimizer", RULE_FIRES);
        case_does(o, i == 0 ? ACTION_MERGE_GROUPS : ACTION_FUSE_OPTIMIZER);
        ck_assert_int_eq(strstr(o->summary, "160 groups with 8 different settings") != NULL,
                         i == 0);
    }
}
