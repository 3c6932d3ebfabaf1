/* Fires if attention is written out: a matrix product computes the scores, a softmax reads and
 * writes them, and a second product reads them again. A fused kernel never writes the scores to
 * memory. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/kernels/attention.h"

enum { FUSED_CC = 8 /* FlashAttention's kernels need this compute capability */ };

/* Returns the time of a fused kernel, as multiples of the products that it replaces. */
static struct limit_span range_of(const struct facts *f, const struct query_attention *a)
{
    int64_t major = f->device ? f->device->cc_major : 0;
    bool fast_tf32 = major >= FUSED_CC && f->device->cc_minor == 0;
    if (a->fp32_ns * 2 > a->products_ns)
        return fast_tf32 ? RULES_FUSED_FP32 : RULES_FUSED_FP32_SLOW;
    if (a->tf32_ns * 2 > a->products_ns)
        return fast_tf32 ? RULES_FUSED_TF32 : RULES_FUSED_FP32_SLOW;
    if (major > 0 && major < FUSED_CC)
        return RULES_FUSED_16_OLD;
    return a->unaligned_ns * 2 > a->products_ns ? RULES_FUSED_16_ODD : RULES_FUSED_16;
}

/* Returns e.g. "12", or "12 forward and 12 backward". */
static const char *how_many(const struct facts *f, struct arena *arena,
                            const struct query_attention *a)
{
    double used = (double)f->steps.used;
    if (a->backward == 0)
        return arena_printf(arena, "%.0f", (double)a->forward / used);
    return arena_printf(arena, "%.0f forward and %.0f backward", (double)a->forward / used,
                        (double)a->backward / used);
}

static void fires(const struct facts *f, struct arena *arena, const struct query_attention *a,
                  int64_t cost, struct outcome *o)
{
    const char *rows = "SELECT * FROM kernel_time WHERE name LIKE '%softmax%'";
    double used = (double)f->steps.used;
    int64_t all = per_step(f, a->products_ns + a->between_ns);
    outcome_evidence_per(o, "softmaxes between matrix products, forward,",
                         (double)a->forward / used, "count", rows);
    if (a->backward > 0)
        outcome_evidence_per(o, "... backward,", (double)a->backward / used, "count", rows);
    outcome_evidence_per(o, "GPU time of these softmaxes, masks and casts",
                         ms(per_step(f, a->between_ns)), "ms", rows);
    outcome_evidence_per(o, "GPU time of the products on both sides",
                         ms(per_step(f, a->products_ns)), "ms", NULL);
    outcome_fires(
        o, cost,
        arena_printf(arena,
                     "attention is written out as products with a softmax between them (%s %s): "
                     "%s, of which %s go to softmax, masks and casts (longest: %s)",
                     how_many(f, arena, a), scope_words(f)->per, time_text(arena, all),
                     time_text(arena, per_step(f, a->between_ns)),
                     tl_text(f->tl, f->tl->ops[a->longest].name)));
    outcome_example_op(o, f->tl, a->longest, "longest softmax between two products");
}

static void check_fused_attention(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_attention a;
    if (!query_attention(f, arena, &a)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    struct limit_span times = range_of(f, &a);
    int64_t cost = per_step(f, a.between_ns + (int64_t)((double)a.products_ns * (1 - times.good)));
    o->why = arena_printf(arena, "%lld softmaxes between matrix products; %.3f ms %s",
                          (long long)(a.forward + a.backward), ms(cost), scope_words(f)->per);
    if (a.longest == TL_NONE || per_step(f, a.between_ns) * QUERY_WORTH < f->step_ns)
        return;
    double middle = (times.good + times.bad) / 2;
    if ((double)a.between_ns < (double)a.products_ns * (middle - 1)) {
        o->verdict = RULE_SUPPRESSED;
        o->why = "attention is written out, but fused kernels are slow in FP32 and TF32, and its "
                 "softmaxes and masks short: compute in 16 bits first";
        return;
    }
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = &edit_scale,
                            .at = {.op_marks = a.marks, .gone_marks = a.gone},
                            .scale = {times.good, times.bad}};
    fires(f, arena, &a, cost, o);
}

const struct rule rule_fused_attention = {
    .id = "fused-attention",
    .title = "Compute attention in one fused kernel",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_fused_attention,
    .cheaper = true,
    .in_window = true,
    .looks_for = "A softmax that is not part of a loss, with a matrix product right before and "
                 "after it (two on each side in the backward pass); only scaling, masks, casts and "
                 "dropout lie between.",
    .doc =
        "Attention that is written out stores the scores of all pairs of tokens, and reads and "
        "writes them for the mask, the softmax and dropout: memory traffic that grows with the "
        "square of the sequence's length. A fused kernel keeps the scores on the chip. Softmax "
        "and masks cost nothing then; the products take 0.25 to 1.3 times as long in 16 bits (0.5 "
        "to 1.5 times before Ampere), 0.6 to 1.7 times in FP32 on A100 and H100. For FP32 on other "
        "devices, and for TF32, there are no fast fused kernels: these may take several times as "
        "long as the products, and save where softmax, masks and dropout take longer still. "
        "Short sequences gain little. It does not hold where the program uses the "
        "scores themselves (output_attentions=True), or changes them in a way that no fused kernel "
        "knows.",
    .remedy = {.action = ACTION_FUSE_ATTENTION, .object.kind = OBJECT_KERNEL},
    .tips = {{"fused-attention", "Use fused attention (FlashAttention)", NULL}},
};
