/* Layout conversions around tensor-core convolutions. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/query.h"

#include "wire/spool_format.h"

static enum query_take is_layout(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return o->kind == OP_KERNEL && o->class.family == FAMILY_LAYOUT ? QUERY_ALL : QUERY_NO;
}

/* Is there a convolution that runs, or may run, on tensor cores? */
static bool tensor_convolutions(const struct facts *f)
{
    for (size_t i = 0; i < f->totals.kernel_count; i++) {
        const struct kernel_class *c = &f->totals.kernels[i].class;
        if (c->family == FAMILY_CONV && c->tensor != TRI_NO)
            return true;
    }
    return false;
}

enum { FEW_CHANNELS = 8 }; /* fewer than a vector: of no use to tensor cores in any layout */
/* Of a convolution's time, where the library guessed its algorithm, and guesses anew for NHWC. */
static const double GUESSED_LEFT = 0.5;

static bool is_half(int64_t type)
{
    return type == SPOOL_DT_F16 || type == SPOOL_DT_BF16;
}

/* Convolutions of 16-bit numbers that ran on CUDA cores, by operation: the library was called with
 * 16 bits, whatever the kernel's name says it computes in. NULL without memory. */
static const bool *kept_from_tensor_cores(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    bool *marks = arena_array(arena, t->op_count + 1, sizeof *marks);
    if (!marks)
        return NULL;
    for (size_t i = 0; i < t->call_count; i++) {
        const struct call *c = &t->calls[i];
        const struct row_call *r = &c->row; /* dim: n, c, h, w, k, ... */
        if (!is_half(r->in_type) || r->dim[1] < FEW_CHANNELS || r->dim[4] < FEW_CHANNELS)
            continue;
        for (uint32_t k = 0; k < c->apis; k++) {
            uint32_t op = t->apis[c->first_api + k].op;
            if (op != TL_NONE && t->ops[op].class.family == FAMILY_CONV)
                marks[op] = t->ops[op].class.tensor == TRI_NO;
        }
    }
    for (size_t i = 0; i < t->op_count; i++) {
        const struct kernel_class *c = &t->ops[i].class;
        if (c->family == FAMILY_CONV && c->tensor == TRI_NO && is_half(c->dtype))
            marks[i] = true;
    }
    return marks;
}

static void check_channels_last(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_ops ops = query_ops(f, is_layout);
    int64_t cost = per_step(f, ops.busy_ns);
    o->why = arena_printf(arena, "layout conversions take %.3f ms per step", ms(cost));
    if (ops.count == 0 || cost * 100 < f->step_ns)
        return;
    if (f->totals.family_ns[FAMILY_CONV] == 0) {
        o->why = arena_printf(arena,
                              "%.3f ms of transposes per step, but no convolution that would no "
                              "longer need them with channels-last",
                              ms(cost));
        return;
    }
    if (query_nvidia(f) && !tensor_convolutions(f)) {
        o->verdict = RULE_SUPPRESSED;
        o->why =
            "the convolutions run in FP32 without tensor cores, and there channels-last is slower";
        return;
    }
    const char *rows = "SELECT k.*, s.text FROM kernel k JOIN string s ON s.id = k.name WHERE "
                       "s.text LIKE '%nhwc%' "
                       "OR s.text LIKE '%ranspose%'";
    outcome_evidence(o, "layout conversion kernels per step",
                     (double)ops.count / (double)f->steps.used, "count", rows);
    outcome_evidence(o, "their GPU time per step", ms(cost), "ms", rows);
    outcome_evidence(o, "their share of the step", share_pct(f, cost), "%", rows);
    outcome_evidence(o, "convolutions' GPU time per step",
                     ms(per_step(f, f->totals.family_ns[FAMILY_CONV])), "ms", NULL);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = EDIT_LAYOUT,
                            .op_marks = kept_from_tensor_cores(f, arena),
                            .good = query_find_seen(f) ? 0 : GUESSED_LEFT};
    o->setting = "channels_last=1";
    outcome_fires(
        o, cost,
        arena_printf(
            arena, "%.0f kernels per step only convert NCHW to NHWC and back: %.1f ms of GPU time",
            (double)ops.count / (double)f->steps.used, ms(cost)));
    outcome_example_op(o, f->tl, ops.longest, "longest conversion");
}

const struct rule rule_channels_last = {
    .id = "channels-last",
    .title = "Keep activations in channels-last (NHWC)",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check_channels_last,
    .in_window = true,
    .program = {.now = "torch.input"},
    .looks_for = "Layout conversion kernels (nchwToNhwc, nhwcToNchw, batched transposes) around "
                 "convolutions on tensor cores.",
    .doc = "Tensor-core convolutions work in NHWC. With NCHW tensors the library converts the "
           "input and the output; with channels-last it does not need to. Without tensor cores "
           "(plain FP32) NHWC is slower, so gpuprof does not advise it there. The bound is the "
           "time of the conversions; the convolutions often get faster as well.",
    .remedy =
        {"model = model.to(memory_format=torch.channels_last); x = "
         "x.to(memory_format=torch.channels_last)",
         "data_format='channels_last' (the default) in every layer; leave the layout optimizer on",
         "CUDNN_TENSOR_NHWC for tensors and filters (KRSC)"},
    .setting = "channels_last",
    .tips = {{"channels-last", "Keep images in channels-last layout", NULL}},
};
