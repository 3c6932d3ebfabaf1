/* Steps without marks: a warm-up, a single pass or missing launches must not hide steps or invent
 * them. */
#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

enum { KERNELS = 12 };

/* A batch, `kernels` kernels of `length_ns` launched every 100 us, and the loss that the host
 * reads. Returns when the host is done with it. */
static int64_t batch(struct builder *b, int64_t at, int64_t length_ns)
{
    char name[32];
    build_copy(b, 1, 1, 2, true, 1 << 20, at, US(10), at + US(20), US(50));
    for (int k = 0; k < KERNELS; k++) {
        int64_t call = at + US(100 + 100 * k);
        snprintf(name, sizeof name, "kernel_%c", 'a' + k);
        build_kernel(b, name, call, call + US(8), length_ns);
    }
    return at + US(1500);
}

/* What is done behind each layer that goes to the GPU. */
enum behind { NOTHING, ZEROES, KERNEL };

/* The weights and bias of 40 layers go to the GPU. */
static int steps_of_moved_layers(enum behind each)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < 40; i++, at += MS(1)) {
        build_copy(&b, 1, 1, 2, true, 1 << 20, at, US(200), at + US(20), US(150));
        build_copy(&b, 1, 1, 2, true, 1024, at + US(300), US(20), at + US(310), US(5));
        if (each == ZEROES)
            build_memset(&b, 1 << 20, at + US(400), at + US(410), US(50));
        if (each == KERNEL)
            build_kernel(&b, "scale", at + US(400), at + US(410), US(50));
    }
    for (int i = 0; i < 40 && each == NOTHING; i++) /* one pass */
        build_kernel(&b, "gemm", at + US(20 * i), at + US(20 * i + 8), US(10));
    int source = build_analyze(&b)->facts->steps.source;
    return source;
}

TEST(a_model_that_moves_is_no_loop)
{
    ck_assert_int_ne(steps_of_moved_layers(NOTHING), STEPS_DETECTED);
    ck_assert_int_ne(steps_of_moved_layers(ZEROES), STEPS_DETECTED);
    ck_assert_int_eq(steps_of_moved_layers(KERNEL), STEPS_DETECTED);
}

/* The first batch takes four seconds: libraries load, cuDNN tries its algorithms. */
TEST(steps_behind_a_long_warm_up_are_found)
{
    struct builder b = build_start();
    int64_t at = batch(&b, MS(1), US(60));
    for (int i = 0; i < 40; i++)
        build_kernel(&b, "try_algorithm", MS(3000) + US(50 * i), MS(3000) + US(50 * i + 8), US(30));
    at = MS(4000);
    for (int i = 0; i < 7; i++)
        at = batch(&b, at, US(60));
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    ck_assert_int_eq(s->median_ns, US(1500));
}

/* Layers that each copy something to the host are few and uneven, and take next to nothing of the time
 * that the start-up before them took. */
TEST(layers_with_copies_behind_a_long_warm_up_are_no_steps)
{
    struct builder b = build_start();
    char name[32];
    int64_t at = MS(4000);
    build_kernel(&b, "first", MS(1), MS(1) + US(8), US(30));
    for (int i = 0; i < 7; i++)
        at = batch(&b, at, US(20)) + MS(i % 3);
    for (int i = 0; i < 60; i++, at += US(50)) {
        snprintf(name, sizeof name, "other_%d", i);
        build_kernel(&b, name, at, at + US(8), US(45));
    }
    ck_assert_int_ne(build_analyze(&b)->facts->steps.source, STEPS_DETECTED);
}

/* A compiler tries kernels of many kinds for most of the GPU's time, then `steps` short steps.
 * `early`: the first operation of the loop ran once before the trials, of which a few kinds are
 * more frequent than the steps. */
static struct detected_steps {
    int source;
    size_t used;
} behind_trials(int steps, bool early)
{
    struct builder b = build_start();
    char name[32];
    int64_t at = MS(1);
    if (early)
        build_kernel(&b, "loop_fusion_0", US(100), US(108), US(30));
    for (int i = 0; i < 400; i++, at += MS(3)) {
        snprintf(name, sizeof name, "gemm_trial_%d", early && i % 2 ? i % 4 : i * i % 97);
        build_kernel(&b, name, at, at + US(8), MS(2));
    }
    at += MS(50);
    for (int i = 0; i < steps; i++, at += US(1500))
        for (int k = 0; k < KERNELS; k++) {
            snprintf(name, sizeof name, "loop_fusion_%d", k);
            build_kernel(&b, name, at + US(100 * k), at + US(100 * k + 8), US(30));
        }
    const struct steps *s = &build_analyze(&b)->facts->steps;
    struct detected_steps found = {s->source, s->used};
    return found;
}

TEST(steps_behind_a_warm_up_that_did_more_are_found)
{
    for (int early = 0; early < 2; early++) {
        struct detected_steps many = behind_trials(80, early), few = behind_trials(20, early);
        ck_assert_int_eq(many.source, STEPS_DETECTED);
        ck_assert_uint_ge(many.used, 70);
        ck_assert_int_eq(few.source, STEPS_NONE); /* may be the layers of a model */
    }
}

/* Two threads launch the same step for two devices, now the one first, now the other, kernel by
 * kernel: the steps are those of the device that works more. */
TEST(steps_of_two_devices_in_one_process_are_found)
{
    struct builder b = build_start();
    struct row_device second = build_a100(&b);
    char name[32];
    second.id = 2;
    second.ordinal = 1;
    build_put(&b, ROW_DEVICE, &second);
    build_thread(&b, 2, "other");
    build_stream(&b, 2, 2);
    unsigned chance = 1;
    for (int i = 0; i < 60; i++) {
        int64_t at[2] = {MS(1) + MS(3) * i, MS(1) + MS(3) * i};
        for (int left[2] = {KERNELS, KERNELS}; left[0] + left[1] > 0;) {
            chance = chance * 1103515245 + 12345;
            int d = left[0] == 0 || (left[1] > 0 && (chance >> 16) % 2);
            int64_t call = at[0] > at[1] ? at[0] : at[1];
            b.thread = b.stream = d + 1;
            snprintf(name, sizeof name, "kernel_%c", 'a' + KERNELS - left[d]--);
            build_kernel(&b, name, call, call + US(8), US(d ? 30 : 60));
            at[d] = call + US(70);
        }
    }
    b.thread = b.stream = 1;
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    ck_assert_uint_ge(s->count, 58);
    ck_assert_uint_le(s->count, 60);
}

/* Nothing was recorded before the first step, so nobody knows how long it is; what the host did in
 * it for 30 ms is not what the others wait for. */
TEST(a_first_step_of_unknown_length_is_no_part_of_the_others)
{
    struct builder b = build_start();
    int64_t at = batch(&b, MS(1), US(60)) + MS(30);
    for (int i = 0; i < 8; i++)
        at = batch(&b, at, US(60));
    const struct facts *f = build_analyze(&b)->facts;
    ck_assert_int_eq(f->step_ns, US(1500));
    ck_assert_uint_eq(f->steps.at[0].used, 0);
    ck_assert_int_eq(f->breakdown_ns[PART_COMPUTE], KERNELS * US(60));
}

/* `once` kernels before and behind eight equal layers. */
static int layers(int once)
{
    struct builder b = build_start();
    char name[32];
    int64_t at = MS(1);
    for (int half = 0; half < 2; half++) {
        for (int k = 0; k < once; k++, at += US(20)) {
            snprintf(name, sizeof name, "embed_%d_%d", half, k);
            build_kernel(&b, name, at, at + US(8), US(10));
        }
        for (int k = 0; half == 0 && k < 8 * 10; k++, at += US(20)) {
            snprintf(name, sizeof name, "layer_kernel_%d", k % 10);
            build_kernel(&b, name, at, at + US(8), US(10));
        }
    }
    int source = build_analyze(&b)->facts->steps.source;
    return source;
}

TEST(layers_of_one_pass_are_no_steps)
{
    ck_assert_int_eq(layers(25), STEPS_NONE);    /* a model: much comes once */
    ck_assert_int_eq(layers(2), STEPS_DETECTED); /* a loop without batches: little does */
}

/* Somebody cut the trace down: of most work the launch is gone, and what was launched at the end of
 * the first step was not all launched before the recording. */
TEST(a_trace_with_few_launches_has_its_steps)
{
    struct builder b = build_start();
    for (int i = 0; i < 2; i++) {
        int64_t at = MS(1 + 100 * i);
        build_range(&b, "step", at, at + MS(100) - US(5));
        for (int k = 0; k < 6; k++)
            build_kernel_of(&b, "unlaunched", 90000 + 10 * i + k, at + MS(1 + 15 * k), MS(3), 64);
        build_kernel(&b, "launched", at + MS(95), at + MS(96), MS(1));
        build_kernel_of(&b, "behind", 90008 + 10 * i, at + MS(98), MS(1), 64);
    }
    const struct advice *a = build_analyze(&b);
    ck_assert_ptr_null(a->facts->contradiction);
    ck_assert_int_ge(a->facts->step_ns, MS(95));
    ck_assert_int_le(a->facts->step_ns, MS(105));
}

/* The data come before the loop in twenty copies, and the weights go behind it. */
TEST(copies_around_the_loop_do_not_make_its_steps_doubtful)
{
    enum { COPIES = 20, STEPS = 200 };
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < COPIES; i++, at += US(50))
        build_copy(&b, 1, 1, 2, true, 1 << 22, at, US(10), at + US(20), US(20));
    for (int i = 0; i < STEPS; i++)
        at = batch(&b, at, US(60));
    for (int i = 0; i < COPIES; i++, at += US(50))
        build_copy(&b, 2, 2, 1, true, 1 << 21, at, US(10), at + US(20), US(20));
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    ck_assert_uint_eq(s->count, STEPS - 1);
    ck_assert_ptr_null(s->doubt);
}

/* An agent plays between updates, and that takes most of the time. */
TEST(other_work_that_takes_most_of_the_time_is_told)
{
    for (int plays = 0; plays < 2; plays++) {
        struct builder b = build_start();
        int64_t at = MS(1);
        for (int i = 0; i < 24; i++) {
            int64_t start = at;
            for (int k = 0; plays && i % 8 == 7 && k < 60; k++, at += US(200))
                build_kernel(&b, "play_kernel", at, at + US(10), US(50));
            for (int k = 0; k < 12; k++, at += US(100))
                build_kernel(&b, "gemm", at, at + US(10), US(80));
            build_range_at(&b, "step", 0, start, at);
        }
        const struct advice *a = build_analyze(&b);
        const struct facts *f = a->facts;
        ck_assert(!f->steps.recurs && f->steps.used >= 18);
        if (plays) {
            ck_assert_uint_ge(f->other_steps, 2);
            ck_assert_int_gt(f->other_ns, MS(12));
            ck_assert_ptr_nonnull(strstr(a->why, "steps behind the first two contain other work"));
        } else {
            ck_assert_ptr_null(f->other_text);
        }
    }
}

/* The data are made by a kernel that takes longer than all steps; each of them has its update. */
TEST(what_comes_before_the_loop_does_not_make_updates_doubtful)
{
    struct builder b = build_start();
    int64_t at = MS(300);
    build_kernel(&b, "initialize_data", MS(1), MS(2), MS(250));
    for (int i = 0; i < 100; i++, at += US(400)) {
        build_kernel(&b, "forward", at, at + US(10), US(90));
        build_kernel(&b, "backward", at + US(100), at + US(110), US(90));
        build_kernel(&b, "sgd_update_weights", at + US(200), at + US(210), US(10));
    }
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    ck_assert_uint_ge(s->count, 98);
    ck_assert_double_ge(s->confidence, 0.9);
    ck_assert_ptr_null(s->doubt);
}

/* Two buffers to the GPU, a kernel, and both back: three kinds of operations in all. */
static const struct steps *few_kinds(struct builder *b, int n, bool computes)
{
    int64_t at = MS(1);
    *b = build_start();
    for (int i = 0; i < n; i++, at += MS(4)) {
        for (int k = 0; k < 4; k++) {
            int64_t start = at + MS(0.7) * k + (k > 1) * US(600);
            build_copy(b, k < 2 ? COPY_H2D : COPY_D2H, MEMORY_PAGEABLE, MEMORY_DEVICE, false,
                       1 << 24, start, US(600), start + US(10), US(580));
        }
        if (computes)
            build_kernel(b, "solve", at + MS(1.4), at + MS(1.4) + US(10), US(500));
    }
    return &build_analyze(b)->facts->steps;
}

TEST(steps_of_few_kinds_of_operations_are_found)
{
    struct builder b;
    const struct steps *s = few_kinds(&b, 50, true);
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    ck_assert_uint_eq(s->count, 49);
    ck_assert_int_eq(s->median_ns, MS(4));
    ck_assert_int_eq(few_kinds(&b, 4, true)->source, STEPS_NONE);   /* may be chance */
    ck_assert_int_eq(few_kinds(&b, 50, false)->source, STEPS_NONE); /* copies alone */
}

/* A simulation: forces, then positions, and so on. */
static int alternating(int n)
{
    struct builder b = build_start();
    for (int i = 0; i < n; i++) {
        build_kernel(&b, "forces", MS(1) + US(100) * i, MS(1) + US(100 * i + 10), US(40));
        build_kernel(&b, "positions", MS(1) + US(100 * i + 20), MS(1) + US(100 * i + 52), US(40));
    }
    const struct steps *s = &build_analyze(&b)->facts->steps;
    int found = s->source == STEPS_DETECTED ? (int)s->count : 0;
    return found;
}

TEST(many_repeats_of_two_kernels_are_steps)
{
    ck_assert_int_eq(alternating(400), 399);
    ck_assert_int_eq(alternating(30), 0); /* as many layers may a model have */
}

static void migration(struct builder *b, int64_t at)
{
    struct row_copy r = {.id = ++b->next_id,
                         .process = 1,
                         .stream = b->stream,
                         .start_ns = at,
                         .end_ns = at + US(20),
                         .kind = COPY_D2H,
                         .src_kind = MEMORY_MANAGED,
                         .dst_kind = MEMORY_MANAGED,
                         .bytes = 4096,
                         .is_async = -1,
                         .peer_device = -1};
    build_put(b, ROW_COPY, &r);
}

/* One kernel on managed memory, and a wait for it; then the host reads the result, page by page: no
 * step does that, and no wait less would help. */
TEST(migrations_of_managed_memory_are_no_steps)
{
    struct builder b = build_start();
    build_kernel(&b, "add", MS(1), MS(2), MS(100));
    build_sync(&b, MS(3), MS(99));
    for (int i = 0; i < 300; i++)
        for (int k = 0; k < 3; k++)
            migration(&b, MS(110) + MS(1) * i + US(30 * k));
    build_api(&b, "cudaFree", MS(500), US(10));
    const struct facts *f = build_analyze(&b)->facts;
    ck_assert_int_eq(f->steps.source, STEPS_NONE);
    ck_assert_int_ge(f->breakdown_ns[PART_IDLE_HOST], MS(200));
    ck_assert_int_le(f->breakdown_ns[PART_IDLE_SYNC], MS(1));
    ck_assert_int_le(f->breakdown_ns[PART_UNEXPLAINED], MS(1));
}
