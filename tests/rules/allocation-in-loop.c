/* Cases of the rule allocation-in-loop: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/unit/rule_case.h"

#include <string.h>

static int allocating_steps;

static void fill_allocations(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(7));
    if (allocating_steps-- > 0) {
        build_api(b, "cudaFree", at + US(20), MS(7.1));
        build_api(b, "cudaMalloc", at + MS(7.13), MS(1.5));
    }
    build_kernel(b, case_gemm, at + MS(8.7), at + MS(8.71), MS(1.29));
}

TEST(test_allocation_in_loop)
{
    struct builder b = build_start();
    allocating_steps = CASE_STEPS;
    case_loop(&b, fill_allocations);
    const struct advice *a = build_analyze(&b);
    const struct outcome *o = case_first(a, "allocation-in-loop", MS(1.65));
    ck_assert_double_eq_tol(case_value(o, "allocations of GPU memory"), 1, 1e-9);
    ck_assert_double_eq_tol(case_value(o, "frees"), 1, 1e-9);
    b = build_start();
    allocating_steps = 2; /* a pool that grows */
    case_loop(&b, fill_allocations);
    case_verdict(build_analyze(&b), "allocation-in-loop", RULE_SILENT);
    case_cannot_tell(fill_allocations, "kernels", "allocation-in-loop");
}

extern const struct dialect dialect_directives;
static const char *kernel_name;

static void fill_named(struct builder *b, int64_t at)
{
    build_kernel(b, kernel_name, at, at + US(10), MS(7));
    build_api(b, "cuMemAlloc_v2", at + MS(7.02), MS(1.6));
    build_kernel(b, kernel_name, at + MS(8.7), at + MS(8.71), MS(1.29));
}

/* The runtime of a compiler allocates: the program marks loops, and cannot call cudaMallocAsync. */
static void fill_emptied(struct builder *b, int64_t at)
{
    allocating_steps = 1;
    fill_allocations(b, at);
    build_range(b, "sync torch.cuda.empty_cache() train.py:14", at + US(15), at + MS(7.125));
    build_range(b, "forward", at + MS(7.125), at + MS(9.9));
}

/* Of what frees, though more of the time goes to allocating again. */
TEST(names_what_frees)
{
    const struct outcome *o = case_outcome(case_advice(fill_emptied), "allocation-in-loop");
    ck_assert_msg(strstr(o->summary, "empty_cache() train.py:14'") != NULL, "%s", o->summary);
    kernel_name = case_gemm;
    o = case_outcome(case_advice(fill_named), "allocation-in-loop");
    ck_assert_msg(strstr(o->summary, "in range") == NULL, "%s", o->summary);
}

TEST(test_directives)
{
    static const struct {
        const char *name;
        bool directive;
    } names[] = {{"__pgi_uacc_cuda_fill_42_gpu", true},
                 {"kmeans_235_gpu", true},
                 {"main_53_gpu__red", true},
                 {"nvkernel_solve_F1L204_2", true},
                 {"__omp_offloading_10302_c0ffee_main_l12", true},
                 {"main$_omp_fn$0", true},
                 {"solve._omp_fn.2", true},
                 {"matmul_v2_gpu", false},
                 {"conv_2_gpu", false},
                 {"add_16_gpu(float*)", false},
                 {"nvkernel_Flat", false}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kernel_name = names[i].name;
        const struct advice *a = case_advice(fill_named);
        const struct outcome *o = case_outcome(a, "allocation-in-loop");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        ck_assert_double_eq_tol(case_value(o, "allocations of GPU memory"), 1, 1e-9);
        ck_assert_double_eq_tol(case_value(o, "frees"), 0, 1e-9);
        ck_assert_msg((dialect_of(a->facts, FRAMEWORK_CUDA, &o->remedy) == &dialect_directives) ==
                          names[i].directive,
                      "%s", names[i].name);
    }
}

/* The host allocates during 5 ms, and does something else during 3 ms. */
static void fill_allocations_and_work(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(1));
    build_api(b, "cudaMalloc", at + MS(1.01), MS(5));
    build_kernel(b, case_gemm, at + MS(9), at + MS(9.01), US(990));
}

/* The verdict's share is that of all of it, so it does not say that all goes to memory. */
TEST(test_verdict)
{
    const struct advice *a = case_advice(fill_allocations_and_work);
    ck_assert_str_eq(a->verdict_class, "host");
    const char *parts = strstr(a->verdict, "the GPU waits for the host during 80 % of each ");
    ck_assert_msg(parts && strstr(parts, " step (allocating ") && strstr(parts, ", other work "),
                  "%s", a->verdict);
}

static int tensors;

/* So many tensors, each from the driver and back to it. */
static void fill_tensors(struct builder *b, int64_t at)
{
    int64_t each = MS(9) / tensors;
    for (int i = 0; i < tensors; i++) {
        int64_t from = at + each * i;
        build_api(b, "cudaMalloc", from, each / 8);
        build_kernel(b, case_gemm, from + each / 4, from + each / 2, each / 8);
        build_api(b, "cudaFree", from + each * 5 / 8, each / 4);
    }
}

TEST(test_without_a_pool)
{
    for (tensors = 20; tensors <= 120; tensors += 100) {
        const struct outcome *o = case_outcome(case_advice(fill_tensors), "allocation-in-loop");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        case_does(o, tensors > 100 ? ACTION_KEEP_MEMORY_POOL : ACTION_ALLOCATE_ONCE);
    }
}
