/* Steps: found by marks or by repetition, and which of them count. */
#include "tests/unit/test.h"
#include "tests/unit/build_timeline.h"

/* One training step: `layers` kernels forward, as many backward, one loss, one optimizer kernel.
 * The host launches every 20 us, the GPU follows at once. Returns the host time at its end. */
static int64_t train_step(struct builder *b, int64_t at, int layers, int64_t kernel_ns, int extra)
{
    char name[32];
    int64_t gpu = at + US(10);
    for (int i = 0; i < 2 * layers + 2 + extra; i++) {
        if (i < layers)
            snprintf(name, sizeof name, "fwd_%d", i % 3); /* layers repeat */
        else if (i == layers)
            snprintf(name, sizeof name, "loss_kernel");
        else if (i <= 2 * layers)
            snprintf(name, sizeof name, "bwd_%d", i % 3);
        else if (i == 2 * layers + 1)
            snprintf(name, sizeof name, "sgd_kernel");
        else
            snprintf(name, sizeof name, "autotune_%d", i % 7);
        if (gpu < at + US(8))
            gpu = at + US(8);
        build_kernel(b, name, at, gpu, kernel_ns);
        gpu += kernel_ns + US(1);
        at += US(20);
    }
    /* rare operations, once a step, as in any real one */
    build_kernel(b, "first_conv", at, gpu, kernel_ns);
    build_kernel(b, "last_fc", at + US(20), gpu + kernel_ns + US(1), kernel_ns);
    build_kernel(b, "zero_grad", at + US(40), gpu + 2 * (kernel_ns + US(1)), kernel_ns);
    return at + US(60);
}

static void train(struct builder *b, int steps, bool marked)
{
    int64_t at = MS(1);
    for (int i = 0; i < steps; i++) {
        int64_t start = at, wait = i == 0 ? MS(30) : US(500 + 7 * (i * 37 % 11));
        at = train_step(b, at + wait, 12, US(10), i == 0 ? 20 : 0);
        if (marked)
            build_range(b, "step", start, at - US(5));
    }
}

TEST(marks_become_steps_from_start_to_start)
{
    struct builder b = build_start();
    train(&b, 12, true);
    struct advice *a = build_analyze(&b);
    const struct steps *s = &a->facts->steps;
    ck_assert_int_eq(s->source, STEPS_NVTX);
    ck_assert_uint_eq(s->count, 12);
    ck_assert_uint_eq(s->at[0].used, 0); /* warm-up */
    ck_assert_uint_eq(s->used, 11);
    ck_assert_int_eq(s->at[1].start_ns, s->at[0].end_ns);
    ck_assert_double_eq(s->confidence, 1);
    ck_assert_int_ge(s->median_ns, US(1080));
    ck_assert_int_le(s->median_ns, US(1180));
    ck_assert_int_le(s->min_ns, s->median_ns);
    ck_assert_int_le(s->median_ns, s->p95_ns);
    ck_assert_int_le(s->p95_ns, s->max_ns);
    ck_assert_uint_eq(s->at[3].ops, 29);
}

TEST(replays_after_the_last_optimizer_step_are_the_steps)
{
    static const struct {
        int replays;
        bool graphs;
        int source;
    } cases[] = {{3, true, STEPS_FRAMEWORK},
                 {20, true, STEPS_DETECTED},
                 {20, false, STEPS_FRAMEWORK}}; /* samples are drawn behind the training */
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct builder b = build_start();
        int64_t at = MS(1);
        for (int i = 0; i < 4 + cases[k].replays; i++) {
            int64_t start = at;
            at = train_step(&b, at + US(500 + 7 * (i * 37 % 11)), 12, US(10), 0);
            if (i < 4)
                build_range(&b, "gpuprof.step", start, at - US(5));
            else if (cases[k].graphs)
                build_api(&b, "cudaGraphLaunch", start + US(1), US(5));
        }
        const struct steps *s = &build_analyze(&b)->facts->steps;
        ck_assert_int_eq(s->source, cases[k].source);
        ck_assert_uint_ge(s->count, cases[k].source == STEPS_DETECTED ? 20 : 4);
    }
}

TEST(steps_while_queues_fill_do_not_count)
{
    struct builder b = build_start();
    int64_t at = 0;
    for (int i = 0; i < 20; i++) {
        static const double first[] = {30, 2, 8, 8.8, 10.1};
        int64_t length = i < 5 ? MS(first[i]) : MS(10) + US(i * 31 % 100);
        build_range(&b, "step", at, at + length);
        build_kernel(&b, "k", at, at + US(10), MS(1));
        at += length;
    }
    const struct steps *s = &build_analyze(&b)->facts->steps;
    for (size_t i = 0; i < s->count; i++)
        ck_assert_uint_eq(s->at[i].used, i >= 5); /* the GPU waits in the step behind */
}

TEST(repetition_finds_the_same_steps_without_marks)
{
    struct builder marked = build_start(), bare = build_start();
    train(&marked, 20, true);
    train(&bare, 20, false);
    const struct steps *m = &build_analyze(&marked)->facts->steps,
                       *d = &build_analyze(&bare)->facts->steps;
    ck_assert_int_eq(d->source, STEPS_DETECTED);
    double ratio = (double)d->median_ns / (double)m->median_ns;
    ck_assert_double_gt(ratio, 0.98);
    ck_assert_double_lt(ratio, 1.02);
    ratio = (double)m->detected_median_ns / (double)m->median_ns; /* the cross-check beside marks */
    ck_assert_double_gt(ratio, 0.98);
    ck_assert_double_lt(ratio, 1.02);
    ck_assert_double_gt(d->confidence, 0.8);
    ck_assert_ptr_nonnull(strstr(d->source_text, "detected"));
}

TEST(evaluation_in_between_is_not_a_step_that_counts)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < 16; i++) {
        at = train_step(&b, at + US(300), 12, US(10), 0);
        if (i == 7)
            for (int k = 0; k < 60; k++, at += US(100))
                build_kernel(&b, "eval_kernel", at, at + US(10), US(50));
    }
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    size_t out = 0;
    for (size_t i = 1; i < s->count; i++)
        out += !s->at[i].used;
    ck_assert_uint_eq(out, 1);
    ck_assert_int_le(s->max_ns, MS(2));
}

TEST(kernels_before_the_first_mark_and_a_cut_last_step_stay_out)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    at = train_step(&b, at, 12, US(10), 0); /* launched before recording of marks began */
    for (int i = 0; i < 5; i++) {
        char name[32];
        int64_t start = at;
        snprintf(name, sizeof name, "ProfilerStep#%d", 7 + i);
        at = i < 4 ? train_step(&b, at, 12, US(10), 0) : at + US(40);
        build_range_at(&b, name, 0, start, at);
    }
    const struct advice *a = build_analyze(&b);
    ck_assert_int_eq(a->facts->steps.source, STEPS_FRAMEWORK);
    ck_assert_uint_eq(a->facts->steps.count, 5);
    ck_assert_uint_eq(a->facts->steps.at[4].used, 0);
    ck_assert_uint_eq(a->facts->steps.used, 3); /* nor does it show where the first one begins */
    ck_assert_uint_eq(a->facts->steps.op_step[0], TL_NONE);
    ck_assert_uint_eq(a->facts->steps.at[0].ops, 29);
}

TEST(an_operation_belongs_to_the_step_that_launched_it)
{
    struct builder b = build_start();
    for (int i = 0; i < 4; i++) {
        build_range(&b, "step", MS(i), MS(i + 1));
        build_kernel(&b, "k", MS(i) + US(900), MS(i + 1) + US(100), US(50)); /* runs in the next */
    }
    const struct advice *a = build_analyze(&b);
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(a->facts->steps.op_step[i], i);
    ck_assert_int_eq(a->facts->steps.at[1].from_ns, MS(1) + US(150)); /* until it ends */
    ck_assert_int_eq(a->facts->steps.at[1].to_ns, MS(2) + US(150));
    ck_assert_int_eq(a->facts->steps.at[1].length_ns, MS(1));
}

/* The host is done with a step after 2 ms, the GPU after 20. */
TEST(where_the_host_runs_ahead_a_step_takes_what_the_gpu_takes)
{
    struct builder b = build_start();
    for (int i = 0; i < 6; i++) {
        build_range(&b, "step", MS(2 * i), MS(2 * i + 2));
        build_kernel(&b, "volta_sgemm_128x64_nn", MS(2 * i) + US(10), MS(1 + 20 * i), MS(19));
    }
    const struct facts *f = build_analyze(&b)->facts;
    ck_assert_int_eq(f->steps.median_ns, MS(20));
    ck_assert_int_eq(f->step_ns, MS(20));
    ck_assert_uint_eq(f->steps.used, 5);
    ck_assert_int_le(f->breakdown_ns[PART_COMPUTE], MS(20));
    ck_assert_int_ge(f->breakdown_ns[PART_COMPUTE], MS(19));
    ck_assert_ptr_null(f->contradiction);
}

/* A pause of a second, once: those that wait are still told from the others. */
TEST(one_pause_does_not_hide_long_steps_that_recur)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < 20; i++) {
        int64_t start = at, wait = i == 10 ? MS(1000) : i % 4 == 3 ? MS(90) : US(100);
        build_range_at(&b, "DataLoader.__next__", 1, at, at + wait);
        build_kernel(&b, "k", at + wait + US(10), at + wait + US(20), MS(9));
        at += wait + MS(10);
        build_range_at(&b, "step", 0, start, at);
    }
    const struct facts *f = build_analyze(&b)->facts;
    ck_assert(f->steps.recurs);
    ck_assert_uint_eq(f->steps.slow, 6);
}

/* Every fourth step waits for its batch. */
TEST(long_steps_that_recur_are_told_with_their_cause)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < 20; i++) {
        int64_t start = at, wait = i % 4 == 3 ? MS(90) : US(100);
        build_range_at(&b, "DataLoader.__next__", 1, at, at + wait);
        build_kernel(&b, "k", at + wait + US(10), at + wait + US(20), MS(9));
        at += wait + MS(10);
        build_range_at(&b, "step", 0, start, at);
    }
    const struct facts *f = build_analyze(&b)->facts;
    ck_assert(f->steps.recurs && f->steps.slow == 5 && f->steps.used == 19);
    ck_assert_int_eq(f->step_ns, f->steps.pace_ns);
    ck_assert_int_lt(f->steps.median_ns, MS(11));
    ck_assert_int_gt(f->step_ns, MS(30));
    ck_assert_int_eq(f->long_part, PART_IDLE_INPUT);
    ck_assert_int_gt(f->long_extra_ns, MS(89));
    ck_assert_ptr_nonnull(strstr(f->long_text, "5 of 19 steps"));
}

TEST(nested_marks_choose_the_outer_one)
{
    struct builder b = build_start();
    for (int i = 0; i < 6; i++) {
        build_range_at(&b, "Iteration", 0, MS(10 * i), MS(10 * i + 10));
        for (int k = 0; k < 5; k++) {
            build_range_at(&b, "batch", 1, MS(10 * i + 2 * k), MS(10 * i + 2 * k + 2));
            build_kernel(&b, "k", MS(10 * i + 2 * k), MS(10 * i + 2 * k) + US(10), MS(1));
        }
    }
    const struct advice *a = build_analyze(&b);
    ck_assert_uint_eq(a->facts->steps.count, 6);
    ck_assert_int_eq(a->facts->steps.median_ns, MS(10));
}

/* The host is ten steps ahead when the recording begins: what the GPU does first was launched
 * before it, and is in the GPU's time where all else is in the host's. */
TEST(work_launched_before_the_recording_does_not_halve_the_step)
{
    enum { STEPS = 20, AHEAD = 10, KERNELS = 12 };
    struct builder b = build_start();
    char name[32];
    for (int i = 0; i < STEPS; i++)
        for (int k = 0; k < KERNELS; k++) {
            int64_t start = MS(10 * i) + US(800 * k) + US(3);
            int64_t correlation = 100000 + i * KERNELS + k;
            if (i >= AHEAD)
                correlation = build_api(&b, "cudaLaunchKernel",
                                        MS(10 * (i - AHEAD)) + US(500 * k) + MS(3), US(8));
            snprintf(name, sizeof name, "kernel_%c", 'a' + k);
            build_kernel_of(&b, name, correlation, start, US(790), 64);
        }
    const struct steps *s = &build_analyze(&b)->facts->steps;
    ck_assert_int_eq(s->source, STEPS_DETECTED);
    ck_assert_int_eq(s->median_ns, MS(10));
    ck_assert_uint_ge(s->count, STEPS - AHEAD - 2);
    ck_assert_uint_le(s->count, STEPS - AHEAD);
    ck_assert_uint_eq(s->slow, 0);
}

/* A kernel every `pause`, until the layers and what a pass has beside them are done. */
static int64_t forward_pass(struct builder *b, int64_t at, int64_t pause)
{
    static const char *const once[] = {"embed", "final_norm", "vocabulary_product"};
    static const char *const layer[] = {"scores", "scale", "exponent", "sum", "divide", "values"};
    for (int k = 0; k < 3; k++, at += pause)
        build_kernel(b, once[k], at, at + US(8), US(6));
    for (int k = 0; k < 12 * 6; k++, at += pause)
        build_kernel(b, layer[k % 6], at, at + US(8), US(6));
    return at;
}

/* Five passes, of which the first takes most of the time: how many segments are found. */
static size_t passes_found(bool timed)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < 5; i++, at += US(50)) {
        at = forward_pass(&b, at, i == 0 ? MS(8) : US(400));
        if (timed)
            build_api(&b, "cudaDeviceSynchronize", at - US(300), US(250));
    }
    size_t found = build_analyze(&b)->facts->steps.count;
    return found;
}

/* Twenty passes with what a layer has: whether the answer doubts that they are steps. */
static bool may_be_layers(bool timed)
{
    struct builder b = build_start();
    int64_t at = MS(1);
    for (int i = 0; i < 20; i++, at += MS(1)) {
        build_kernel(&b, "volta_sgemm_128x64_nn", at, at + US(8), US(100));
        build_kernel(&b, "vectorized_layer_norm_kernel", at + US(20), at + US(110), US(20));
        build_kernel(&b, "volta_sgemm_128x64_nt", at + US(40), at + US(140), US(100));
        if (timed)
            build_api(&b, "cudaDeviceSynchronize", at + US(60), US(200));
    }
    const char *doubt = build_analyze(&b)->facts->steps.doubt;
    bool told = doubt && strstr(doubt, "the layers of one pass");
    return told;
}

TEST(segments_with_a_wait_for_the_device_are_no_layers)
{
    ck_assert(may_be_layers(false));
    ck_assert(!may_be_layers(true));
}

TEST(passes_that_the_program_times_are_steps_and_not_their_layers)
{
    ck_assert_uint_eq(passes_found(true), 4);
    ck_assert_uint_ge(passes_found(false), 55);
}
