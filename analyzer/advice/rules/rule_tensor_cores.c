/* FP32 matrix work without tensor cores on hardware that has them. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/look.h"

#include "wire/spool_format.h"

#include <string.h>

/* By op: its library call gives it operands of 16 bits. The kernel may still compute in float (the
 * layout or the size leaves nothing else), but mixed precision is in use. NULL without memory. */
static const bool *given_half(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    bool *half = arena_array(arena, t->op_count + 1, sizeof *half);
    if (!half)
        return NULL;
    for (size_t i = 0; i < t->call_count; i++) {
        const struct call *c = &t->calls[i];
        if ((c->row.in_type != SPOOL_DT_F16 && c->row.in_type != SPOOL_DT_BF16) ||
            c->first_api == TL_NONE)
            continue;
        for (uint32_t k = c->first_api; k < c->first_api + c->apis; k++)
            if (t->apis[k].op != TL_NONE && t->apis[k].ops == 1)
                half[t->apis[k].op] = true;
    }
    return half;
}

static enum look_take is_fp32_matrix(const struct facts *f, uint32_t op, const void *half)
{
    const struct op *o = &f->tl->ops[op];
    bool matrix =
        o->kind == OP_KERNEL && (o->class.family == FAMILY_GEMM || o->class.family == FAMILY_CONV);
    return matrix && o->class.tensor == TRI_NO && o->class.dtype == SPOOL_DT_F32 &&
                   !(half && ((const bool *)half)[op])
               ? LOOK_ALL
               : LOOK_NO;
}

/* Those that the library would surround with conversions: cuDNN has no 16-bit kernels for NCHW. */
static enum look_take is_fp32_conv_in_nchw(const struct facts *f, uint32_t op, const void *half)
{
    const struct kernel_class *c = &f->tl->ops[op].class;
    bool is = c->family == FAMILY_CONV && c->layout != SPOOL_LAYOUT_NHWC;
    return is ? is_fp32_matrix(f, op, half) : LOOK_NO;
}

/* PyTorch's hook tells what kernels' names may not. */
static bool weights_in_nhwc(const struct facts *f)
{
    const char *format = timeline_meta(f->tl, "torch.weights.memory_format");
    return format && strcmp(format, "channels_last") == 0;
}

static void advise_layout(struct arena *arena, struct outcome *o)
{
    struct remedy *r = &o->remedy;
    o->knob = arena_printf(arena, "%s;channels_last=1", o->knob);
    r->pytorch = arena_printf(arena,
                              "%s; both model and input .to(memory_format="
                              "torch.channels_last), or convolutions convert",
                              r->pytorch);
    r->tensorflow = arena_printf(arena,
                                 "%s; data_format='channels_last' (the default) in every "
                                 "layer",
                                 r->tensorflow);
    r->cuda = arena_printf(arena, "%s; CUDNN_TENSOR_NHWC for tensors and filters", r->cuda);
}

static void advise(struct outcome *o, int cc_major)
{
    if (cc_major >= 8) {
        o->knob = "precision=bf16";
        o->remedy = (struct remedy){"with torch.autocast('cuda', dtype=torch.bfloat16): ...; at "
                                    "least torch.set_float32_matmul_precision('high') for TF32",
                                    "keras.mixed_precision.set_global_policy('mixed_bfloat16')",
                                    "BF16 tensors with CUBLAS_COMPUTE_32F; or "
                                    "CUBLAS_COMPUTE_32F_FAST_TF32 and CUDNN_DEFAULT_MATH for TF32"};
    } else { /* 7.x: FP16 alone */
        o->knob = "precision=fp16";
        o->remedy = (struct remedy){
            "with torch.autocast('cuda', dtype=torch.float16): ... and torch.amp.GradScaler",
            "keras.mixed_precision.set_global_policy('mixed_float16')",
            "FP16 tensors, CUBLAS_COMPUTE_32F, CUDNN_TENSOR_OP_MATH, and loss scaling"};
    }
}

enum { WORTH_A_LAYOUT = 10 /* such convolutions take one part in so many of the FP32 work */ };

static void check(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const bool *half = given_half(f, arena);
    struct look_ops ops = look_ops_of(f, is_fp32_matrix, half);
    int64_t cost = per_step(f, ops.busy_ns);
    o->why = arena_printf(arena, "%.3f ms per step of FP32 matrix kernels off the tensor cores",
                          ms(cost));
    if (cost * 100 < f->steps.median_ns || !look_nvidia(f))
        return;
    bool told;
    int cc_major = look_cc_major(f, &told);
    if (cc_major < 0 || (cc_major < 7 && !told)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: which GPU it is (compute capability), and no kernel's name tells";
        return;
    }
    if (cc_major < 7) {
        o->verdict = RULE_SUPPRESSED;
        o->why = "this GPU has no tensor cores";
        return;
    }
    const char *rows = "SELECT * FROM kernel_time WHERE name LIKE '%sgemm%' OR name LIKE '%ffma%' "
                       "OR name LIKE '%scudnn%'";
    outcome_evidence(o, "FP32 matrix kernels without tensor cores per step",
                     (double)ops.count / (double)f->steps.used, "count", rows);
    outcome_evidence(o, "their GPU time per step", ms(cost), "ms", rows);
    outcome_evidence(o, "their share of the step", share_pct(f, cost), "%", rows);
    outcome_evidence(o, "matrix time on tensor cores per step",
                     ms(per_step(f, f->totals.tensor_ns)), "ms", NULL);
    const char *override = timeline_meta(f->tl, "env.NVIDIA_TF32_OVERRIDE");
    if (override && strcmp(override, "0") == 0)
        outcome_evidence(o, "NVIDIA_TF32_OVERRIDE is set to 0: no TF32 until it is unset", 0, "",
                         NULL);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit.kind = EDIT_PRECISION;
    advise(o, cc_major);
    struct look_ops nchw = look_ops_of(f, is_fp32_conv_in_nchw, half);
    if (nchw.busy_ns * WORTH_A_LAYOUT > ops.busy_ns && !weights_in_nhwc(f)) {
        outcome_evidence(o, "convolutions among them that are not in channels-last, per step",
                         ms(per_step(f, nchw.busy_ns)), "ms", rows);
        advise_layout(arena, o);
    }
    outcome_fires(
        o, cost,
        arena_printf(
            arena,
            "%.1f ms per step of matrix work runs in FP32 beside idle tensor cores (longest: %s)",
            ms(cost), ops.longest == TL_NONE ? "-" : tl_text(f->tl, f->tl->ops[ops.longest].name)));
    outcome_example_op(o, f->tl, ops.longest, "longest FP32 matrix kernel");
}

const struct rule rule_tensor_cores = {
    .id = "tensor-cores",
    .title = "Use the tensor cores (TF32, or mixed precision)",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check,
    .program = {.line = "torch.autocast.where", .now = "torch.autocast"},
    .looks_for = "GEMM and convolution kernels whose names say FP32 FMA (ffma, sgemm, simt) on "
                 "compute capability 7.0 and above.",
    .doc =
        "TF32 keeps FP32's range with a shorter mantissa and needs Ampere or newer (8.0); bf16 "
        "as well; Volta and Turing (7.x) have "
        "FP16 alone. Names decide: xmma or sm80 in a kernel's name does not mean tensor cores, "
        "ffma means none. The bound is all of "
        "the kernels' time; what remains of it depends on shapes. Convolutions in NCHW are advised "
        "together with channels-last: alone, the library converts before and after each, and "
        "much of the gain is lost. Changes numerics: watch the loss.",
    .remedy =
        {"torch.set_float32_matmul_precision('high') for TF32; torch.autocast for bf16/fp16",
         "TF32 is on by default; keras.mixed_precision.set_global_policy(...) for 16 bit",
         "CUBLAS_COMPUTE_32F_FAST_TF32 / CUDNN_DEFAULT_MATH, or 16-bit tensors with 32F compute"},
    .knob = "precision",
};
