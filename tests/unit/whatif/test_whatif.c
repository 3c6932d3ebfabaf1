/* Edits: what they would save, above all if that is nothing. */
#include "tests/unit/test.h"
#include "analyzer/advice/advice.h"
#include "analyzer/whatif/edits/edits.h"
#include "tests/unit/replay_steps.h"

static int64_t saves(struct bench *x, struct edit edit)
{
    struct draw middle = {{0.5, 0.5, 0.5}};
    plan_reset(&x->plan, x->g);
    int64_t now = replay_run(&x->r, x->g, &x->plan);
    edit_apply(&edit, x->g, &x->plan, &middle);
    return now - replay_run(&x->r, x->g, &x->plan);
}

static void fill_sgemm(struct builder *b, int64_t at)
{
    for (int i = 0; i < 8; i++)
        build_kernel(b, "volta_sgemm_128x64_nn", at + US(10 * i), at + US(10) + MS(i), MS(1));
    build_sync(b, at + US(100), MS(8) - US(80));
}

static void fill_sgemm_behind_host(struct builder *b, int64_t at)
{
    for (int i = 0; i < 10; i++)
        build_kernel(b, "volta_sgemm_128x64_nn", at + MS(i), at + MS(i) + US(10), US(100));
}

TEST(tensor_cores_save_most_of_fp32_time)
{
    struct bench x = bench_start(MS(10), fill_sgemm);
    int64_t ns = saves(&x, (struct edit){.kind = &edit_precision});
    ck_assert_int_gt(ns, MS(5));
    ck_assert_int_lt(ns, MS(8));
    ck_assert(x.b.a->whatif.trusted);
    ck_assert_int_eq(x.b.a->whatif.step_ns, MS(10));
}

static void fill_conv(struct builder *b, int64_t at, const char *name)
{
    build_kernel(b, name, at, at + US(10), MS(8));
    build_sync(b, at + US(20), MS(8));
}

static void fill_nchw(struct builder *b, int64_t at)
{
    fill_conv(b, at, "volta_scudnn_128x64_relu_interior_nn_v1");
}

static void fill_nhwc(struct builder *b, int64_t at)
{
    fill_conv(b, at, "volta_scudnn_128x64_ldg4_relu_exp_interior_nhwc_tn_v1");
}

/* FP32 reaches half as much of its peak in NHWC: there more of it is to be had. */
TEST(tensor_cores_save_most_where_fp32_was_poor)
{
    struct bench x = bench_start(MS(10), fill_nchw);
    int64_t nchw = saves(&x, (struct edit){.kind = &edit_precision});
    x = bench_start(MS(10), fill_nhwc);
    int64_t nhwc = saves(&x, (struct edit){.kind = &edit_precision});
    ck_assert_int_gt(nhwc, nchw + US(400));
}

TEST(tensor_cores_save_nothing_when_the_host_is_slower)
{
    struct bench x = bench_start(MS(10), fill_sgemm_behind_host);
    ck_assert_int_le(saves(&x, (struct edit){.kind = &edit_precision}), US(100));
    for (size_t i = 0; i < x.b.a->ranked_count; i++)
        ck_assert_ptr_ne(x.b.a->ranked[i]->edit.kind, &edit_precision);
}

/* Ten launches 300 us apart, and the GPU is slower than these. */
static void fill_sgemm_before_host(struct builder *b, int64_t at)
{
    if (at == MS(100))
        build_meta(b, "framework", "pytorch");
    for (int i = 0; i < 10; i++)
        build_kernel(b, "volta_sgemm_128x64_nn", at + US(300 * i), at + MS(i) + US(10), US(990));
    build_sync(b, at + US(2800), MS(7.2) - US(10));
}

TEST(autocast_takes_the_host_for_each_product)
{
    struct bench x = bench_start(MS(10), fill_sgemm_before_host);
    struct edit edit = {.kind = &edit_precision};
    struct draw fused = {{0.5, 0.5, 0}}, casts = {{0.5, 0.5, 1}};
    edit_apply(&edit, x.g, &x.plan, &fused);
    int64_t least = bench_step(&x);
    plan_reset(&x.plan, x.g);
    edit_apply(&edit, x.g, &x.plan, &casts);
    int64_t most = bench_step(&x);
    /* 2.4 casts for each but the last, which the GPU hides, at three quarters of what a launch
     * takes of the host: its call, a tenth of what surrounds the wait, and no long pause */
    ck_assert_int_gt(most - least, US(2.4 * 0.75 * 9 * 4));
    ck_assert_int_lt(most - least, US(2.4 * 0.75 * 10 * 16));
}

/* One product in TF32 and a softmax, launched at once. */
static void fill_tf32_and_softmax(struct builder *b, int64_t at)
{
    build_kernel(b, "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4", at + US(10),
                 at + US(100), MS(6));
    build_kernel(b, "softmax_warp_forward<float, float>", at + US(30), at + MS(6.1), MS(2));
    build_sync(b, at + US(50), MS(8.06));
}

static void fill_tf32_of_python(struct builder *b, int64_t at)
{
    if (at == MS(100))
        build_meta(b, "framework", "pytorch");
    fill_tf32_and_softmax(b, at);
}

static int64_t step_in_16_bits(void (*fill)(struct builder *, int64_t), double products,
                               double rest, double casts)
{
    struct bench x = bench_start(MS(10), fill);
    struct edit edit = {.kind = &edit_precision};
    struct draw d = {{products, rest, casts}};
    edit_apply(&edit, x.g, &x.plan, &d);
    int64_t ns = bench_step(&x);
    return ns;
}

/* Half of 6 ms goes; softmax stays in FP32, and casts take at most three quarters of the product.
 */
TEST(autocast_keeps_softmax_and_casts_operands)
{
    int64_t fused = step_in_16_bits(fill_tf32_of_python, 0.5, 0.5, 0);
    int64_t casts = step_in_16_bits(fill_tf32_of_python, 0.5, 0.5, 1);
    int64_t all_half = step_in_16_bits(fill_tf32_and_softmax, 0.5, 0.5, 1);
    ck_assert_int_le(llabs(casts - fused - MS(2.25)), US(50));
    ck_assert_int_le(llabs(fused - all_half - MS(1)), US(50));
}

static void fill_copy(struct builder *b, int64_t at, int64_t copy_ns)
{
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, false, copy_ns * 6, at,
               copy_ns + US(20), at + US(10), copy_ns);
    int64_t go = at + copy_ns + US(30);
    build_kernel(b, "k", go, go + US(10), MS(8));
    build_sync(b, go + US(20), MS(8));
}

static void fill_long_copy(struct builder *b, int64_t at)
{
    fill_copy(b, at, MS(1.5));
}

static void fill_short_copy(struct builder *b, int64_t at)
{
    fill_copy(b, at, US(11));
}

TEST(pinning_short_copies_saves_nothing)
{
    struct bench x = bench_start(MS(10), fill_short_copy);
    ck_assert_int_le(saves(&x, (struct edit){.kind = &edit_pin}), US(40));
    ck_assert_uint_eq(x.b.a->ranked_count && x.b.a->ranked[0]->edit.kind == &edit_pin, 0);
}

TEST(pinning_long_copies_saves_their_excess)
{
    struct bench x = bench_start(MS(10), fill_long_copy);
    int64_t ns = saves(&x, (struct edit){.kind = &edit_pin}); /* 9 GB at 6, then at about 22 GB/s */
    ck_assert_int_gt(ns, US(900));
    ck_assert_int_lt(ns, US(1600));
}

/* batch.to(device) and its labels behind the last step's work, each with a wait right behind it;
 * then slow launches, for which the GPU idles. */
static void fill_to_device(struct builder *b, int64_t at)
{
    build_meta(b, "exe", "/usr/bin/python3");
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 3 << 20, at, US(2000),
               at + US(1500), US(480));
    build_sync(b, at + US(2002), US(10));
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 256, at + US(2020), US(20),
               at + US(2030), US(2));
    build_sync(b, at + US(2042), US(6));
    for (int i = 0; i < 10; i++)
        build_kernel(b, "k", at + US(2100 + 300 * i), at + US(2110 + 300 * i),
                     i < 9 ? US(100) : US(6690));
}

TEST(pinned_copies_that_do_not_block_let_the_host_run_ahead)
{
    struct bench x = bench_start(MS(10), fill_to_device);
    ck_assert_int_gt(saves(&x, (struct edit){.kind = &edit_pin}), US(1500));
}

TEST(not_waiting_for_a_gpu_that_is_far_behind_saves_nothing)
{
    struct bench x = bench_start(MS(8) + US(100), fill_gpu_bound);
    ck_assert_int_le(saves(&x, (struct edit){.kind = &edit_unsync}), US(120));
}

TEST(not_waiting_hides_what_the_host_does_next)
{
    struct bench x = bench_start(MS(10), fill_gpu_bound); /* 2 ms of host work behind the wait */
    int64_t ns = saves(&x, (struct edit){.kind = &edit_unsync});
    ck_assert_int_gt(ns, MS(1.9));
    ck_assert_int_lt(ns, MS(2.1));
}

static void fill_inline_batch(struct builder *b, int64_t at)
{
    build_range(b, "data.decode", at, at + MS(6));
    build_kernel(b, "k", at + MS(6), at + MS(6) + US(10), MS(4) - US(40));
    build_sync(b, at + MS(6) + US(10), MS(4) - US(30));
}

TEST(workers_take_decoding_off_the_step_until_they_are_the_slowest)
{
    struct bench x = bench_start(MS(10), fill_inline_batch);
    int64_t one = saves(&x, (struct edit){.kind = &edit_workers, .workers.count = 1});
    int64_t four = saves(&x, (struct edit){.kind = &edit_workers, .workers.count = 4});
    ck_assert_int_lt(one, MS(4.1)); /* a batch still takes 6 ms */
    ck_assert_int_gt(one, MS(3));
    ck_assert_int_gt(four, MS(5.8));
    ck_assert_int_lt(four, MS(6.1));
}

/* A batch takes 6 ms of CPU: two cores make one in 3 ms, whatever the number of workers, less what
 * the training thread needs for itself. */
TEST(more_workers_than_cores_are_no_faster_than_the_cores)
{
    struct bench x = bench_start(MS(10), fill_inline_batch);
    x.b.a->own->host.usable_cores = 2;
    struct edit edit = {.kind = &edit_workers, .workers.count = 4};
    struct draw idle = {{0.5, 0, 0.5}}; /* waits for the GPU without spinning */
    plan_reset(&x.plan, x.g);
    for (size_t i = 0; i < x.g->count; i++)
        if (x.g->tasks[i].kind == TASK_KERNEL)
            x.plan.dur[i] = 0; /* so that loading sets the pace */
    edit_apply(&edit, x.g, &x.plan, &idle);
    int64_t ns = replay_settle(&x.r, x.g, &x.plan);
    ck_assert_int_gt(ns, MS(2.9));
    ck_assert_int_lt(ns, MS(3.6)); /* 12 ms for four at a time, over few steps */
    x.plan.pool.cores = 8;
    ck_assert_int_lt(replay_settle(&x.r, x.g, &x.plan), MS(2));
    x.b.a->own->host.usable_cores = 8;
    struct draw taken = {{0.5, 0, 1}}; /* the others have their cores again */
    edit.workers.cores = 2;
    edit_apply(&edit, x.g, &x.plan, &taken);
    ck_assert_double_eq(x.plan.pool.cores, 2);
    edit_apply(&edit, x.g, &x.plan, &(struct draw){{0.5, 0, 0}});
    ck_assert_double_eq(x.plan.pool.cores, 8);
}

TEST(a_graph_saves_the_launches_of_a_host_bound_step_only)
{
    struct bench x = bench_start(MS(5), fill_host_bound);
    ck_assert_int_gt(saves(&x, (struct edit){.kind = &edit_graph}), MS(3));
    x = bench_start(MS(10), fill_gpu_bound);
    ck_assert_int_le(saves(&x, (struct edit){.kind = &edit_graph}), US(100));
}

static bool any(const struct facts *f, uint32_t op)
{
    return f->tl->op_count > op;
}

/* Kernels follow one another at once, but for the last, and nothing says what that waits for. */
static void fill_unexplained(struct builder *b, int64_t at)
{
    for (int i = 0; i < 8; i++)
        build_kernel(b, "k", at + US(10 * i), at + US(10) + MS(i) + (i == 7 ? MS(2) : 0), MS(1));
    build_sync(b, at + US(100), MS(10) - US(80));
}

/* Nobody knows whether it would end sooner if what comes before it did. */
TEST(what_nothing_explains_widens_what_lies_before_it)
{
    struct bench x = bench_start(MS(11), fill_unexplained);
    const struct whatif *w = &x.b.a->whatif;
    ck_assert_double_gt(w->unexplained_pct, 17); /* 2 of 11 ms */
    ck_assert_double_lt(w->unexplained_pct, 19);
    ck_assert(w->trusted);
    ck_assert_ptr_nonnull(strstr(w->wider, "is unexplained"));
    struct span_ns s =
        bench_span(&x, (struct edit){.kind = &edit_scale, .at.ops = any, .scale = {0.5, 0.5}});
    ck_assert_int_lt(s.low_ns, US(700)); /* the last kernel alone, behind what nothing explains */
    ck_assert_int_gt(s.high_ns, MS(3.9));
}

static const struct outcome *said_of(const struct bench *x, const char *rule)
{
    for (size_t i = 0; i < x->b.a->outcome_count; i++)
        if (strcmp(x->b.a->outcomes[i].rule->id, rule) == 0)
            return &x->b.a->outcomes[i];
    return NULL;
}

/* A batch of 4 ms is made in line behind a hundred launches, for which the GPU waits 1.5 ms in all:
 * were the launches one, it could be made behind the GPU. That is inferred; the 1.5 ms are not. */
static void fill_launches_and_batch(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++)
        build_kernel(b, "k", at + US(50 * i), at + US(50 * i) + US(10), US(35));
    build_range(b, "data.decode", at + MS(5.1), at + MS(9.1));
    build_sync(b, at + MS(9.12), US(5));
}

TEST(what_a_graph_is_sure_to_save_is_the_wait_for_launches)
{
    struct bench x = bench_start(MS(9.2), fill_launches_and_batch);
    const struct outcome *o = said_of(&x, "cuda-graphs");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_int_gt(o->saves_mid_ns, MS(3));
    ck_assert_int_le(o->saves_low_ns, x.b.a->facts->breakdown_ns[PART_IDLE_LAUNCH]);
    ck_assert_int_gt(o->saves_low_ns + o->ledger_low_ns, MS(1));
}

static void fill_both_kinds_of_copies(struct builder *b, int64_t at)
{
    fill_copy(b, at, MS(1.5));
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 2 << 20, at + MS(9.7), US(4),
               at + MS(9.71), US(200));
}

TEST(pinning_is_a_matter_of_dependencies_where_the_rate_was_seen)
{
    struct bench x = bench_start(MS(10), fill_long_copy);
    ck_assert_int_eq(said_of(&x, "pin-memory")->verdict, RULE_FIRES);
    ck_assert_int_eq(said_of(&x, "pin-memory")->error_class, ERROR_KERNEL_MODEL);
    x = bench_start(MS(10), fill_both_kinds_of_copies);
    ck_assert_int_eq(said_of(&x, "pin-memory")->verdict, RULE_FIRES);
    ck_assert_int_eq(said_of(&x, "pin-memory")->error_class, ERROR_STRUCTURAL);
}
