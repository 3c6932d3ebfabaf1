/* Forward work done twice to save memory that is not scarce. */
#include "analyzer/rules/look_phase.h"

#include <string.h>

enum { SCARCE_PCT = 50 /* of the device's memory in use: more may be needed */ };

/* ---- what is computed again ------------------------------------------------------------------
 */

/* Kernels whose name tells forward from backward, and come once per layer in both. */
struct pairs {
    int64_t forward, backward, forward_ns;
};

static bool is_forward(const struct kernel_total *k, const char *name)
{
    if (k->class.family == FAMILY_CONV)
        return k->class.pass == PASS_FWD;
    return k->class.family == FAMILY_ATTENTION && look_name_has(name, "flash_fwd|fmha_fwd|fprop");
}

static bool is_backward(const struct kernel_total *k, const char *name)
{
    if (k->class.family == FAMILY_CONV)
        return k->class.pass == PASS_WGRAD;
    return k->class.family == FAMILY_ATTENTION &&
           look_name_has(name, "flash_bwd_dq_dk_dv|fmha_bwd|bprop");
}

/* Without ranges: convolutions and attention that run forward twice as often as backward. Only
 * their own time is known then, not that of the rest of the forward pass. */
static int64_t repeated_pairs_ns(const struct analysis *a)
{
    struct pairs p = {0, 0, 0};
    for (size_t i = 0; i < a->totals.kernel_count; i++) {
        const struct kernel_total *k = &a->totals.kernels[i];
        const char *name = tl_text(a->tl, k->name);
        if (is_forward(k, name)) {
            p.forward += k->count;
            p.forward_ns += k->total_ns;
        } else if (is_backward(k, name)) {
            p.backward += k->count;
        }
    }
    if (p.backward == 0 || p.forward * 10 < p.backward * 15)
        return 0;
    return (int64_t)((double)p.forward_ns * (1 - (double)p.backward / (double)p.forward));
}

/* ---- memory ----------------------------------------------------------------------------------
 */

/* The most that samples of the device show in use; -1: not recorded. */
static int64_t memory_peak(const struct analysis *a)
{
    int64_t peak = -1;
    for (size_t i = 0; i < a->tl->gpu_sample_count; i++) {
        const struct row_gpu_sample *s = &a->tl->gpu_samples[i];
        if (a->device && s->device == a->device->id && s->memory_used_bytes > peak)
            peak = s->memory_used_bytes;
    }
    return peak > 0 ? peak : -1;
}

static bool memory_lets(struct analysis *a, struct outcome *o, int64_t again_ns)
{
    int64_t peak = memory_peak(a), all = a->device ? a->device->memory_bytes : 0;
    if (peak < 0 || all <= 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = arena_printf(&a->arena,
                              "%.1f ms per step are computed a second time; not recorded: how much "
                              "of the GPU's memory is in use (gpuprof run records it)",
                              ms(again_ns));
        return false;
    }
    double pct = 100.0 * (double)peak / (double)all;
    if (pct > SCARCE_PCT) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(&a->arena,
                              "%.1f ms per step are computed a second time, but %.0f %% of the "
                              "memory is in use: keeping activations may not fit",
                              ms(again_ns), pct);
        return false;
    }
    outcome_evidence(o, "GPU memory in use at most", (double)peak / 1e9, "GB", NULL);
    outcome_evidence(o, "share of the GPU's memory", pct, "%", NULL);
    return true;
}

/* ---- the rule --------------------------------------------------------------------------------
 */

static void check(struct analysis *a, struct outcome *o)
{
    struct look_phase p = look_phase(a, &phase_recompute);
    bool ranges = p.ops.count > 0;
    int64_t again = per_step(a, ranges ? p.ops.busy_ns + p.ops.idle_ns : repeated_pairs_ns(a));
    o->why = arena_printf(&a->arena, "%.3f ms per step of forward work are done again", ms(again));
    if (again * 100 < a->steps.median_ns)
        return;
    if (!memory_lets(a, o, again))
        return;
    outcome_evidence(o, ranges ? "computed again per step" : "computed again per step, at least",
                     ms(again), "ms", NULL);
    outcome_evidence(o, "share of the step", share_pct(a, again), "%", NULL);
    o->error_class = ERROR_STRUCTURAL;
    if (ranges)
        o->edit = (struct edit){.kind = EDIT_REMOVE, .op_marks = p.op_marks};
    o->knob = "checkpoint=0";
    outcome_fires(
        o, again,
        arena_printf(&a->arena,
                     "%.1f ms per step compute activations a second time, while %s of the GPU's "
                     "memory is free",
                     ms(again), "more than half"));
    if (p.ops.longest != TL_NONE)
        outcome_example(o, a->tl->ops[p.ops.longest].start_ns, a->tl->ops[p.ops.longest].end_ns,
                        "longest operation that is done again", p.ops.longest);
}

const struct rule rule_checkpointing = {
    .id = "checkpointing",
    .title = "Keep activations where memory allows it",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check,
    .looks_for = "Forward work inside the backward pass: ranges named after recomputation, or "
                 "convolutions and attention that run forward twice for each time backward.",
    .doc =
        "Activation checkpointing keeps only some activations and computes the others again "
        "during the backward pass: up to a third more computing for less memory. It pays when "
        "the memory it frees is used, for a larger batch or a larger model. Advised against only "
        "when more than half of the GPU's memory was free all the time; whether all activations "
        "fit is for a rerun to say. Otherwise checkpoint fewer layers, or only the cheap "
        "operations (GELU, normalisation).",
    .remedy = {"remove torch.utils.checkpoint, or gradient_checkpointing_enable(), or checkpoint "
               "every second layer; or use the free memory for a larger batch",
               "remove tf.recompute_grad, or apply it to fewer layers",
               "keep the activations of as many layers as fit"},
    .knob = "checkpoint",
};
