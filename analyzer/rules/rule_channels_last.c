/* Layout conversions around tensor-core convolutions. */
#include "analyzer/rules/look.h"

static enum look_take is_layout(const struct analysis *a, uint32_t op)
{
    const struct op *o = &a->tl->ops[op];
    return o->kind == OP_KERNEL && o->class.family == FAMILY_LAYOUT ? LOOK_ALL : LOOK_NO;
}

/* Is there a convolution that runs, or may run, on tensor cores? */
static bool tensor_convolutions(const struct analysis *a)
{
    for (size_t i = 0; i < a->totals.kernel_count; i++) {
        const struct kernel_class *c = &a->totals.kernels[i].class;
        if (c->family == FAMILY_CONV && c->tensor != TRI_NO)
            return true;
    }
    return false;
}

static void check(struct analysis *a, struct outcome *o)
{
    struct look_ops ops = look_ops(a, is_layout);
    int64_t cost = per_step(a, ops.busy_ns);
    o->why = arena_printf(&a->arena, "layout conversions take %.3f ms per step", ms(cost));
    if (ops.count == 0 || cost * 100 < a->steps.median_ns)
        return;
    if (a->totals.family_ns[FAMILY_CONV] == 0) {
        o->why = arena_printf(&a->arena,
                              "%.3f ms of transposes per step, but no convolution that "
                              "channels-last would spare them",
                              ms(cost));
        return;
    }
    if (look_nvidia(a) && !tensor_convolutions(a)) {
        o->verdict = RULE_SUPPRESSED;
        o->why = "the convolutions run in FP32 without tensor cores, where channels-last is slower";
        return;
    }
    const char *rows = "SELECT k.*, s.text FROM kernel k JOIN string s ON s.id = k.name WHERE "
                       "s.text LIKE '%nhwc%' "
                       "OR s.text LIKE '%ranspose%'";
    outcome_evidence(o, "layout conversion kernels per step",
                     (double)ops.count / (double)a->steps.used, "count", rows);
    outcome_evidence(o, "their GPU time per step", ms(cost), "ms", rows);
    outcome_evidence(o, "their share of the step", share_pct(a, cost), "%", rows);
    outcome_evidence(o, "convolutions' GPU time per step",
                     ms(per_step(a, a->totals.family_ns[FAMILY_CONV])), "ms", NULL);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit.kind = EDIT_LAYOUT;
    o->knob = "channels_last=1";
    outcome_fires(
        o, cost,
        arena_printf(&a->arena,
                     "%.0f kernels per step only turn NCHW into NHWC and back: %.1f ms of GPU time",
                     (double)ops.count / (double)a->steps.used, ms(cost)));
    if (ops.longest != TL_NONE)
        outcome_example(o, a->tl->ops[ops.longest].start_ns, a->tl->ops[ops.longest].end_ns,
                        "longest conversion", ops.longest);
}

const struct rule rule_channels_last = {
    .id = "channels-last",
    .title = "Keep activations in channels-last (NHWC)",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check,
    .looks_for = "Layout conversion kernels (nchwToNhwc, nhwcToNchw, batched transposes) beside "
                 "convolutions on tensor cores.",
    .doc = "Tensor-core convolutions work in NHWC; fed with NCHW, the library converts on the way "
           "in and out. Channels-last "
           "removes these kernels. Without tensor cores (plain FP32) NHWC is slower, so the advice "
           "is not given there. The bound "
           "is the conversions' own time; the convolutions often get faster as well.",
    .remedy =
        {"model = model.to(memory_format=torch.channels_last); x = "
         "x.to(memory_format=torch.channels_last)",
         "data_format='channels_last' (the default) in every layer; let the layout optimizer on",
         "CUDNN_TENSOR_NHWC for tensors and filters (KRSC)"},
    .knob = "channels_last",
};
