/* Cases of the rule no-sync: when it fires, when it is silent or suppressed, and when it cannot
 * tell. */
#include "tests/rules/comm.h"
#include "tests/unit/rule_case.h"

/* Four parts, each with its kernels and the same two exchanges; then the update. */
static void fill_parts(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++) {
        int64_t t = at + US(2300) * i;
        build_kernel(b, case_gemm, t + US(10), t + US(100), US(1000));
        build_kernel(b, "loss_kernel", t + US(20), t + US(1100), US(100));
        build_kernel(b, "batchnorm_bwtr_kernel", t + US(30), t + US(1200), US(600));
        exchange(b, 2, 1000000, t + US(40), t + US(1800), US(200));
        exchange(b, 2, 9000000, t + US(60), t + US(2000), US(400));
    }
    build_kernel(b, "sgd_kernel", at + US(7100), at + US(9400), US(500));
}

/* The same, and the ranks' mean loss, as a loop logs it. */
static void fill_parts_and_loss(struct builder *b, int64_t at)
{
    exchange(b, 2, 4, at, at + US(4), US(20));
    fill_parts(b, at);
}

/* Four layers that exchange activations: embedding and loss run once. */
static void fill_layers(struct builder *b, int64_t at)
{
    static const char *const once[] = {"embedding_kernel", "rope_cache_kernel", "loss_kernel"};
    for (int i = 0; i < 3; i++)
        build_kernel(b, once[i], at + US(2) + US(6) * i, at + US(30) + US(10) * i, US(10));
    for (int i = 0; i < 4; i++) {
        int64_t t = at + US(100) + US(2300) * i;
        build_kernel(b, case_gemm, t + US(10), t + US(100), US(1000));
        build_kernel(b, "batchnorm_bwtr_kernel", t + US(30), t + US(1200), US(600));
        exchange(b, 2, 9000000, t + US(60), t + US(1800), US(600));
    }
}

TEST(test_no_sync)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_parts);
    const struct outcome *o = case_verdict(a, "no-sync", RULE_FIRES);
    ck_assert_double_eq_tol(case_value(o, "bytes"), 40, 0.01);
    ck_assert_double_eq_tol(case_value(o, "exchanges of the same gradients"), 4, 1e-9);
    ck_assert_int_le(o->saves_high_ns, US(600) * 3 + US(100));
    ck_assert_int_gt(o->saves_high_ns, US(600) * 2);
}

/* With what packs the gradients: divided on their way into the bucket, copied back at the end. */
static void fill_packed(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++) {
        int64_t t = at + US(2300) * i;
        build_kernel(b, case_gemm, t + US(10), t + US(100), US(1000));
        build_kernel(b, "loss_kernel", t + US(20), t + US(1100), US(50));
        build_kernel(b,
                     "vectorized_elementwise_kernel<4, AUnaryFunctor<float, MulFunctor<float> > >",
                     t + US(25), t + US(1160), US(300));
        exchange(b, 2, 1000000, t + US(40), t + US(1800), US(100));
        exchange(b, 2, 9000000, t + US(60), t + US(1900), US(100));
        build_copy(b, COPY_D2D, MEMORY_DEVICE, MEMORY_DEVICE, true, 10000000, t + US(70), US(4),
                   t + US(2000), US(200));
    }
    build_kernel(b, "sgd_kernel", at + US(7100), at + US(9400), US(500));
}

TEST(test_packing_goes_too)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_packed);
    const struct outcome *o = case_verdict(a, "no-sync", RULE_FIRES);
    ck_assert_double_eq_tol(
        case_value(o, "divisions and copies of gradients that go with the needless ones"), 1.5,
        0.01);
    ck_assert_int_gt(o->saves_high_ns, US(200) * 3 + US(1500) - US(100));
}

TEST(test_a_logged_loss_does_not_hide_the_parts)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_parts_and_loss);
    const struct outcome *o = case_verdict(a, "no-sync", RULE_FIRES);
    ck_assert_double_eq_tol(case_value(o, "exchanges of the same gradients"), 4, 1e-9);
}

TEST(test_layers_that_communicate)
{
    struct builder b;
    const struct advice *a = looked(&b, fill_layers);
    case_verdict(a, "no-sync", RULE_SILENT);
    case_verdict(a, "exposed-communication", RULE_FIRES);
}

TEST(test_sizes_not_recorded)
{
    case_cannot_tell(fill_unrecorded, everything, "no-sync");
    case_cannot_tell(case_busy, "api,ranges", "no-sync");
}
