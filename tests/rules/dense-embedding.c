/* Cases of the rule dense-embedding: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: it only occurs in Python programs. */
#include "tests/rules/gpu.h"
#include "tests/unit/rule_case.h"

/* The forward pass, a gradient filled by the backward thread, and the update. */
static void fill_step(struct builder *b, int64_t at)
{
    for (int i = 0; i < 8; i++)
        build_kernel(b, case_gemm, at + US(20 * i), at + US(200 * i + 10), US(190));
    b->thread = 2;
    build_kernel(b, "vectorized_elementwise_kernel<4, FillFunctor<float>, array<char*, 1> >",
                 at + MS(1), at + MS(2), MS(2));
    b->thread = 1;
    build_kernel(b, "multi_tensor_apply_kernel<TensorListMetadata<3>, FusedSgdMathFunctor<float> >",
                 at + MS(1.5), at + MS(4), MS(5));
}

static const struct advice *with(struct builder *b, const char *embedding)
{
    *b = build_start();
    build_thread(b, 2, "backward");
    build_meta(b, "torch.version", "2.14.1");
    build_meta(b, "torch.parameters", "3 tensors, 200000000 numbers, float32, on cuda");
    if (embedding)
        build_meta(b, "torch.embedding", embedding);
    case_loop(b, fill_step);
    return build_analyze(b);
}

TEST(test_embedding)
{
    struct builder b;
    const struct advice *a =
        with(&b, "1000000 rows of 100, 4096 looked up, sparse=False at train.py:12");
    const struct outcome *o = case_first(a, "dense-embedding", US(3500)); /* half of all weights */
    ck_assert_str_eq(o->remedy.object.place, "train.py:12");
    ck_assert(o->upper_bound);
    static const char *const fine[] = {
        NULL, "1000000 rows of 100, 4096 looked up, sparse=True at train.py:12",
        "1000000 rows of 100, 500000 looked up, sparse=False at train.py:12"};
    for (int i = 0; i < 3; i++) {
        case_verdict(with(&b, fine[i]), "dense-embedding", RULE_SILENT);
    }
    case_verdict(case_advice(case_busy), "dense-embedding", RULE_CANNOT_TELL);
}
