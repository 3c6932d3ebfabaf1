/* Rules that imported traces need most: communication, warm-up, other host work, misaligned
 * kernels. Each: fires with its number, stays silent, cannot tell without its data; and takes
 * nothing that is another rule's. */
#include "rule_case.h"

#define QUIET(a, ...) case_quiet(a, (const char *const[]){__VA_ARGS__, NULL})
static const char gemm[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";
static const char nccl[] = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)";

/* ---- exposed-communication ---------------------------------------------------------------------
 */

static void fill_exposed(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at + US(10), at + US(100), US(5900));
    build_kernel(b, nccl, at + US(20), at + MS(6), US(3980));
}

/* The same collective beside computing, on a stream of its own. */
static void fill_overlapped(struct builder *b, int64_t at)
{
    case_busy(b, at);
    b->stream = 2;
    build_kernel(b, nccl, at + US(20), at + MS(4), MS(4));
    b->stream = 1;
}

/* 60 small ones, each launched 50 us after the one before has ended. */
static void fill_scattered(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at + US(10), at + US(50), US(2950));
    for (int i = 0; i < 60; i++) {
        int64_t start = at + MS(3) + US(110) * i;
        build_kernel(b, nccl, start + US(40), start + US(50), US(60));
    }
}

START_TEST(test_exposed)
{
    struct builder b = build_start();
    case_loop(&b, fill_exposed);
    const struct advice *a = build_analyze(&b);
    case_first(a, "exposed-communication", US(3980));
    case_verdict(a, "straggler", RULE_CANNOT_TELL);
    QUIET(a, "cuda-graphs", "host-work", "warm-up");
    build_end(&b);
}
END_TEST

START_TEST(test_overlapped)
{
    struct builder b = build_start();
    build_stream(&b, 2, 1);
    case_loop(&b, fill_overlapped);
    case_verdict(build_analyze(&b), "exposed-communication", RULE_SILENT);
    build_end(&b);
}
END_TEST

START_TEST(test_scattered)
{
    struct builder b = build_start();
    case_loop(&b, fill_scattered);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "exposed-communication", US(60) * 60 + US(50) * 60);
    ck_assert_ptr_nonnull(strstr(o->remedy.pytorch, "bucket_cap_mb"));
    QUIET(a, "cuda-graphs");
    build_end(&b);
}
END_TEST

START_TEST(test_no_collectives)
{
    struct builder b = build_start();
    case_loop(&b, case_busy);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "exposed-communication", RULE_SILENT);
    case_verdict(a, "straggler", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(case_busy, "api,ranges", "exposed-communication");
}
END_TEST

/* ---- warm-up -----------------------------------------------------------------------------------
 */

/* One pass without repetition: a first launch of 60 ms, code compiled in 30, 10 ms of work. */
START_TEST(test_warm_up)
{
    struct builder b = build_start();
    build_kernel(&b, gemm, MS(0), US(10), MS(5));
    int64_t call = build_api(&b, "cudaLaunchKernel", MS(5), MS(60));
    build_kernel_of(&b, "vectorized_layer_norm_kernel", call, MS(65), US(1000), 64);
    build_range(&b, "fallback_function", MS(96), MS(97));
    build_kernel(&b, "reduce_kernel<512, 1>", MS(96) + US(10), MS(96) + US(20), MS(4));
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "warm-up", MS(90));
    ck_assert_ptr_nonnull(strstr(o->rule->title, "warm-up is in the window"));
    ck_assert_ptr_nonnull(strstr(a->verdict, "warm-up takes"));
    build_end(&b);
}
END_TEST

/* Allocations in every step are no warm-up, however long. */
static void fill_allocates(struct builder *b, int64_t at)
{
    build_api(b, "cudaMalloc", at, MS(6));
    build_kernel(b, gemm, at + MS(6), at + MS(6) + US(10), US(3900));
}

START_TEST(test_no_warm_up)
{
    struct builder b = build_start();
    case_loop(&b, fill_allocates);
    case_verdict(build_analyze(&b), "warm-up", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(case_busy, "kernels,ranges", "warm-up");
}
END_TEST

/* ---- host-work ---------------------------------------------------------------------------------
 */

static void fill_host_work(struct builder *b, int64_t at)
{
    build_range(b, "postprocess", at, at + MS(4));
    build_kernel(b, gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

START_TEST(test_host_work)
{
    struct builder b = build_start();
    case_loop(&b, fill_host_work);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "host-work", MS(4));
    ck_assert_ptr_nonnull(strstr(o->summary, "'postprocess'"));
    ck_assert_int_eq(o->error_class, ERROR_RERUN_DECIDES);
    QUIET(a, "num-workers", "sync-in-loop", "cuda-graphs", "warm-up");
    build_end(&b);
}
END_TEST

START_TEST(test_no_host_work)
{
    struct builder b = build_start();
    case_loop(&b, case_busy);
    case_verdict(build_analyze(&b), "host-work", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(case_busy, "kernels,ranges", "host-work");
}
END_TEST

/* ---- misaligned-kernels ------------------------------------------------------------------------
 */

static void fill_misaligned(struct builder *b, int64_t at)
{
    build_kernel(b, "cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1", at + US(10),
                 at + US(20), MS(6));
    build_kernel(b, gemm, at + US(30), at + US(6020), US(3900));
}

/* Aligned products at 100 flops a nanosecond, one that is not at 50. */
static void fill_products(struct builder *b, int64_t at)
{
    static const char good[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";
    static const char bad[] = "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1";
    for (int i = 0; i < 3; i++) {
        int64_t length = i == 2 ? MS(4) : MS(1), call = at + US(20 * i);
        struct row_call r = {.family = SPOOL_CALL_GEMM,
                             .in_type = SPOOL_DT_BF16,
                             .start_ns = call - US(1),
                             .end_ns = call + US(10),
                             .dim = {100, 1000, i == 2 ? 1000 : 500, 1}};
        build_kernel(b, i == 2 ? bad : good, call, at + US(30) + MS(i), length);
        build_call(b, r, "cublasGemmEx");
    }
    build_sync(b, at + US(100), MS(6) + US(-50));
}

/* At the others' rate it takes half of the time; at a fifth more, 1/2.4 of it. */
START_TEST(test_misaligned_products_against_aligned_ones)
{
    struct err e = ERR_INIT;
    struct builder b = build_start();
    case_loop(&b, fill_products);
    struct advice *a = build_analyze(&b);
    ck_assert_int_eq(advice_predict(a, &e), 0);
    const struct outcome *o = case_outcome(a, "misaligned-kernels");
    case_verdict(a, "misaligned-kernels", RULE_FIRES);
    ck_assert(!o->upper_bound);
    ck_assert_int_gt(o->saves_low_ns, MS(1.85));
    ck_assert_int_gt(o->saves_mid_ns, MS(2));
    ck_assert_int_lt(o->saves_mid_ns, MS(2.35));
    ck_assert_int_lt(o->saves_high_ns, MS(2.45));
    build_end(&b);
}
END_TEST

START_TEST(test_misaligned)
{
    struct builder b = build_start();
    case_loop(&b, fill_misaligned);
    case_first(build_analyze(&b), "misaligned-kernels", MS(6));
    build_end(&b);
}
END_TEST

START_TEST(test_aligned)
{
    struct builder b = build_start();
    case_loop(&b, case_busy);
    case_verdict(build_analyze(&b), "misaligned-kernels", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(case_busy, "api,ranges", "misaligned-kernels");
}
END_TEST

Suite *test_rules_trace_suite(void);
Suite *test_rules_trace_suite(void)
{
    Suite *s = suite_create("rules_trace");
    TCase *c = tcase_create("rules_trace");
    tcase_add_test(c, test_exposed);
    tcase_add_test(c, test_overlapped);
    tcase_add_test(c, test_scattered);
    tcase_add_test(c, test_no_collectives);
    tcase_add_test(c, test_warm_up);
    tcase_add_test(c, test_no_warm_up);
    tcase_add_test(c, test_host_work);
    tcase_add_test(c, test_no_host_work);
    tcase_add_test(c, test_misaligned);
    tcase_add_test(c, test_misaligned_products_against_aligned_ones);
    tcase_add_test(c, test_aligned);
    suite_add_tcase(s, c);
    return s;
}
