/* Advice that is not given, or given within limits: what a capture does not survive, what the cores
 * cannot carry, what is in use already; and what counts as a wait. */
#include "rule_case.h"

static const char gemm[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";
static const char small[] = "vectorized_elementwise_kernel<4>";

static const char *why(const struct advice *a, const char *id)
{
    return case_outcome(a, id)->why;
}

static const struct evidence *evidence(const struct outcome *o, const char *part)
{
    for (size_t i = 0; i < o->evidence_count; i++)
        if (strstr(o->evidence[i].text, part))
            return &o->evidence[i];
    return NULL;
}

/* ---- cuda-graphs -------------------------------------------------------------------------------
 */

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

static void fill_waits(struct builder *b, int64_t at)
{
    launches(b, at, "cudaStreamSynchronize", 10);
}

static void fill_allocations(struct builder *b, int64_t at)
{
    launches(b, at, "cudaMalloc", 10);
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

START_TEST(test_capture_is_interrupted)
{
    static const struct {
        case_fill *fill;
        const char *call;
    } cases[] = {{fill_waits, "cudaStreamSynchronize"},
                 {fill_allocations, "cudaMalloc"},
                 {fill_pageable, "cudaMemcpyAsync"}};
    for (int i = 0; i < 3; i++) {
        struct builder b = build_start();
        case_loop(&b, cases[i].fill);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "cuda-graphs", RULE_SUPPRESSED);
        ck_assert_msg(strstr(why(a, "cuda-graphs"), cases[i].call) != NULL, "%s not named: %s",
                      cases[i].call, why(a, "cuda-graphs"));
        build_end(&b);
    }
}
END_TEST

START_TEST(test_a_wait_at_the_end_is_outside_of_the_capture)
{
    struct builder b = build_start();
    case_loop(&b, fill_one_wait);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "cuda-graphs", RULE_FIRES);
    ck_assert_double_eq_tol(evidence(case_outcome(a, "cuda-graphs"), "one capture can hold")->value,
                            100, 0.01);
    build_end(&b);
}
END_TEST

static int step_number;

/* As many kernels every step, on other grids. */
static void fill_other_grids(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++) {
        int64_t correlation = build_api(b, "cudaLaunchKernel", at + US(100 * i), CALL_NS);
        build_kernel_of(b, small, correlation, at + US(100 * i + 8), US(5), 64 + step_number);
    }
    step_number++;
}

START_TEST(test_shapes_change)
{
    struct builder b = build_start();
    step_number = 0;
    case_loop(&b, fill_other_grids);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "cuda-graphs", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(why(a, "cuda-graphs"), "differ"));
    build_end(&b);
}
END_TEST

START_TEST(test_one_step_repeats_nothing)
{
    struct builder b = build_start();
    fill_one_wait(&b, MS(100));
    build_range(&b, "ProfilerStep#3", MS(100), MS(110));
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "cuda-graphs", RULE_CANNOT_TELL);
    ck_assert_ptr_nonnull(strstr(why(a, "cuda-graphs"), "second step"));
    ck_assert_ptr_nonnull(strstr(a->next, "Launch less for each step"));
    ck_assert_ptr_nonnull(strstr(a->next, "second step"));
    build_end(&b);
}
END_TEST

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

START_TEST(test_graphs_in_use)
{
    struct builder b = build_start();
    case_loop(&b, fill_graphs);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "cuda-graphs", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(why(a, "cuda-graphs"), "already"));
    build_end(&b);
}
END_TEST

/* ---- num-workers -------------------------------------------------------------------------------
 */

static double decode_ms;

/* The training thread makes the batch; the GPU works for the rest of the 10 ms. */
static void fill_decode(struct builder *b, int64_t at)
{
    int64_t ready = at + MS(decode_ms);
    build_range(b, "data.decode", at, ready);
    build_kernel(b, gemm, ready, ready + US(10), at + MS(10) - ready - US(20));
}

START_TEST(test_cores_bound_the_saving)
{
    struct builder b = build_start();
    build_meta(&b, "usable_cores", "1");
    decode_ms = 8; /* four workers would keep up; one makes a batch in 8 ms */
    case_loop(&b, fill_decode);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "num-workers", MS(2));
    ck_assert_str_eq(o->knob, "num_workers=1");
    ck_assert_double_eq_tol(evidence(o, "would be needed")->value, 4, 0.01);
    build_end(&b);

    b = build_start(); /* a fraction of a core counts as one */
    build_meta(&b, "usable_cores", "16");
    build_meta(&b, "cgroup_cpu_quota", "0.5");
    decode_ms = 9.95; /* a worker would need as long as the whole step */
    case_loop(&b, fill_decode);
    a = build_analyze(&b);
    case_verdict(a, "num-workers", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(why(a, "num-workers"), "cheaper"));
    build_end(&b);
}
END_TEST

/* Two workers make a batch in 8 ms each, one every 4 ms, and still the loop waits for 4 of 10 ms.
 */
static void fill_uneven_batches(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(4));
    for (int w = 0; w < 2; w++) {
        b->thread = 2 + w;
        build_range_at(b, "data.decode", 0, at + MS(w), at + MS(8 + w));
    }
    b->thread = 1;
    build_kernel(b, gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

START_TEST(test_workers_that_keep_up)
{
    struct builder b = build_start();
    build_meta(&b, "usable_cores", "16");
    build_thread(&b, 2, "loader-0");
    build_thread(&b, 3, "loader-1");
    case_loop(&b, fill_uneven_batches);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "num-workers", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(why(a, "num-workers"), "uneven"));
    build_end(&b);
}
END_TEST

/* ---- sync-in-loop ------------------------------------------------------------------------------
 */

/* A small batch copied in and the loss read back, both by blocking calls; then the queue is empty
 * for 2 ms. */
static void fill_item(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, false, 64, at, US(8), at + US(3), US(2));
    for (int i = 0; i < 40; i++)
        build_kernel(b, gemm, at + US(10 + 20 * i), at + US(20) + US(200 * i), US(199));
    build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 4, at + MS(1), MS(7) + US(35),
               at + US(8025), US(2));
}

START_TEST(test_item)
{
    struct builder b = build_start();
    case_loop(&b, fill_item);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "sync-in-loop", RULE_FIRES);
    const struct outcome *o = case_outcome(a, "sync-in-loop");
    ck_assert_ptr_nonnull(strstr(o->summary, "cudaMemcpy"));
    ck_assert_double_eq_tol(evidence(o, "single number")->value, 1, 0.01);
    ck_assert_double_eq_tol(evidence(o, "synchronising calls")->value, 1, 0.01); /* not the H2D */
    build_end(&b);
}
END_TEST

/* ---- channels-last, tensor-cores ---------------------------------------------------------------
 */

/* Matrix products on tensor cores do not make NHWC pay for convolutions that stay off them. */
static void fill_mixed(struct builder *b, int64_t at)
{
    build_kernel(b, "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>",
                 at + US(1), at + US(10), MS(2));
    build_kernel(b, gemm, at + US(6), at + US(2011), MS(4));
    build_kernel(
        b, "implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>",
        at + US(12), at + US(6012), US(3900));
}

START_TEST(test_layouts_of_fp32_convolutions)
{
    struct builder b = build_start();
    case_loop(&b, fill_mixed);
    case_verdict(build_analyze(&b), "channels-last", RULE_SUPPRESSED);
    build_end(&b);
}
END_TEST

static void fill_fp32(struct builder *b, int64_t at)
{
    build_kernel(b, "ampere_sgemm_128x64_nn", at + US(10), at + US(100), US(9800));
}

START_TEST(test_override_is_told)
{
    static const char *const values[] = {"0", "1"};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        build_meta(&b, "env.NVIDIA_TF32_OVERRIDE", values[i]);
        case_loop(&b, fill_fp32);
        const struct outcome *o = case_first(build_analyze(&b), "tensor-cores", US(9800));
        ck_assert_int_eq(evidence(o, "NVIDIA_TF32_OVERRIDE") != NULL, i == 0);
        build_end(&b);
    }
}
END_TEST

START_TEST(test_steps_that_take_no_time_carry_no_advice)
{
    struct builder b = build_start();
    build_range(&b, "ProfilerStep#2", MS(100), MS(100));
    const struct advice *a = build_analyze(&b);
    for (size_t i = 0; i < a->outcome_count; i++)
        ck_assert_msg(a->outcomes[i].verdict != RULE_FIRES, "%s", a->outcomes[i].rule->id);
    build_end(&b);
}
END_TEST

Suite *test_rules_refuse_suite(void)
{
    Suite *suite = suite_create("rules_refuse");
    TCase *t = tcase_create("rules_refuse");
    tcase_add_test(t, test_capture_is_interrupted);
    tcase_add_test(t, test_a_wait_at_the_end_is_outside_of_the_capture);
    tcase_add_test(t, test_shapes_change);
    tcase_add_test(t, test_one_step_repeats_nothing);
    tcase_add_test(t, test_graphs_in_use);
    tcase_add_test(t, test_cores_bound_the_saving);
    tcase_add_test(t, test_workers_that_keep_up);
    tcase_add_test(t, test_item);
    tcase_add_test(t, test_layouts_of_fp32_convolutions);
    tcase_add_test(t, test_override_is_told);
    tcase_add_test(t, test_steps_that_take_no_time_carry_no_advice);
    suite_add_tcase(suite, t);
    return suite;
}
