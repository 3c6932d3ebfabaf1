/* Cases of the rule micro-batches: when it fires, when it is silent or suppressed, and when it cannot tell.
 * No trainer plants it: each step of theirs takes one batch. */
#include "tests/rules/gauges.h"
#include "tests/unit/rule_case.h"

static const char *const torch = "2.14.1";

/* What comes between two backward passes of a step. */
enum between { FORWARD, NOTHING, FORWARD_AND_UPDATE, ANOTHER_FORWARD };

static void launch(struct builder *b, int64_t at)
{
    build_kernel_of(b, "ampere_bf16_s16816gemm_bf16_64x64_tn",
                    build_api(b, "cudaLaunchKernel", at, CALL_NS / 8), at + US(10), US(60), 27);
}

static void pass(struct builder *b, int64_t at, int k, enum between between)
{
    int products = between == ANOTHER_FORWARD ? 2 + k : 2;
    if (k == 0 || between != NOTHING)
        for (int i = 0; i < products; i++)
            launch(b, at + US(150 * i));
    build_range(b, "backward", at + US(900), at + US(1500));
    for (int i = 0; i < 3; i++)
        launch(b, at + US(950 + 150 * i));
    if (between == FORWARD_AND_UPDATE)
        build_range(b, "optimizer.step", at + US(1510), at + US(1520));
}

/* Steps of 10 ms with `passes` forward and backward passes of 2 ms, in which the GPU mostly waits. */
static const struct advice *loop(const char *version, int passes, enum between between,
                                 int64_t used)
{
    struct builder b = build_start();
    if (version)
        build_meta(&b, "torch.version", version);
    for (int i = 0; i < CASE_STEPS; i++) {
        int64_t at = MS(100) + MS(10) * i;
        for (int k = 0; k < passes; k++)
            pass(&b, at + MS(2) * k, k, between);
        build_range(&b, "optimizer.step", at + MS(9.5), at + MS(9.6));
        build_range(&b, "step", at, at + MS(10));
        sample(&b, MS(105) + MS(10) * i, 1400, 0, used);
    }
    return build_analyze(&b);
}

static const int64_t little = (int64_t)9 << 30, much = (int64_t)60 << 30;

TEST(of_four)
{
    const struct outcome *o =
        case_verdict(loop(torch, 4, FORWARD, little), "micro-batches", RULE_FIRES);
    ck_assert_ptr_nonnull(strstr(o->summary, "4 micro-batches"));
    ck_assert_ptr_nonnull(strstr(o->summary, "room for 4"));
    case_does(o, ACTION_ENLARGE_MICRO_BATCHES);
    ck_assert(!outcome_changes_training(o));
    ck_assert_int_ge(o->saves_high_ns, MS(4)); /* the GPU waits 8.8 of 10 ms */
    ck_assert_int_le(o->saves_high_ns, MS(8));
}

TEST(of_one)
{
    case_verdict(loop(torch, 1, FORWARD, little), "micro-batches", RULE_SILENT);
}

TEST(without_room)
{
    case_verdict(loop(torch, 4, FORWARD, much), "micro-batches", RULE_SUPPRESSED);
}

/* Several losses of one forward pass, two networks that learn in turn, passes of other work. */
TEST(other_passes)
{
    case_verdict(loop(torch, 3, NOTHING, little), "micro-batches", RULE_SILENT);
    case_verdict(loop(torch, 2, FORWARD_AND_UPDATE, little), "micro-batches", RULE_SILENT);
    case_verdict(loop(torch, 3, ANOTHER_FORWARD, little), "micro-batches", RULE_SILENT);
}

TEST(without_the_hook)
{
    case_verdict(loop(NULL, 4, FORWARD, little), "micro-batches", RULE_CANNOT_TELL);
}
