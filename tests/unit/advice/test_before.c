/* What the host does before a window is in no share, so a sentence tells it. */
#include "tests/unit/rule_case.h"

/* One pass: three kernels of 2 ms that do not repeat, behind a batch that takes `batch`. */
static const struct advice *one_pass(int64_t batch, const char *name)
{
    static const char *const kernels[] = {"first", "second", "third"};
    struct builder b = build_start();
    int64_t at = MS(100) + batch + US(20);
    if (batch)
        build_range(&b, name, MS(100), MS(100) + batch);
    for (int i = 0; i < 3; i++)
        build_kernel(&b, kernels[i], at + US(20) * i, at + US(100) + MS(2) * i, MS(2));
    return build_analyze(&b);
}

TEST(what_the_host_does_before_a_window_is_told)
{
    const char *name = "enumerate(DataLoader)#next";
    const struct advice *a = one_pass(MS(900), name);
    ck_assert(analysis_of_window(a->facts));
    ck_assert_ptr_nonnull(strstr(a->why, "Before the window the host takes 900 ms"));
    ck_assert_ptr_nonnull(strstr(a->why, "900 ms of it in 'enumerate(DataLoader)#next'"));
    ck_assert_ptr_null(strstr(one_pass(MS(5), name)->why, "Before the window"));
    ck_assert_ptr_null(strstr(one_pass(0, name)->why, "Before the window"));
}
