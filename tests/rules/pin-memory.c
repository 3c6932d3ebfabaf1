/* Cases of the rule pin-memory: when it fires, when it is silent or suppressed, and when it cannot
 * tell. */
#include "tests/rules/feed.h"
#include "tests/rules/host.h"
#include "tests/unit/rule_case.h"

#include <stdio.h>

static void fill_pageable(struct builder *b, int64_t at)
{
    fill_copy(b, at, MEMORY_PAGEABLE);
}

TEST(test_pageable)
{
    const struct advice *a = case_advice(fill_pageable);
    const struct outcome *o = case_first(a, "pin-memory", MS(3));
    ck_assert_str_eq(o->setting, "pin_memory=1");
    ck_assert_uint_ne(o->examples[0].op, TL_NONE);
    QUIET(a, "overlap-copies", "num-workers", "sync-in-loop", "cuda-graphs");
    case_verdict(a, "overlap-copies", RULE_SILENT);
    case_cannot_tell(fill_pageable, "kernels,copies,api,ranges", "pin-memory");
}

/* A loader that pins is not told to; nor is it named. */
TEST(test_loader_pins_already)
{
    for (int pins = 0; pins < 2; pins++) {
        struct builder b = build_start();
        build_meta(&b, "torch.loader",
                   pins ? "DataLoader(num_workers=1, pin_memory=True)"
                        : "DataLoader(num_workers=1, pin_memory=False)");
        build_meta(&b, "torch.loader.made", "main.py:285");
        case_loop(&b, fill_pageable);
        const struct outcome *o = case_outcome(build_analyze(&b), "pin-memory");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        case_does(o, pins ? ACTION_PIN_OTHERS : ACTION_PIN_BATCHES);
        ck_assert_int_eq(o->remedy.object.place == NULL, pins);
        ck_assert_int_eq(o->setting == NULL, pins);
    }
}

static void fill_fed(struct builder *b, int64_t at)
{
    fill_pageable(b, at);
    span_of(b, SPOOL_LOADER_WAIT, b->thread, -1, 1, (double)at / 1e6, 0.1, -1);
}

/* fastai's loader: no setting of a rerun reaches it, and nobody knows the line that made it. */
TEST(test_loader_of_a_library)
{
    struct builder b = build_start();
    build_meta(&b, "torch.loader.made", "other.py:1");
    build_meta(&b, "torch.loader.1", "Fake(num_workers=0, pin_memory=False)");
    build_meta(&b, "torch.loader.1.by", "fastai");
    build_meta(&b, "torch.loader.1.foreign", "handed to PyTorch's iterators");
    case_loop(&b, fill_fed);
    const struct outcome *o = case_outcome(build_analyze(&b), "pin-memory");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_ptr_null(o->setting);
    case_does(o, ACTION_PIN_BATCHES);
    ck_assert(o->remedy.object.fixed && !o->remedy.object.place);
    ck_assert_str_eq(o->remedy.now, "Fake(num_workers=0, pin_memory=False)");
}

/* What no loader makes no setting of a loader pins. */
TEST(test_no_loader)
{
    const struct outcome *o = case_outcome(
        case_advice_with(fill_pageable, "torch.settings", "pin_memory;non_blocking;num_workers"),
        "pin-memory");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    case_does(o, ACTION_PIN_OTHERS);
    case_said(o, CONDITION_LOADER_PINS, false);
    ck_assert_ptr_null(o->setting);
}

static void fill_waiting(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, false, 20 << 20, at, MS(3), at + US(10),
               MS(3) - US(20));
    build_kernel(b, case_gemm, at + MS(3), at + MS(3) + US(10), US(6980));
}

/* A program that waits for its copies itself would go on to. */
TEST(test_waiting_for_it)
{
    const struct advice *a = case_advice(fill_waiting);
    ck_assert_str_eq(case_first(a, "pin-memory", MS(3))->setting, "pin_memory=1;non_blocking=1");
}

/* A source that does not know kinds of memory, of a program that copies nothing: no riddle. */
TEST(test_no_copies)
{
    const struct advice *a =
        case_advice_with(case_busy, "have", "kernels,copies,memsets,api,ranges");
    case_verdict(a, "pin-memory", RULE_SILENT);
    case_verdict(a, "overlap-copies", RULE_SILENT);
}

/* Different kernels, each behind a pageable copy: of sizes of their own, or all of one. */
static struct builder copies_of_a_window(int n, int64_t growth)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < n; i++, at += MS(5)) {
        char name[32];
        snprintf(name, sizeof name, "kernel_%c%d", 'a' + i % 26, i * i);
        build_copy(&b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, (20 << 20) + i * growth, at,
                   MS(3), at + US(10), MS(3) - US(20));
        build_kernel(&b, name, at + MS(3), at + MS(3) + US(10), MS(1));
    }
    return b;
}

/* To pin a buffer takes as long as to copy it once: it pays where copies recur. */
TEST(test_without_a_loop)
{
    struct builder b = copies_of_a_window(20, 4096);
    const struct advice *a = build_analyze(&b);
    ck_assert_int_eq(a->facts->steps.source, STEPS_NONE);
    case_verdict(a, "pin-memory", RULE_SILENT);
    b = copies_of_a_window(20, 0);
    a = build_analyze(&b);
    ck_assert_int_eq(a->facts->steps.source, STEPS_NONE);
    case_verdict(a, "pin-memory", RULE_FIRES);
}

static void fill_a_few_bytes(struct builder *b, int64_t at)
{
    for (int i = 0; i < 10; i++)
        build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 64, at + US(100 * i), US(50),
                   at + US(100 * i + 20), US(20));
    build_kernel(b, case_gemm, at + MS(2), at + MS(2) + US(10), MS(7));
}

/* The driver takes them along, whatever memory they come from. */
TEST(test_a_few_bytes)
{
    const struct advice *a = case_advice(fill_a_few_bytes);
    case_verdict(a, "pin-memory", RULE_SILENT);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "pin-memory")->why, "a few bytes"));
}

/* 18 MB from the GPU at 3 GB/s, in 6 ms of 10, which the host waits for. */
static void fill_back(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(3));
    build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 18000000, at + MS(3.1), MS(6.1),
               at + MS(3.2), MS(6));
}

/* On an A100 pinned copies reach 26.8 GB/s at best: 11 % of that time remains. */
TEST(test_from_the_gpu)
{
    const struct outcome *o = case_verdict(case_advice(fill_back), "pin-memory", RULE_FIRES);
    ck_assert(o->upper_bound);
    ck_assert_int_ge(o->saves_high_ns, MS(5.2));
    ck_assert_int_le(o->saves_high_ns, MS(5.5));
    ck_assert_double_eq_tol(case_value(o, "pageable D2H copies"), 1, 1e-9);
    ck_assert_double_eq_tol(case_value(o, "their rate"), 3, 0.05);
    ck_assert_ptr_null(o->setting); /* the loader has no part in it */
    case_does(o, ACTION_PIN_BOTH_WAYS);
}

static void fill_scalar(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(10), MS(8));
    for (int i = 0; i < 4; i++)
        build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 4, at + MS(8.1 + 0.3 * i),
                   US(260), at + MS(8.2 + 0.3 * i), US(150));
}

/* Numbers that are read back are another rule's. */
TEST(test_numbers)
{
    case_verdict(case_advice(fill_scalar), "pin-memory", RULE_SILENT);
}

/* One copy of all results: no finding, but the next step names it, with kind and rate. */
TEST(test_results_once)
{
    struct builder b = build_start();
    build_kernel(&b, "first", MS(1), MS(1) + US(10), MS(40));
    build_kernel(&b, "second", MS(2), MS(41) + US(20), MS(40));
    build_copy(&b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, false, 800000000, MS(3), MS(280),
               MS(82), MS(200));
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "pin-memory", RULE_SILENT);
    ck_assert_ptr_nonnull(
        strstr(case_outcome(a, "pin-memory")->why, "1 from it (800.0 MB at 4.0 GB/s)"));
    ck_assert_ptr_nonnull(strstr(a->next, "1 copy from the GPU to pageable memory (800.0 MB at 4.0 "
                                          "GB/s) takes 200 ms"));
}
