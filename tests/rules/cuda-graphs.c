/* Cases of the rule cuda-graphs: when it fires, when it is silent or suppressed, and when it cannot
 * tell. */
#include "tests/rules/cores.h"
#include "tests/rules/host.h"
#include "tests/rules/refuse.h"
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

/* 100 launches, one each 100 us, with the queue always dry. */
static void fill_slow_launches(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++)
        build_kernel(b, "vectorized_elementwise_kernel<4>", at + US(100 * i), at + US(100 * i + 8),
                     US(5));
}

TEST(test_no_core_is_not_launch_bound)
{
    /* The last leaves no time in which the thread can have worked. */
    static const double shares[] = {0.01, 0.6, 0.85, 1};
    for (int i = 0; i < 4; i++) {
        struct builder b = build_start();
        case_loop(&b, fill_slow_launches);
        starve(&b, shares[i]);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "cuda-graphs", i > 2 ? RULE_SUPPRESSED : RULE_FIRES);
        ck_assert(i < 3 || strstr(case_outcome(a, "cuda-graphs")->why, "core"));
    }
}

/* The GPU computes for 5 ms of 10, waits for 3.7 of launches, and once for 1 ms of the host. */
static void fill_both_waits(struct builder *b, int64_t at)
{
    for (int i = 0; i < 90; i++)
        build_kernel(b, "vectorized_elementwise_kernel<4>", at + US(1000 + 100 * i),
                     at + US(1008 + 100 * i), US(55));
}

/* A thread in line for a core waits longer than a pause between launches lasts. */
TEST(launches_are_slow_beside_a_missing_core)
{
    struct builder b = build_start();
    case_loop(&b, fill_both_waits);
    starve(&b, 0.45);
    const struct advice *a = build_analyze(&b);
    ck_assert_int_gt(a->facts->breakdown_ns[PART_IDLE_HOST], MS(0.9));
    case_verdict(a, "cuda-graphs", RULE_FIRES);
}

/* Weights that come and go in each step do not stay where a graph has them. */
TEST(weights_that_are_gathered)
{
    static const char *const said[][3] = {{"torch.fsdp", "fully_shard", "FSDP"},
                                          {"torch.deepspeed", "ZeRO 3", "ZeRO 3"},
                                          {"torch.deepspeed", "ZeRO 2", "DeepSpeed"}};
    for (int i = 0; i < 3; i++) {
        const struct outcome *o = case_outcome(
            case_advice_with(fill_slow_launches, said[i][0], said[i][1]), "cuda-graphs");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        ck_assert(o->upper_bound && o->saves_low_ns == 0);
        case_does(o, ACTION_COMPILE_PARTS);
        ck_assert_str_eq(o->remedy.params[PARAM_ENGINE].text, said[i][2]);
    }
}

static int step_number;

/* 100 launches, one each 100 us; kernels of 5 us: the queue is always dry. */
static void fill_launches(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++)
        build_kernel(b, i % 2 ? "vectorized_elementwise_kernel<4>" : case_gemm, at + US(100 * i),
                     at + US(100 * i + 8), US(5));
}

static void fill_uneven(struct builder *b, int64_t at)
{
    int n = 100 - 7 * (step_number++ % 5);
    for (int i = 0; i < n; i++)
        build_kernel(b, "vectorized_elementwise_kernel<4>", at + US(100 * i), at + US(100 * i + 8),
                     US(5));
}

TEST(test_launches)
{
    const struct advice *a = case_advice(fill_launches);
    const struct outcome *o = case_first(a, "cuda-graphs", US(9500));
    ck_assert_str_eq(o->setting, "cuda_graph=1");
    QUIET(a, "num-workers", "sync-in-loop", "fused-optimizer", "zero-grad", "tensor-cores");
    case_cannot_tell(fill_launches, "kernels,ranges", "cuda-graphs");
}

TEST(test_launches_differ)
{
    step_number = 0;
    const struct advice *a = case_advice(fill_uneven);
    case_verdict(a, "cuda-graphs", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "cuda-graphs")->why, "differ"));
}

static const char small[] = "cunn_SoftMaxForward<4>";

/* 100 launches, one each 100 us, with the queue always dry; after every `every`-th of them a short
 * call of this name. */
static void launches(struct builder *b, int64_t at, const char *call, int every)
{
    for (int i = 0; i < 100; i++) {
        build_kernel(b, small, at + US(100 * i), at + US(100 * i + 8), US(5));
        if (i % every == every - 1)
            build_api(b, call, at + US(100 * i + 20), US(5));
    }
}

static void fill_waits_refuse(struct builder *b, int64_t at)
{
    launches(b, at, "cudaStreamSynchronize", 10);
}

static void fill_allocations(struct builder *b, int64_t at)
{
    launches(b, at, "cudaMalloc", 10);
}

static void fill_wait_inside(struct builder *b, int64_t at)
{
    launches(b, at, "cudaStreamSynchronize", 80);
}

static void fill_waits_in_thirds(struct builder *b, int64_t at)
{
    launches(b, at, "cudaStreamSynchronize", 34);
}

static void fill_one_wait(struct builder *b, int64_t at)
{
    launches(b, at, "cudaStreamSynchronize", 100);
}

static void fill_pageable(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++) {
        int64_t t = at + US(100 * i);
        build_kernel(b, small, t, t + US(8), US(5));
        if (i % 10 == 9)
            build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 64, t + US(20), US(5),
                       t + US(24), US(1));
    }
}

static int step_number_refuse;

/* As many kernels every step, on other grids. */
static void fill_other_grids(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++) {
        int64_t correlation = build_api(b, "cudaLaunchKernel", at + US(100 * i), CALL_NS);
        build_kernel_of(b, small, correlation, at + US(100 * i + 8), US(5),
                        64 + step_number_refuse);
    }
    step_number_refuse++;
}

/* Graph launches that come late: nothing is left to capture. */
static void fill_graphs(struct builder *b, int64_t at)
{
    for (int i = 0; i < 50; i++) {
        int64_t call = at + US(200 * i);
        struct row_kernel r = {.id = ++b->next_id,
                               .process = 1,
                               .stream = b->stream,
                               .start_ns = call + US(10),
                               .end_ns = call + US(20),
                               .name = build_text(b, small),
                               .correlation = build_api(b, "cudaGraphLaunch", call, CALL_NS),
                               .grid_x = 1,
                               .block_x = 32,
                               .graph = 7,
                               .graph_node = 1};
        build_put(b, ROW_KERNEL, &r);
    }
}

TEST(test_capture_is_interrupted)
{
    static const struct {
        case_fill *fill;
        const char *call;
    } cases[] = {{fill_waits_refuse, "cudaStreamSynchronize"},
                 {fill_allocations, "cudaMalloc"},
                 {fill_pageable, "cudaMemcpyAsync"}};
    for (int i = 0; i < 3; i++) {
        const struct advice *a = case_advice(cases[i].fill);
        case_verdict(a, "cuda-graphs", RULE_SUPPRESSED);
        ck_assert_msg(strstr(why(a, "cuda-graphs"), cases[i].call) != NULL, "%s not named: %s",
                      cases[i].call, why(a, "cuda-graphs"));
    }
}

TEST(test_a_wait_at_the_end_is_outside_of_the_capture)
{
    const struct advice *a = case_advice(fill_one_wait);
    case_verdict(a, "cuda-graphs", RULE_FIRES);
    ck_assert_double_eq_tol(
        evidence(case_outcome(a, "cuda-graphs"), "one capture can contain")->value, 100, 0.01);
    ck_assert_ptr_null(strstr(case_outcome(a, "cuda-graphs")->summary, "cannot hold"));
}

/* The step in three parts, of which none has half of the launches: a graph for each. */
TEST(parts_between_waits_can_be_a_graph_each)
{
    const struct outcome *o = case_outcome(case_advice(fill_waits_in_thirds), "cuda-graphs");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_ptr_nonnull(strstr(
        o->summary, "cannot hold cudaStreamSynchronize: 3 parts between such calls have 100 % of"));
    ck_assert(o->upper_bound && o->saves_low_ns == 0);
    ck_assert_double_eq_tol(evidence(o, "one capture can contain")->value, 34, 0.01);
    ck_assert_double_eq_tol(evidence(o, "several captures can contain")->value, 100, 0.01);
}

TEST(a_wait_inside_is_named_though_it_costs_little)
{
    const struct outcome *o = case_outcome(case_advice(fill_wait_inside), "cuda-graphs");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_ptr_nonnull(strstr(o->summary, "cannot hold cudaStreamSynchronize"));
    ck_assert_double_eq_tol(evidence(o, "one capture can contain")->value, 80, 0.01);
}

TEST(test_shapes_change)
{
    step_number_refuse = 0;
    const struct advice *a = case_advice(fill_other_grids);
    case_verdict(a, "cuda-graphs", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(why(a, "cuda-graphs"), "differ"));
}

TEST(test_one_step_repeats_nothing)
{
    struct builder b = build_start();
    fill_one_wait(&b, MS(100));
    build_range(&b, "ProfilerStep#3", MS(100), MS(110));
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_verdict(a, "cuda-graphs", RULE_FIRES);
    ck_assert(o->upper_bound);
    ck_assert_int_eq(o->saves_low_ns, 0);
    ck_assert_ptr_nonnull(strstr(o->summary, "the recording contains only one step"));
    ck_assert_ptr_nonnull(strstr(a->next, "Launch the step as a CUDA graph"));
}

/* The same of a source that does not say which kernels are a graph's: the call does. */
static void fill_untold_graphs(struct builder *b, int64_t at)
{
    for (int i = 0; i < 50; i++) {
        int64_t call = at + US(200 * i);
        int64_t correlation = build_api(b, "cudaGraphLaunch", call, CALL_NS);
        build_kernel_of(b, small, correlation, call + US(10), US(10), 64);
    }
}

TEST(test_graphs_in_use)
{
    static case_fill *const fills[] = {fill_graphs, fill_untold_graphs};
    for (int i = 0; i < 2; i++) {
        const struct advice *a = case_advice(fills[i]);
        case_verdict(a, "cuda-graphs", RULE_SUPPRESSED);
        ck_assert_ptr_nonnull(strstr(why(a, "cuda-graphs"), "already"));
    }
}

/* `n` kernels of different names, one each 100 us: nothing repeats. */
static const struct outcome *of_window(struct builder *b, int n)
{
    char name[32];
    *b = build_start();
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "kernel_%d", i);
        build_kernel(b, name, MS(100) + US(100 * i), MS(100) + US(100 * i + 8), US(5));
    }
    const struct advice *a = build_analyze(b);
    ck_assert(analysis_of_window(a->facts));
    return case_outcome(a, "cuda-graphs");
}

TEST(test_launches_of_a_window)
{
    struct builder b;
    const struct outcome *o = of_window(&b, 100);
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert(o->upper_bound);
    ck_assert_str_eq(o->title, "Launch fewer kernels, or many at once");
    ck_assert_ptr_null(strstr(o->summary, "step"));
    ck_assert_double_eq_tol(case_value(o, "GPU idle between launches"), 9.5, 0.5);
    case_does(o, ACTION_LAUNCH_FEWER);
    case_said(o, CONDITION_REPEATS, true);
    ck_assert_int_eq(of_window(&b, 10)->verdict, RULE_SILENT); /* too few to say so */
}

/* The same behind a first launch that loads code for 10 ms: no launch less takes that away. */
TEST(test_warm_up_is_no_launch)
{
    char name[32];
    struct builder b = build_start();
    build_kernel(&b, "first", MS(89), MS(89) + US(8), US(5));
    int64_t correlation = build_api(&b, "cudaLaunchKernel", MS(89.1), MS(10));
    build_kernel_of(&b, "loaded", correlation, MS(99.1), US(5), 64);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "kernel_%d", i);
        build_kernel(&b, name, MS(100) + US(100 * i), MS(100) + US(100 * i + 8), US(5));
    }
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_outcome(a, "cuda-graphs");
    ck_assert(analysis_of_window(a->facts));
    ck_assert_msg(o->verdict == RULE_FIRES, "%s", o->why);
    ck_assert_msg(o->saves_high_ns < MS(11), "%lld", (long long)o->saves_high_ns);
}

static void fill_one_launch(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + MS(4), at + MS(4) + US(10), MS(5));
}

static void fill_few_launches(struct builder *b, int64_t at)
{
    for (int i = 0; i < 7; i++)
        build_kernel(b, small, at + US(100 * i), at + US(100 * i + 8), US(5));
    build_kernel(b, case_gemm, at + US(700), at + US(710), MS(9));
}

/* A graph of one launch is a launch. */
TEST(test_too_few_for_a_graph)
{
    case_verdict(case_advice(fill_one_launch), "cuda-graphs", RULE_SILENT);
    case_verdict(case_advice(fill_few_launches), "cuda-graphs", RULE_FIRES); /* eight */
}

/* Zeroing has a finding of its own, but the host is busy with launches throughout. */
static void fill_zeroing(struct builder *b, int64_t at)
{
    for (int i = 0; i < 40; i++)
        build_memset(b, 4096, at + US(40 * i), at + US(40 * i + 8), US(5));
    for (int i = 0; i < 200; i++)
        build_kernel(b, small, at + US(1600 + 40 * i), at + US(1610 + 40 * i),
                     US(i < 199 ? 39.5 : 430));
}

TEST(test_others_explain_the_idle_time)
{
    const struct outcome *o = case_outcome(case_advice(fill_zeroing), "cuda-graphs");
    ck_assert_msg(o->verdict == RULE_FIRES, "%s", o->why);
    ck_assert_msg(strstr(o->summary, "findings of their own") != NULL, "%s", o->summary);
    ck_assert_ptr_nonnull(strstr(o->summary, "keeps the host busy"));
}
