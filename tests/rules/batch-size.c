/* Cases of the rule batch-size: when it fires, when it is silent or suppressed, and when it cannot
 * tell. */
#include "tests/rules/gauges.h"
#include "tests/rules/stacks.h"
#include "tests/unit/rule_case.h"

static int64_t blocks;

static void fill_small_kernels(struct builder *b, int64_t at)
{
    for (int i = 0; i < 100; i++) {
        int64_t c = build_api(b, "cudaLaunchKernel", at + US(i), CALL_NS / 8);
        build_kernel_of(b, "ampere_bf16_s16816gemm_bf16_64x64_tn", c, at + US(20 + 98 * i), US(98),
                        blocks);
    }
}

TEST(test_batch_size)
{
    struct builder b;
    blocks = 27; /* of 108 multiprocessors */
    const struct advice *a = gauged(&b, fill_small_kernels, 1400, 0, (int64_t)9 << 30);
    const struct outcome *o = case_verdict(a, "batch-size", RULE_FIRES);
    ck_assert_ptr_nonnull(strstr(o->summary, "memory for 4 times"));
    ck_assert_ptr_null(strstr(o->summary, "saves")); /* the ranking says that */
    ck_assert_int_eq(o->error_class, ERROR_RERUN_DECIDES);
    case_said(o, CONDITION_ONLY_INFERS, true);

    a = gauged(&b, fill_small_kernels, 1400, 0, (int64_t)60 << 30);
    case_verdict(a, "batch-size", RULE_SUPPRESSED); /* no room */
    a = gauged(&b, fill_small_kernels, 0, 0, 0);
    case_verdict(a, "batch-size", RULE_CANNOT_TELL);
    blocks = 432;
    a = gauged(&b, fill_small_kernels, 1400, 0, (int64_t)9 << 30);
    case_verdict(a, "batch-size", RULE_SILENT);
}

static void fill_small_kernels_of_training(struct builder *b, int64_t at)
{
    fill_small_kernels(b, at);
    build_kernel_of(b, "layernorm_backward_kernel(float*)",
                    build_api(b, "cudaLaunchKernel", at + US(101), CALL_NS / 8), at + US(9850),
                    US(50), blocks);
}

/* Where kernels tell that the program learns, its learning rate goes with the batch. */
TEST(programs_that_train_scale_their_rate)
{
    struct builder b;
    blocks = 27;
    const struct advice *a = gauged(&b, fill_small_kernels_of_training, 1400, 0, (int64_t)9 << 30);
    case_said(case_outcome(a, "batch-size"), CONDITION_ONLY_INFERS, false);
    ck_assert(outcome_changes_training(case_outcome(a, "batch-size")));
}

static void fill_small_kernels_of_xla(struct builder *b, int64_t at)
{
    fill_small_kernels(b, at);
    build_kernel_of(b, "input_reduce_fusion",
                    build_api(b, "cudaLaunchKernel", at + US(101), CALL_NS / 8), at + US(9850),
                    US(50), blocks);
}

/* XLA reserves most of the memory when it starts: what is in use is no evidence. */
TEST(memory_that_xla_reserved)
{
    struct builder b;
    blocks = 27;
    const struct advice *a = gauged(&b, fill_small_kernels_of_xla, 1400, 0, (int64_t)60 << 30);
    case_verdict(a, "batch-size", RULE_CANNOT_TELL);
    ck_assert_ptr_nonnull(strstr(case_outcome(a, "batch-size")->why, "PREALLOCATE"));
}

/* Memory as PyTorch's profiler reports it, when it grows: in the first step, which does not count.
 */
TEST(memory_looked_at_before_the_steps_that_count)
{
    for (int amid = 0; amid < 2; amid++) {
        struct builder b = build_start();
        blocks = 27;
        if (amid)
            build_meta(&b, "source", "kineto");
        case_loop(&b, fill_small_kernels);
        sample(&b, MS(105), 1400, 0, (int64_t)9 << 30);
        const struct advice *a = build_analyze(&b);
        ck_assert_uint_eq(a->facts->steps.at[0].used, 0);
        case_verdict(a, "batch-size", amid ? RULE_FIRES : RULE_CANNOT_TELL);
    }
}

static void fill_small_kernels_and_batch(struct builder *b, int64_t at)
{
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 100000, at, US(1), at + US(2),
               US(10));
    fill_small_kernels(b, at + US(20));
}

/* A program of PyTorch's that has no DataLoader has no batch_size to raise there. */
TEST(batches_of_its_own)
{
    for (int loader = 0; loader < 2; loader++) {
        struct builder b = build_start();
        blocks = 27;
        build_meta(&b, "torch.settings", "num_workers");
        if (loader)
            build_meta(&b, "torch.loader", "DataLoader(num_workers=2)");
        case_loop(&b, fill_small_kernels_and_batch);
        for (int i = 0; i < CASE_STEPS; i++)
            sample(&b, MS(100) + MS(10) * i, 1400, 0, (int64_t)9 << 30);
        const struct outcome *o = case_outcome(build_analyze(&b), "batch-size");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        ck_assert_int_eq(o->remedy.conditions[CONDITION_NO_LOADER], !loader);
        ck_assert(!outcome_changes_training(o)); /* it only infers, so nothing is learnt */
    }
}

/* A launch each 200 us for kernels of 20 us that fill the GPU, under PyTorch; nothing trains. */
static void fill_calls_of_a_model(struct builder *b, int64_t at)
{
    for (int i = 0; i < 50; i++) {
        int64_t c = build_api(b, "cudaLaunchKernel", at + US(200 * i), CALL_NS);
        build_kernel_of(b, "ampere_bf16_s16816gemm_bf16_64x64_tn", c, at + US(200 * i + 8), US(20),
                        864);
    }
    build_range(b, "aten::linear", at, at + US(50));
}

TEST(full_kernels_of_a_forward_pass)
{
    struct builder b;
    const struct advice *a = gauged(&b, fill_calls_of_a_model, 1400, 0, (int64_t)9 << 30);
    const struct outcome *o = case_verdict(a, "batch-size", RULE_FIRES);
    ck_assert_ptr_null(strstr(o->summary, "too small"));
    ck_assert_ptr_nonnull(strstr(o->summary, "waits"));
    ck_assert(o->remedy.conditions[CONDITION_ONLY_INFERS]);
    ck_assert(o->remedy.conditions[CONDITION_NO_LOADER]);
}

/* 7 ms of one line of the program, then its batch is copied, and the model called. */
static int64_t makes_inputs;
static void fill_calls_behind_a_line(struct builder *b, int64_t at)
{
    for (int k = 0; k < 14 && makes_inputs; k++)
        look_at(b, makes_inputs, at + US(500 * k + 100));
    build_copy(b, COPY_H2D, MEMORY_PINNED, MEMORY_DEVICE, true, 1 << 20, at + MS(7), US(5),
               at + MS(7.1), US(100));
    for (int i = 0; i < 12; i++) {
        int64_t from = at + MS(7.3) + US(200 * i);
        int64_t c = build_api(b, "cudaLaunchKernel", from, CALL_NS);
        build_kernel_of(b, "ampere_bf16_s16816gemm_bf16_64x64_tn", c, from + US(8), US(20), 864);
    }
    build_range(b, "aten::linear", at + MS(7.3), at + MS(7.4));
}

TEST(a_line_that_makes_the_inputs)
{
    for (int known = 0; known < 2; known++) {
        struct builder b = build_start();
        makes_inputs = known ? stack_of(&b, "/home/me/rays.py", "rays", 13) : 0;
        build_meta(&b, "torch.version", "2.9.0");
        build_meta(&b, "torch.settings", "num_workers");
        case_loop(&b, fill_calls_behind_a_line);
        for (int i = 0; i < CASE_STEPS; i++)
            sample(&b, MS(105) + MS(10) * i, 1400, 0, (int64_t)9 << 30);
        case_verdict(build_analyze(&b), "batch-size", known ? RULE_SUPPRESSED : RULE_FIRES);
    }
}

static void fill_graph_layers(struct builder *b, int64_t at)
{
    fill_small_kernels(b, at);
    build_range(b, "aten::scatter_add_", at + US(1), at + US(5));
    build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, true, 4, at + MS(9.9), US(20),
               at + MS(9.91), US(2));
}

/* Nothing comes to the steps: a graph network's batch is the whole graph. */
TEST(steps_that_train_on_all_data)
{
    static const struct {
        bool hooked;
        case_fill *fill;
        enum verdict verdict;
    } of[] = {{true, fill_small_kernels, RULE_CANNOT_TELL},
              {true, fill_small_kernels_and_batch, RULE_FIRES},
              {false, fill_graph_layers, RULE_CANNOT_TELL},
              {false, fill_small_kernels, RULE_FIRES}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct builder b = build_start();
        blocks = 27;
        if (of[i].hooked)
            build_meta(&b, "torch.settings", "num_workers");
        case_loop(&b, of[i].fill);
        for (int k = 0; k < CASE_STEPS; k++)
            sample(&b, MS(105) + MS(10) * k, 1400, 0, (int64_t)9 << 30);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "batch-size", of[i].verdict);
        if (of[i].verdict != RULE_FIRES)
            ck_assert_ptr_nonnull(strstr(case_outcome(a, "batch-size")->why, "whole graph"));
    }
}

static int64_t read_bytes;
static enum { NEVER, MOSTLY, ALWAYS } evaluates; /* in two of three steps, in all */

/* An observation, its action (or a loss), and then a batch and its backward pass. */
static void fill_agent(struct builder *b, int64_t at)
{
    bool now = evaluates == ALWAYS || (evaluates == MOSTLY && at / MS(10) % 3);
    if (now)
        build_range(b, "validation", at, at + US(200));
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 16, at, US(5), at + US(1), US(2));
    if (now || evaluates == NEVER)
        build_copy(b, COPY_D2H, MEMORY_DEVICE, MEMORY_PAGEABLE, true, read_bytes, at + US(10),
                   US(5), at + US(11), US(2));
    build_copy(b, COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE, true, 4096, at + US(210), US(5),
               at + US(211), US(2));
    build_range(b, "backward", at + US(220), at + US(400));
    fill_small_kernels(b, at + US(220));
}

/* Its loop has as many steps to do, however large a batch is. */
TEST(an_agent_that_acts_in_each_step)
{
    static const struct {
        int64_t bytes;
        int evaluates;
        enum verdict verdict;
    } of[] = {{8, NEVER, RULE_FIRES},
              {8, ALWAYS, RULE_SUPPRESSED},
              {8, MOSTLY, RULE_FIRES},
              {4, NEVER, RULE_FIRES}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct builder b = build_start();
        blocks = 27;
        read_bytes = of[i].bytes;
        evaluates = of[i].evaluates;
        build_meta(&b, "torch.settings", "num_workers");
        case_loop(&b, fill_agent);
        for (int k = 0; k < CASE_STEPS; k++)
            sample(&b, MS(105) + MS(10) * k, 1400, 0, (int64_t)9 << 30);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "batch-size", of[i].verdict);
        if (of[i].verdict == RULE_SUPPRESSED)
            ck_assert_ptr_nonnull(strstr(case_outcome(a, "batch-size")->why, "an agent acts"));
    }
}

/* What was in use before the first step that counts says nothing of training. */
TEST(memory_before_the_steps_is_not_enough)
{
    static const int64_t used[] = {0, (int64_t)1 << 20};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
        struct builder b = build_start();
        blocks = 27;
        case_loop(&b, fill_small_kernels);
        sample(&b, MS(1), 1400, 0, used[i]);
        const struct advice *a = build_analyze(&b);
        case_verdict(a, "batch-size", RULE_CANNOT_TELL);
        ck_assert_ptr_nonnull(
            strstr(case_outcome(a, "batch-size")->why, "memory the training uses"));
    }
}
