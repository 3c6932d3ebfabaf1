/* Rules about the host's side of a step: input, copies, synchronisation, launches. Each: fires with
 * its number, stays silent, is suppressed where it can be, cannot tell without its data; and takes
 * nothing that is another rule's. */
#include "rule_case.h"

#define QUIET(a, ...) case_quiet(a, (const char *const[]){__VA_ARGS__, NULL})
static const char gemm[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";

/* ---- num-workers -------------------------------------------------------------------------------
 */

/* The training thread makes the batch itself: 4 ms of 10. */
static void fill_decode(struct builder *b, int64_t at)
{
    build_range(b, "data.decode", at, at + MS(4));
    build_kernel(b, gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

/* Two workers; the training thread waits for them. A batch takes `MS(8)` of a worker. */
static void fill_workers(struct builder *b, int64_t at)
{
    build_range(b, "data.wait", at, at + MS(4));
    for (int w = 0; w < 2; w++) {
        b->thread = 2 + w;
        build_range_at(b, "data.decode", 0, at + MS(w), at + MS(8 + w));
    }
    b->thread = 1;
    build_kernel(b, gemm, at + MS(4), at + MS(4) + US(10), US(5980));
}

static struct builder with_workers(const char *cores)
{
    struct builder b = build_start();
    if (cores)
        build_meta(&b, "usable_cores", cores);
    build_thread(&b, 2, "loader-0");
    build_thread(&b, 3, "loader-1");
    return b;
}

START_TEST(test_input_by_trainer)
{
    struct builder b = build_start();
    build_meta(&b, "usable_cores", "8");
    case_loop(&b, fill_decode);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "num-workers", MS(4));
    ck_assert_str_eq(
        o->knob, "num_workers=1"); /* 4 ms beside the other 6: one is enough, whatever the cores */
    ck_assert_int_ge(o->example_count, 1);
    QUIET(a, "pin-memory", "overlap-copies", "sync-in-loop", "cuda-graphs");
    build_end(&b);
}
END_TEST

START_TEST(test_input_number)
{
    struct builder b = with_workers("64");
    build_meta(&b, "have", "kernels,api,ranges");
    for (int i = 0; i < CASE_STEPS; i++) { /* 21 ms a batch beside 6 ms of the rest: four workers */
        int64_t at = MS(100) + MS(10) * i;
        build_range(&b, "data.wait", at, at + MS(4));
        b.thread = 2;
        build_range_at(&b, "data.decode", 0, at - MS(11), at + MS(10));
        b.thread = 1;
        build_kernel(&b, gemm, at + MS(4), at + MS(4) + US(10), US(5980));
        build_range(&b, "step", at, at + MS(10));
    }
    const struct outcome *o = case_first(build_analyze(&b), "num-workers", MS(4));
    ck_assert_str_eq(o->knob, "num_workers=4");
    ck_assert_ptr_nonnull(strstr(o->remedy.pytorch, "num_workers=4"));
    build_end(&b);
}
END_TEST

START_TEST(test_input_no_cores_left)
{
    struct builder b = with_workers("2");
    case_loop(&b, fill_workers);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "num-workers", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "num-workers")->why, "2"));
    QUIET(a, "sync-in-loop", "cuda-graphs", "overlap-copies");
    build_end(&b);
}
END_TEST

START_TEST(test_input_silent)
{
    struct builder b = build_start();
    case_loop(&b, case_busy);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "num-workers", RULE_SILENT);
    case_verdict(a, "sync-in-loop", RULE_SILENT);
    case_verdict(a, "cuda-graphs", RULE_SILENT);
    ck_assert_uint_eq(a->ranked_count, 0);
    build_end(&b);
    case_cannot_tell(fill_decode, "kernels,api", "num-workers");
}
END_TEST

/* ---- pin-memory, overlap-copies ----------------------------------------------------------------
 */

/* 3 ms of the step are a copy that the host is blocked in. */
static void fill_copy(struct builder *b, int64_t at, int64_t from)
{
    build_copy(b, COPY_H2D, from, MEMORY_DEVICE, true, 20 << 20, at, MS(3), at + US(10),
               MS(3) - US(20));
    build_kernel(b, gemm, at + MS(3), at + MS(3) + US(10), US(6980));
}

static void fill_pageable(struct builder *b, int64_t at)
{
    fill_copy(b, at, MEMORY_PAGEABLE);
}

static void fill_pinned(struct builder *b, int64_t at)
{
    fill_copy(b, at, MEMORY_PINNED);
}

/* The same copy on a stream of its own, beside the kernel. */
static void fill_overlapped(struct builder *b, int64_t at)
{
    b->stream = 2;
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 20 << 20, at, US(5), at + MS(1),
               MS(3));
    b->stream = 1;
    build_kernel(b, gemm, at + US(10), at + US(100), US(9880));
}

START_TEST(test_pageable)
{
    struct builder b = build_start();
    case_loop(&b, fill_pageable);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "pin-memory", MS(3));
    ck_assert_str_eq(o->knob, "pin_memory=1");
    ck_assert_uint_ne(o->examples[0].op, TL_NONE);
    QUIET(a, "overlap-copies", "num-workers", "sync-in-loop", "cuda-graphs");
    case_verdict(a, "overlap-copies", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_pageable, "kernels,copies,api,ranges", "pin-memory");
}
END_TEST

START_TEST(test_pinned)
{
    struct builder b = build_start();
    case_loop(&b, fill_pinned);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "overlap-copies", MS(3));
    ck_assert_str_eq(o->knob, "non_blocking=1");
    QUIET(a, "pin-memory", "num-workers", "sync-in-loop", "cuda-graphs");
    build_end(&b);
    case_cannot_tell(fill_pinned, "kernels,copies,api,ranges", "overlap-copies");
}
END_TEST

START_TEST(test_overlapped)
{
    struct builder b = build_start();
    build_stream(&b, 2, 1);
    case_loop(&b, fill_overlapped);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "overlap-copies", RULE_SILENT);
    case_verdict(a, "pin-memory", RULE_SILENT);
    build_end(&b);
}
END_TEST

/* ---- sync-in-loop ------------------------------------------------------------------------------
 */

/* The host runs ahead with 40 launches, waits for all of them, and starts over with an empty queue:
 * 2 ms idle. */
static void fill_sync(struct builder *b, int64_t at)
{
    for (int i = 0; i < 40; i++)
        build_kernel(b, gemm, at + US(20 * i), at + US(10) + US(200 * i), US(199));
    build_sync(b, at + MS(1), MS(7) + US(10));
    build_range(b, "metrics", at + US(8015),
                at + US(9990)); /* what comes between is seen by the GPU */
}

START_TEST(test_sync)
{
    struct builder b = build_start();
    case_loop(&b, fill_sync);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "sync-in-loop", a->facts->breakdown_ns[PART_IDLE_SYNC]);
    ck_assert_int_gt(o->saves_high_ns, MS(1));
    ck_assert_ptr_nonnull(strstr(o->summary, "cudaStreamSynchronize"));
    QUIET(a, "num-workers", "pin-memory", "overlap-copies", "cuda-graphs");
    build_end(&b);
    case_cannot_tell(fill_sync, "kernels,ranges", "sync-in-loop");
}
END_TEST

/* ---- cuda-graphs -------------------------------------------------------------------------------
 */

static int step_number;

/* 100 launches, one each 100 us; kernels of 5 us: the queue is always dry. */
static void fill_launches(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++)
        build_kernel(b, i % 2 ? "vectorized_elementwise_kernel<4>" : gemm, at + US(100 * i),
                     at + US(100 * i + 8), US(5));
}

static void fill_uneven(struct builder *b, int64_t at)
{
    int n = 100 - 7 * (step_number++ % 5);
    for (int i = 0; i < n; i++)
        build_kernel(b, "vectorized_elementwise_kernel<4>", at + US(100 * i), at + US(100 * i + 8),
                     US(5));
}

START_TEST(test_launches)
{
    struct builder b = build_start();
    case_loop(&b, fill_launches);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "cuda-graphs", US(9500));
    ck_assert_str_eq(o->knob, "cuda_graph=1");
    QUIET(a, "num-workers", "sync-in-loop", "fused-optimizer", "zero-grad", "tensor-cores");
    build_end(&b);
    case_cannot_tell(fill_launches, "kernels,ranges", "cuda-graphs");
}
END_TEST

START_TEST(test_launches_differ)
{
    struct builder b = build_start();
    step_number = 0;
    case_loop(&b, fill_uneven);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "cuda-graphs", RULE_SUPPRESSED);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "cuda-graphs")->why, "differ"));
    build_end(&b);
}
END_TEST

/* Nothing recorded at all, or one step: no rule divides by what is not there. */
START_TEST(test_empty)
{
    struct builder b = build_start();
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->ranked_count, 0);
    build_end(&b);
    b = build_start();
    build_kernel(&b, gemm, MS(1), MS(1), US(5));
    build_copy(&b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 1 << 20, MS(2), US(50), MS(2),
               US(50));
    a = build_analyze(&b);
    ck_assert_uint_eq(a->ranked_count, 0);
    for (size_t i = 0; i < a->outcome_count; i++)
        ck_assert_int_ne(a->outcomes[i].verdict, RULE_FIRES);
    build_end(&b);
}
END_TEST

/* What every rule must have, for explain and the documentation. */
START_TEST(test_registry)
{
    ck_assert_uint_ge(rule_count, 10);
    for (size_t i = 0; i < rule_count; i++) {
        const struct rule *r = rules[i];
        ck_assert(r->id && r->title && r->looks_for && r->doc && r->check);
        ck_assert(r->remedy.pytorch && r->remedy.tensorflow && r->remedy.cuda);
        ck_assert_ptr_eq(rule_find(r->id), r);
        for (size_t k = i + 1; k < rule_count; k++)
            ck_assert_str_ne(r->id, rules[k]->id);
    }
    ck_assert_ptr_null(rule_find("no-such-rule"));
}
END_TEST

Suite *test_rules_host_suite(void)
{
    Suite *suite = suite_create("rules_host");
    TCase *t = tcase_create("rules_host");
    tcase_add_test(t, test_input_by_trainer);
    tcase_add_test(t, test_input_number);
    tcase_add_test(t, test_input_no_cores_left);
    tcase_add_test(t, test_input_silent);
    tcase_add_test(t, test_pageable);
    tcase_add_test(t, test_pinned);
    tcase_add_test(t, test_overlapped);
    tcase_add_test(t, test_sync);
    tcase_add_test(t, test_launches);
    tcase_add_test(t, test_launches_differ);
    tcase_add_test(t, test_empty);
    tcase_add_test(t, test_registry);
    suite_add_tcase(suite, t);
    return suite;
}
