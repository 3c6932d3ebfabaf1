/* Records of kernels that are missing: in CUDA graphs, where they look like idle time, and behind the
 * moment at which the profiler stopped. */
#include "tests/unit/rule_case.h"

/* Steps of 10 ms: a graph of four kernels, the last one `hole` behind the third; then as long an
 * idle time before a kernel launched early. */
static const struct advice *steps_with(struct builder *b, int64_t hole, bool graph)
{
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        int64_t launch = build_api(b, graph ? "cudaGraphLaunch" : "cudaLaunchKernel", at, CALL_NS);
        for (int k = 0; k < 4; k++) {
            int64_t start = at + US(10) + MS(k) + (k == 3 ? hole : 0);
            int64_t call = graph || k == 0
                               ? launch
                               : build_api(b, "cudaLaunchKernel", at + US(10 * k), CALL_NS);
            build_kernel_of(b, case_gemm, call, start, MS(1), 64);
        }
        build_range(b, "step", at, at + MS(10));
    }
    return build_analyze(b);
}

TEST(a_gpu_that_idles_amid_a_graph_is_at_work)
{
    for (int graph = 0; graph < 2; graph++) {
        struct builder b = build_start();
        const struct advice *a = steps_with(&b, MS(5), graph);
        int64_t holes = facts_per_step(a->facts, a->facts->health.graph_holes_ns);
        ck_assert_int_le(llabs(holes - (graph ? MS(5) : 0)), US(20));
        ck_assert_str_eq(a->verdict_class, graph ? "not-enough-data" : "queue");
        ck_assert_int_eq(strstr(a->verdict, "seem to be missing for 50 %") != NULL, graph);
    }
}

TEST(few_holes_are_told_beside_the_reason)
{
    for (int ms = 0; ms < 2; ms++) {
        struct builder b = build_start();
        const struct advice *a = steps_with(&b, ms ? US(1100) : US(900), true);
        ck_assert_int_eq(a->facts->health.graph_holes_ns > 0, ms);
        ck_assert_int_eq(strstr(a->why, "records of their kernels are missing") != NULL, ms);
        ck_assert_ptr_null(strstr(a->verdict, "seem to be missing"));
    }
}

/* Behind the steps, `extra` launches without a kernel; before them a capture, if wanted. */
static const struct advice *stopped_early(const char *source, int extra, bool capture)
{
    struct builder b = build_start();
    build_meta(&b, "source", source);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_kernel_of(&b, case_gemm, build_api(&b, "cudaLaunchKernel", at, CALL_NS), at + US(10),
                        MS(9), 64);
        build_range(&b, "step", at, at + MS(10));
    }
    int64_t behind = MS(100) + MS(10) * CASE_STEPS;
    if (capture)
        build_api(&b, "cudaStreamBeginCapture", behind, CALL_NS);
    for (int i = 0; i < extra; i++)
        build_api(&b, "cudaLaunchKernel", behind + US(50 * (i + 1)), CALL_NS);
    return build_analyze(&b);
}

TEST(launches_that_the_gpu_had_not_run_are_told)
{
    const char *words = "before the GPU had run the last 5 of 17 launches";
    ck_assert_ptr_nonnull(strstr(stopped_early("kineto", 5, false)->why, words));
    ck_assert_ptr_nonnull(strstr(stopped_early("nsys", 5, false)->why, words));
    ck_assert_ptr_null(strstr(stopped_early("kineto", 0, false)->why, "had run the last"));
    ck_assert_ptr_null(strstr(stopped_early("kineto", 5, true)->why, "had run the last"));
    ck_assert_ptr_null(strstr(stopped_early("run", 5, false)->why, "had run the last"));
}
