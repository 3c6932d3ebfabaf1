/* Cases of the rule weight-sharding: when it fires, when it is silent or suppressed, and when it
 * cannot tell. No trainer plants it: it only occurs in Python programs (vgpu/tests/torch). */
#include "tests/unit/rule_case.h"

static const char *hook = "PartitionedParameterCoordinator.fetch_sub_module";

static int layers = 4;

/* Layers of 2.5 ms: a hook of 1 ms, in which another is, then the layer. */
static void fill_sharded(struct builder *b, int64_t at)
{
    for (int i = 0; i < layers; i++) {
        int64_t from = at + US(2500) * i;
        build_range(b, hook, from, from + MS(1));
        build_range(b, hook, from + US(100), from + US(500));
        build_kernel(b, case_gemm, from + MS(1), from + MS(1) + US(10), US(1490));
    }
}

TEST(hooks_of_zero_3)
{
    static const char *const names[] = {
        "PartitionedParameterCoordinator.fetch_sub_module",
        "DeepSpeedZeRoOffload._register_deepspeed_module.<locals>._pre_forward_module_hook"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        layers = 4;
        hook = names[i];
        const struct advice *a = case_advice(fill_sharded);
        const struct outcome *o = case_verdict(a, "weight-sharding", RULE_FIRES);
        case_measures(o, "the host in ZeRO 3's hooks of modules", 4, 0.01);
        case_measures(o, "GPU idle meanwhile", 4, 0.01);
        ck_assert_int_ge(o->saves_high_ns, US(3990));
        case_does(o, ACTION_SHARD_LESS);
        case_verdict(a, "host-work", RULE_SILENT); /* one cause has one finding */
    }
}

/* What surrounds them, 2.5 ms of other work of the host, may get shorter as well. */
TEST(hooks_and_what_surrounds_them)
{
    layers = 3;
    const struct advice *a = case_advice(fill_sharded);
    const struct outcome *o = case_verdict(a, "weight-sharding", RULE_FIRES);
    ck_assert_msg(strstr(o->summary, "(5.53 ms with these) may get shorter") != NULL, "%s",
                  o->summary);
    ck_assert_int_ge(o->saves_high_ns, US(5500));
    ck_assert_int_le(o->saves_high_ns, US(5530));
}

TEST(hooks_that_cost_nothing)
{
    struct builder b = build_start();
    hook = "DeepSpeedEngine.forward"; /* of any stage */
    case_loop(&b, fill_sharded);
    case_verdict(build_analyze(&b), "weight-sharding", RULE_SILENT);
    layers = 4;
    case_cannot_tell(fill_sharded, "kernels,copies,api", "weight-sharding");
}
