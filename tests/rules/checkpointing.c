/* Cases of the rule checkpointing: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/unit/rule_case.h"

static const char *range = "recompute";

/* Forward 3 ms, backward 7 ms of which the first 2 ms compute again. */
static void fill_recompute(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), MS(3));
    build_kernel(b, case_gemm, at + US(30), at + US(3100), MS(2));
    build_range(b, range, at + US(25), at + US(38));
    build_kernel(b, case_gemm, at + US(40), at + US(5100), US(4850));
}

/* The same as PyTorch names it: the backward pass proper is a range inside. */
static void fill_reentrant(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), MS(3));
    build_range_at(b, "CheckpointFunctionBackward", 1, at + US(25), at + US(60));
    build_kernel(b, case_gemm, at + US(30), at + US(3100), MS(2));
    build_range_at(b, "autograd::engine::evaluate_function: MmBackward0", 2, at + US(38),
                   at + US(50));
    build_kernel(b, case_gemm, at + US(40), at + US(5100), US(4850));
}

static const char attention[] = "flash_fwd_kernel<traits>";

static const char attention_back[] = "flash_bwd_dq_dk_dv_loop_kernel<traits>";

/* Four layers' attention forward; then each again, and backward. No range says so. */
static void fill_attention_twice(struct builder *b, int64_t at)
{
    for (int i = 0; i < 4; i++) {
        build_kernel(b, attention, at + US(10 + i), at + US(100 + 500 * i), US(500));
        build_kernel(b, attention, at + US(20 + 2 * i), at + US(2100 + 1500 * i), US(500));
        build_kernel(b, attention_back, at + US(21 + 2 * i), at + US(2600 + 1500 * i), MS(1));
    }
    build_kernel(b, case_gemm, at + US(40), at + US(8100), US(1850));
}

/* The same numbers, but all forward work comes first: an evaluation, perhaps. */
static void fill_attention_ahead(struct builder *b, int64_t at)
{
    for (int i = 0; i < 8; i++)
        build_kernel(b, attention, at + US(10 + 5 * i), at + US(100 + 500 * i), US(500));
    for (int i = 0; i < 4; i++)
        build_kernel(b, attention_back, at + US(60 + i), at + US(4100 + 1000 * i), MS(1));
    build_kernel(b, case_gemm, at + US(70), at + US(8100), US(1850));
}

/* And it is one. */
static void fill_attention_evaluated(struct builder *b, int64_t at)
{
    fill_attention_ahead(b, at);
    build_range(b, "evaluate", at + US(9), at + US(29.5));
}

static void build_memory(struct builder *b, int64_t used)
{
    struct row_gpu_sample s = {
        .id = ++b->next_id, .device = 1, .time_ns = MS(150), .memory_used_bytes = used};
    build_put(b, ROW_GPU_SAMPLE, &s);
}

TEST(test_checkpointing)
{
    struct builder b = build_start();
    case_loop(&b, fill_recompute);
    build_memory(&b, (int64_t)20 << 30);
    ck_assert_ptr_eq(case_first(build_analyze(&b), "checkpointing", MS(2))->edit.kind,
                     &edit_remove);
    b = build_start();
    case_loop(&b, fill_reentrant);
    build_memory(&b, (int64_t)20 << 30);
    case_first(build_analyze(&b), "checkpointing", MS(2));
    b = build_start();
    case_loop(&b, fill_attention_twice);
    build_memory(&b, (int64_t)20 << 30);
    case_first(build_analyze(&b), "checkpointing", US(1500)); /* all but the first layer's */
}

/* Functions count by their own name, not by that of the program's file. */
TEST(functions_that_recompute)
{
    static const struct {
        const char *name;
        enum verdict verdict;
    } cases[] = {{"torch/utils/checkpoint.py(1930): recompute_fn", RULE_FIRES},
                 {"recompute.py(16): forward", RULE_SILENT}};
    for (int i = 0; i < 2; i++) {
        struct builder b = build_start();
        range = cases[i].name;
        case_loop(&b, fill_recompute);
        case_verdict(build_analyze(&b), "checkpointing", cases[i].verdict);
    }
    range = "recompute";
}

/* The hook tells of each program that checkpoints: where it does not, a second forward pass is another. */
TEST(no_call_that_checkpoints)
{
    for (int hooked = 0; hooked < 2; hooked++) {
        struct builder b = build_start();
        if (hooked)
            build_meta(&b, "torch.settings", "num_workers");
        case_loop(&b, fill_attention_twice);
        case_verdict(build_analyze(&b), "checkpointing", hooked ? RULE_SILENT : RULE_FIRES);
    }
}

/* Nobody knows how much memory is in use: a rerun shows it. What it saves if memory allows it is known. */
TEST(without_memory)
{
    const struct advice *a = case_advice(fill_recompute);
    ck_assert_ptr_eq(case_verdict(a, "checkpointing", RULE_FIRES)->edit.kind, &edit_remove);
    ck_assert_int_eq(case_outcome(a, "checkpointing")->error_class, ERROR_RERUN_DECIDES);
}

TEST(test_checkpointing_refused)
{
    struct builder b = build_start();
    case_loop(&b, fill_recompute);
    build_memory(&b, (int64_t)60 << 30); /* of 80: it may be needed */
    case_verdict(build_analyze(&b), "checkpointing", RULE_SUPPRESSED);
    b = build_start();
    case_loop(&b, fill_attention_ahead);
    build_memory(&b, (int64_t)20 << 30);
    case_verdict(build_analyze(&b), "checkpointing", RULE_CANNOT_TELL);
    b = build_start();
    case_loop(&b, fill_attention_evaluated);
    build_memory(&b, (int64_t)20 << 30);
    case_verdict(build_analyze(&b), "checkpointing", RULE_SILENT);
    b = build_start();
    case_loop(&b, case_busy);
    build_memory(&b, (int64_t)20 << 30);
    case_verdict(build_analyze(&b), "checkpointing", RULE_SILENT);
    case_cannot_tell(fill_recompute, "copies,api,ranges", "checkpointing");
}

/* Blocks of three kernels; the backward thread launches each block again before its gradients. */
static void fill_again(struct builder *b, int64_t at)
{
    static const char *const block[] = {"layer_norm_kernel", case_gemm, "gelu_kernel"};
    for (int i = 0; i < 12; i++)
        build_kernel(b, block[i % 3], at + US(5 * i), at + US(100 + 200 * i), US(190));
    b->thread = 2;
    for (int i = 0; i < 24; i++) {
        bool again = i % 6 < 3;
        build_kernel(b, again ? block[i % 3] : "gelu_backward_kernel", at + US(100 + 5 * i),
                     at + US(2550 + 300 * i), again ? US(190) : US(280));
    }
    b->thread = 1;
}

/* Without ranges the order tells, once the hook says that the program uses checkpoints. */
TEST(recomputed_by_order)
{
    for (int told = 0; told < 2; told++) {
        struct builder b = build_start();
        build_thread(&b, 2, "backward");
        if (told)
            build_meta(&b, "torch.checkpoint", "used at train.py:22");
        build_memory(&b, (int64_t)8 << 30);
        case_loop(&b, fill_again);
        const struct advice *a = build_analyze(&b);
        const struct outcome *o = case_outcome(a, "checkpointing");
        case_verdict(a, "checkpointing", told ? RULE_FIRES : RULE_SILENT);
        ck_assert(!told || llabs(o->saves_high_ns - US(190 * 12)) < US(300));
    }
}
