/* When shapes-change fires, when it stays silent or is refused, when it cannot tell. */
#include "tests/unit/rule_case.h"

static int every, step_number;

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
    build_kernel(b, case_gemm, at, at + US(10), MS(7));
    if (every && step_number % every == 0)
        search(b, at + MS(7.1), step_number);
    build_kernel(b, case_gemm, at + MS(9.1), at + MS(9.11), US(880));
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

TEST(test_shapes_change)
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
