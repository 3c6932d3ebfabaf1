/* Cases of the rule small-copies: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/unit/rule_case.h"

static int copies;

static void fill_small(struct builder *b, int64_t at)
{
    build_kernel(b, "gemm", at, at + US(10), MS(5));
    for (int i = 0; i < copies; i++) {
        int64_t t = at + MS(5.1) + US(100 * i);
        build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, false, 256, t, US(40), t + US(20),
                   US(2));
    }
    build_kernel(b, "gemm", at + MS(5.2) + US(100 * copies), at + MS(5.21) + US(100 * copies),
                 MS(4.7) - US(100 * copies));
}

TEST(test_small_copies)
{
    struct builder b = build_start();
    copies = 20;
    case_loop(&b, fill_small);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "small-copies", RULE_FIRES);
    ck_assert_int_ge(case_outcome(a, "small-copies")->saves_high_ns, US(500));
    ck_assert_ptr_null(strstr(case_outcome(a, "small-copies")->title, "tensors"));
    b = build_start(); /* Python has tensors */
    build_meta(&b, "framework", "pytorch");
    case_loop(&b, fill_small);
    a = build_analyze(&b);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "small-copies")->title, "tensors"));
    b = build_start();
    copies = 2;
    case_loop(&b, fill_small);
    case_verdict(build_analyze(&b), "small-copies", RULE_SILENT);
    case_cannot_tell(fill_small, "kernels,api", "small-copies");
}

/* Twenty copies before a kernel each. With `action` the host reads what the kernel chose: the next
 * copy is the environment's answer to it. */
static bool action;

static void fill_agent(struct builder *b, int64_t at)
{
    for (int i = 0; i < 20; i++) {
        int64_t t = at + US(300 * i);
        build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 256, t, US(40), t + US(20),
                   US(2));
        build_kernel(b, "elementwise", t + US(50), t + US(60), US(20));
        if (action)
            build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, true, 8, t + US(70), US(30),
                       t + US(85), US(2));
    }
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 4096, at + MS(6), US(40),
               at + MS(6) + US(20), US(2));
    build_range(b, "backward", at + MS(6.1), at + MS(6.3));
    build_kernel(b, "gemm", at + MS(6.1), at + MS(6.2), MS(3));
}

TEST(test_answers_of_an_environment_come_one_at_a_time)
{
    for (int i = 0; i < 2; i++) {
        action = i == 1;
        case_verdict(case_advice(fill_agent), "small-copies", i ? RULE_SILENT : RULE_FIRES);
    }
}

/* The tables that PyTorch sends along with a kernel of sharded training, and as many of the
 * program's own before a kernel of another name. */
static const char *behind;

static void fill_tables(struct builder *b, int64_t at)
{
    build_kernel(b, "gemm", at, at + US(10), MS(5));
    for (int i = 0; i < 20; i++) {
        int64_t t = at + MS(5.1) + US(100 * i);
        build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 488, t, US(40), t + US(20),
                   US(2));
        build_kernel(b, behind, t + US(42), t + US(50), US(5));
    }
    build_kernel(b, "gemm", at + MS(7.2), at + MS(7.21), MS(2.7));
}

TEST(test_tables_of_a_kernel_are_not_the_programs)
{
    static const char *const names[] = {
        "at::native::detail::split_with_sizes_copy_out_contiguous_no_cast_kernel(char**)",
        "elementwise"};
    for (int i = 0; i < 2; i++) {
        behind = names[i];
        case_verdict(case_advice(fill_tables), "small-copies", i ? RULE_FIRES : RULE_SILENT);
    }
}

/* 40 copies while nothing repeats: in a row, as a model that moves to the GPU, or each before a
 * kernel, as a program that makes little tensors as it goes. */
static enum verdict in_a_window(bool in_a_row)
{
    struct builder b = build_start();
    for (int i = 0; i < 40; i++) {
        char name[32];
        int64_t t = MS(100) + US(100 * i);
        build_copy(&b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, false, 256 + 4 * i, t, US(40),
                   t + US(20), US(2));
        snprintf(name, sizeof name, "kernel_%d", i);
        build_kernel(&b, name, (in_a_row ? MS(105) + US(10 * i) : t) + US(60),
                     (in_a_row ? MS(105) + US(10 * i) : t) + US(70), US(5));
    }
    const struct advice *a = build_analyze(&b);
    ck_assert(analysis_of_window(a->facts));
    enum verdict v = case_outcome(a, "small-copies")->verdict;
    return v;
}

TEST(test_a_model_that_moves)
{
    ck_assert_int_eq(in_a_window(true), RULE_SILENT);
    ck_assert_int_eq(in_a_window(false), RULE_FIRES);
}
