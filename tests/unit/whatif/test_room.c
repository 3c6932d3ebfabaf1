/* Kernels in several streams, and which of them can run at the same time. */
#include "tests/unit/test.h"
#include "tests/unit/replay_steps.h"
#include "tests/unit/rule_case.h"

static int64_t blocks, beside_ns;

static void put_kernel(struct builder *b, int64_t stream, int64_t call, int64_t at)
{
    b->stream = stream;
    int64_t correlation = build_api(b, "cudaLaunchKernel", call, CALL_NS);
    build_kernel_of(b, "level", correlation, at, MS(4), blocks);
}

/* Two kernels of 4 ms in two streams, a wait behind each; 2 ms of the step are the host's. */
static void fill_apart(struct builder *b, int64_t at)
{
    put_kernel(b, 1, at, at + US(10));
    build_sync(b, at + US(20), MS(4));
    put_kernel(b, 2, at + MS(5), at + MS(5) + US(10) - beside_ns);
    build_sync(b, at + MS(5) + US(20), MS(4));
    b->stream = 1;
}

static struct span_ns unsync(struct bench *x)
{
    return bench_span(x, (struct edit){.kind = &edit_unsync});
}

/* An A100 holds 864 blocks of 256 threads: no kernel of 2048 leaves room for another one. */
TEST(kernels_that_fill_the_gpu_do_not_run_beside_each_other)
{
    blocks = 2048, beside_ns = 0;
    struct bench x = bench_start(MS(10), fill_apart);
    struct span_ns s = unsync(&x);
    ck_assert_int_le(s.high_ns, MS(2) + US(10));
    ck_assert_int_ge(s.high_ns, MS(1.7));
}

/* Small ones may. But where none was seen to, the waits may be there to keep their order. */
TEST(kernels_that_never_ran_beside_each_other_may_have_an_order)
{
    blocks = 64, beside_ns = 0;
    struct bench x = bench_start(MS(10), fill_apart);
    struct span_ns s = unsync(&x);
    ck_assert_int_gt(s.high_ns, MS(3));
    ck_assert_int_le(s.low_ns, MS(2));
    ck_assert_int_le(s.mid_ns, MS(2));
    ck_assert_ptr_nonnull(strstr(x.b.a->whatif.wider, "so their order may matter"));
}

static void fill_beside(struct builder *b, int64_t at)
{
    put_kernel(b, 1, at, at + US(10));
    put_kernel(b, 2, at + US(10), at + US(20));
    build_sync(b, at + US(20), MS(4) + US(10));
    b->stream = 1;
}

/* What is full when two run is shared: each had half of it. */
TEST(kernels_that_ran_beside_each_other_have_none)
{
    blocks = 2048;
    struct bench x = bench_start(MS(10), fill_beside);
    struct span_ns s = unsync(&x);
    ck_assert_ptr_null(x.b.a->whatif.wider);
    ck_assert_int_gt(s.low_ns, MS(3));
    ck_assert_int_le(s.high_ns, MS(6) + US(10));
}

/* Steps that become shorter: those that are replayed, the last ones, hardly compute. */
TEST(a_bound_leaves_the_busiest_stream_of_all_steps)
{
    struct builder b = build_start();
    struct err e = ERR_INIT;
    int64_t at = MS(100);
    for (int i = 0; i < 60; i++) {
        int64_t ns = i < 30 ? MS(4) : MS(3);
        build_kernel(&b, "k", at + US(10), at + US(20), i < 30 ? MS(3.8) : MS(1));
        build_sync(&b, at + US(30), ns - US(100));
        build_range(&b, "step", at, at + ns);
        at += ns;
    }
    const struct facts *f = build_analyze(&b)->facts;
    struct arena arena = {0};
    struct whatif w;
    struct engine engine;
    ck_assert_int_eq(engine_open(&engine, f, &arena, &w, &e), 0);
    ck_assert_int_eq(engine_check(&engine, &w), 0);
    ck_assert_int_ge(engine.work_ns, f->breakdown_ns[PART_COMPUTE] - US(50));
    struct edit edit = {.kind = &edit_unsync};
    engine.base_ns[0][0] = engine.now.pace_ns * 4; /* as where the replay is far off */
    ck_assert_int_le(engine_most(&engine, &edit), f->step_ns - engine.work_ns);
    engine_close(&engine);
    arena_release(&arena);
}

/* The host launches 120 steps in 1.2 ms, which the GPU works at for half a second. */
TEST(what_a_host_far_ahead_launches_counts_by_its_share)
{
    static const char *const names[] = {"rows<double>", "columns<double>"};
    struct builder b = build_start();
    for (int i = 0; i < 240; i++)
        build_kernel(&b, names[i % 2], MS(100) + US(5 * i), MS(100.1) + MS(2) * i, MS(2) - US(1));
    build_sync(&b, MS(101.5), MS(480));
    const struct outcome *o = case_outcome(build_predict(&b), "double-precision");
    ck_assert_int_gt(o->saves_low_ns, MS(4 * 0.3));
    ck_assert_int_gt(o->saves_mid_ns, MS(4 * 0.4));
}
