/* Cases of the rule eval-activations: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/unit/rule_case.h"

static const char train_norm[] = "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>()";

static const char eval_norm[] = "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float>()";

static const char *norm;

static const char *eval_range = "Validation epoch 3";

static void fill_evaluation(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(7));
    build_kernel(b, norm, at + MS(7), at + MS(7.1), MS(1));
    build_kernel(b, case_gemm, at + MS(8), at + MS(8.1), US(1800));
    build_range(b, eval_range, at + MS(6.9), at + MS(8.5));
}

TEST(test_evaluation)
{
    struct builder b = build_start();
    norm = train_norm;
    case_loop(&b, fill_evaluation);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "eval-activations", RULE_FIRES);
    ck_assert_int_eq(case_outcome(a, "eval-activations")->saves_high_ns, MS(1));
    b = build_start();
    norm = eval_norm;
    case_loop(&b, fill_evaluation);
    case_verdict(build_analyze(&b), "eval-activations", RULE_SILENT);
    b = build_start();
    norm = train_norm;
    eval_range = "torch/_dynamo/eval_frame.py(489): _fn"; /* evaluates nothing */
    case_loop(&b, fill_evaluation);
    case_verdict(build_analyze(&b), "eval-activations", RULE_CANNOT_TELL);
    b = build_start();
    eval_range = "runEvalLoop";
    case_loop(&b, fill_evaluation);
    case_verdict(build_analyze(&b), "eval-activations", RULE_FIRES);
    b = build_start();
    case_loop(&b, case_busy); /* no range of that name */
    case_verdict(build_analyze(&b), "eval-activations", RULE_CANNOT_TELL);
}
