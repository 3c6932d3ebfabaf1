/* Cases of the rule ignored-labels: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: the hook looks at what a Python program copies. */
#include "tests/unit/rule_case.h"
#include "wire/spool_format.h"

static int64_t labelled; /* positions that the layer over the vocabulary works on */

static void product(struct builder *b, int64_t call, int64_t start, int64_t length, int64_t m,
                    int64_t n, int64_t k)
{
    struct row_call r = {.family = SPOOL_CALL_GEMM,
                         .in_type = SPOOL_DT_BF16,
                         .start_ns = call - US(1),
                         .end_ns = call + US(8),
                         .dim = {m, n, k, 1}};
    build_kernel(b, case_gemm, call, start, length);
    build_call(b, r, "cublasGemmEx");
}

/* Of 10 ms the layer, its backward pass and the loss between them take 8. */
static void fill_step(struct builder *b, int64_t at)
{
    product(b, at + US(10), at + US(30), US(900), 1024, 4096, 256);
    product(b, at + US(20), at + MS(1), MS(2), 50257, labelled, 256);
    build_kernel(b, "cunn_SoftMaxForward<8, BFloat16, float, BFloat16, LogSoftMaxForwardEpilogue>",
                 at + US(40), at + MS(3), MS(2));
    product(b, at + US(50), at + MS(5), MS(2), 256, labelled, 50257);
    product(b, at + US(60), at + MS(7), MS(2), 256, 50257, labelled);
    product(b, at + US(70), at + MS(9), US(900), 256, 4096, 1024);
    build_sync(b, at + US(100), MS(9.8));
}

static const struct advice *with(struct builder *b, const char *ignored, int64_t of)
{
    *b = build_start();
    build_meta(b, "torch.version", "2.14.1");
    if (ignored)
        build_meta(b, "torch.ignored", ignored);
    labelled = of;
    case_loop(b, fill_step);
    return build_predict(b);
}

TEST(test_ignored)
{
    struct builder b;
    const struct outcome *o = case_verdict(with(&b, "80 % of 32 x 128 at train.py:9", 4096),
                                           "ignored-labels", RULE_FIRES);
    case_does(o, ACTION_SELECT_LABELLED);
    ck_assert_int_gt(case_replayed(o).low_ns, MS(4.4));
    ck_assert_int_le(case_replayed(o).high_ns, MS(6.4));
    ck_assert_ptr_nonnull(strstr(o->summary, "ignores 80 % of the 4096 labels"));
}

/* The program that selects first has the same labels, and the widest product works on fewer. */
TEST(test_selected)
{
    struct builder b;
    case_verdict(with(&b, "80 % of 32 x 128 at train.py:9", 820), "ignored-labels", RULE_SILENT);
    case_verdict(with(&b, NULL, 4096), "ignored-labels", RULE_SILENT);
    case_verdict(case_advice(case_busy), "ignored-labels", RULE_CANNOT_TELL);
}
