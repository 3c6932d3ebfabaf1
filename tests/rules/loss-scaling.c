/* Cases of the rule loss-scaling: when it fires, when it is silent or suppressed, and when it
 * cannot tell. */
#include "tests/rules/phase.h"
#include "tests/unit/rule_case.h"

static void fill_unscale_once(struct builder *b, int64_t at)
{
    many(b, unscale, at, 2, US(200));
}

static void fill_scaler_waits(struct builder *b, int64_t at)
{
    waits_inside(b, at, "GradScaler.step");
}

TEST(test_loss_scaling)
{
    const struct advice *a = case_advice(fill_unscale);
    case_first(a, "loss-scaling", US(600));
    case_verdict(a, "fused-optimizer", RULE_SILENT); /* these kernels are not the optimizer's */
    a = case_advice(fill_scaler_waits);
    case_first(a, "loss-scaling", MS(2.02));
    case_verdict(a, "sync-in-loop", RULE_SILENT);
    struct builder b = build_start();
    case_loop(&b, fill_unscale_once); /* all tensors at once: as it should be */
    case_verdict(build_analyze(&b), "loss-scaling", RULE_SILENT);
    case_cannot_tell(fill_unscale, "kernels,copies,ranges", "loss-scaling");
}
