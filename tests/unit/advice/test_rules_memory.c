/* Device memory that is allocated and freed all the time, in a recording in which no step
 * repeats. */
#include "tests/unit/rule_case.h"

/* n different kernels of 1 ms, each behind calls of `length` that allocate and free. */
static struct builder window(int n, int64_t length)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "kernel_%c%d", 'a' + i % 26, i * i);
        build_api(&b, "cudaMalloc", at, length);
        build_api(&b, "cudaFree", at + length, length);
        build_kernel(&b, name, at + 2 * length, at + 2 * length + US(10), MS(1));
        at += 2 * length + US(1020);
    }
    return b;
}

TEST(allocations_of_a_window)
{
    struct builder b = window(20, US(800));
    const struct advice *a = build_analyze(&b);
    ck_assert_int_eq(a->facts->steps.source, STEPS_NONE);
    const struct outcome *o = case_verdict(a, "allocation-in-loop", RULE_FIRES);
    ck_assert_double_eq_tol(case_value(o, "allocations of GPU memory"), 19, 1e-9);
    ck_assert_ptr_nonnull(strstr(a->next, "Allocate memory once and reuse it"));
}

TEST(start_up_of_a_window)
{
    struct builder b = window(2, MS(30)); /* first calls: start-up, and few of them */
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "allocation-in-loop", RULE_SILENT);
    case_verdict(a, "warm-up", RULE_FIRES);
}
