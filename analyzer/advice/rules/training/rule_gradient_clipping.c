/* Fires if clipping computes the norm tensor by tensor, or makes the host wait for it. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/training/phase.h"
#include "wire/fact_keys.h"

static int64_t cost_of_ops(const struct facts *f, const struct query_phase *p)
{
    return each_step(f, p->ops.count) >= RULES_MANY_OPS
               ? per_step(f, p->ops.busy_ns + p->ops.idle_ns)
               : 0;
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_phase *p)
{
    const char *rows = "SELECT k.* FROM kernel k JOIN string s ON s.id = k.name WHERE s.text LIKE "
                       "'%norm%' OR s.text LIKE '%clip%'";
    double used = (double)(f->steps.used ? f->steps.used : 1);
    outcome_evidence_per(o, "clipping operations", (double)p->ops.count / used, "count",
                         p->ops.count ? rows : NULL);
    outcome_evidence_per(o, "their GPU time", ms(per_step(f, p->ops.busy_ns)), "ms", NULL);
    outcome_evidence_per(o, "GPU idle between them", ms(per_step(f, p->ops.idle_ns)), "ms", NULL);
    outcome_evidence_per(o, "waits for the norm", (double)p->syncs / used, "count", NULL);
    outcome_evidence_idle(o, f, "GPU idle after these waits", ms(per_step(f, p->sync_ns)),
                          PART_IDLE_SYNC);
}

/* Returns the clipping operations that apply the factor (the others compute it), by operation. In
 * CUDA the update can apply the factor itself, as the remedy says, so these operations disappear. A
 * framework's update cannot. */
static const bool *applies_factor(const struct facts *f, struct arena *arena,
                                  const struct query_phase *p)
{
    size_t n = f->tl->op_count;
    bool *marks =
        query_of_pytorch(f) || !p->op_marks ? NULL : arena_array(arena, n + 1, sizeof *marks);
    for (size_t i = 0; marks && i < n; i++)
        marks[i] = p->op_marks[i] &&
                   query_name_has(tl_text(f->tl, f->tl->ops[i].full_name), "clip|scale|mul");
    return marks;
}

static void check_gradient_clipping(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_phase p = query_phase(f, arena, &phase_clipping);
    int64_t waiting = per_step(f, p.sync_ns), scattered = cost_of_ops(f, &p);
    o->why = arena_printf(
        arena,
        "%lld clipping operations per step; waits for the norm leave the GPU idle for %.3f ms",
        (long long)each_step(f, p.ops.count), ms(waiting));
    if ((waiting + scattered) * QUERY_WORTH < f->step_ns)
        return;
    add_evidence(f, o, &p);
    const char *summary =
        waiting > scattered
            ? arena_printf(arena,
                           "the host waits for the norm of the gradients in every step; the GPU "
                           "then idles for %s",
                           time_text(arena, waiting))
            : arena_printf(arena,
                           "clipping works tensor by tensor: %lld operations and %s per step",
                           (long long)each_step(f, p.ops.count), time_text(arena, scattered));
    o->edit = waiting > scattered
                  ? (struct edit){.kind = &edit_remove, .at.call_marks = p.wait_marks}
                  : (struct edit){.kind = &edit_fuse,
                                  .at.op_marks = p.op_marks,
                                  .at.gone_marks = applies_factor(f, arena, &p)};
    o->error_class = waiting > scattered ? ERROR_STRUCTURAL : ERROR_KERNEL_MODEL;
    outcome_fires(o, waiting + scattered, summary);
    outcome_example_call(o, f->tl, p.wait, "longest wait for the norm");
    outcome_example_op(o, f->tl, p.ops.longest, "longest clipping operation");
}

const struct rule rule_gradient_clipping = {
    .id = "gradient-clipping",
    .title = "Clip all gradients at once, on the device",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_gradient_clipping,
    .program = {.now = FACT_TORCH_CLIP_GRAD},
    .looks_for = "Kernels that compute norms of gradients, and ranges named after clipping: dozens "
                 "of small kernels per step, or a wait of the host for the result.",
    .doc = "Clipping needs one number: the norm of all gradients. Computed tensor by tensor, it "
           "takes two small kernels per tensor. A comparison on the host (`if norm > limit`, "
           ".item(), error_if_nonfinite=True, logging in every step) drains the queue just before "
           "the update. The number can stay on the device: the update multiplies by min(1, limit / "
           "norm). A profile shows only the cost of clipping, not what it does for convergence.",
    .remedy = {.action = ACTION_CLIP_AT_ONCE, .object.kind = OBJECT_PARAMETERS},
    .tips = {{"clip-cheaply", "Clip all tensors at once, without waiting",
              "gpuprof sees only its cost; no profile shows what it does for convergence"}},
};
