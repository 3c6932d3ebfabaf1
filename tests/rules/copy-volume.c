/* Cases of the rule copy-volume: when it fires, when it is silent or suppressed, and when it cannot
 * tell. */
#include "tests/rules/stacks.h"
#include "tests/unit/rule_case.h"

/* 8 ms of copies beside 1.9 ms of computing; `kind` of the host's memory. */
static int64_t copied_from;

static void fill_offloaded(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, copied_from, MEMORY_DEVICE, true, 200 << 20, at, US(5), at + US(10),
               MS(8));
    build_kernel(b, case_gemm, at + US(20), at + MS(8) + US(12), US(1900));
}

static void fill_hidden(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 50 << 20, at, US(5), at + US(10),
               MS(3));
    build_kernel(b, case_gemm, at + US(20), at + MS(3) + US(12), MS(6.9));
}

TEST(test_offloaded)
{
    static const int64_t kinds[] = {MEMORY_PINNED, MEMORY_PAGEABLE, MEMORY_UNKNOWN};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        copied_from = kinds[i];
        const struct advice *a = case_advice(fill_offloaded);
        case_verdict(a, "copy-volume", RULE_FIRES);
        int64_t saves = case_outcome(a, "copy-volume")->saves_high_ns;
        ck_assert_int_gt(saves, MS(7.9)); /* copying nothing */
        ck_assert_int_lt(saves, MS(8.1));
        if (i == 0) { /* and overlapping saves no more than these 1.9 ms */
            ck_assert_str_eq(a->ranked[0]->rule->id, "copy-volume");
            case_verdict(a, "overlap-copies", RULE_FIRES);
            ck_assert_int_le(case_outcome(a, "overlap-copies")->saves_high_ns, MS(2));
        }
    }
}

static void fill_both_ways(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 800000, at, US(5), at + US(10),
               MS(5));
    build_kernel(b, case_gemm, at + US(20), at + MS(5) + US(12), US(900));
    build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, true, 800000, at + US(30), US(5),
               at + MS(6), MS(3));
}

/* The bound counts both ways, and so do the words; less than 10 MB has figures behind the point. */
TEST(test_back)
{
    const struct outcome *o = case_verdict(case_advice(fill_both_ways), "copy-volume", RULE_FIRES);
    ck_assert_double_eq_tol(case_value(o, "bytes"), 0.8, 1e-9);
    ck_assert_double_eq_tol(case_value(o, "exposed copy time"), 5, 0.01);
    ck_assert_double_eq_tol(
        case_value(o, "exposed time of the copies back, by their sizes the same data,"), 3, 0.01);
    ck_assert_int_ge(o->saves_high_ns, MS(7.9));
    ck_assert_int_le(o->saves_high_ns, MS(8.1));
}

TEST(test_copies_that_fit)
{
    case_verdict(case_advice(fill_hidden), "copy-volume", RULE_SILENT);
    case_cannot_tell(fill_hidden, "kernels,api,ranges", "copy-volume");
}

/* What FSDP and DeepSpeed fetch is told of them; a batch, or anything else, is not, though files of
 * FSDP stand in stacks, as PyTorch imports them. */
TEST(test_whose_copies)
{
    static const char *const ranges[] = {NULL, "FullyShardedDataParallel.forward", "ZeRO offload"};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        struct builder b = build_start();
        build_meta(&b, "framework", "pytorch");
        copied_from = MEMORY_PAGEABLE;
        case_loop(&b, fill_offloaded);
        stack_of(&b, "torch/distributed/fsdp/api.py", "<module>", 1);
        if (ranges[i])
            build_range(&b, ranges[i], US(1), US(2));
        const struct outcome *o = case_outcome(build_analyze(&b), "copy-volume");
        case_said(o, CONDITION_OFFLOADED, i > 0);
    }
    case_said(case_outcome(case_advice(fill_both_ways), "copy-volume"), CONDITION_OFFLOADED, true);
}
