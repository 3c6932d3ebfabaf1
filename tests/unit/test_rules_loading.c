/* A framework hook's records without a GPU: its steps, the finding about data loading, the verdict.
 */
#include "rule_case.h"

#include "wire/spool_format.h"

static int64_t rows;

static void loader(struct builder *b, int what, int worker, int64_t start, int64_t length,
                   int64_t cpu_ns)
{
    struct row_loader r = {.id = ++rows,
                           .process = 1,
                           .thread = 1,
                           .start_ns = start,
                           .end_ns = start + length,
                           .what = what,
                           .worker = worker,
                           .batch = -1,
                           .cpu_ns = cpu_ns};
    build_put(b, ROW_LOADER, &r);
}

/* Steps of 10 ms from one optimizer step to the next, of which `wait` is for data. */
static struct builder loop(int worker, int64_t wait, int64_t fetch, int64_t cpu_ns)
{
    struct builder b = build_start();
    rows = 0;
    build_meta(&b, "usable_cores", "4");
    build_meta(&b, "torch.loader", "DataLoader(num_workers=0)");
    build_meta(&b, "torch.loader.where", "train.py:42");
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_range_at(&b, "gpuprof.step", 0, at, at + MS(10));
        build_range_at(&b, "read .item() train.py:50", 1, at + MS(9), at + MS(9) + US(3));
        loader(&b, SPOOL_LOADER_WAIT, -1, at + US(10), wait, -1);
        loader(&b, SPOOL_LOADER_FETCH, worker, at + US(10), fetch, cpu_ns);
    }
    return b;
}

START_TEST(hook_marks_are_steps)
{
    struct builder b = loop(-1, MS(8), MS(8), MS(8));
    struct advice *a = build_analyze(&b);
    ck_assert_int_eq(a->facts->steps.source, STEPS_FRAMEWORK);
    ck_assert_uint_eq(a->facts->steps.count, CASE_STEPS);
    ck_assert_int_eq(a->facts->steps.median_ns, MS(10));
    ck_assert_int_eq(a->facts->host.wait_ns, MS(8));
    build_end(&b);
}
END_TEST

START_TEST(own_marks_win)
{
    struct builder b = loop(-1, MS(8), MS(8), MS(8));
    for (int i = 0; i < CASE_STEPS / 2; i++)
        build_range_at(&b, "step", 0, MS(100) + MS(20) * i, MS(100) + MS(20) * (i + 1));
    struct advice *a = build_analyze(&b);
    ck_assert_int_eq(a->facts->steps.source, STEPS_NVTX);
    ck_assert_int_eq(a->facts->steps.median_ns, MS(20));
    build_end(&b);
}
END_TEST

START_TEST(waiting_without_gpu)
{
    struct builder b = loop(-1, MS(8), MS(8), MS(8));
    struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "data-loading", MS(8));
    /* 8 ms a batch beside 2 ms of the rest: four would keep up, but the loop wants a core, too */
    ck_assert_str_eq(o->knob, "num_workers=3;persistent_workers=1");
    ck_assert(!o->upper_bound && o->saves_low_ns > MS(2) && o->saves_mid_ns < MS(7.5));
    ck_assert_ptr_nonnull(strstr(o->summary, "train.py:42"));
    ck_assert_ptr_nonnull(strstr(o->summary, "no GPU work"));
    ck_assert_ptr_nonnull(strstr(o->remedy.pytorch, "DataLoader(num_workers=0)"));
    ck_assert_str_eq(a->verdict_class, "input");
    ck_assert_ptr_nonnull(strstr(a->verdict, "without a GPU"));
    ck_assert_ptr_null(strstr(a->why, ".item()")); /* which costs nothing here */
    case_verdict(a, "num-workers", RULE_CANNOT_TELL);
    build_end(&b);
}
END_TEST

START_TEST(no_more_workers_than_cores)
{
    struct builder b = loop(3, MS(8), MS(40), MS(38));
    case_verdict(build_analyze(&b), "data-loading", RULE_SUPPRESSED);
    build_end(&b);
    b = loop(3, MS(8), MS(40), MS(2)); /* asleep, or in line for a core? */
    const struct outcome *o = case_first(build_analyze(&b), "data-loading", MS(8));
    ck_assert_ptr_null(o->knob);
    ck_assert_ptr_nonnull(strstr(o->remedy.pytorch, "time one number after the other"));
    build_end(&b);
}
END_TEST

START_TEST(handing_over_is_not_making)
{
    struct builder b = loop(0, MS(4), US(200), US(200));
    const struct outcome *o = case_outcome(build_analyze(&b), "data-loading");
    case_verdict(b.a, "data-loading", RULE_FIRES);
    ck_assert_str_eq(o->knob, "num_workers=0");
    ck_assert_ptr_nonnull(strstr(o->summary, "from process to process"));
    build_end(&b);
    b = loop(1, MS(2), MS(4), MS(4)); /* two workers, each with time to spare */
    o = case_first(build_analyze(&b), "data-loading", MS(2));
    ck_assert_ptr_null(o->knob);
    ck_assert_ptr_nonnull(strstr(o->remedy.pytorch, "larger batches"));
    build_end(&b);
}
END_TEST

START_TEST(line_that_makes_the_loader)
{
    struct builder b = loop(-1, MS(8), MS(8), MS(8));
    build_meta(&b, "torch.loader.made", "data.py:7");
    const struct outcome *o = case_first(build_analyze(&b), "data-loading", MS(8));
    ck_assert_ptr_eq(strstr(o->remedy.pytorch, "data.py:7: DataLoader(..., num_workers=3"),
                     o->remedy.pytorch);
    build_end(&b);
}
END_TEST

START_TEST(facts_of_the_program_beside_advice)
{
    struct builder b = build_start();
    build_meta(&b, "torch.loader.made", "data.py:7");
    build_meta(&b, "torch.loader", "DataLoader(num_workers=0)");
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_range_at(&b, "gpuprof.step", 0, at, at + MS(10));
        build_range_at(&b, "data.wait", 1, at, at + MS(6));
        build_kernel(&b, "gemm", at + MS(6) + US(10), at + MS(6) + US(20), MS(3));
    }
    struct advice *a = build_analyze(&b);
    case_verdict(a, "num-workers", RULE_FIRES);
    const char *text = case_outcome(a, "num-workers")->remedy.pytorch;
    ck_assert_ptr_eq(strstr(text, "data.py:7: DataLoader(..., num_workers="), text);
    ck_assert_ptr_nonnull(strstr(text, "; now DataLoader(num_workers=0)"));
    build_end(&b);
}
END_TEST

/* A setting is advised where the program's runtime obeys it, or said nothing of what it obeys. */
START_TEST(settings_that_are_obeyed)
{
    static const struct {
        const char *list, *settings;
        bool obeyed;
    } of[] = {{NULL, "sync_every=100", true},
              {"num_workers precision=bf16", "num_workers=4", true},
              {"num_workers precision=bf16", "num_workers=4;precision=bf16", true},
              {"num_workers precision=bf16", "num_workers=4;precision=fp16", false},
              {"num_workers_more precision=bf16", "num_workers=4", false},
              {"num_workers", "sync_every=100", false},
              {"num_workers", "precision", false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct builder b = loop(-1, MS(8), MS(8), MS(8));
        if (of[i].list)
            build_meta(&b, "torch.knobs", of[i].list);
        const struct advice *a = build_analyze(&b);
        ck_assert_msg(outcome_obeyed(a->facts, of[i].settings) == of[i].obeyed, "case %zu", i);
        build_end(&b);
    }
    struct builder b = loop(-1, MS(8), MS(8), MS(8));
    build_meta(&b, "torch.knobs", "pin_memory");
    ck_assert_ptr_null(case_first(build_analyze(&b), "data-loading", MS(8))->knob);
    build_end(&b);
    b = loop(-1, MS(8), MS(8), MS(8));
    build_meta(&b, "torch.knobs", "num_workers");
    ck_assert_ptr_null(case_first(build_analyze(&b), "data-loading", MS(8))->knob);
    build_end(&b);
    b = loop(-1, MS(8), MS(8), MS(8));
    build_meta(&b, "torch.knobs", "num_workers persistent_workers");
    ck_assert_str_eq(case_first(build_analyze(&b), "data-loading", MS(8))->knob,
                     "num_workers=3;persistent_workers=1");
    build_end(&b);
}
END_TEST

START_TEST(no_waiting)
{
    struct builder b = loop(0, US(100), MS(2), MS(2));
    struct advice *a = build_analyze(&b);
    case_verdict(a, "data-loading", RULE_SILENT);
    ck_assert_str_eq(a->verdict_class, "cpu");
    ck_assert_ptr_nonnull(strstr(a->verdict, "on the CPU"));
    build_end(&b);
}
END_TEST

START_TEST(no_steps_to_measure_the_wait_against)
{
    struct builder b = build_start();
    loader(&b, SPOOL_LOADER_WAIT, -1, MS(100), MS(8), -1);
    loader(&b, SPOOL_LOADER_FETCH, -1, MS(100), MS(8), MS(8));
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "data-loading", RULE_CANNOT_TELL);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "data-loading")->why, "steps"));
    build_end(&b);
}
END_TEST

START_TEST(left_to_num_workers_on_a_gpu)
{
    struct builder b = loop(-1, MS(8), MS(8), MS(8));
    for (int i = 0; i < CASE_STEPS; i++)
        build_kernel(&b, "gemm", MS(108) + MS(10) * i, MS(108) + MS(10) * i + US(9), MS(1));
    case_verdict(build_analyze(&b), "data-loading", RULE_SILENT);
    build_end(&b);
}
END_TEST

/* 3 ms of data, then 6.9 ms of products in FP32: faster ones may save more, but what the step lacks
 * first is data. */
static void fill_wait_and_products(struct builder *b, int64_t at)
{
    build_range(b, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, at + MS(3));
    build_kernel(b, "volta_sgemm_128x64_nt", at + MS(3), at + MS(3) + US(10), US(6900));
}

START_TEST(the_wait_for_data_goes_first_where_it_is_most_of_what_is_lost)
{
    struct builder b = build_start();
    case_loop(&b, fill_wait_and_products);
    const struct advice *a = build_analyze(&b);
    ck_assert_str_eq(a->verdict_class, "input");
    case_verdict(a, "tensor-cores", RULE_FIRES);
    ck_assert_str_eq(a->ranked[0]->rule->id, "num-workers");
    ck_assert_int_gt(case_outcome(a, "tensor-cores")->saves_mid_ns, a->ranked[0]->saves_mid_ns);
    build_end(&b);
}
END_TEST

Suite *test_rules_loading_suite(void);
Suite *test_rules_loading_suite(void)
{
    Suite *s = suite_create("rules_loading");
    TCase *c = tcase_create("no GPU");
    tcase_add_test(c, hook_marks_are_steps);
    tcase_add_test(c, own_marks_win);
    tcase_add_test(c, waiting_without_gpu);
    tcase_add_test(c, the_wait_for_data_goes_first_where_it_is_most_of_what_is_lost);
    tcase_add_test(c, no_more_workers_than_cores);
    tcase_add_test(c, handing_over_is_not_making);
    tcase_add_test(c, line_that_makes_the_loader);
    tcase_add_test(c, facts_of_the_program_beside_advice);
    tcase_add_test(c, settings_that_are_obeyed);
    tcase_add_test(c, no_waiting);
    tcase_add_test(c, no_steps_to_measure_the_wait_against);
    tcase_add_test(c, left_to_num_workers_on_a_gpu);
    suite_add_tcase(s, c);
    return s;
}
