/* The edit of the type of numbers, with the range of what is not known about them. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"
#include "wire/spool_format.h"

enum { KERNEL_FLOOR_NS = 3000 };

/* Weights that stay in FP32 are cast each step, 6 bytes a parameter where an optimizer moves 20
 * (SGD with momentum) to 28 (Adam); FP16 wants its gradients unscaled, too, another 8. A program
 * may do that on the way of other kernels: none of it comes on top, or all. */
static double beside_update(const struct graph *g, const struct draw *d)
{
    const struct row_device *v = g->a->device;
    bool fp16 = v && v->cc_major < 8;
    return 1 + draw_between(d, 2, 0, (fp16 ? 14.0 : 6.0) / 20);
}

/* What a program does about types. */
struct types {
    double cast_ns; /* of the host, for a conversion by a kernel of its own */
    bool autocast;  /* of a framework: it keeps some operations in FP32, and casts between them */
    bool fused;     /* by a compiler, so casts ride along with other kernels */
    bool convolves; /* most of its products are convolutions: activations stay in 16 bits */
    bool layout;    /* changes, too */
};

/* An operator of eager PyTorch that converts numbers takes the host three quarters of what launches
 * take it on average, with the pauses before them (ResNet-50 on an H200, three recordings: 25 us
 * more in forward and 31 in backward where autocast has put one between two operators that follow
 * each other without it, at 32 us a launch). */
static double host_of_cast(const struct graph *g)
{
    static const double of_launch = 0.75;
    double ns = 0, launches = 0;
    for (size_t i = 0; i < g->recorded; i++) {
        const struct task *t = &g->tasks[i];
        bool call = t->kind == TASK_HOST_API;
        if (call || (t->kind == TASK_HOST_GAP && t->dur_ns < HOST_PAUSE_NS))
            ns += (double)t->dur_ns;
        launches += call && g->a->tl->apis[t->source].kind == API_LAUNCH;
    }
    return launches > 0 ? of_launch * ns / launches : 0;
}

static struct types types_of(const struct edit *x, const struct graph *g)
{
    int64_t conv_ns = 0, product_ns = 0;
    size_t fused = 0, moves = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        uint8_t f = g->classes[i].family;
        conv_ns += f == FAMILY_CONV ? g->tasks[i].dur_ns : 0;
        product_ns += f == FAMILY_GEMM || f == FAMILY_ATTENTION ? g->tasks[i].dur_ns : 0;
        moves += f == FAMILY_ELEMENTWISE || f == FAMILY_REDUCE;
        fused += (g->classes[i].traits & TRAIT_FUSED) != 0;
    }
    return (struct types){.cast_ns = host_of_cast(g),
                          .autocast = query_of_pytorch(g->a),
                          .fused = fused * 4 > moves,
                          .convolves = conv_ns > product_ns,
                          .layout = x->precision.layout};
}

/* What 16 bits leave of attention in FP32, whose products stay on the chip: cutlass's kernels give
 * way to flash attention, whose use of tensor cores differs by generation. Recordings of others
 * before and after the change: H100 802 to 65 ms (0.08), A100 1,018 to 149 ms (0.15) and, in
 * another one, a third. The middle between them; H100's from its one and the A100's two. Other
 * cards: the A100's slow one, whose FP32 is further from their tensor cores than theirs. */
static double attention_left(const struct row_device *v, const struct draw *d)
{
    if (v && v->cc_major >= 9)
        return draw_around(d, 0, 0.05, 0.11, 0.33);
    if (v && v->cc_major == 8 && v->cc_minor == 0)
        return draw_around(d, 0, 0.1, 0.2, 0.5);
    return draw_around(d, 0, 0.125, 0.33, 0.7);
}

/* A matrix kernel in 16 bits. From TF32: twice the rate and half the bytes, and a larger share of
 * either than with operands of 32 bits (NVIDIA's published training on A100, TF32 to mixed
 * precision: BERT-large 1.8 times the samples a second, ResNet-50 and ResNeXt-101 2.6 times,
 * channels-last included); one that waits for neither stays as it is. */
static double in_16_bits(const struct edit *x, const struct graph *g, uint32_t i,
                         const struct types *t, const struct draw *d)
{
    const struct kernel_class *c = &edit_op(g, i)->class;
    if (c->dtype == SPOOL_DT_TF32 && c->tensor == TRI_YES)
        return draw_around(d, 0, t->layout && c->family == FAMILY_CONV ? 0.33 : 0.42, 0.5, 0.8);
    if (c->family == FAMILY_ATTENTION)
        return c->dtype == SPOOL_DT_F32 ? attention_left(g->a->device, d) : 1;
    return g->classes[i].traits & TRAIT_NO_TENSOR ? edit_matrix_left(x, g, i, d) : 1;
}

/* What is left of a kernel that moves numbers: half the bytes at best. Autocast keeps softmax and
 * the norms of rows in FP32, and so what comes between them and the next product; a residual
 * addition with such an operand is one in FP32. (GPT-2 and BERT in autocast on the virtual GPU:
 * elementwise kernels keep 0.8 of their time, softmax and norms all of it.) */
static double moved(const struct graph *g, uint32_t i, const struct types *t, const struct draw *d)
{
    bool kept = g->classes[i].family == FAMILY_SOFTMAX || g->classes[i].traits & TRAIT_BY_ROW;
    if (t->autocast && !t->fused && kept)
        return draw_around(d, 1, 0.75, 1, 1);
    if (t->autocast && !t->fused && !t->convolves)
        return draw_around(d, 1, 0.5, 0.8, 1);
    return draw_around(d, 1, 0.5, 0.5, 0.85);
}

/* What autocast does for a product: it converts operands, and gradients back, by kernels of their
 * own. They take the host (BERT with the Transformers Trainer: 372 of them for 217 products;
 * ResNet-50: 113 for 161 convolutions, of weights alone) and the GPU: 0.14 and 0.40 of the
 * products' time in recordings of others (video transformer on H100, perceptron on T4), 0.2 to 0.7
 * in BERT and GPT-2 on the virtual GPU. None where a compiler fuses them. */
static void add_casts(const struct graph *g, struct plan *p, uint32_t i, const struct types *t,
                      const struct draw *d)
{
    static const double of_product = 2.4, of_convolution = 1.4; /* at most */
    bool few = g->classes[i].family == FAMILY_CONV || t->fused;
    if (g->classes[i].family != FAMILY_ATTENTION) /* its operands come from products */
        p->dur[i] += (int64_t)((double)p->dur[i] * (few ? draw_around(d, 2, 0, 0.03, 0.1)
                                                        : draw_around(d, 2, 0, 0.3, 0.75)));
    uint32_t call = g->tasks[i].issue;
    if (call == TASK_NONE || g->tasks[call].kind != TASK_HOST_API || t->fused)
        return;
    double most = g->classes[i].family == FAMILY_CONV ? of_convolution : of_product;
    if (g->a->tl->apis[g->tasks[call].source].kind == API_LAUNCH)
        p->dur[call] += (int64_t)(t->cast_ns * draw_between(d, 2, 0, most));
}

/* What remains of a kernel's time; what works on 16-bit numbers does not halve its bytes again. */
static double remains(const struct edit *x, const struct graph *g, uint32_t i,
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
        return g->classes[i].traits & TRAIT_HALF ? 1 : moved(g, i, t, d);
    case FAMILY_OPTIMIZER:
        return update;
    default:
        return 1;
    }
}

/* The program keeps its types, so the rest stays as it is. */
static void in_tf32(const struct edit *x, const struct graph *g, struct plan *p,
                    const struct draw *d)
{
    for (uint32_t i = 0; i < g->count; i++) {
        uint8_t f = g->classes[i].family;
        const struct op *o = edit_op(g, i);
        if ((f != FAMILY_GEMM && f != FAMILY_CONV) || !o || o->class.dtype != SPOOL_DT_F32 ||
            !(g->classes[i].traits & TRAIT_NO_TENSOR) || p->dur[i] <= KERNEL_FLOOR_NS)
            continue;
        p->dur[i] = KERNEL_FLOOR_NS +
                    (int64_t)((double)(p->dur[i] - KERNEL_FLOOR_NS) * edit_matrix_left(x, g, i, d));
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
    for (uint32_t i = 0; i < g->count; i++) {
        uint8_t f = g->classes[i].family;
        if (x->precision.layout && f == FAMILY_LAYOUT && edit_op(g, i))
            edit_drop_launched(g, p, i);
        if (f == FAMILY_UNKNOWN || p->dur[i] <= KERNEL_FLOOR_NS)
            continue;
        double by = remains(x, g, i, &t, update, d);
        p->dur[i] = KERNEL_FLOOR_NS + (int64_t)((double)(p->dur[i] - KERNEL_FLOOR_NS) * by);
        bool product = f == FAMILY_GEMM || f == FAMILY_CONV || f == FAMILY_ATTENTION;
        if (product && by < 1 && t.autocast)
            add_casts(g, p, i, &t, d);
    }
}

/* TF32 is one line and leaves the program's types as they are; devices before Ampere have none. */
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
    .lesser = in_tf32_alone,
};
