/* Fires if forward work is done twice to save memory although memory is not scarce. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/training/again.h"
#include "analyzer/queries/training/eval.h"
#include "analyzer/queries/gpu.h"
#include "analyzer/queries/training/phase.h"
#include "analyzer/queries/training/twice.h"
#include "wire/fact_keys.h"

/* ---- what is computed again ---- */

static bool is_forward(const struct op *o, const char *name)
{
    if (o->class.family == FAMILY_CONV)
        return o->class.pass == PASS_FWD;
    return o->class.family == FAMILY_ATTENTION && query_name_has(name, "flash_fwd|fmha_fwd|fprop");
}

static bool is_backward(const struct op *o, const char *name)
{
    if (o->class.family == FAMILY_CONV)
        return o->class.pass == PASS_WGRAD;
    return o->class.family == FAMILY_ATTENTION &&
           query_name_has(name, "flash_bwd_dq_dk_dv|fmha_bwd|bprop");
}

/* Kernels whose name distinguishes forward from backward, and of which each layer has one in
 * both. */
struct pairs {
    int64_t forward, backward, forward_ns;
    /* Forward work after the step's first backward kernel and before its last. */
    int64_t amid_ns;
};
/* Of one step. */
struct backward {
    int64_t first_ns, last_ns;
};

static bool counts(const struct facts *f, const bool *evaluating, uint32_t i)
{
    const struct op *o = &f->tl->ops[i];
    bool asked = o->class.family == FAMILY_CONV || o->class.family == FAMILY_ATTENTION;
    return o->kind == OP_KERNEL && asked && query_used(f, i) &&
           !(evaluating && o->api != TL_NONE && evaluating[o->api]);
}

static void find_backward(const struct facts *f, const bool *evaluating, struct backward *of,
                          struct pairs *p)
{
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        const struct op *o = &f->tl->ops[i];
        if (!counts(f, evaluating, i) || !is_backward(o, tl_text(f->tl, o->full_name)))
            continue;
        struct backward *b = &of[f->steps.op_step[i]];
        p->backward++;
        b->first_ns = b->first_ns == 0 || o->start_ns < b->first_ns ? o->start_ns : b->first_ns;
        b->last_ns = o->start_ns > b->last_ns ? o->start_ns : b->last_ns;
    }
}

static void find_forward(const struct facts *f, const bool *evaluating, const struct backward *of,
                         struct pairs *p)
{
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        const struct op *o = &f->tl->ops[i];
        if (!counts(f, evaluating, i) || !is_forward(o, tl_text(f->tl, o->full_name)))
            continue;
        const struct backward *b = &of[f->steps.op_step[i]];
        p->forward++;
        p->forward_ns += o->end_ns - o->start_ns;
        if (o->start_ns > b->first_ns && o->start_ns < b->last_ns)
            p->amid_ns += o->end_ns - o->start_ns;
    }
}

/* Without ranges: returns the ns of convolutions and attention that run forward twice as often as
 * backward, if the repetitions lie within the backward pass. (An evaluation also runs more often
 * forward, but not there.) It knows only their own time, not that of the rest of the forward pass.
 * *unclear: they run more often, but not within the backward pass. */
static int64_t repeated_pairs_ns(const struct facts *f, struct arena *arena, bool *unclear)
{
    struct pairs p = {0, 0, 0, 0};
    int64_t evaluations;
    const bool *evaluating = query_evaluating(f, arena, &evaluations);
    struct backward *of = arena_array(arena, f->steps.count + 1, sizeof *of);
    if (!of)
        return 0;
    find_backward(f, evaluating, of, &p);
    find_forward(f, evaluating, of, &p);
    if (p.backward == 0 || p.forward * 100 < p.backward * RULES_TWICE_PCT)
        return 0;
    int64_t twice = (int64_t)((double)p.forward_ns * (1 - (double)p.backward / (double)p.forward));
    *unclear =
        p.amid_ns * 100 < twice * RULES_AMID_PCT && per_step(f, twice) * QUERY_WORTH >= f->step_ns;
    return twice < p.amid_ns ? twice : p.amid_ns;
}

/* ---- memory ---- */

static bool memory_lets(const struct facts *f, struct arena *arena, struct outcome *o,
                        int64_t again_ns, bool *is_free)
{
    int64_t peak = query_gpu(f).memory_peak, all = f->device ? f->device->memory_bytes : 0;
    if (peak < 0 || all <= 0)
        return true;
    double pct = 100.0 * (double)peak / (double)all;
    if (pct > RULES_SCARCE_PCT) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(arena,
                              "the program computes %s per step a second time, but %.0f %% of "
                              "the memory is in use: all activations may not fit",
                              time_text(arena, again_ns), pct);
        return false;
    }
    outcome_evidence(o, "peak GPU memory in use", (double)peak / 1e9, "GB", NULL);
    outcome_evidence(o, "share of the GPU's memory", pct, "%", NULL);
    *is_free = true;
    return true;
}

/* ---- the rule ---- */

/* True if what runs twice is no checkpoint: who saw the program's calls saw none of
 * torch.utils.checkpoint, or the gradient of a convolution's gradient is a convolution, too. */
static bool is_known_not_to(const struct facts *f)
{
    bool seen = timeline_meta(f->tl, FACT_TORCH_SETTINGS) || f->health.python_functions > 0;
    return query_goes_twice(f) || (seen && !timeline_meta(f->tl, FACT_TORCH_CHECKPOINT));
}

static void check_checkpointing(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_phase p = query_phase(f, arena, &phase_recompute);
    if (p.ops.count == 0 && timeline_meta(f->tl, FACT_TORCH_CHECKPOINT)) {
        struct query_recomputed again =
            query_recomputed(f, arena); /* the hook recorded that it recomputes */
        p.ops = again.ops;
        p.op_marks = again.op_marks;
        p.call_marks = NULL;
    }
    bool ranges = p.ops.count > 0;
    bool unclear = false;
    int64_t pairs = ranges || is_known_not_to(f) ? 0 : repeated_pairs_ns(f, arena, &unclear);
    int64_t again = per_step(f, ranges ? p.ops.busy_ns + p.ops.idle_ns : pairs);
    if (unclear) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: whether the forward work that runs twice before the backward pass "
                 "is an evaluation (put an evaluation into a range named 'evaluate')";
        return;
    }
    o->why = arena_printf(arena, "the program repeats %.3f ms of forward work per step", ms(again));
    if (again * QUERY_WORTH < f->step_ns)
        return;
    bool is_free = false; /* false also if not recorded: then a rerun shows it */
    if (!memory_lets(f, arena, o, again, &is_free))
        return;
    outcome_evidence_per(o, ranges ? "computed again" : "computed again, at least,", ms(again),
                         "ms", NULL);
    outcome_evidence_share(o, "share", share_pct(f, again), NULL);
    o->error_class = is_free ? ERROR_STRUCTURAL : ERROR_RERUN_DECIDES;
    if (ranges)
        o->edit = (struct edit){.kind = &edit_remove,
                                .at = {.op_marks = p.op_marks, .call_marks = p.call_marks},
                                .remove.pauses = true};
    outcome_fires(
        o, again,
        arena_printf(
            arena, "%s per step compute activations a second time%s", time_text(arena, again),
            is_free ? ", while more than half of the GPU's memory is free"
                    : "; the recording does not show how much of the GPU's memory is free"));
    outcome_example_op(o, f->tl, p.ops.longest, "longest repeated operation");
}

const struct rule rule_checkpointing = {
    .id = "checkpointing",
    .title = "Keep activations if memory allows it",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_checkpointing,
    .program = {.now = FACT_TORCH_CHECKPOINT},
    .looks_for = "Forward work inside the backward pass: ranges named after recomputation, kernels "
                 "that a program with torch.utils.checkpoint launches there in the order of its "
                 "forward pass, or "
                 "convolutions and attention that run forward twice for each backward run.",
    .doc = "Activation checkpointing keeps only some activations and computes the others again "
           "during the backward pass: up to a third more computing for less memory. It pays if the "
           "program uses the freed memory for a larger batch or a larger model. gpuprof advises "
           "against it unless more than half of the GPU's memory was in use at some time; a rerun "
           "shows whether all activations fit. If they do not, checkpoint fewer layers, or only "
           "the cheap operations (GELU, normalisation).",
    .remedy = {.action = ACTION_KEEP_ACTIVATIONS},
    .tips = {{"checkpointing", "Recompute activations only when memory is short", NULL}},
};
