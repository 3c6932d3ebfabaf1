/* Rules about exchanges whose calls were recorded: bucket size, no_sync, one process for all GPUs,
 * late ranks. Each: fires with its number, stays silent, cannot tell; and takes nothing that is
 * another rule's. */
#include "rule_case.h"

#define QUIET(a, ...) case_quiet(a, (const char *const[]){__VA_ARGS__, NULL})
static const char gemm[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";
static const char nccl[] = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)";
static const char everything[] = "kernels,copies,memsets,api,syncs,ranges,collectives";

/* ncclAllReduce called at `call`, whose kernel runs on stream `stream` from `start` on. */
static void exchange(struct builder *b, int64_t stream, int64_t bytes, int64_t call, int64_t start,
                     int64_t length)
{
    struct row_collective c = {.id = ++b->next_id,
                               .process = 1,
                               .thread = b->thread,
                               .start_ns = call,
                               .end_ns = call + US(9),
                               .name = build_text(b, "ncclAllReduce"),
                               .kernel = -1,
                               .communicator = 77,
                               .sequence = b->next_id,
                               .bytes = bytes,
                               .ranks = 2};
    int64_t before = b->stream;
    b->stream = stream;
    build_kernel(b, nccl, call + US(1), start, length);
    b->stream = before;
    build_put(b, ROW_COLLECTIVE, &c);
}

static const struct advice *looked(struct builder *b, case_fill *fill)
{
    *b = build_start();
    build_stream(b, 2, 1);
    build_meta(b, "have", everything);
    case_loop(b, fill);
    return build_analyze(b);
}

/* ---- bucket-size -------------------------------------------------------------------------------
 */

/* 40 MB in one, behind all computing, on a stream of its own. */
static void fill_one(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at + US(10), at + US(100), US(7900));
    exchange(b, 2, 40000000, at + US(30), at + MS(8), US(1900));
    exchange(b, 2, 40000, at + US(50), at + US(9910), US(10));
}

/* The same on the stream of the kernels: it could not overlap whatever its size. */
static void fill_one_stream(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at + US(10), at + US(100), US(7900));
    exchange(b, 1, 40000000, at + US(30), at + MS(8), US(1900));
}

/* 30 of 20 KB, 30 us each. */
static void fill_small(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at + US(10), at + US(100), US(8900));
    for (int i = 0; i < 30; i++)
        exchange(b, 2, 20000, at + US(30) + US(20) * i, at + MS(9) + US(31) * i, US(30));
}

/* Four of 10 MB beside the kernels, the last one for 0.3 ms behind them. */
static void fill_buckets(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at + US(10), at + US(100), US(9500));
    for (int i = 0; i < 4; i++)
        exchange(b, 2, 10000000, at + US(30) + US(20) * i, at + MS(7) + US(700) * i, US(700));
}

START_TEST(test_one_bucket)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_one);
    const struct outcome *o = case_outcome(a, "bucket-size");
    case_verdict(a, "bucket-size", RULE_FIRES);
    ck_assert_int_le(o->saves_high_ns, US(1920));
    ck_assert_ptr_nonnull(strstr(o->summary, "in one collective"));
    case_verdict(a, "exposed-communication", RULE_SUPPRESSED);
    case_verdict(a, "no-sync", RULE_SILENT);
    build_end(&b);
}
END_TEST

START_TEST(test_one_stream)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_one_stream);
    case_verdict(a, "bucket-size", RULE_SILENT);
    case_verdict(a, "exposed-communication", RULE_FIRES);
    build_end(&b);
}
END_TEST

START_TEST(test_small_buckets)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_small);
    case_verdict(a, "bucket-size", RULE_FIRES);
    const struct outcome *o = case_outcome(a, "bucket-size");
    ck_assert_ptr_nonnull(strstr(o->summary, "30 collectives per step of 20 KB"));
    ck_assert_str_eq(o->knob, "bucket_mb=25;first_bucket_mb=1");
    case_verdict(a, "exposed-communication", RULE_SUPPRESSED);
    build_end(&b);
}
END_TEST

START_TEST(test_good_buckets)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_buckets);
    case_verdict(a, "bucket-size", RULE_SILENT);
    case_verdict(a, "no-sync", RULE_SILENT);
    build_end(&b);
}
END_TEST

/* ---- no-sync -----------------------------------------------------------------------------------
 */

/* Four parts, each with its kernels and the same two exchanges; then the update. */
static void fill_parts(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++) {
        int64_t t = at + US(2300) * i;
        build_kernel(b, gemm, t + US(10), t + US(100), US(1000));
        build_kernel(b, "loss_kernel", t + US(20), t + US(1100), US(100));
        build_kernel(b, "batchnorm_bwtr_kernel", t + US(30), t + US(1200), US(600));
        exchange(b, 2, 1000000, t + US(40), t + US(1800), US(200));
        exchange(b, 2, 9000000, t + US(60), t + US(2000), US(400));
    }
    build_kernel(b, "sgd_kernel", at + US(7100), at + US(9400), US(500));
}

/* Four layers that exchange activations: embedding and loss run once. */
static void fill_layers(struct builder *b, int64_t at)
{
    static const char *const once[] = {"embedding_kernel", "rope_cache_kernel", "loss_kernel"};
    for (int i = 0; i < 3; i++)
        build_kernel(b, once[i], at + US(2) + US(6) * i, at + US(30) + US(10) * i, US(10));
    for (int i = 0; i < 4; i++) {
        int64_t t = at + US(100) + US(2300) * i;
        build_kernel(b, gemm, t + US(10), t + US(100), US(1000));
        build_kernel(b, "batchnorm_bwtr_kernel", t + US(30), t + US(1200), US(600));
        exchange(b, 2, 9000000, t + US(60), t + US(1800), US(600));
    }
}

START_TEST(test_no_sync)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_parts);
    case_verdict(a, "no-sync", RULE_FIRES);
    const struct outcome *o = case_outcome(a, "no-sync");
    ck_assert_ptr_nonnull(strstr(o->summary, "40 MB per step, where 10 MB"));
    ck_assert_int_le(o->saves_high_ns, US(600) * 3 + US(100));
    ck_assert_int_gt(o->saves_high_ns, US(600) * 2);
    build_end(&b);
}
END_TEST

START_TEST(test_layers_that_communicate)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_layers);
    case_verdict(a, "no-sync", RULE_SILENT);
    case_verdict(a, "exposed-communication", RULE_FIRES);
    build_end(&b);
}
END_TEST

/* Kernels alone do not say what they move. */
static void fill_unrecorded(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at + US(10), at + US(100), US(7900));
    build_kernel(b, nccl, at + US(30), at + MS(8), US(1900));
}

START_TEST(test_sizes_not_recorded)
{
    case_cannot_tell(fill_unrecorded, everything, "no-sync");
    case_cannot_tell(fill_unrecorded, everything, "bucket-size");
    case_cannot_tell(case_busy, "api,ranges", "bucket-size");
    case_cannot_tell(case_busy, "api,ranges", "no-sync");
}
END_TEST

START_TEST(test_nothing_exchanged)
{
    struct builder b;
    const struct advice *a = looked(&b, case_busy);
    case_verdict(a, "bucket-size", RULE_SILENT);
    case_verdict(a, "no-sync", RULE_SILENT);
    case_verdict(a, "dp-instead-of-ddp", RULE_SILENT);
    build_end(&b);
}
END_TEST

/* ---- dp-instead-of-ddp -------------------------------------------------------------------------
 */

/* Two GPUs of one process: weights go out, each computes, gradients come back. */
static void fill_replicas(struct builder *b, int64_t at)
{
    static const char out[] = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage)";
    static const char back[] = "ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)";
    for (int i = 0; i < 2; i++) {
        b->stream = 1 + i;
        build_kernel(b, out, at + US(10) + US(10) * i, at + US(50), MS(1));
        build_kernel(b, gemm, at + US(30) + MS(2) * i, at + MS(1.1) + MS(2) * i, MS(6 - i));
        build_kernel(b, back, at + US(60) + MS(2) * i, at + MS(8.2), MS(1));
    }
    b->stream = 1;
}

static const struct advice *two_gpus(struct builder *b, case_fill *fill, const char *have)
{
    *b = build_start();
    struct row_device second = build_a100(b);
    second.id = 2;
    second.ordinal = 1;
    build_put(b, ROW_DEVICE, &second);
    build_stream(b, 2, 2);
    build_meta(b, "have", have);
    case_loop(b, fill);
    return build_analyze(b);
}

/* Two models side by side, as in a search over settings. */
static void fill_side_by_side(struct builder *b, int64_t at)
{
    for (int i = 0; i < 2; i++) {
        b->stream = 1 + i;
        build_kernel(b, gemm, at + US(30) + MS(2) * i, at + MS(1.1) + MS(2) * i, MS(6));
    }
    b->stream = 1;
}

START_TEST(test_replicas)
{
    struct builder b;
    const struct advice *a = two_gpus(&b, fill_replicas, everything);
    case_verdict(a, "dp-instead-of-ddp", RULE_FIRES);
    ck_assert_str_eq(a->ranked[0]->rule->id, "dp-instead-of-ddp");
    case_verdict(a, "exposed-communication", RULE_SUPPRESSED);
    QUIET(a, "straggler");
    build_end(&b);
    a = two_gpus(&b, fill_side_by_side, everything);
    case_verdict(a, "dp-instead-of-ddp", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(case_busy, "api,ranges", "dp-instead-of-ddp");
}
END_TEST

Suite *test_rules_comm_suite(void)
{
    Suite *s = suite_create("rules_comm");
    TCase *c = tcase_create("rules_comm");
    tcase_add_test(c, test_one_bucket);
    tcase_add_test(c, test_one_stream);
    tcase_add_test(c, test_small_buckets);
    tcase_add_test(c, test_good_buckets);
    tcase_add_test(c, test_no_sync);
    tcase_add_test(c, test_layers_that_communicate);
    tcase_add_test(c, test_sizes_not_recorded);
    tcase_add_test(c, test_nothing_exchanged);
    tcase_add_test(c, test_replicas);
    suite_add_tcase(s, c);
    return s;
}
