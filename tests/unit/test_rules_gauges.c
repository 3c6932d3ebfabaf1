/* Rules that need the GPU's own gauges: clocks, memory in use. */
#include "rule_case.h"

static void sample(struct builder *b, int64_t at, int64_t mhz, int64_t reasons, int64_t memory)
{
    struct row_gpu_sample r = {.id = ++b->next_id,
                               .device = 1,
                               .time_ns = at,
                               .util_pct = 90,
                               .memory_used_bytes = memory,
                               .sm_clock_mhz = mhz,
                               .memory_clock_mhz = 1500,
                               .power_mw = 400000,
                               .temperature_c = 84,
                               .throttle_reasons = reasons,
                               .pcie_tx_bytes_per_s = -1,
                               .pcie_rx_bytes_per_s = -1};
    build_put(b, ROW_GPU_SAMPLE, &r);
}

/* A step's loop with a sample of these values in each step; mhz 0: none. */
static const struct advice *gauged(struct builder *b, case_fill *fill, int64_t mhz, int64_t reasons,
                                   int64_t memory)
{
    *b = build_start();
    case_loop(b, fill);
    for (int i = 0; mhz && i < CASE_STEPS; i++)
        sample(b, MS(105) + MS(10) * i, mhz, reasons, memory);
    return build_analyze(b);
}

/* ---- clock-throttling -------------------------------------------------------------------------
 */

START_TEST(test_clock)
{
    static const struct {
        int64_t mhz, reasons;
        enum verdict verdict;
    } cases[] = {{1128, 0x40, RULE_FIRES},      /* heat: 1128 of 1410 MHz */
                 {1128, 0x4, RULE_FIRES},       /* power */
                 {1128, 0x1, RULE_SILENT},      /* idle */
                 {1128, 0x2, RULE_SILENT},      /* the user's own choice */
                 {1400, 0x4, RULE_SILENT},      /* at the limit, and nearly at full clock */
                 {0, 0, RULE_CANNOT_TELL},      /* no samples */
                 {1128, -1, RULE_CANNOT_TELL}}; /* no reasons */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct builder b;
        const struct advice *a =
            gauged(&b, case_busy, cases[i].mhz, cases[i].reasons, (int64_t)70 << 30);
        case_verdict(a, "clock-throttling", cases[i].verdict);
        if (i == 0) {
            const struct outcome *o = case_outcome(a, "clock-throttling");
            ck_assert_int_le(llabs(o->saves_high_ns - US(9850 / 5)), US(20));
            ck_assert_ptr_nonnull(strstr(o->summary, "heat"));
        }
        build_end(&b);
    }
}
END_TEST

/* ---- batch-size -------------------------------------------------------------------------------
 */

static int64_t blocks;

static void fill_small_kernels(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++) {
        int64_t c = build_api(b, "cudaLaunchKernel", at + US(i), CALL_NS / 8);
        build_kernel_of(b, "ampere_bf16_s16816gemm_bf16_64x64_tn", c, at + US(20 + 98 * i), US(98),
                        blocks);
    }
}

START_TEST(test_batch_size)
{
    struct builder b;
    blocks = 27; /* of 108 multiprocessors */
    const struct advice *a = gauged(&b, fill_small_kernels, 1400, 0, (int64_t)9 << 30);
    case_verdict(a, "batch-size", RULE_FIRES);
    const struct outcome *o = case_outcome(a, "batch-size");
    ck_assert_ptr_nonnull(strstr(o->summary, "memory for 4 times"));
    ck_assert_int_eq(o->error_class, ERROR_RERUN_DECIDES);
    build_end(&b);

    a = gauged(&b, fill_small_kernels, 1400, 0, (int64_t)60 << 30);
    case_verdict(a, "batch-size", RULE_SUPPRESSED); /* no room */
    build_end(&b);
    a = gauged(&b, fill_small_kernels, 0, 0, 0);
    case_verdict(a, "batch-size", RULE_CANNOT_TELL);
    build_end(&b);
    blocks = 432;
    a = gauged(&b, fill_small_kernels, 1400, 0, (int64_t)9 << 30);
    case_verdict(a, "batch-size", RULE_SILENT);
    build_end(&b);
}
END_TEST

Suite *test_rules_gauges_suite(void);
Suite *test_rules_gauges_suite(void)
{
    Suite *s = suite_create("rules_gauges");
    TCase *c = tcase_create("gauges");
    tcase_add_test(c, test_clock);
    tcase_add_test(c, test_batch_size);
    suite_add_tcase(s, c);
    return s;
}
