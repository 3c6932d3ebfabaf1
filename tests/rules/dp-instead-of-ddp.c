/* Cases of the rule dp-instead-of-ddp: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/comm.h"
#include "tests/unit/rule_case.h"

#define QUIET(a, ...) case_quiet(a, (const char *const[]){__VA_ARGS__, NULL})

/* Two GPUs of one process: weights go out, each computes, gradients come back. */
static void fill_replicas(struct builder *b, int64_t at)
{
    static const char out[] = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage)";
    static const char back[] = "ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)";
    for (int i = 0; i < 2; i++) {
        b->stream = 1 + i;
        build_kernel(b, out, at + US(10) + US(10) * i, at + US(50), MS(1));
        build_kernel(b, case_gemm, at + US(30) + MS(2) * i, at + MS(1.1) + MS(2) * i, MS(6 - i));
        build_kernel(b, back, at + US(60) + MS(2) * i, at + MS(8.2), MS(1));
    }
    b->stream = 1;
}

static const struct advice *two_gpus_do(struct builder *b, case_fill *fill, const char *have,
                                        bool once)
{
    *b = build_start();
    struct row_device second = build_a100(b);
    second.id = 2;
    second.ordinal = 1;
    build_put(b, ROW_DEVICE, &second);
    build_stream(b, 2, 2);
    build_meta(b, "have", have);
    if (once)
        fill(b, MS(100));
    else
        case_loop(b, fill);
    return build_analyze(b);
}

static const struct advice *two_gpus(struct builder *b, case_fill *fill, const char *have)
{
    return two_gpus_do(b, fill, have, false);
}

/* Two models side by side, as in a search over settings. */
static void fill_side_by_side(struct builder *b, int64_t at)
{
    for (int i = 0; i < 2; i++) {
        b->stream = 1 + i;
        build_kernel(b, case_gemm, at + US(30) + MS(2) * i, at + MS(1.1) + MS(2) * i, MS(6));
    }
    b->stream = 1;
}

TEST(test_replicas)
{
    struct builder b;
    const struct advice *a = two_gpus(&b, fill_replicas, everything);
    case_verdict(a, "dp-instead-of-ddp", RULE_FIRES);
    ck_assert_str_eq(a->ranked[0]->rule->id, "dp-instead-of-ddp");
    case_verdict(a, "exposed-communication", RULE_SUPPRESSED);
    QUIET(a, "straggler");
    /* Of what happened once this rule is not asked, and no other one may send there. */
    a = two_gpus_do(&b, fill_replicas, everything, true);
    case_verdict(a, "dp-instead-of-ddp", RULE_CANNOT_TELL);
    case_verdict(a, "exposed-communication", RULE_FIRES);
    a = two_gpus(&b, fill_side_by_side, everything);
    case_verdict(a, "dp-instead-of-ddp", RULE_SILENT);
    case_cannot_tell(case_busy, "api,ranges", "dp-instead-of-ddp");
}
