/* Cases of the rule exposed-communication: when it fires, when it is silent or suppressed, and when
 * it cannot tell. */
#include "tests/rules/trace.h"
#include "tests/unit/rule_case.h"

/* Exchanging takes most of the step: hiding it behind 1 ms of computing is no remedy. */
static void fill_exchanging(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(20), MS(1));
    build_kernel(b, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", at + US(10), at + MS(1) + US(25),
                 MS(8.9));
}

TEST(test_more_exchange_than_computing)
{
    const struct outcome *o =
        case_verdict(case_advice(fill_exchanging), "exposed-communication", RULE_FIRES);
    case_does(o, ACTION_COMMUNICATE_LESS);
    ck_assert_msg(strstr(o->summary, "too short to hide more than 1."), "%s", o->summary);
    ck_assert_msg(strncmp(o->title, "Communicate less", 16) == 0, "%s", o->title);
}

/* A little more than half of it can be hidden: the rest is promised to nobody. */
static void fill_half_hidden(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at, at + US(20), US(3480));
    build_kernel(b, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", at + US(10), at + US(3510),
                 US(6480));
}

TEST(test_promises_what_overlap_can_hide)
{
    const struct outcome *o = case_outcome(case_advice(fill_half_hidden), "exposed-communication");
    ck_assert_int_eq(o->verdict, RULE_FIRES);
    ck_assert_msg(o->saves_high_ns < US(3600) && o->saves_high_ns > US(3400), "%lld",
                  (long long)o->saves_high_ns);
    ck_assert_str_eq(o->title, "Overlap communication with computing");
}

static const char nccl[] = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)";

static void fill_exposed(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), US(5900));
    build_kernel(b, nccl, at + US(20), at + MS(6), US(3980));
}

/* The same collective beside computing, on a stream of its own. */
static void fill_overlapped(struct builder *b, int64_t at)
{
    case_busy(b, at);
    b->stream = 2;
    build_kernel(b, nccl, at + US(20), at + MS(4), MS(4));
    b->stream = 1;
}

/* 60 small ones, each launched 50 us after the one before has ended. */
static void fill_scattered(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(50), US(2950));
    for (int i = 0; i < 60; i++) {
        int64_t start = at + MS(3) + US(110) * i;
        build_kernel(b, nccl, start + US(40), start + US(50), US(60));
    }
}

TEST(test_exposed)
{
    const struct advice *a = case_advice(fill_exposed);
    case_first(a, "exposed-communication", US(3980));
    case_verdict(a, "straggler", RULE_CANNOT_TELL);
    QUIET(a, "cuda-graphs", "host-work", "warm-up");
}

TEST(test_overlapped)
{
    struct builder b = build_start();
    build_stream(&b, 2, 1);
    case_loop(&b, fill_overlapped);
    case_verdict(build_analyze(&b), "exposed-communication", RULE_SILENT);
}

TEST(test_scattered)
{
    const struct advice *a = case_advice(fill_scattered);
    const struct outcome *o = case_first(a, "exposed-communication", US(60) * 60 + US(50) * 60);
    case_does(o, ACTION_JOIN_COLLECTIVES);
    QUIET(a, "cuda-graphs");
}

/* The hook has seen the program: with DDP, or what it exchanges is not known. */
TEST_EACH(test_scattered_by_whom, 0, 2)
{
    struct builder b = build_start();
    build_meta(&b, "torch.version", "2.15.0");
    if (_i)
        build_meta(&b, "torch.ddp", "DistributedDataParallel()");
    case_loop(&b, fill_scattered);
    const struct outcome *o = case_outcome(build_analyze(&b), "exposed-communication");
    case_does(o, ACTION_JOIN_COLLECTIVES);
    case_said(o, CONDITION_NOT_DDP, !_i);
}

static const char *sends;

static void fill_all_with_all(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), US(5900));
    build_kernel(b, sends, at + US(20), at + MS(6), US(3000));
    build_kernel(b, nccl, at + US(30), at + MS(9), US(980));
}

/* What each rank sends to each is no gradient: no bucket of DDP holds it. Kernels that send and
 * receive may be of a pipeline, too, and no overlap hides its bubbles. */
TEST(test_all_with_all)
{
    static const char *const kernels[] = {
        "void all_to_all_kernel(float const*)",
        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"};
    for (int unnamed = 0; unnamed < 2; unnamed++) {
        sends = kernels[unnamed];
        const struct outcome *o =
            case_outcome(case_advice(fill_all_with_all), "exposed-communication");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        case_does(o, ACTION_EXCHANGE_EARLIER);
        case_said(o, CONDITION_MAYBE_PIPELINE, unnamed);
        ck_assert_int_eq(!o->edit.kind, unnamed);
        ck_assert_int_eq(o->setting == NULL, 1);
    }
}

/* The layers of a model that is split over GPUs. */
static void fill_layers(struct builder *b, int64_t at)
{
    static const char *const ops[] = {"aten::mm", "aten::add", "aten::silu", "aten::mul",
                                      "aten::softmax"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        build_range(b, ops[i], at + US(1000 * i), at + US(1000 * i + 900));
    fill_exposed(b, at);
}

static void fill_trained(struct builder *b, int64_t at)
{
    build_range(b, "autograd::engine::evaluate_function: MmBackward0", at + MS(6), at + MS(7));
    fill_layers(b, at);
}

/* Where nothing is trained there is no backward pass to hide communication behind. */
TEST(test_inference)
{
    for (int trained = 0; trained < 2; trained++) {
        const struct outcome *o = case_outcome(case_advice(trained ? fill_trained : fill_layers),
                                               "exposed-communication");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        case_does(o, trained ? ACTION_OVERLAP_COLLECTIVES : ACTION_OVERLAP_LAYERS);
        ck_assert_int_eq(o->setting != NULL, trained);
    }
}

/* A benchmark of collectives: beside them, one tiny kernel. */
static void fill_alone(struct builder *b, int64_t at)
{
    build_kernel(b, "fill_kernel", at, at + US(20), US(10));
    for (int i = 0; i < 8; i++)
        build_kernel(b, nccl, at + MS(1 + i), at + MS(1 + i) + US(20), US(900));
}

TEST(test_nothing_to_overlap_with)
{
    const struct advice *a = case_advice(fill_alone);
    case_verdict(a, "exposed-communication", RULE_SUPPRESSED);
}

TEST(test_no_collectives)
{
    const struct advice *a = case_advice(case_busy);
    case_verdict(a, "exposed-communication", RULE_SILENT);
    case_verdict(a, "straggler", RULE_SILENT);
    case_cannot_tell(case_busy, "api,ranges", "exposed-communication");
}

static const char *of_experts;

static void fill_experts(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), US(5900));
    build_kernel(b, of_experts, at + US(20), at + MS(6), US(3980));
}

/* What experts send each other is no gradient: no bucket hides it. */
TEST(test_experts_are_told_of_no_buckets)
{
    static const char *const kernels[] = {
        "void hybrid_ep::dispatch_kernel<256, 4>(hybrid_ep::dispatch_kernel_param_t)",
        "void deep_ep::internode_ll::combine<true, 4, 7168>(void*)",
        "void tensorrt_llm::kernels::moe_a2a::moeA2ADispatchKernel(Params)"};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        of_experts = kernels[i];
        const struct outcome *o = case_outcome(case_advice(fill_experts), "exposed-communication");
        ck_assert_int_eq(o->verdict, RULE_FIRES);
        case_does(o, ACTION_EXCHANGE_EARLIER);
    }
}
