/* An optimizer that updates the parameters tensor by tensor. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/query.h"

static void check_fused_optimizer(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_ops ops;
    bool many = query_optimizer_unfused(f, &ops);
    int64_t cost = per_step(f, ops.busy_ns + ops.idle_ns), count = each_step(f, ops.count);
    o->why = arena_printf(arena, "%lld optimizer kernels per step", (long long)count);
    if (!many || cost * 100 < f->step_ns)
        return;
    const char *rows = "SELECT * FROM kernel_time WHERE name LIKE '%sgd%' OR name LIKE '%adam%' OR "
                       "name LIKE '%multi_tensor%'";
    outcome_evidence(o, "optimizer kernels per step", (double)count, "count", rows);
    outcome_evidence(o, "mean length",
                     ops.count ? (double)ops.busy_ns / (double)ops.count / 1e3 : 0, "us", rows);
    outcome_evidence(o, "their GPU time per step", ms(per_step(f, ops.busy_ns)), "ms", rows);
    outcome_evidence(o, "GPU idle between them per step", ms(per_step(f, ops.idle_ns)), "ms", NULL);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit.kind = EDIT_FUSE;
    o->setting = "optimizer=fused";
    outcome_fires(o, cost,
                  arena_printf(arena, "the optimizer runs %lld small kernels in %.1f ms per step",
                               (long long)count, ms(cost)));
    outcome_example_op(o, f->tl, ops.longest, "longest optimizer kernel");
}

const struct rule rule_fused_optimizer = {
    .id = "fused-optimizer",
    .title = "Update all parameters in one fused kernel",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check_fused_optimizer,
    .program = {.now = "torch.optimizer"},
    .looks_for =
        "Dozens of small optimizer kernels per step instead of a few kernels over all tensors.",
    .doc = "An update is a pass over the parameters and their state. Launched per tensor, it "
           "consists mostly of launches and half-empty kernels. A fused (or at least foreach) "
           "optimizer reads and writes everything once. The bound is the time of these kernels and "
           "the gaps between them; one pass over the bytes remains.",
    .remedy = {"torch.optim.AdamW(params, fused=True) (or foreach=True)",
               "optimizer inside tf.function(jit_compile=True)",
               "parameters, gradients and state in flat buffers, one kernel over them"},
    .setting = "optimizer",
    .tips = {{"fused-optimizer", "Use a fused or multi-tensor optimizer", NULL}},
};
