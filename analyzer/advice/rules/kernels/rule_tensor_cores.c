/* Fires if matrix work (products, convolutions, attention) runs in FP32 without tensor cores
 * although the GPU has them, or in TF32 where 16 bits would do. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/kernels/shapes.h"

#include "wire/fact_keys.h"
#include "wire/spool_format.h"

#include <string.h>

/* Returns, by operation, whether its library call has 16-bit operands. The kernel may still compute
 * in float, if layout or size leave no other, but the program uses mixed precision. NULL without
 * memory. */
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

/* True for a matrix times one vector: it reads each number once, so memory limits it, and tensor
 * cores do not help. */
static bool is_vector_product(const struct facts *f, const struct op *o)
{
    return query_name_has(tl_text(f->tl, o->full_name), "gemv|dot_kernel");
}

static bool is_matrix(const struct facts *f, const struct op *o)
{
    return o->kind == OP_KERNEL && !is_vector_product(f, o) &&
           (o->class.family == FAMILY_GEMM || o->class.family == FAMILY_CONV ||
            o->class.family == FAMILY_ATTENTION);
}

/* Takes matrix kernels in FP32 without tensor cores. Attention in FP32 counts even if its use of
 * tensor cores is not known: there FP32 takes several passes and is slow, too. */
static enum query_take is_fp32_matrix(const struct facts *f, uint32_t op, const void *half)
{
    const struct op *o = &f->tl->ops[op];
    bool off = o->class.tensor == TRI_NO ||
               (o->class.tensor == TRI_UNKNOWN && o->class.family == FAMILY_ATTENTION);
    return is_matrix(f, o) && off && o->class.dtype == SPOOL_DT_F32 &&
                   !(half && ((const bool *)half)[op])
               ? QUERY_ALL
               : QUERY_NO;
}

static enum query_take is_tf32_matrix(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return is_matrix(f, o) && o->class.tensor == TRI_YES && o->class.dtype == SPOOL_DT_TF32
               ? QUERY_ALL
               : QUERY_NO;
}

static enum query_take is_half_matrix(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    bool half = o->class.dtype == SPOOL_DT_F16 || o->class.dtype == SPOOL_DT_BF16 ||
                o->class.dtype == SPOOL_DT_F8E4M3 || o->class.dtype == SPOOL_DT_F8E5M2;
    return is_matrix(f, o) && half ? QUERY_ALL : QUERY_NO;
}

/* Takes kernels that read and write 32-bit numbers, and in 16 bits would move half the bytes. */
static enum query_take moves_fp32(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    bool moves = o->class.family == FAMILY_ELEMENTWISE || o->class.family == FAMILY_NORM ||
                 o->class.family == FAMILY_POOL || o->class.family == FAMILY_BIAS ||
                 o->class.family == FAMILY_SOFTMAX;
    return o->kind == OP_KERNEL && moves && !o->class.half ? QUERY_BUSY : QUERY_NO;
}

/* Returns the time in TF32 in ns per step; 0 if it is short, or if the program uses 16 bits
 * already. */
static int64_t tf32_cost(const struct facts *f)
{
    struct query_ops tf32 = query_ops(f, is_tf32_matrix), half = query_ops(f, is_half_matrix);
    int64_t cost = per_step(f, tf32.busy_ns);
    return cost * QUERY_SOME < f->step_ns || half.busy_ns * QUERY_SOME > tf32.busy_ns ? 0 : cost;
}

struct found {
    const bool *half;
    const uint32_t *calls; /* by operation: its library call */
    int64_t layout;        /* of all calls, for work in CUDA graphs */
    struct query_ops fp32;
    int64_t cost_ns, tf32_ns; /* per step */
};

/* True for an FP32 convolution whose tensors have (nhwc) or lack that layout. The recorded call
 * decides, because a kernel for NCHW may be the library's choice. */
static bool is_fp32_conv_of(const struct facts *f, uint32_t op, const struct found *x, bool nhwc)
{
    const struct kernel_class *c = &f->tl->ops[op].class;
    uint32_t call = x->calls ? x->calls[op] : TL_NONE;
    int64_t layout = call != TL_NONE ? f->tl->calls[call].row.in_layout : x->layout;
    layout = layout == SPOOL_LAYOUT_UNKNOWN ? c->layout : layout;
    return c->family == FAMILY_CONV && (layout == SPOOL_LAYOUT_NHWC) == nhwc &&
           is_fp32_matrix(f, op, x->half) != QUERY_NO;
}

/* Convolutions around which the library would convert the layout: cuDNN has no 16-bit kernels for
 * NCHW. */
static enum query_take is_fp32_conv_in_nchw(const struct facts *f, uint32_t op, const void *found)
{
    return is_fp32_conv_of(f, op, found, false) ? QUERY_ALL : QUERY_NO;
}

/* Convolutions whose tensors need no conversion in 16 bits. */
static enum query_take is_fp32_conv_in_nhwc(const struct facts *f, uint32_t op, const void *found)
{
    return is_fp32_conv_of(f, op, found, true) ? QUERY_ALL : QUERY_NO;
}

/* PyTorch's hook records the weights' format, which kernel names may not show. */
static bool weights_in_nhwc(const struct facts *f)
{
    const char *format = timeline_meta(f->tl, FACT_TORCH_WEIGHTS_MEMORY_FORMAT);
    return format && strcmp(format, "channels_last") == 0;
}

/* `convolves`: the program convolves in FP32, which on Ampere and later PyTorch does only if its
 * default was switched off. */
static void advise(struct outcome *o, int cc_major, bool tf32, bool convolves)
{
    bool bf16 = cc_major >= 8; /* 7.x has FP16 only */
    o->remedy.action = ACTION_MIX_PRECISION;
    remedy_text(&o->remedy, PARAM_DTYPE, bf16 ? "bf16" : "fp16");
    o->remedy.conditions[CONDITION_HAS_TF32] = bf16 && tf32;
    o->remedy.conditions[CONDITION_CONVOLVES] = convolves;
    if (!bf16)
        o->title = "Use the tensor cores (mixed precision in FP16)";
    else if (tf32)
        o->title = "Use the tensor cores in 16 bits (mixed precision)";
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct found *x)
{
    const char *rows = "SELECT * FROM kernel_time WHERE name LIKE '%sgemm%' OR name LIKE '%ffma%' "
                       "OR name LIKE '%scudnn%' OR name LIKE '%_f32_%'";
    if (x->cost_ns) {
        outcome_evidence_per(o, "FP32 matrix kernels without tensor cores",
                             (double)x->fp32.count / (double)f->steps.used, "count", rows);
        outcome_evidence_per(o, "their GPU time", ms(x->cost_ns), "ms", rows);
        outcome_evidence_share(o, "their share", share_pct(f, x->cost_ns), rows);
    }
    if (x->tf32_ns)
        outcome_evidence_per(o, "matrix kernels in TF32, GPU time", ms(x->tf32_ns), "ms",
                             "SELECT * FROM kernel_time WHERE name LIKE '%tf32%' OR name LIKE "
                             "'%s1688%'");
    outcome_evidence_per(o, "matrix time on tensor cores", ms(per_step(f, f->totals.tensor_ns)),
                         "ms", NULL);
    const char *override = timeline_meta(f->tl, "env.NVIDIA_TF32_OVERRIDE");
    if (override && strcmp(override, "0") == 0)
        outcome_evidence(o, "NVIDIA_TF32_OVERRIDE=0 disables TF32 until you unset it", 0, "", NULL);
}

static const char *summary_of(const struct facts *f, struct arena *arena, const struct found *x)
{
    if (x->tf32_ns > x->cost_ns)
        return arena_printf(
            arena,
            "%s%s of matrix work runs in TF32%s: tensor cores process 16-bit numbers at twice "
            "the rate, and other kernels move fewer bytes, but casts take time",
            time_text(arena, x->tf32_ns + x->cost_ns), scope_words(f)->per_of,
            x->cost_ns ? " or FP32" : "");
    const struct op *longest = x->fp32.longest == TL_NONE ? NULL : &f->tl->ops[x->fp32.longest];
    bool idle = !longest || longest->class.tensor == TRI_NO;
    return arena_printf(arena, "%s%s of matrix work runs in FP32%s (longest: %s)",
                        time_text(arena, x->cost_ns), scope_words(f)->per_of,
                        idle ? " while the tensor cores idle" : "",
                        longest ? tl_text(f->tl, longest->name) : "-");
}

/* Returns true if the GPU has tensor cores; otherwise false, with the reason in *o. */
static bool has_tensor_cores(const struct facts *f, struct outcome *o, int *cc_major)
{
    bool told;
    *cc_major = query_cc_major(f, &told);
    if (*cc_major < 0 || (*cc_major < 7 && !told)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: the GPU's compute capability, and no kernel name shows it";
        return false;
    }
    if (*cc_major < 7) {
        o->verdict = RULE_SUPPRESSED;
        o->why = "this GPU has no tensor cores";
        return false;
    }
    return true;
}

static void check_tensor_cores(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct found x = {.half = given_half(f, arena),
                      .calls = query_op_calls(f, arena),
                      .layout = query_images_layout(f)};
    int cc_major;
    x.fp32 = query_ops_of(f, is_fp32_matrix, x.half);
    x.cost_ns = per_step(f, x.fp32.busy_ns);
    x.tf32_ns = tf32_cost(f);
    o->why = arena_printf(arena, "%.3f ms%s of FP32 matrix kernels without tensor cores",
                          ms(x.cost_ns), scope_words(f)->per_of);
    if ((x.cost_ns + x.tf32_ns) * QUERY_WORTH < f->step_ns || !query_nvidia(f) ||
        !has_tensor_cores(f, o, &cc_major))
        return;
    add_evidence(f, o, &x);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit.kind = &edit_precision;
    o->edit.at.op_calls = x.calls;
    struct query_ops nchw = query_ops_of(f, is_fp32_conv_in_nchw, &x);
    struct query_ops nhwc = query_ops_of(f, is_fp32_conv_in_nhwc, &x);
    advise(o, cc_major, x.tf32_ns > x.cost_ns, nchw.count + nhwc.count > 0);
    o->edit.precision.layout = nhwc.busy_ns > nchw.busy_ns || weights_in_nhwc(f);
    if (nchw.busy_ns * QUERY_SOME > x.fp32.busy_ns && !weights_in_nhwc(f)) {
        outcome_evidence_per(o, "of them, convolutions not in channels-last,",
                             ms(per_step(f, nchw.busy_ns)), "ms", NULL);
        o->edit.precision.layout = true;
        o->remedy.conditions[CONDITION_TO_CHANNELS_LAST] = true;
    }
    outcome_fires(o, x.cost_ns + x.tf32_ns, summary_of(f, arena, &x));
    /* The most is half of it, and half of the time of kernels that move 32-bit numbers. */
    if (x.tf32_ns)
        o->saves_high_ns += per_step(f, query_ops(f, moves_fp32).busy_ns) / 2;
    outcome_example_op(o, f->tl, x.fp32.longest, "longest FP32 matrix kernel");
}

const struct rule rule_tensor_cores = {
    .id = "tensor-cores",
    .title = "Use the tensor cores (TF32, or mixed precision)",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check_tensor_cores,
    .cheaper = true,
    .in_window = true,
    .program = {.line = FACT_TORCH_AUTOCAST_WHERE, .now = FACT_TORCH_AUTOCAST},
    .looks_for = "GEMM, convolution and attention kernels whose names mean FP32 (ffma, sgemm, "
                 "simt, fmha_..._f32) on compute capability 7.0 and above; if the program does no "
                 "16-bit work, those in TF32 as well.",
    .doc =
        "TF32 keeps the range of FP32 with a shorter mantissa. TF32 and bf16 need Ampere or "
        "newer (8.0); Volta and Turing (7.x) have only FP16. gpuprof decides by kernel names: "
        "xmma or sm80 does not imply tensor cores, and ffma means none. Attention in FP32 "
        "(fmha_cutlass..._f32) gains about as much. Work that already runs in TF32 still gains "
        "from 16 bits. The bound is the whole time of these kernels; the remaining time depends "
        "on the shapes. Autocast keeps softmax and the norms of rows in FP32 and converts operands "
        "by kernels of their own, which takes up to three quarters of what the 16-bit products "
        "take; torch.compile fuses most of that. For convolutions in NCHW gpuprof advises "
        "channels-last at the same "
        "time: otherwise the library converts before and after each convolution, which costs "
        "much of the gain. This changes the numerics: watch the loss.",
    .remedy = {.action = ACTION_USE_TENSOR_CORES, .object.kind = OBJECT_KERNEL},
    .tips = {{"mixed-precision", "Train in mixed precision", NULL},
             {"tf32", "Allow TF32 for FP32 matrices on Ampere and later", NULL}},
};
