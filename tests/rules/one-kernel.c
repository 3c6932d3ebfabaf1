/* Cases of the rule one-kernel: when it fires, when it is silent or gives way to another rule, and
 * when it cannot tell. No trainer plants it: the trainers' steps run many kernels. */
#include "tests/rules/cores.h"
#include "tests/unit/rule_case.h"

static const char distances[] = "void at::native::cdist_kernel<float>";

static void fill_distances(struct builder *b, int64_t at)
{
    build_kernel(b, distances, at + US(10), at + US(100), MS(7));
    build_kernel(b, case_gemm, at + US(30), at + MS(7.2), MS(2));
}

static void fill_few(struct builder *b, int64_t at)
{
    build_kernel(b, distances, at + US(10), at + US(100), US(500));
    build_kernel(b, "other", at + US(30), at + US(700), US(300));
}

static void fill_many(struct builder *b, int64_t at)
{
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++)
        build_kernel(b, names[i], at + US(10 + 10 * i), at + MS(3) * i + US(100), MS(2.9));
}

/* In FP32 without tensor cores: there is better advice than to look at it. */
static void fill_product(struct builder *b, int64_t at)
{
    build_kernel(b, "ampere_sgemm_128x64_tn", at + US(10), at + US(100), MS(9));
}

TEST(test_one_kernel)
{
    const struct advice *a = case_advice(fill_distances);
    const struct outcome *o = case_first(a, "one-kernel", MS(7));
    ck_assert_str_eq(o->title, "Look at cdist_kernel, 78 % of the GPU's work");
    case_text(o, PARAM_CALL, "cdist_kernel");
    ck_assert(o->upper_bound);
    case_verdict(case_advice(fill_few), "one-kernel", RULE_SILENT);
    case_verdict(case_advice(fill_many), "one-kernel", RULE_SILENT);
    case_verdict(case_advice(case_busy), "one-kernel", RULE_SILENT); /* on tensor cores */
    case_cannot_tell(fill_distances, "copies", "one-kernel");
}

static void fill_late(struct builder *b, int64_t at)
{
    build_kernel(b, distances, at + MS(9), at + MS(9) + US(10), US(700));
}

/* What other programs add to the step makes no kernel less of the program's own. */
TEST(one_kernel_beside_a_missing_core)
{
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        case_loop(&b, fill_late);
        starve(&b, i ? 0.8 : 0.02);
        const struct outcome *o =
            case_verdict(build_analyze(&b), "one-kernel", i ? RULE_FIRES : RULE_SILENT);
        ck_assert(i == 0 || (o->upper_bound && o->saves_high_ns == US(700)));
    }
}

/* A program that repeats nothing but the kernel, as benchmarks and solvers do. */
TEST(test_one_kernel_without_steps)
{
    struct builder b = build_start();
    int64_t at = 0;
    for (int i = 0; i < 7; i++) {
        int64_t ns = MS(3 + (i * i) % 5);
        build_kernel(&b, "void place_queens(int)", at + US(10), at + US(40), ns);
        at += ns + MS(1 + i % 3);
    }
    const struct advice *a = build_predict(&b);
    ck_assert(analysis_of_window(a->facts));
    const struct outcome *o = case_verdict(a, "one-kernel", RULE_FIRES);
    ck_assert(o->upper_bound);
    ck_assert_ptr_nonnull(strstr(o->summary, "in the window"));
}

static void fill_long_name(struct builder *b, int64_t at)
{
    build_kernel(b, "bilateral_filter_of_a_whole_volume_in_shared_memory", at + US(10),
                 at + US(100), MS(9));
}

TEST(test_one_kernel_of_a_long_name)
{
    const struct outcome *o = case_outcome(case_advice(fill_long_name), "one-kernel");
    ck_assert_str_eq(o->title, "Look at bilateral_filter_of_a_wh..., 100 % of the GPU's work");
    ck_assert_ptr_nonnull(strstr(o->summary, "in_shared_memory"));
}

TEST(test_one_kernel_gives_way)
{
    const struct advice *a = case_advice(fill_product);
    case_verdict(a, "tensor-cores", RULE_FIRES);
    case_verdict(a, "one-kernel", RULE_SUPPRESSED);
}
