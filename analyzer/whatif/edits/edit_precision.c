/* The edit "precision": 16-bit numbers, or TF32, with ranges for what is not known. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"
#include "analyzer/whatif/edits/limits.h"
#include "wire/spool_format.h"

/* Returns the factor on the update's time: weights that stay in FP32 are cast in each step, either
 * inside kernels that run anyway (nothing is added) or in kernels of their own. */
static double beside_update(const struct graph *g, const struct draw *d)
{
    const struct row_device *v = g->a->device;
    bool fp16 = v && v->cc_major < 8;
    return 1 + draw_between(d, 2, 0, fp16 ? ASSUMED_CAST_FP16 : ASSUMED_CAST_BF16);
}

/* How the program handles types. */
struct types {
    double cast_ns; /* host time of a conversion by a kernel of its own, in ns */
    /* A framework's autocast: it keeps some operations in FP32 and casts between them. */
    bool autocast;
    bool fused;     /* a compiler fuses kernels, so casts are part of other kernels */
    bool convolves; /* most matrix work is convolutions: activations stay in 16 bits */
    bool layout;    /* the layout of images changes as well */
};

/* Returns the host time of a conversion in eager PyTorch, in ns: a share of the mean time per
 * launch. */
static double host_of_cast(const struct graph *g)
{
    double ns = 0, launches = 0;
    for (size_t i = 0; i < g->recorded; i++) {
        const struct task *t = &g->tasks[i];
        bool call = t->kind == TASK_HOST_API;
        if (call || (t->kind == TASK_HOST_GAP && t->dur_ns < ASSUMED_PAUSE_NS))
            ns += (double)t->dur_ns;
        launches += call && g->a->tl->apis[t->source].kind == API_LAUNCH;
    }
    return launches > 0 ? ASSUMED_CAST_OF_LAUNCH * ns / launches : 0;
}

/* Derives from the recorded kernels how the program handles types. */
static struct types types_of(const struct edit *x, const struct graph *g)
{
    int64_t conv_ns = 0, product_ns = 0;
    size_t fused = 0, moves = 0;
    uint32_t i;
    for (size_t k = 0; edit_next(x, g, &k, &i);) {
        uint8_t f = g->classes[i].family;
        conv_ns += f == FAMILY_CONV ? g->tasks[i].dur_ns : 0;
        product_ns += f == FAMILY_GEMM || f == FAMILY_ATTENTION ? g->tasks[i].dur_ns : 0;
        moves += f == FAMILY_ELEMENTWISE || f == FAMILY_REDUCE;
        fused += (g->classes[i].traits & TRAIT_FUSED) != 0;
    }
    return (struct types){.cast_ns = host_of_cast(g),
                          .autocast = query_of_pytorch(g->a),
                          .fused = fused * 100 > moves * (size_t)ASSUMED_FUSED_PCT,
                          .convolves = conv_ns > product_ns,
                          .layout = x->precision.layout};
}

/* Returns the share of an attention kernel's time that remains in 16 bits. In FP32 cutlass's
 * kernels keep the products on the chip; in 16 bits flash attention replaces them, and how well
 * that uses tensor cores depends on the GPU's generation. */
static double attention_left(const struct row_device *v, const struct draw *d)
{
    if (v && v->cc_major >= 9)
        return draw_range(d, 0, ASSUMED_ATTENTION_HOPPER);
    if (v && v->cc_major == 8 && v->cc_minor == 0)
        return draw_range(d, 0, ASSUMED_ATTENTION_A100);
    return draw_range(d, 0, ASSUMED_ATTENTION);
}

/* Returns the share of a matrix kernel's time that remains in 16 bits. */
static double in_16_bits(const struct edit *x, const struct graph *g, uint32_t i,
                         const struct types *t, const struct draw *d)
{
    const struct kernel_class *c = &edit_op(g, i)->class;
    if (c->dtype == SPOOL_DT_TF32 && c->tensor == TRI_YES)
        return draw_range(
            d, 0, t->layout && c->family == FAMILY_CONV ? ASSUMED_TF32_LAYOUT : ASSUMED_TF32);
    if (c->family == FAMILY_ATTENTION)
        return c->dtype == SPOOL_DT_F32 ? attention_left(g->a->device, d) : 1;
    return g->classes[i].traits & TRAIT_NO_TENSOR ? edit_matrix_left(x, g, i, d) : 1;
}

/* Returns the share that remains of a kernel that moves numbers: half the bytes at best. Autocast
 * keeps softmax and norms of rows in FP32, and so the work between them and the next product; an
 * addition with one such operand also stays in FP32. */
static double left_of_moving(const struct graph *g, uint32_t i, const struct types *t,
                             const struct draw *d)
{
    bool kept = g->classes[i].family == FAMILY_SOFTMAX || g->classes[i].traits & TRAIT_BY_ROW;
    if (t->autocast && !t->fused && kept)
        return draw_range(d, 1, ASSUMED_KEPT);
    if (t->autocast && !t->fused && !t->convolves)
        return draw_range(d, 1, ASSUMED_MOVED_AUTOCAST);
    return draw_range(d, 1, ASSUMED_MOVED);
}

/* Autocast converts the operands of a matrix product, and the gradients back, by kernels of their
 * own. These take time of host and GPU, unless a compiler fuses them. */
static void add_casts(const struct graph *g, struct plan *p, uint32_t i, const struct types *t,
                      const struct draw *d)
{
    bool few = g->classes[i].family == FAMILY_CONV || t->fused;
    if (g->classes[i].family != FAMILY_ATTENTION) /* attention's operands come from products */
        p->dur[i] += (int64_t)((double)p->dur[i] * (few ? draw_range(d, 2, ASSUMED_CASTS_FEW)
                                                        : draw_range(d, 2, ASSUMED_CASTS)));
    uint32_t call = g->tasks[i].issue;
    if (call == TASK_NONE || g->tasks[call].kind != TASK_HOST_API || t->fused)
        return;
    double most =
        g->classes[i].family == FAMILY_CONV ? ASSUMED_CASTS_CONVOLUTION : ASSUMED_CASTS_PRODUCT;
    if (g->a->tl->apis[g->tasks[call].source].kind == API_LAUNCH)
        p->dur[call] += (int64_t)(t->cast_ns * draw_between(d, 2, 0, most));
}

/* Returns the share of a kernel's time that remains. Kernels that already work on 16-bit numbers
 * keep their time. */
static double left_of_kernel(const struct edit *x, const struct graph *g, uint32_t i,
                             const struct types *t, double update, const struct draw *d)
{
    switch (g->classes[i].family) {
    case FAMILY_GEMM:
    case FAMILY_CONV:
    case FAMILY_ATTENTION:
        return in_16_bits(x, g, i, t, d);
    case FAMILY_ELEMENTWISE:
    case FAMILY_NORM:
    case FAMILY_POOL:
    case FAMILY_BIAS:
    case FAMILY_SOFTMAX:
        if (query_is_optimizer(g->a, g->tasks[i].source) != QUERY_NO)
            return update;
        return g->classes[i].traits & TRAIT_HALF ? 1 : left_of_moving(g, i, t, d);
    case FAMILY_OPTIMIZER:
        return update;
    default:
        return 1;
    }
}

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    (void)x;
    return g->classes[i].family != FAMILY_UNKNOWN || g->classes[i].traits & TRAIT_FUSED;
}

/* Changes only FP32 matrix kernels: with TF32 the program keeps its types. */
static void in_tf32(const struct edit *x, const struct graph *g, struct plan *p,
                    const struct draw *d)
{
    uint32_t i;
    for (size_t k = 0; edit_next(x, g, &k, &i);) {
        uint8_t f = g->classes[i].family;
        const struct op *o = edit_op(g, i);
        if ((f != FAMILY_GEMM && f != FAMILY_CONV) || !o || o->class.dtype != SPOOL_DT_F32 ||
            !(g->classes[i].traits & TRAIT_NO_TENSOR) || p->dur[i] <= ASSUMED_FLOOR_NS)
            continue;
        p->dur[i] = ASSUMED_FLOOR_NS + (int64_t)((double)(p->dur[i] - ASSUMED_FLOOR_NS) *
                                                 edit_matrix_left(x, g, i, d));
    }
}

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    if (x->precision.tf32) {
        in_tf32(x, g, p, d);
        return;
    }
    struct types t = types_of(x, g);
    double update = beside_update(g, d);
    uint32_t i;
    for (size_t k = 0; edit_next(x, g, &k, &i);) {
        uint8_t f = g->classes[i].family;
        if (x->precision.layout && f == FAMILY_LAYOUT && edit_op(g, i))
            edit_drop_launched(g, p, i);
        if (f == FAMILY_UNKNOWN || p->dur[i] <= ASSUMED_FLOOR_NS)
            continue;
        double by = left_of_kernel(x, g, i, &t, update, d);
        p->dur[i] = ASSUMED_FLOOR_NS + (int64_t)((double)(p->dur[i] - ASSUMED_FLOOR_NS) * by);
        bool product = f == FAMILY_GEMM || f == FAMILY_CONV || f == FAMILY_ATTENTION;
        if (product && by < 1 && t.autocast)
            add_casts(g, p, i, &t, d);
    }
}

/* The lesser change: TF32 alone, which is one line and keeps the program's types. Devices before
 * Ampere do not have it. */
static bool in_tf32_alone(const struct edit *x, const struct facts *f, struct edit *part)
{
    bool told;
    *part = *x;
    part->precision.tf32 = true;
    return query_cc_major(f, &told) >= 8;
}

const struct edit_kind edit_precision = {
    .name = "precision",
    .apply = apply,
    .touches = touches,
    .change = LEDGER_KERNEL,
    .lesser = in_tf32_alone,
};
