/* Fires if dynamic loss scaling costs time: a check per tensor, and a wait for whether a gradient
 * overflowed. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/training/phase.h"
#include "wire/fact_keys.h"

static bool bf16_possible(const struct facts *f)
{
    return f->device && f->device->cc_major >= 8;
}

static const char *summary_of(const struct facts *f, struct arena *arena,
                              const struct query_phase *p, int64_t waiting, int64_t scattered)
{
    if (waiting > scattered)
        return arena_printf(arena,
                            "in every step the host reads whether gradients overflowed; the GPU "
                            "then idles for %s",
                            time_text(arena, waiting));
    return arena_printf(arena,
                        "loss scaling works tensor by tensor: %lld operations and %s per step",
                        (long long)each_step(f, p->ops.count), time_text(arena, scattered));
}

static void check_loss_scaling(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_phase p = query_phase(f, arena, &phase_scaling);
    int64_t waiting = per_step(f, p.sync_ns), busy = per_step(f, p.ops.busy_ns);
    bool many = each_step(f, p.ops.count) >= RULES_MANY_OPS;
    int64_t scattered = many ? busy + per_step(f, p.ops.idle_ns) : 0;
    o->why = arena_printf(arena,
                          "%lld loss-scaling operations and %.3f ms per step; waits for its result "
                          "leave the GPU idle for %.3f ms",
                          (long long)each_step(f, p.ops.count), ms(busy), ms(waiting));
    if ((waiting + scattered) * QUERY_WORTH < f->step_ns)
        return;
    const char *rows =
        "SELECT k.* FROM kernel k JOIN string s ON s.id = k.name WHERE s.text LIKE '%finite%' OR "
        "s.text LIKE '%unscale%' OR s.text LIKE '%update_scale%'";
    double used = (double)(f->steps.used ? f->steps.used : 1);
    outcome_evidence_per(o, "loss-scaling operations", (double)p.ops.count / used, "count",
                         p.ops.count ? rows : NULL);
    outcome_evidence_per(o, "their GPU time", ms(busy), "ms", NULL);
    outcome_evidence_per(o, "GPU idle between them", ms(per_step(f, p.ops.idle_ns)), "ms", NULL);
    outcome_evidence_per(o, "waits for the result", (double)p.syncs / used, "count", NULL);
    outcome_evidence_per(o, "GPU idle after these waits", ms(waiting), "ms", NULL);
    o->remedy.conditions[CONDITION_NO_BF16] =
        f->device && f->device->cc_major >= 0 && !bf16_possible(f);
    if (bf16_possible(f))
        outcome_evidence(o, "this GPU computes in bf16, which needs no loss scaling", 0, "", NULL);
    o->edit = waiting > scattered
                  ? (struct edit){.kind = &edit_remove, .at.call_marks = p.wait_marks}
                  : (struct edit){.kind = &edit_fuse, .at.op_marks = p.op_marks};
    o->error_class = waiting > scattered ? ERROR_STRUCTURAL : ERROR_KERNEL_MODEL;
    outcome_fires(o, waiting + scattered, summary_of(f, arena, &p, waiting, scattered));
    outcome_example_call(o, f->tl, p.wait, "longest wait for the result");
    outcome_example_op(o, f->tl, p.ops.longest, "longest loss-scaling operation");
}

const struct rule rule_loss_scaling = {
    .id = "loss-scaling",
    .title = "Keep loss scaling on the device, in one pass",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_loss_scaling,
    .program = {.now = FACT_TORCH_GRAD_SCALER},
    .looks_for = "Kernels that check gradients for infinities or unscale them, and ranges named "
                 "after the scaler: dozens per step, or a wait of the host for their result.",
    .doc = "FP16 gradients need a scale, and the optimizer must skip a step whose gradients "
           "overflowed. Both can stay on the device: one check over all gradients, an update that "
           "reads the scale and the flag, and one thread that adapts the scale. Unscaling tensor "
           "by tensor costs a small kernel per tensor; reading the flag on the host drains the "
           "queue before every update. bf16 has the range of FP32 and needs no loss scaling; GPUs "
           "of compute capability 8.0 and above support it.",
    .remedy = {.action = ACTION_SCALE_ON_GPU, .object.kind = OBJECT_PARAMETERS},
    .tips = {{"mixed-precision", "Train in mixed precision", NULL}},
};
