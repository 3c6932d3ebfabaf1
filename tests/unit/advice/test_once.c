/* What frameworks do once in a window: they capture CUDA graphs and compile kernels at their first
 * use. */
#include "tests/unit/rule_case.h"

#include "analyzer/queries/once.h"
#include "analyzer/queries/warm.h"

static void layers(struct builder *b, int64_t at, int n)
{
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer_%d", i);
        build_kernel(b, name, at + US(300 * i), at + US(300 * i) + US(10), US(8));
    }
}

/* 60 ms of captured launches, which run nothing, and 5 ms until the graph can be launched. */
static void capture(struct builder *b, int64_t at)
{
    build_api(b, "cudaStreamBeginCapture", at, CALL_NS);
    for (int i = 0; i < 600; i++)
        build_api(b, "cudaLaunchKernel", at + US(100 * i) + US(50), CALL_NS);
    build_api(b, "cudaStreamEndCapture", at + MS(60), US(10));
    build_api(b, "cudaGraphInstantiateWithFlags", at + MS(61), MS(4));
}

TEST(a_capture_is_one_time_work)
{
    for (int ended = 0; ended < 2; ended++) {
        struct builder b = build_start();
        layers(&b, 0, 40);
        if (ended)
            capture(&b, MS(13));
        else
            build_api(&b, "cudaStreamBeginCapture", MS(13), CALL_NS);
        build_kernel(&b, "behind", MS(79), MS(79) + US(10), MS(1));
        const struct advice *a = build_analyze(&b);
        ck_assert(analysis_of_window(a->facts));
        struct query_warm w = query_warm_up(a->facts);
        ck_assert_int_eq(w.captures, ended);
        ck_assert_int_le(llabs(w.capture_ns - (ended ? MS(65) : 0)), MS(0.2));
        if (ended) {
            ck_assert_ptr_nonnull(strstr(case_outcome(a, "warm-up")->summary, "1 CUDA graph"));
            ck_assert_str_eq(a->ranked[0]->rule->id, "warm-up");
        }
    }
}

/* A capture that no work follows ends nothing. */
TEST(a_capture_behind_all_work_is_no_end)
{
    struct builder b = build_start();
    layers(&b, 0, 40);
    capture(&b, MS(13));
    build_range(&b, "step", 0, MS(79));
    struct query_warm w = query_warm_up(build_analyze(&b)->facts);
    ck_assert_int_eq(w.captures, 1);
    ck_assert_int_gt(w.capture_ns, MS(60));
    ck_assert_int_lt(w.down_ns, MS(1));
}

/* Launches come too slowly in both, but graphs are what the program already makes. */
TEST(who_captures_graphs_is_not_told_to)
{
    for (int captures = 0; captures < 2; captures++) {
        struct builder b = build_start();
        layers(&b, 0, 400);
        if (captures)
            build_api(&b, "cudaStreamBeginCapture", MS(121), CALL_NS);
        build_api(&b, "cudaStreamEndCapture", MS(122), CALL_NS);
        build_kernel(&b, "behind", MS(123), MS(123) + US(10), MS(1));
        const struct advice *a = build_analyze(&b);
        ck_assert_uint_eq(query_captures_seen(a->facts), (size_t)captures);
        case_verdict(a, "cuda-graphs", captures ? RULE_SUPPRESSED : RULE_FIRES);
    }
}

/* Every kernel waits for the host; what is compiled when it is first used, once. */
TEST(a_kernel_is_compiled_before_its_first_launch)
{
    static const char *const names[] = {"triton_poi_fused_copy_0", "copy_kernel"};
    for (int i = 0; i < 2; i++)
        for (int again = 0; again < 2; again++) {
            struct builder b = build_start();
            layers(&b, 0, 20);
            build_kernel(&b, names[i], MS(80), MS(80) + US(10), US(5));
            build_kernel(&b, "other", MS(81), MS(81) + US(10), US(5));
            build_kernel(&b, names[i], MS(again ? 110 : 82), MS(again ? 110 : 82) + US(10), US(5));
            const struct advice *a = build_analyze(&b);
            struct query_warm w = query_warm_up(a->facts);
            ck_assert_int_eq(w.compile_ns > MS(70), i == 0 && !again);
            if (w.compile_ns)
                ck_assert_str_eq(query_compiled(a->facts, &w), names[i]);
        }
}
