/* What rules say of recordings that others made: copies that nothing can hide, waits told by the
 * operators around them, graphs that nobody looked into, loops with the names of loaders. */
#include "tests/unit/rule_case.h"

static const char *const gemm = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";

/* ---- copy-volume ------------------------------------------------------------------------------
 */

/* 8 ms of copies beside 1.9 ms of computing; `kind` of the host's memory. */
static int64_t copied_from;

static void fill_offloaded(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, copied_from, MEMORY_DEVICE, true, 200 << 20, at, US(5), at + US(10),
               MS(8));
    build_kernel(b, gemm, at + US(20), at + MS(8) + US(12), US(1900));
}

/* And put back: what the next step fetches is what this one made. */
static void fill_put_back(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 200 << 20, at, US(5), at + US(10),
               MS(4));
    build_kernel(b, gemm, at + US(20), at + MS(4) + US(12), US(1900));
    build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PINNED, true, 200 << 20, at + US(30), US(5),
               at + MS(6), US(3950));
}

START_TEST(test_put_back)
{
    struct builder b = build_start();
    case_loop(&b, fill_put_back);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "overlap-copies", RULE_SUPPRESSED);
    case_first(a, "copy-volume", US(7950)); /* both ways */
    build_end(&b);
}
END_TEST

START_TEST(test_offloaded)
{
    static const int64_t kinds[] = {MEMORY_PINNED, MEMORY_PAGEABLE, MEMORY_UNKNOWN};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct builder b = build_start();
        copied_from = kinds[i];
        case_loop(&b, fill_offloaded);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "copy-volume", RULE_FIRES);
        int64_t saves = case_outcome(a, "copy-volume")->saves_high_ns;
        ck_assert_int_gt(saves, MS(7.9)); /* copying nothing */
        ck_assert_int_lt(saves, MS(8.1));
        if (i == 0) { /* and overlapping saves no more than these 1.9 ms */
            ck_assert_str_eq(a->ranked[0]->rule->id, "copy-volume");
            case_verdict(a, "overlap-copies", RULE_FIRES);
            ck_assert_int_le(case_outcome(a, "overlap-copies")->saves_high_ns, MS(2));
        }
        build_end(&b);
    }
}
END_TEST

static void fill_hidden(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 50 << 20, at, US(5), at + US(10),
               MS(3));
    build_kernel(b, gemm, at + US(20), at + MS(3) + US(12), MS(6.9));
}

START_TEST(test_copies_that_fit)
{
    struct builder b = build_start();
    case_loop(&b, fill_hidden);
    case_verdict(build_analyze(&b), "copy-volume", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_hidden, "kernels,api,ranges", "copy-volume");
}
END_TEST

/* A source that does not know kinds of memory, of a program that copies nothing: no riddle. */
START_TEST(test_no_copies)
{
    struct builder b = build_start();
    build_meta(&b, "have", "kernels,copies,memsets,api,ranges");
    case_loop(&b, case_busy);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "pin-memory", RULE_SILENT);
    case_verdict(a, "overlap-copies", RULE_SILENT);
    build_end(&b);
}
END_TEST

/* ---- device-copies ----------------------------------------------------------------------------
 */

static const char *asker;
static int64_t copy_ns;

/* A step of computing, and one copy that an operator asks for, of `copy_ns`. */
static void fill_copied(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at, at + US(20), MS(7));
    build_range(b, asker, at + US(10), at + US(30));
    build_kernel(b,
                 "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
                 "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>>(int)",
                 at + US(15), at + MS(7) + US(25), copy_ns);
}

START_TEST(test_copies_on_the_device)
{
    static const char *const askers[] = {"aten::contiguous", "aten::cat", "aten::nothing_known"};
    static const char *const says[] = {"contiguous()", "torch.cat", "torch.compile"};
    for (int i = 0; i < 3; i++) {
        struct builder b = build_start();
        asker = askers[i];
        copy_ns = MS(2);
        case_loop(&b, fill_copied);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "device-copies", RULE_FIRES);
        const struct outcome *o = case_outcome(a, "device-copies");
        ck_assert_int_eq(o->saves_high_ns, MS(2));
        ck_assert_msg(strstr(o->remedy.pytorch, says[i]), "%s", o->remedy.pytorch);
        build_end(&b);
    }
}
END_TEST

/* Some copying is part of every model. */
START_TEST(test_few_copies_on_the_device)
{
    struct builder b = build_start();
    asker = "aten::contiguous";
    copy_ns = US(250);
    case_loop(&b, fill_copied);
    case_verdict(build_analyze(&b), "device-copies", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_copied, "copies,api,ranges", "device-copies");
}
END_TEST

/* ---- too little to judge --------------------------------------------------------------------- */

/* One marked step of 1 s in which a single kernel runs: nothing is advised. */
START_TEST(test_one_step_with_one_kernel)
{
    struct builder b = build_start();
    build_kernel(&b, gemm, MS(101), MS(102), US(10));
    build_range(&b, "ProfilerStep#1", MS(100), MS(1100));
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(a->verdict_class, "not-enough-data");
    ck_assert_uint_eq(a->ranked_count, 0);
    build_end(&b);
}
END_TEST

/* Kernels of which no call is known: what the GPU waited for cannot be told, but how to learn it.
 */
static void fill_without_calls(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++)
        build_kernel_of(b, gemm, -1, at + MS(2) * i, US(100), 64);
}

START_TEST(test_kernels_without_calls)
{
    struct builder b = build_start();
    case_loop(&b, fill_without_calls);
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(a->verdict_class, "unexplained");
    ck_assert_msg(strstr(a->next, "Record "), "%s", a->next);
    build_end(&b);
}
END_TEST

/* ---- exposed-communication --------------------------------------------------------------------
 */

/* Exchanging takes most of the step: hiding it behind 1 ms of computing is no remedy. */
static void fill_exchanging(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at, at + US(20), MS(1));
    build_kernel(b, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", at + US(10), at + MS(1) + US(25),
                 MS(8.9));
}

START_TEST(test_more_exchange_than_computing)
{
    struct builder b = build_start();
    case_loop(&b, fill_exchanging);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "exposed-communication", RULE_FIRES);
    const struct outcome *o = case_outcome(a, "exposed-communication");
    ck_assert_msg(strstr(o->remedy.pytorch, "no_sync()") == o->remedy.pytorch + 21, "%s",
                  o->remedy.pytorch);
    ck_assert_msg(strstr(o->summary, "too short to hide more than 1."), "%s", o->summary);
    build_end(&b);
}
END_TEST

/* ---- sync-in-loop -----------------------------------------------------------------------------
 */

static const char *outer, *inner;

/* A read back of 8 bytes within two operators, and 3 ms in which nothing is queued. */
static void fill_wait(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at, at + US(20), MS(5));
    build_range(b, outer, at + US(90), at + MS(5.1));
    build_range(b, inner, at + US(95), at + MS(5.05));
    build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, true, 8, at + US(100), MS(5) - US(60),
               at + MS(5) + US(20), US(2));
    build_kernel(b, gemm, at + MS(8), at + MS(8) + US(20), MS(1.9));
}

START_TEST(test_waits_by_operator)
{
    static const struct {
        const char *outer, *inner, *remedy, *knob;
    } cases[] = {
        {"aten::index", "aten::nonzero", "torch.where", NULL},
        {"aten::item", "aten::_local_scalar_dense", "total += loss.detach()", "sync_every=100"},
        {"aten::to", "aten::copy_", "non_blocking=True", "sync_every=100"},
        {"forward", "mine", "total += loss.detach()", "sync_every=100"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct builder b = build_start();
        build_meta(&b, "framework", "pytorch");
        outer = cases[i].outer;
        inner = cases[i].inner;
        case_loop(&b, fill_wait);
        const struct advice *a = build_analyze(&b);
        const struct outcome *o = case_outcome(a, "sync-in-loop");
        case_verdict(a, "sync-in-loop", RULE_FIRES);
        ck_assert_msg(strstr(outcome_remedy(a->facts, o), cases[i].remedy) != NULL, "%s: %s", inner,
                      outcome_remedy(a->facts, o));
        if (cases[i].knob)
            ck_assert_str_eq(o->knob, cases[i].knob);
        else
            ck_assert_ptr_null(o->knob);
        build_end(&b);
    }
}
END_TEST

/* ---- opaque graphs ----------------------------------------------------------------------------
 */

/* One launch, one operation: a whole graph has a number and no grid. */
static void fill_graph(struct builder *b, int64_t at)
{
    int64_t correlation = build_api(b, "cudaGraphLaunch", at, CALL_NS);
    struct row_kernel r = {.id = ++b->next_id,
                           .process = 1,
                           .stream = b->stream,
                           .start_ns = at + US(10),
                           .end_ns = at + MS(9.98),
                           .name = build_text(b, "CUDA graph"),
                           .correlation = correlation,
                           .graph = 3};
    build_put(b, ROW_KERNEL, &r);
}

START_TEST(test_opaque_graphs)
{
    static const char *const inside[] = {"tensor-cores",       "channels-last",   "zero-grad",
                                         "misaligned-kernels", "fused-optimizer", NULL};
    struct builder b = build_start();
    case_loop(&b, fill_graph);
    const struct advice *a = build_analyze(&b);
    for (const char *const *id = inside; *id; id++) {
        case_verdict(a, *id, RULE_CANNOT_TELL);
        ck_assert_ptr_nonnull(strstr(case_outcome(a, *id)->why, "cuda-graph-trace=node"));
    }
    case_verdict(a, "host-work", RULE_SILENT); /* that needs no look inside */
    ck_assert_str_eq(a->verdict_class, "gpu");
    build_end(&b);
}
END_TEST

/* ---- a loop with the name of a loader ---------------------------------------------------------
 */

/* A generator's __next__ around the whole step; the loader's own around 4 ms of it. */
static void fill_generator(struct builder *b, int64_t at)
{
    build_range(b, "pipeline.py(117): __next__", at + US(1), at + MS(9.99));
    build_range(b, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + US(10),
                at + MS(4));
    build_kernel(b, gemm, at + MS(4.1), at + MS(4.2), MS(2));
    build_kernel(b, gemm, at + MS(9), at + MS(9.1), US(800)); /* launched late: not for data */
}

START_TEST(test_generator_is_no_loader)
{
    struct builder b = build_start();
    case_loop(&b, fill_generator);
    const struct advice *a = build_analyze(&b);
    ck_assert_int_gt(a->facts->breakdown_ns[PART_IDLE_INPUT], MS(3));
    ck_assert_int_lt(a->facts->breakdown_ns[PART_IDLE_INPUT], MS(4.5));
    case_verdict(a, "num-workers", RULE_FIRES);
    ck_assert_ptr_nonnull(
        strstr(case_outcome(a, "num-workers")->summary, "_SingleProcessDataLoaderIter"));
    build_end(&b);
}
END_TEST

Suite *test_rules_imported_suite(void)
{
    Suite *suite = suite_create("rules_imported");
    TCase *t = tcase_create("rules_imported");
    tcase_add_test(t, test_put_back);
    tcase_add_test(t, test_offloaded);
    tcase_add_test(t, test_copies_that_fit);
    tcase_add_test(t, test_no_copies);
    tcase_add_test(t, test_copies_on_the_device);
    tcase_add_test(t, test_few_copies_on_the_device);
    tcase_add_test(t, test_one_step_with_one_kernel);
    tcase_add_test(t, test_kernels_without_calls);
    tcase_add_test(t, test_more_exchange_than_computing);
    tcase_add_test(t, test_waits_by_operator);
    tcase_add_test(t, test_opaque_graphs);
    tcase_add_test(t, test_generator_is_no_loader);
    suite_add_tcase(suite, t);
    return suite;
}
