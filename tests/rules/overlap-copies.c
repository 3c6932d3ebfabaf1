/* Cases of the rule overlap-copies: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/host.h"
#include "tests/unit/rule_case.h"

static void fill_pinned(struct builder *b, int64_t at)
{
    fill_copy(b, at, MEMORY_PINNED);
}

/* The same copy on a stream of its own, beside the kernel. */
static void fill_overlapped(struct builder *b, int64_t at)
{
    b->stream = 2;
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 20 << 20, at, US(5), at + MS(1),
               MS(3));
    b->stream = 1;
    build_kernel(b, case_gemm, at + US(10), at + US(100), US(9880));
}

TEST(test_pinned)
{
    const struct advice *a = case_advice(fill_pinned);
    const struct outcome *o = case_first(a, "overlap-copies", MS(3));
    ck_assert_str_eq(o->setting, "non_blocking=1");
    QUIET(a, "pin-memory", "num-workers", "sync-in-loop", "cuda-graphs");
    case_cannot_tell(fill_pinned, "kernels,copies,api,ranges", "overlap-copies");
}

TEST(test_overlapped)
{
    struct builder b = build_start();
    build_stream(&b, 2, 1);
    case_loop(&b, fill_overlapped);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "overlap-copies", RULE_SILENT);
    case_verdict(a, "pin-memory", RULE_SILENT);
}

/* Python's host waits for its copy, and then is slow with what follows. */
static void fill_awaited(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 20 << 20, at, US(5), at + US(10),
               MS(1) - US(10));
    build_sync(b, at + US(6), MS(1));
    build_kernel(b, case_gemm, at + MS(3), at + MS(3) + US(10), US(6980));
}

/* The setting takes the wait away and no more; where nothing waits, it would do nothing. */
TEST(test_python)
{
    const struct outcome *o = case_first(case_advice_with(fill_pinned, "exe", "/usr/bin/python3"),
                                         "overlap-copies", MS(3));
    ck_assert_ptr_null(o->setting);
    ck_assert(!o->edit.overlap.in_stream);
    case_does(o, ACTION_COPY_AHEAD);
    o = case_outcome(case_advice_with(fill_awaited, "exe", "/usr/bin/python3"), "overlap-copies");
    ck_assert_str_eq(o->setting, "non_blocking=1");
    ck_assert(o->edit.overlap.in_stream);
    ck_assert_msg(llabs(o->saves_mid_ns - MS(1)) < US(50), "%lld", (long long)o->saves_mid_ns);
}

/* Small copies that are over at once, from calls that take long. */
static void fill_long_calls(struct builder *b, int64_t at)
{
    for (int i = 0; i < 20; i++)
        build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 2048, at + US(100 * i), US(95),
                   at + US(100 * i + 93), US(1));
    build_kernel(b, case_gemm, at + MS(2), at + MS(2) + US(10), US(7900));
}

/* And the idle time in calls that copy on the GPU is not theirs. */
static void fill_copies_on_the_gpu(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 2048, at, US(5), at + US(10),
               US(1));
    for (int i = 1; i < 20; i++)
        build_copy(b, COPY_D2D, MEMORY_DEVICE, MEMORY_DEVICE, true, 2048, at + US(100 * i), US(95),
                   at + US(100 * i + 93), US(1));
    build_kernel(b, case_gemm, at + MS(2), at + MS(2) + US(10), US(7900));
}

TEST(test_long_calls)
{
    const struct outcome *o = case_outcome(
        case_advice_with(fill_long_calls, "exe", "/usr/bin/python3"), "overlap-copies");
    ck_assert_msg(o->verdict == RULE_FIRES, "%s", o->why);
    case_does(o, ACTION_JOIN_COPIES);
    case_verdict(case_advice_with(fill_copies_on_the_gpu, "exe", "/usr/bin/python3"),
                 "overlap-copies", RULE_SILENT);
}

/* The same in turns on two streams, for a GPU that has nothing else to do: it is done already. */
static void fill_turns(struct builder *b, int64_t at)
{
    static uint32_t turn;
    b->stream = 1 + turn++ % 2;
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 20 << 20, at, US(5), at + US(10),
               MS(3) - US(20));
    build_kernel(b, case_gemm, at + US(10), at + MS(3) + US(10), US(6980));
}

TEST(test_turns)
{
    struct builder b = build_start();
    build_stream(&b, 2, 1);
    case_loop(&b, fill_turns);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "overlap-copies", RULE_SUPPRESSED);
}

/* And put back: what the next step fetches is what this one made. */
static int64_t put_back_second;

static void fill_put_back(struct builder *b, int64_t at)
{
    int64_t bytes[] = {150 << 20, put_back_second};
    for (int i = 0; i < 2; i++)
        build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, bytes[i], at + US(i), US(1),
                   at + US(10) + MS(2) * i, MS(2));
    build_kernel(b, case_gemm, at + US(20), at + MS(4) + US(12), US(1900));
    for (int i = 0; i < 2; i++)
        build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PINNED, true, bytes[i], at + US(30 + i),
                   US(1), at + MS(6) + US(1975) * i, US(1975));
}

TEST(test_put_back)
{
    put_back_second = 50 << 20;
    const struct advice *a = case_advice(fill_put_back);
    case_verdict(a, "overlap-copies", RULE_SUPPRESSED);
    case_first(a, "copy-volume", US(7950)); /* both ways */
}

/* Buffers of one size may be others: nobody can say how much can be had. */
TEST(test_buffers_of_one_size)
{
    struct builder b = build_start();
    put_back_second = 150 << 20;
    case_loop(&b, fill_put_back);
    const struct advice *a = build_analyze(&b);
    case_verdict(a, "overlap-copies", RULE_FIRES);
    a = build_predict(&b);
    const struct outcome *o = case_outcome(a, "overlap-copies");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert(o->upper_bound);
}
