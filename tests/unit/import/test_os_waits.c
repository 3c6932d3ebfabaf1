/* A data loader that is visible only in the operating system calls of the training thread. */
#include "tests/unit/rule_case.h"

static const char kernel[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn";

static void os_call(struct builder *b, const char *name, int64_t start, int64_t end)
{
    build_range_in(b, OS_DOMAIN, name, -1, start, end);
}

/* 4 ms between two ranges of steps; the ranges hold 5.9 ms of computing. */
static struct builder steps(void (*between)(struct builder *, int64_t from, int64_t to))
{
    struct builder b = build_start();
    build_thread(&b, 2, "autograd");
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_range(&b, "step", at, at + MS(6));
        build_kernel(&b, kernel, at + US(10), at + US(30), US(5900));
        between(&b, at + MS(6), at + MS(10));
    }
    return b;
}

static void waits(struct builder *b, int64_t from, int64_t to)
{
    os_call(b, "poll", from + US(100), to - US(100));
}

static void reads(struct builder *b, int64_t from, int64_t to)
{
    for (int64_t at = from + US(20); at < to - US(30); at += US(400))
        os_call(b, "read", at, at + US(20));
}

static void nothing(struct builder *b, int64_t from, int64_t to)
{
    (void)b;
    (void)from;
    (void)to;
}

/* Another thread launches meanwhile: a backward pass is waited for. */
static void waits_for_thread(struct builder *b, int64_t from, int64_t to)
{
    os_call(b, "pthread_cond_wait", from + US(100), to - US(100));
    b->thread = 2;
    build_kernel(b, kernel, from + MS(1), from + MS(3), US(100));
    b->thread = 1;
}

static int64_t input_ns(struct builder *b)
{
    return build_analyze(b)->facts->breakdown_ns[PART_IDLE_INPUT];
}

TEST(a_wait_between_steps_is_the_loaders)
{
    struct builder b = steps(waits);
    ck_assert_int_ge(input_ns(&b), MS(3.6));
    case_first(b.a, "num-workers", MS(4));
    b = steps(reads); /* so do reads: the batch is made here */
    ck_assert_int_ge(input_ns(&b), MS(3.6));
}

TEST(other_pauses_are_not)
{
    struct builder b = steps(nothing);
    ck_assert_int_eq(input_ns(&b), 0);
    b = steps(waits_for_thread);
    ck_assert_int_le(input_ns(&b), MS(1));
    ck_assert_int_eq(b.a->facts->tl->os_call_count, CASE_STEPS);
}

/* No range at all: steps by their repetition, and a poll in each. */
TEST(workers_are_advised_without_any_range)
{
    struct builder b = build_start();
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        build_kernel(&b, "conv", at + US(10), at + US(30), US(2900));
        build_kernel(&b, "fused_adam_kernel", at + US(30), at + US(2930), US(3000));
        build_kernel(&b, "loss", at + US(50), at + US(5930), US(10));
        build_sync(&b, at + US(60), US(5890));
        waits(&b, at + MS(6), at + MS(10));
    }
    struct advice *a = build_analyze(&b);
    ck_assert_int_eq(a->facts->tl->have & HAVE_RANGES, 0);
    ck_assert_int_ge(a->facts->breakdown_ns[PART_IDLE_INPUT], MS(3.6));
    const struct outcome *o = case_first(a, "num-workers", MS(4));
    ck_assert_str_eq(o->title, "Give the loader more workers"); /* it sleeps until they deliver */
}

/* Nothing repeats: the program waits for a compiler, say, and nobody knows of a loader. */
TEST(waits_outside_of_a_loop_are_no_input)
{
    struct builder b = build_start();
    char name[32];
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        snprintf(name, sizeof name, "generated_%d", i);
        build_kernel(&b, name, at, at + US(30), US(100));
        waits(&b, at + MS(2), at + MS(10));
    }
    struct advice *a = build_analyze(&b);
    ck_assert(analysis_of_window(a->facts));
    ck_assert_int_eq(a->facts->breakdown_ns[PART_IDLE_INPUT], 0);
    case_verdict(a, "num-workers", RULE_SILENT);
}
