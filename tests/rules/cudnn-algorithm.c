/* Cases of the rule cudnn-algorithm: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/gpu.h"
#include "tests/unit/rule_case.h"

/* Eight equal convolutions; each call and its kernel. `slow`: one of them takes four times as long.
 */
static void convolutions(struct builder *b, int64_t at, bool slow)
{
    int64_t gpu = at + US(100), host = at;
    for (int i = 0; i < 8; i++) {
        int64_t length = slow && i == 3 ? US(3600) : US(900);
        struct row_call c = {.start_ns = host,
                             .end_ns = host + US(9),
                             .family = SPOOL_CALL_CONV_FWD,
                             .in_type = SPOOL_DT_BF16,
                             .in_layout = SPOOL_LAYOUT_NHWC,
                             .algo = 1,
                             .dim = {32, 64, 56, 56, 64, 3, 3, 1, 1, 1, 1}};
        build_call(b, c, "cudnnConvolutionForward");
        build_kernel(b, conv, host + US(2), gpu, length);
        gpu += length + US(1);
        host += US(10);
    }
}

static void fill_even(struct builder *b, int64_t at)
{
    convolutions(b, at, false);
}

static void fill_slow(struct builder *b, int64_t at)
{
    convolutions(b, at, true);
}

/* Without shapes the names of fallback algorithms decide. */
static void fill_fallback(struct builder *b, int64_t at)
{
    build_kernel(b, "void dgrad2d_alg1_1<float, 0, 6, 7, 4, 5, false, true>", at + US(1),
                 at + US(10), MS(3));
    build_kernel(b, conv, at + US(6), at + US(3011), US(6980));
}

TEST(test_algorithm)
{
    const struct advice *a = case_advice(fill_slow);
    const struct outcome *o = case_first(a, "cudnn-algorithm", US(2700));
    ck_assert_int_eq(o->error_class, ERROR_RERUN_DECIDES);
    ck_assert_str_eq(o->setting, "cudnn_benchmark=1");
    a = case_advice(fill_even);
    case_verdict(a, "cudnn-algorithm", RULE_SILENT);
    case_cannot_tell(fill_slow, "api,ranges", "cudnn-algorithm");
}

/* A shape that no memory holds, beside others: its FLOPs take no time that an integer holds. */
static void fill_absurd(struct builder *b, int64_t at)
{
    convolutions(b, at, false);
    struct row_call c = {.start_ns = at + US(85),
                         .end_ns = at + US(90),
                         .family = SPOOL_CALL_CONV_FWD,
                         .dim = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, 64, 3, 3, 1, 1, 1, 1}};
    build_call(b, c, "cudnnConvolutionForward");
    build_kernel(b, conv, at + US(86), at + US(7400), US(900));
}

TEST(test_algorithm_of_an_absurd_shape)
{
    case_verdict(case_advice(fill_absurd), "cudnn-algorithm", RULE_SILENT);
}

TEST(test_algorithm_measured_already)
{
    struct builder b = build_start();
    struct row_call find = {.start_ns = MS(50), .end_ns = MS(60), .family = SPOOL_CALL_FIND};
    build_call(&b, find, "cudnnFindConvolutionForwardAlgorithmEx");
    case_loop(&b, fill_slow);
    case_verdict(build_analyze(&b), "cudnn-algorithm", RULE_SUPPRESSED);
    b = build_start();
    find.family = SPOOL_CALL_FIND; /* the heuristic is no measurement */
    build_call(&b, find, "cudnnGetConvolutionForwardAlgorithm_v7");
    case_loop(&b, fill_slow);
    case_verdict(build_analyze(&b), "cudnn-algorithm", RULE_FIRES);
}

/* cuDNN's graph API has no Find calls: PyTorch times the plans itself. */
TEST(test_algorithm_by_benchmark)
{
    static const char *const set[] = {"True", "False"};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        case_verdict(case_advice_with(fill_slow, "torch.cudnn.benchmark", set[i]),
                     "cudnn-algorithm", i == 0 ? RULE_SUPPRESSED : RULE_FIRES);
    }
}

/* A grouped convolution is slow beside others, but not beside its kind. */
static void fill_grouped(struct builder *b, int64_t at)
{
    convolutions(b, at, false);
    for (int i = 0; i < 4; i++) {
        struct row_call c = {.start_ns = at + US(85 + 10 * i),
                             .end_ns = at + US(94 + 10 * i),
                             .family = SPOOL_CALL_CONV_FWD,
                             .in_type = SPOOL_DT_BF16,
                             .in_layout = SPOOL_LAYOUT_NHWC,
                             .algo = 1,
                             .dim = {32, 64, 56, 56, 64, 3, 3, 1, 1, 1, 16}};
        build_call(b, c, "cudnnConvolutionForward");
        build_kernel(b, conv, c.start_ns + US(2), at + US(7400 + 500 * i), US(450));
    }
}

TEST(test_algorithm_of_groups)
{
    case_verdict(case_advice(fill_grouped), "cudnn-algorithm", RULE_SILENT);
}

static void fill_slow_of_xla(struct builder *b, int64_t at)
{
    convolutions(b, at, true);
    build_kernel(b, "loop_add_fusion_3", at + US(95), at + US(9950), US(20));
}

/* XLA has timed the algorithms when it compiled the step. */
TEST(test_algorithm_of_xla)
{
    case_verdict(case_advice(fill_slow_of_xla), "cudnn-algorithm", RULE_SILENT);
}

TEST(test_algorithm_by_name)
{
    const struct advice *a = case_advice_with(fill_fallback, "have", "kernels,api,ranges");
    case_verdict(a, "cudnn-algorithm", RULE_FIRES);
    ck_assert_int_eq(case_outcome(a, "cudnn-algorithm")->saves_high_ns, MS(3));
}

static void fill_slow_libtorch(struct builder *b, int64_t at)
{
    convolutions(b, at, true);
    build_kernel(b, "void at::native::vectorized_elementwise_kernel<4>", at + US(200),
                 at + US(9950), US(5));
}

/* PyTorch's kernels without Python: the words are libtorch's. */
TEST(test_libtorch)
{
    static const char *const meta[][2] = {
        {"exe", "/home/u/train"}, {"exe", "/usr/bin/python3.11"}, {"python.version", "3.12.3"}};
    for (size_t i = 0; i < sizeof meta / sizeof *meta; i++) {
        const struct advice *a = case_advice_with(fill_slow_libtorch, meta[i][0], meta[i][1]);
        const struct outcome *o = case_outcome(a, "cudnn-algorithm");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        case_does(o, ACTION_MEASURE_ALGORITHMS);
        ck_assert_str_eq(dialect_name(a->facts, dialect_framework(a->facts)),
                         i == 0 ? "C++ with libtorch" : "PyTorch");
    }
}
