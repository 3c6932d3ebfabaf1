/* Cases of the rule gradient-clipping: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/phase.h"
#include "tests/unit/rule_case.h"

static const char foreach_norm[] =
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<float>>";

static const char norm[] = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
                           "at::native::NormTwoOps<float, float>>>";

static void fill_norms(struct builder *b, int64_t at)
{
    many(b, norm, at, 50, US(20));
}

static void fill_foreach(struct builder *b, int64_t at)
{
    many(b, foreach_norm, at, 4, US(20));
}

static void fill_clip_waits(struct builder *b, int64_t at)
{
    waits_inside(b, at, "clip_grad_norm_");
}

static void fill_other_waits(struct builder *b, int64_t at)
{
    waits_inside(b, at, "metrics");
}

TEST(test_clipping)
{
    case_first(case_advice(fill_norms), "gradient-clipping", MS(1));
    const struct advice *a = case_advice(fill_clip_waits);
    const struct outcome *o = case_first(a, "gradient-clipping", MS(2.02));
    ck_assert_ptr_eq(o->edit.kind, &edit_remove);
    case_verdict(a, "sync-in-loop", RULE_SILENT); /* the same wait, said once */
    a = case_advice(fill_other_waits);
    case_verdict(a, "gradient-clipping", RULE_SILENT);
    case_first(a, "sync-in-loop", MS(2.02));
    case_verdict(case_advice(fill_foreach), "gradient-clipping", RULE_SILENT);
    case_cannot_tell(fill_norms, "kernels,copies,ranges", "gradient-clipping");
}
