/* Cases of the rule dense-embedding: when it fires, when it is silent, and when it cannot tell. No
 * trainer plants it: it only occurs in Python programs. */
#include "tests/rules/cpu.h"
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

/* Three quarters of the numbers are the table's: 1.5 of the optimizer's 2 ms, and no more for the zeros of its gradient. */
TEST(test_dense_embedding_on_a_cpu)
{
    struct builder b = cpu_training("3 tensors, 1000000 numbers, float32, on cpu", 1);
    build_meta(&b, "torch.embedding", "75000 rows of 10, 64 looked up, sparse=False at train.py:7");
    const struct outcome *o = case_first(build_analyze(&b), "dense-embedding", MS(3));
    ck_assert_str_eq(o->remedy.object.place, "train.py:7");
    b = cpu_training("3 tensors, 1000000 numbers, float32, on cpu", 1);
    build_meta(&b, "torch.embedding", "75000 rows of 10, 64 looked up, sparse=True at train.py:7");
    case_verdict(build_analyze(&b), "dense-embedding", RULE_SILENT);
    b = cpu_training(NULL, 1);
    case_verdict(build_analyze(&b), "dense-embedding", RULE_CANNOT_TELL);
}

/* The line of the optimizer's step only names the same time. */
TEST(test_dense_embedding_answers_the_update)
{
    struct builder b = cpu_training("3 tensors, 1000000 numbers, float32, on cpu", 1);
    build_meta(&b, "torch.embedding",
               "100000 rows of 10, 64 looked up, sparse=False at train.py:7");
    int64_t loop = stack_of(&b, "/home/me/train.py", "<module>", 20);
    int64_t step = stack_below(&b, loop, "/x/lib/python3.11/site-packages/torch/optim/adam.py",
                               "Adam.step", 200);
    for (int i = 0; i < CPU_STEPS; i++)
        for (int k = 0; k < 4; k++)
            look_at(&b, step, cpu_step_ns(i) + MS(8) + US(500) * k + US(250));
    const struct advice *a = build_analyze(&b);
    case_first(a, "dense-embedding", MS(4));
    ck_assert_int_ne(case_outcome(a, "slow-line")->verdict, RULE_FIRES);
    ck_assert_int_eq(a->class, VERDICT_CPU);
}
