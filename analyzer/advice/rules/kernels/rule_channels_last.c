/* Fires if kernels convert the layout of images around convolutions on tensor cores, or normalise
 * images in the layout that takes longer. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/kernels/shapes.h"
#include "analyzer/queries/limits.h"

#include "wire/fact_keys.h"
#include "wire/spool_format.h"

/* By operation, the recorded library call. Work in a CUDA graph has none; for it the layout of all
 * calls is used. */

struct source {
    const uint32_t *calls;
    int64_t layout;
};

/* Returns true if the library call got its tensors in NHWC. Then the program uses that layout
 * already, and the library converts for kernels of its own. */
static bool given_nhwc(const struct facts *f, uint32_t op, const struct source *s)
{
    uint32_t c = s->calls[op];
    int64_t layout = c == TL_NONE ? s->layout : f->tl->calls[c].row.in_layout;
    return layout == SPOOL_LAYOUT_NHWC;
}

static bool converts(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return o->kind == OP_KERNEL && o->class.family == FAMILY_LAYOUT;
}

static enum query_take is_layout(const struct facts *f, uint32_t op, const void *source)
{
    return converts(f, op) && !given_nhwc(f, op, source) ? QUERY_ALL : QUERY_NO;
}

static enum query_take is_library_layout(const struct facts *f, uint32_t op, const void *source)
{
    return converts(f, op) && given_nhwc(f, op, source) ? QUERY_ALL : QUERY_NO;
}

/* Returns, by operation, the convolutions whose library call has 16-bit numbers but which ran on
 * CUDA cores, whatever type the kernel's name shows. Grouped convolutions are left out: their
 * kernels run there in any layout. NULL without memory. */
static const bool *kept_from_tensor_cores(const struct facts *f, const uint32_t *calls,
                                          struct arena *arena)
{
    const struct timeline *t = f->tl;
    bool *marks = arena_array(arena, t->op_count + 1, sizeof *marks);
    for (size_t i = 0; marks && i < t->op_count; i++) {
        const struct kernel_class *c = &t->ops[i].class;
        if (c->family != FAMILY_CONV || c->tensor != TRI_NO)
            continue;
        const struct row_call *r = calls[i] == TL_NONE ? NULL : &t->calls[calls[i]].row;
        marks[i] = r ? query_in_16_bits(r) && r->dim[1] >= QUERY_FEW_CHANNELS &&
                           r->dim[4] >= QUERY_FEW_CHANNELS && r->dim[10] <= 1
                     : c->dtype == SPOOL_DT_F16 || c->dtype == SPOOL_DT_BF16;
    }
    return marks;
}

/* True for a convolution of 32-bit operands that computes in FP32 on CUDA cores: it is slower in
 * NHWC. */
static enum query_take is_fp32_convolution(const struct facts *f, uint32_t op, const void *arg)
{
    const struct op *o = &f->tl->ops[op];
    const uint32_t *calls = arg;
    bool half = calls[op] != TL_NONE ? query_in_16_bits(&f->tl->calls[calls[op]].row)
                                     : o->class.half || o->class.dtype == SPOOL_DT_F16 ||
                                           o->class.dtype == SPOOL_DT_BF16;
    return o->kind == OP_KERNEL && o->class.family == FAMILY_CONV && o->class.tensor == TRI_NO &&
                   !half
               ? QUERY_BUSY
               : QUERY_NO;
}

/* Batch normalisation of images in NCHW by cuDNN, where sizes were recorded. */

struct norms {
    /* Over the used steps: the recorded time, and the time at the memory's rate. */
    double ns, best_ns;
    int64_t plain; /* by calls that have no fast kernels for NHWC */
};

static struct norms norms_in_nchw(const struct facts *f)
{
    struct norms x = {0, 0, 0};
    double rate = query_memory_rate(f);
    for (size_t i = 0; i < f->tl->call_count; i++) {
        const struct call *c = &f->tl->calls[i];
        uint32_t longest = TL_NONE;
        if (c->row.family != SPOOL_CALL_NORM || c->row.in_layout != SPOOL_LAYOUT_NCHW || rate <= 0)
            continue;
        double ns = (double)query_call_ns(f, c, &longest),
               best = query_norm_bytes(f, &c->row) / rate;
        if (ns <= best || best <= 0)
            continue;
        x.ns += ns;
        x.best_ns += best;
        x.plain += !query_norm_extended(f, &c->row);
    }
    return x;
}

static enum query_take is_in_wide_groups(const struct facts *f, uint32_t op, const void *arg)
{
    const uint32_t *calls = arg;
    const struct op *o = &f->tl->ops[op];
    return o->kind == OP_KERNEL && o->class.family == FAMILY_CONV && calls[op] != TL_NONE &&
                   query_conv_in_wide_groups(&f->tl->calls[calls[op]].row)
               ? QUERY_BUSY
               : QUERY_NO;
}

/* Returns true, with the reason in *o, if a change of layout would not help. */
static bool refused(const struct facts *f, struct arena *arena, struct outcome *o,
                    const uint32_t *calls)
{
    int64_t all = f->totals.family_ns[FAMILY_CONV];
    if (!query_nvidia(f))
        return false;
    int64_t wide = query_ops_of(f, is_in_wide_groups, calls).busy_ns;
    if (query_ops_of(f, is_fp32_convolution, calls).busy_ns * 2 > all)
        o->why = "the convolutions run in FP32 without tensor cores, and there channels-last is "
                 "slower";
    else if (wide * 100 > all * RULES_WIDE_GROUPS_PCT)
        o->why = arena_printf(arena,
                              "%.3f ms of convolutions %s work in groups of more than %d channels, "
                              "for which cuDNN's kernels can be several times slower in "
                              "channels-last; only a trial can tell",
                              ms(per_step(f, wide)), scope_words(f)->per, QUERY_NARROW_GROUP);
    else
        return false;
    o->verdict = RULE_SUPPRESSED;
    return true;
}

/* Returns false, with the reason in *o, if conversions and slow normalisation, which cost `lost`,
 * cost too little or would stay. */
static bool worth_it(const struct facts *f, struct arena *arena, struct outcome *o,
                     const struct source *s, int64_t cost, int64_t lost)
{
    int64_t others = per_step(f, query_ops_of(f, is_library_layout, s).busy_ns);
    o->why =
        arena_printf(arena, "layout conversions take %.3f ms %s", ms(cost), scope_words(f)->per);
    if (cost * QUERY_WORTH < f->step_ns && others * QUERY_WORTH >= f->step_ns) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(arena,
                              "the tensors are in channels-last already; the library converts some "
                              "for kernels of its own, %.3f ms %s",
                              ms(others), scope_words(f)->per);
    }
    if (lost * QUERY_WORTH < f->step_ns)
        return false;
    if (f->totals.family_ns[FAMILY_CONV] > 0)
        return !refused(f, arena, o, s->calls);
    o->why = arena_printf(arena,
                          "%.3f ms of transposes %s, but no convolution that would no longer need "
                          "them with channels-last",
                          ms(cost), scope_words(f)->per);
    return false;
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_ops *ops,
                         const struct norms *n)
{
    const char *rows = "SELECT k.*, s.text FROM kernel k JOIN string s ON s.id = k.name WHERE "
                       "s.text LIKE '%nhwc%' "
                       "OR s.text LIKE '%ranspose%'";
    int64_t cost = per_step(f, ops->busy_ns);
    outcome_evidence_per(o, "layout conversion kernels", (double)ops->count / (double)f->steps.used,
                         "count", rows);
    outcome_evidence_per(o, "their GPU time", ms(cost), "ms", rows);
    outcome_evidence_share(o, "their share", share_pct(f, cost), rows);
    outcome_evidence_per(o, "convolutions' GPU time",
                         ms(per_step(f, f->totals.family_ns[FAMILY_CONV])), "ms", NULL);
    if (n->ns <= 0)
        return;
    const char *calls = "SELECT * FROM library_call WHERE family = 5 AND in_layout = 1";
    outcome_evidence_per(o, "batch normalisation in NCHW", ms(per_step(f, (int64_t)n->ns)), "ms",
                         calls);
    outcome_evidence(o, "its share of the memory's rate", 100 * n->best_ns / n->ns, "%", calls);
}

static void check_channels_last(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const uint32_t *calls = query_op_calls(f, arena);
    const bool *kept = calls ? kept_from_tensor_cores(f, calls, arena) : NULL;
    if (!kept) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    const struct source source = {calls, query_images_layout(f)};
    struct query_ops ops = query_ops_of(f, is_layout, &source);
    struct norms n = norms_in_nchw(f);
    int64_t cost = per_step(f, ops.busy_ns), norm = per_step(f, (int64_t)n.ns);
    int64_t lost = cost + per_step(f, (int64_t)(n.ns - n.best_ns));
    if (!worth_it(f, arena, o, &source, cost, lost))
        return;
    add_evidence(f, o, &ops, &n);
    bool measures = query_find_seen(f) || query_cudnn_benchmark(f);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = &edit_layout,
                            .at = {.op_marks = kept, .op_calls = calls},
                            .layout.best = measures ? 0 : RULES_GUESSED_LEFT};
    o->remedy.conditions[CONDITION_PLAIN_NORM] = n.plain > 0;
    o->most_ns = lost;
    const char *converts = arena_printf(
        arena, "%.0f kernels %s only convert NCHW to NHWC and back: %s of GPU time",
        (double)ops.count / (double)f->steps.used, scope_words(f)->per, time_text(arena, cost));
    const char *normalises =
        arena_printf(arena,
                     "batch normalisation of images in NCHW takes %s of GPU time %s, at %.0f %% of "
                     "the memory's rate",
                     time_text(arena, norm), scope_words(f)->per, 100 * n.best_ns / n.ns);
    outcome_fires(o, cost, norm > cost && cost * QUERY_WORTH < f->step_ns ? normalises : converts);
    outcome_example_op(o, f->tl, ops.longest, "longest conversion");
}

const struct rule rule_channels_last = {
    .id = "channels-last",
    .title = "Keep activations in channels-last (NHWC)",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check_channels_last,
    .cheaper = true,
    .in_window = true,
    .program = {.now = FACT_TORCH_INPUT},
    .looks_for = "Layout conversion kernels (nchwToNhwc, nhwcToNchw, batched transposes) around "
                 "convolutions on tensor cores; batch normalisation of images in NCHW far below "
                 "the memory's rate.",
    .doc =
        "Tensor-core convolutions work in NHWC. With NCHW tensors the library converts the "
        "input and the output; with channels-last it does not need to. cuDNN's batch "
        "normalisation of 16-bit numbers reaches a sixth of an H200's memory rate in NCHW and "
        "40 % in NHWC, and a 1x1 convolution of small images in NCHW loads two elements at a "
        "time. So this saves more than the conversions. Without tensor cores (plain FP32) NHWC "
        "is slower, so gpuprof does not advise it there; nor where the recorded calls show "
        "that the tensors are in NHWC already, or that many convolutions work in groups of "
        "more than eight channels (RegNets of that kind took 1.3 to 3.5 times as long in NHWC on "
        "an RTX 3090).",
    .remedy = {.action = ACTION_USE_CHANNELS_LAST, .object.kind = OBJECT_KERNEL},
    .tips = {{"channels-last", "Keep images in channels-last layout", NULL}},
};
