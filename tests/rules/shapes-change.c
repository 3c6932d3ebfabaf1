/* Cases of the rule shapes-change: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/unit/rule_case.h"

static int every, step_number;

static void search(struct builder *b, int64_t at, int64_t shape)
{
    struct row_call r = {.family = SPOOL_CALL_FIND,
                         .start_ns = at,
                         .end_ns = at + MS(2),
                         .dim = {shape, 64, 56, 56}};
    build_call(b, r, "cudnnFindConvolutionForwardAlgorithmEx");
}

static void fill_searches(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(7));
    if (every && step_number % every == 0)
        search(b, at + MS(7.1), step_number);
    build_kernel(b, case_gemm, at + MS(9.1), at + MS(9.11), US(880));
    step_number++;
}

static struct advice *searched(struct builder *b, int every_nth)
{
    *b = build_start();
    every = every_nth;
    step_number = 0;
    case_loop(b, fill_searches);
    return build_analyze(b);
}

TEST(test_shapes_change)
{
    struct builder b;
    const struct advice *a = searched(&b, 2);
    case_verdict(a, "shapes-change", RULE_FIRES);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "shapes-change")->summary, "new shapes"));
    ck_assert_int_ge(case_outcome(a, "shapes-change")->saves_high_ns, US(800));
    a = searched(&b, CASE_STEPS); /* once: the warm-up */
    case_verdict(a, "shapes-change", RULE_SILENT);
    case_cannot_tell(fill_searches, "kernels,api", "shapes-change");
}

/* Ten plans on the same sizes, one after another. */
static void fill_plans(struct builder *b, int64_t at)
{
    int kernels = every;
    build_kernel(b, case_gemm, at, at + US(10), MS(1));
    for (int i = 0; i < 10; i++) {
        char name[64];
        struct row_call r = {.family = SPOOL_CALL_CONV_FWD,
                             .start_ns = at + US(1100 + 500 * i),
                             .end_ns = at + US(1150 + 500 * i),
                             .dim = {2, 64, 200 + step_number % 50, 56, 64, 3, 3}};
        build_call(b, r, "cudnnBackendExecute");
        snprintf(name, sizeof name, "sm80_xmma_fprop_implicit_gemm_tile%d", i % kernels);
        build_kernel(b, name, r.start_ns + US(10), r.start_ns + US(60), US(300));
        if (i < 9) /* the last is the one that the layer needs */
            build_api(b, "cudaEventSynchronize", r.start_ns + US(60), US(310));
    }
    step_number++;
}

/* PyTorch 2 times plans without cudnnFind. Ten layers of the same sizes run the same kernel. */
TEST(test_plans)
{
    for (int on = 0; on < 2; on++) {
        struct builder b = build_start();
        build_meta(&b, "torch.cudnn.benchmark", on ? "True" : "False");
        build_meta(&b, "torch.cudnn.benchmark.where", "train.py:4");
        every = on ? 5 : 1;
        step_number = 0;
        case_loop(&b, fill_plans);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "shapes-change", on ? RULE_FIRES : RULE_SILENT);
        ck_assert_int_eq(case_outcome(a, "cudnn-algorithm")->verdict, RULE_SUPPRESSED);
        if (on) {
            const struct outcome *o = case_first(a, "shapes-change", US(4550));
            ck_assert_str_eq(o->remedy.object.place, "train.py:4");
            case_said(o, CONDITION_BENCHMARK_ON, true);
            ck_assert(case_outcome(a, "sync-in-loop")->verdict != RULE_FIRES);
        }
    }
}

/* A trace of PyTorch's profiler: operators and CUDA's calls. In each step a layer times three plans;
 * `again`: for sizes that it had before; `timed`: it does not. */
static void fill_operators(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(1));
    build_range_at(b, "aten::cudnn_convolution", 0, at + US(1100), at + US(3100));
    for (int i = 0; i < 3; i++) {
        int64_t ns = at + US(1150 + 500 * i);
        build_kernel(b, "sm80_xmma_fprop_implicit_gemm", ns, ns + US(10), US(300));
        build_api(b, "cudaEventSynchronize", ns + US(60), US(310));
        if (every)
            build_api(b, "cudaEventElapsedTime", ns + US(380), US(2));
    }
    build_kernel(b, "sm80_xmma_fprop_implicit_gemm", at + US(2900), at + US(2910), US(300));
}

TEST(test_operators_that_time_plans)
{
    for (int timed = 0; timed < 2; timed++) {
        struct builder b = build_start();
        build_meta(&b, "source", "kineto");
        every = timed;
        case_loop(&b, fill_operators);
        const struct advice *a = build_analyze(&b);
        const struct outcome *o =
            case_verdict(a, "shapes-change", timed ? RULE_FIRES : RULE_SILENT);
        if (!timed)
            continue;
        case_said(o, CONDITION_BENCHMARK_ON, true);
        /* the operator's 2 ms, but for the result's kernel, of which 0.11 ms lie behind it */
        ck_assert_int_eq(o->saves_high_ns, US(1810));
        ck_assert_int_eq(case_outcome(a, "cudnn-algorithm")->verdict, RULE_SUPPRESSED);
    }
}
