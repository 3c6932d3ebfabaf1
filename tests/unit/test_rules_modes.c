/* Rules about modes of work: searches that recur, evaluation as in training, copies on the host. */
#include "rule_case.h"

static const char gemm[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";
static const char train_norm[] = "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>()";
static const char eval_norm[] = "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float>()";

static int every, step_number;
static const char *norm;

/* ---- shapes-change ----------------------------------------------------------------------------
 */

static void search(struct builder *b, int64_t at, int64_t shape)
{
    struct row_call r = {.family = SPOOL_CALL_FIND,
                         .start_ns = at,
                         .end_ns = at + MS(2),
                         .dim = {shape, 64, 56, 56}};
    build_call(b, r, "cudnnFindConvolutionForwardAlgorithmEx");
}

static void fill_searches(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at, at + US(10), MS(7));
    if (every && step_number % every == 0)
        search(b, at + MS(7.1), step_number);
    build_kernel(b, gemm, at + MS(9.1), at + MS(9.11), US(880));
    step_number++;
}

static struct advice *searched(struct builder *b, int every_nth)
{
    *b = build_start();
    every = every_nth;
    step_number = 0;
    case_loop(b, fill_searches);
    return build_analyze(b);
}

START_TEST(test_shapes_change)
{
    struct builder b;
    const struct advice *a = searched(&b, 2);
    case_verdict(a, "shapes-change", RULE_FIRES);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "shapes-change")->summary, "new shapes"));
    ck_assert_int_ge(case_outcome(a, "shapes-change")->saves_high_ns, US(800));
    build_end(&b);
    a = searched(&b, CASE_STEPS); /* once: the warm-up */
    case_verdict(a, "shapes-change", RULE_SILENT);
    build_end(&b);
    case_cannot_tell(fill_searches, "kernels,api", "shapes-change");
}
END_TEST

/* A search from 2 to 8 ms measures two kernels, waits for each, and thinks for half a millisecond
 * in between. */
static void fill_searches_that_wait(struct builder *b, int64_t at)
{
    struct row_call r = {.family = SPOOL_CALL_FIND, .start_ns = at + MS(2), .end_ns = at + MS(8)};
    build_kernel(b, gemm, at, at + US(10), MS(2));
    build_kernel(b, gemm, at + MS(2.01), at + MS(2.02), MS(3));
    build_sync(b, at + MS(2.1), MS(2.93));
    build_kernel(b, gemm, at + MS(5.5), at + MS(5.51), MS(2.4));
    build_sync(b, at + MS(5.6), MS(2.32));
    build_kernel(b, gemm, at + MS(7.93), at + MS(7.94), MS(2.04));
    build_call(b, r, "cudnnFindConvolutionForwardAlgorithmEx");
}

START_TEST(test_waits_of_a_search_go_with_it)
{
    struct err e = ERR_INIT;
    struct builder b = build_start();
    case_loop(&b, fill_searches_that_wait);
    struct advice *a = build_analyze(&b);
    case_verdict(a, "sync-in-loop", RULE_SILENT);
    case_verdict(a, "shapes-change", RULE_FIRES);
    ck_assert_int_eq(advice_predict(a, &e), 0);
    ck_assert(!case_outcome(a, "shapes-change")->upper_bound);
    ck_assert_int_ge(case_outcome(a, "shapes-change")->saves_mid_ns, MS(5));
    build_end(&b);
}
END_TEST

/* ---- eval-activations -------------------------------------------------------------------------
 */

static const char *eval_range = "Validation epoch 3";

static void fill_evaluation(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at, at + US(10), MS(7));
    build_kernel(b, norm, at + MS(7), at + MS(7.1), MS(1));
    build_kernel(b, gemm, at + MS(8), at + MS(8.1), US(1800));
    build_range(b, eval_range, at + MS(6.9), at + MS(8.5));
}

START_TEST(test_evaluation)
{
    struct builder b = build_start();
    norm = train_norm;
    case_loop(&b, fill_evaluation);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "eval-activations", RULE_FIRES);
    ck_assert_int_eq(case_outcome(a, "eval-activations")->saves_high_ns, MS(1));
    build_end(&b);
    b = build_start();
    norm = eval_norm;
    case_loop(&b, fill_evaluation);
    case_verdict(build_analyze(&b), "eval-activations", RULE_SILENT);
    build_end(&b);
    b = build_start();
    norm = train_norm;
    eval_range = "torch/_dynamo/eval_frame.py(489): _fn"; /* evaluates nothing */
    case_loop(&b, fill_evaluation);
    case_verdict(build_analyze(&b), "eval-activations", RULE_CANNOT_TELL);
    build_end(&b);
    b = build_start();
    eval_range = "runEvalLoop";
    case_loop(&b, fill_evaluation);
    case_verdict(build_analyze(&b), "eval-activations", RULE_FIRES);
    build_end(&b);
    b = build_start();
    case_loop(&b, case_busy); /* no range of that name */
    case_verdict(build_analyze(&b), "eval-activations", RULE_CANNOT_TELL);
    build_end(&b);
}
END_TEST

/* ---- host-copies ------------------------------------------------------------------------------
 */

static const char *copy_range;

static void fill_host_copy(struct builder *b, int64_t at)
{
    build_kernel(b, gemm, at, at + US(10), MS(7));
    build_range(b, copy_range, at + MS(7.1), at + MS(8.9));
    build_kernel(b, gemm, at + MS(9), at + MS(9.01), US(980));
}

START_TEST(test_host_copies)
{
    struct builder b = build_start();
    copy_range = "aten::clone";
    case_loop(&b, fill_host_copy);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "host-copies", RULE_FIRES);
    ck_assert_int_le(llabs(case_outcome(a, "host-copies")->saves_high_ns - MS(1.8)), US(50));
    ck_assert_int_le(case_outcome(a, "host-work")->saves_high_ns, US(250)); /* the rest alone */
    build_end(&b);
    b = build_start();
    copy_range = "metrics";
    case_loop(&b, fill_host_copy);
    a = build_analyze(&b);
    case_verdict(a, "host-copies", RULE_SILENT);
    case_first(a, "host-work", MS(2));
    build_end(&b);
    case_cannot_tell(fill_host_copy, "kernels,api", "host-copies");
}
END_TEST

Suite *test_rules_modes_suite(void);
Suite *test_rules_modes_suite(void)
{
    Suite *s = suite_create("rules_modes");
    TCase *c = tcase_create("modes");
    tcase_add_test(c, test_shapes_change);
    tcase_add_test(c, test_waits_of_a_search_go_with_it);
    tcase_add_test(c, test_evaluation);
    tcase_add_test(c, test_host_copies);
    suite_add_tcase(s, c);
    return s;
}
