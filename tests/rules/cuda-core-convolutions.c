/* Cases of the rule cuda-core-convolutions: when it fires, when it is silent or suppressed, and
 * when it cannot tell. No trainer plants it: the virtual GPU's cuDNN has no kernels that are so
 * slow. */
#include "tests/rules/gpu.h"
#include "tests/unit/rule_case.h"

static const char slow[] =
    "void wgrad_alg0_engine_NHWC<__nv_bfloat16, 128, 6, 7, 3, 3, 5, false, 512>(int, int, int)";

struct pair { /* a forward convolution on tensor cores, and the filter's gradient on CUDA cores */
    int64_t type, layout, channels, groups;
    const char *name;
    int64_t length;
};

static void pairs(struct builder *b, int64_t at, struct pair p)
{
    int64_t gpu = at + US(100);
    for (int i = 0; i < 2; i++) {
        struct row_call c = {.start_ns = at + US(20) * i,
                             .end_ns = at + US(20) * i + US(9),
                             .family = SPOOL_CALL_CONV_FWD,
                             .in_type = p.type,
                             .in_layout = p.layout,
                             .algo = 1,
                             .dim = {32, p.channels, 56, 56, 64, 3, 3, 1, 1, 1, p.groups}};
        build_call(b, c, "cudnnConvolutionForward");
        build_kernel(b, conv, c.start_ns + US(2), gpu, US(100));
        gpu += US(101);
        c.start_ns += US(10);
        c.end_ns += US(10);
        c.family = SPOOL_CALL_CONV_WGRAD;
        c.algo = 0;
        build_call(b, c, "cudnnConvolutionBackwardFilter");
        build_kernel(b, p.name, c.start_ns + US(2), gpu, p.length);
        gpu += p.length + US(1);
    }
    build_kernel(b, case_gemm, at + US(50), gpu, at + MS(9.9) - gpu);
    build_sync(b, at + US(100), US(9850));
}

static const struct pair usual = {SPOOL_DT_BF16, SPOOL_LAYOUT_NHWC, 64, 1, slow, MS(3)};

static void fill_slow(struct builder *b, int64_t at)
{
    pairs(b, at, usual);
}

static void fill_grouped(struct builder *b, int64_t at)
{
    struct pair p = usual;
    p.groups = 64;
    pairs(b, at, p);
}

static void fill_groups_unknown(struct builder *b, int64_t at)
{
    struct pair p = usual;
    p.groups = 0;
    pairs(b, at, p);
}

static void fill_first_layer(struct builder *b, int64_t at)
{
    struct pair p = usual;
    p.channels = 3;
    pairs(b, at, p);
}

static void fill_fp32(struct builder *b, int64_t at)
{
    struct pair p = usual;
    p.type = SPOOL_DT_F32;
    pairs(b, at, p);
}

static void fill_tensor(struct builder *b, int64_t at)
{
    struct pair p = usual;
    p.name = conv;
    pairs(b, at, p);
}

static void fill_as_fast(struct builder *b, int64_t at) /* as those on tensor cores */
{
    struct pair p = usual;
    p.length = US(90);
    pairs(b, at, p);
}

static void fill_without_convolutions(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(2), at + US(100), MS(9.8));
}

static void search(struct builder *b)
{
    struct row_call find = {.start_ns = MS(50), .end_ns = MS(60), .family = SPOOL_CALL_FIND};
    build_call(b, find, "cudnnFindConvolutionBackwardFilterAlgorithmEx");
}

/* Each takes 3 ms, its twin on tensor cores 0.1. */
TEST(convolutions_that_a_search_left_on_cuda_cores)
{
    struct builder b = build_start();
    search(&b);
    case_loop(&b, fill_slow);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "cuda-core-convolutions", MS(5.8));
    ck_assert_ptr_null(o->setting); /* it searches already */
    case_said(o, CONDITION_SEARCHES, true);
    case_said(o, CONDITION_SEARCHES_TWICE, false);
    ck_assert_double_eq_tol(o->evidence[0].value, 2, 1e-9);
    ck_assert_double_eq_tol(o->evidence[1].value, 6, 0.01);
    QUIET(a, "cudnn-algorithm", "tensor-cores", "channels-last");
    o = case_outcome(build_predict(&b), "cuda-core-convolutions");
    ck_assert(!o->upper_bound);
    ck_assert_int_ge(case_replayed(o).low_ns, MS(5));
    ck_assert_int_le(case_replayed(o).high_ns, MS(6));
}

TEST(pytorch_that_measures_is_not_told_to_measure)
{
    const struct outcome *o =
        case_first(case_advice_with(fill_slow, "torch.cudnn.benchmark", "True"),
                   "cuda-core-convolutions", MS(5.8));
    ck_assert_ptr_null(o->setting);
    case_said(o, CONDITION_BENCHMARK_ON, true);
}

TEST(who_searches_twice_takes_another_answer)
{
    struct builder b = build_start();
    for (int i = 0; i < 4; i++) /* of two convolutions */
        search(&b);
    case_loop(&b, fill_slow);
    const struct outcome *o = case_first(build_analyze(&b), "cuda-core-convolutions", MS(5.8));
    case_said(o, CONDITION_SEARCHES_TWICE, true);
}

/* The search ran it on tensor cores in 0.5 ms: so much is left of 3, or a third more; the rate of
 * other convolutions says 0.1. */
TEST(what_a_search_tried_is_known)
{
    struct builder b = build_start();
    struct row_call find = {.start_ns = MS(50),
                            .end_ns = MS(60),
                            .family = SPOOL_CALL_FIND,
                            .in_type = SPOOL_DT_BF16,
                            .in_layout = SPOOL_LAYOUT_NHWC,
                            .dim = {32, 64, 56, 56, 64, 3, 3, 1, 1, 1, 1}};
    build_call(&b, find, "cudnnFindConvolutionBackwardFilterAlgorithmEx");
    build_kernel(&b, slow, MS(51), MS(51.1), MS(3));
    build_kernel(&b, conv, MS(55), MS(55.1), MS(0.5));
    case_loop(&b, fill_slow);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "cuda-core-convolutions", MS(5));
    o = case_outcome(build_predict(&b), "cuda-core-convolutions");
    ck_assert_int_ge(case_replayed(o).low_ns, MS(4.4));
    ck_assert_int_le(case_replayed(o).low_ns, MS(4.7));
    ck_assert_int_le(case_replayed(o).high_ns, MS(5.2));
}

static void fill_graph_of(struct builder *b, int64_t at, const char *name)
{
    struct row_kernel r = {.id = ++b->next_id,
                           .process = 1,
                           .stream = b->stream,
                           .start_ns = at + US(100),
                           .end_ns = at + US(100) + MS(6),
                           .name = build_text(b, name),
                           .correlation = build_api(b, "cudaGraphLaunch", at, US(20)),
                           .grid_x = 1,
                           .block_x = 32,
                           .graph = 7,
                           .graph_node = 1};
    build_put(b, ROW_KERNEL, &r);
}

static void fill_graph(struct builder *b, int64_t at)
{
    fill_graph_of(b, at, slow);
}

/* Calls were recorded before the capture alone; there the names have sizes. */
TEST(in_a_graph_names_from_before_the_capture_tell)
{
    static case_fill *const before[] = {fill_slow, fill_grouped};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        before[i](&b, MS(50));
        case_loop(&b, fill_graph);
        const struct advice *a = build_analyze(&b);
        if (i == 0)
            case_first(a, "cuda-core-convolutions", MS(5.6)); /* 14 parts of 15 */
        else
            case_verdict(a, "cuda-core-convolutions", RULE_SILENT);
    }
}

TEST(without_a_search_one_is_advised)
{
    const struct advice *a = case_advice(fill_slow);
    ck_assert_str_eq(case_first(a, "cuda-core-convolutions", MS(5.8))->setting,
                     "cudnn_benchmark=1");
    QUIET(a, "cudnn-algorithm", "tensor-cores");
}

TEST_EACH(silent_where_such_kernels_are_right, 0, 7)
{
    static case_fill *const fills[] = {
        fill_grouped, fill_groups_unknown, fill_first_layer,         fill_fp32,
        fill_tensor,  fill_as_fast,        fill_without_convolutions};
    struct builder b = build_start();
    search(&b);
    case_loop(&b, fills[_i]);
    case_verdict(build_analyze(&b), "cuda-core-convolutions", RULE_SILENT);
}

TEST(refused_without_tensor_cores)
{
    struct builder b = build_start_on("Tesla P100", 6, 0);
    case_loop(&b, fill_slow);
    case_verdict(build_analyze(&b), "cuda-core-convolutions", RULE_SUPPRESSED);
    b = build_start_on("Tesla V100", 7, 0); /* none for BF16 */
    case_loop(&b, fill_slow);
    case_verdict(build_analyze(&b), "cuda-core-convolutions", RULE_SILENT);
}

TEST(cannot_tell_without_groups)
{
    case_cannot_tell(fill_slow, "kernels,api,ranges", "cuda-core-convolutions");
    case_verdict(case_advice_with(fill_tensor, "have", "kernels,api,ranges"),
                 "cuda-core-convolutions", RULE_SILENT);
}
