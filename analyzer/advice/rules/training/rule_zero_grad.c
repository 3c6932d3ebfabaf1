/* Fires if gradients are set to zero tensor by tensor before they are added to. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/query.h"

static void check_zero_grad(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_ops ops;
    bool many = query_zeroing_scattered(f, &ops);
    int64_t cost = per_step(f, ops.busy_ns + ops.idle_ns), count = each_step(f, ops.count);
    o->why = arena_printf(arena, "%lld memsets and fills per step", (long long)count);
    if (!many || cost * QUERY_WORTH < f->step_ns)
        return;
    const char *rows = "SELECT * FROM memset ORDER BY start_ns";
    outcome_evidence_per(o, "memsets and fill kernels", (double)count, "count", rows);
    outcome_evidence_per(o, "their GPU time", ms(per_step(f, ops.busy_ns)), "ms", rows);
    outcome_evidence_per(o, "GPU idle between them", ms(per_step(f, ops.idle_ns)), "ms", NULL);
    if (ops.bytes > 0)
        outcome_evidence_per(o, "bytes zeroed", (double)each_step(f, ops.bytes) / 1e6, "MB", rows);
    o->edit.kind = &edit_keep_gradients;
    outcome_fires(o, cost,
                  arena_printf(arena, "%lld memsets and fills per step zero buffers one by one: %s",
                               (long long)count, time_text(arena, cost)));
    outcome_example_op(o, f->tl, ops.longest, "longest of them");
}

const struct rule rule_zero_grad = {
    .id = "zero-grad",
    .title = "Overwrite gradients instead of zeroing them",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_MEMSETS | HAVE_STEPS,
    .check = check_zero_grad,
    .looks_for =
        "Bursts of small memsets or fill kernels in every step; in a PyTorch program those "
        "within zero_grad().",
    .doc = "Zeroing each gradient and then adding to it costs a launch and a pass per tensor. If "
           "the gradient is unset, the backward pass writes it directly. This is PyTorch's default "
           "since 2.0, so the cause is old code, set_to_none=False, or explicit zero_() calls.",
    .remedy = {.action = ACTION_OVERWRITE_GRADIENTS, .object.kind = OBJECT_PARAMETERS},
    .tips = {{"set-to-none", "Set gradients to none instead of zeroing them", NULL}},
};
