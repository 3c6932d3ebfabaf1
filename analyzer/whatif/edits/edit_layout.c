/* The edit of the layout of images: from NCHW to NHWC.
 *
 * Where ranges say "ResNet-50 on an H200": train_conv with batches of 64 in BF16, recorded in both
 * layouts with algorithms that cuDNN 9.19 measured, and compared call by call (docs/measurements).
 */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"
#include "analyzer/queries/kernels/shapes.h"
#include "wire/spool_format.h"

enum {
    FEW_CHANNELS = 8,     /* fewer than a vector of tensor cores */
    NORM_FLOOR_NS = 3000, /* of a kernel, whatever it moves */
    PRODUCT_CALL_NS = 70000
};

static bool is_half(const struct kernel_class *c)
{
    return c->half || c->dtype == SPOOL_DT_F16 || c->dtype == SPOOL_DT_BF16;
}

/* A 1x1 convolution in NCHW is a product whose rows are images: a side of 14 or 7 makes them start
 * at odd places, and the kernel loads two elements at a time or one. In NHWC a row has as many
 * elements as there are channels. */
static bool is_narrow(const struct kernel_class *c)
{
    return c->tensor == TRI_YES && (c->align == 1 || c->align == 2);
}

static bool held_up_by_rows(const struct kernel_class *c, const struct row_call *r)
{
    return is_narrow(c) && r && query_in_16_bits(r) && r->dim[1] % 8 == 0 && r->dim[4] % 8 == 0;
}

/* What is left of a convolution. An NHWC kernel stays the one that it is: only the conversions
 * around it go. ResNet-50 on an H200: 1.00 of those; 0.28 to 0.33 of those with odd rows; 0.09 of
 * one of 16 bits on CUDA cores that NCHW kept there, which may be for another reason; 0.51 of one
 * with three channels; of the other products 0.6 to 1.2 each, and 0.93 of all. What leaves most of
 * a tensor core idle may take longer (rows of the virtual GPU with few channels). FP32 without
 * tensor cores reaches a half of its rate in NHWC, of eight shapes 0.9 to 3.5 times the time.
 * Convolutions that the library guessed may take x->layout.best of the time. */
static double conv_left(const struct edit *x, const struct graph *g, uint32_t i,
                        const struct draw *d)
{
    const struct kernel_class *c = &edit_op(g, i)->class;
    const struct call *call = edit_call(x, g, i);
    const struct row_call *r = call ? &call->row : NULL;
    double lucky = x->layout.best > 0 ? x->layout.best : 1;
    if (c->layout == SPOOL_LAYOUT_NHWC)
        return 1;
    if (edit_picks(x, g, g->tasks[i].source))
        return draw_around(d, 2, edit_on_tensor_cores(g, 1), 0.3, 1);
    if (held_up_by_rows(c, r))
        return draw_around(d, 0, 0.25, 0.32, 0.6);
    if (is_narrow(c) && !r) /* it may have an odd number of channels */
        return draw_around(d, 0, 0.25, 0.4, 1);
    if (c->tensor == TRI_NO && r && query_in_16_bits(r) && r->dim[1] < FEW_CHANNELS)
        return draw_around(d, 0, 0.5, 0.9, 1.3);
    if (c->tensor == TRI_NO && !is_half(c) && !(r && query_in_16_bits(r)))
        return draw_around(d, 0, lucky, 1.7, 3);
    return draw_around(d, 0, 0.9 * lucky, 1, 1.3);
}

/* Batch normalisation in NHWC waits for memory: the share of its rate that it reaches in a whole
 * ResNet-50 on an H200, beyond a floor for each call, is 0.36 forward and 0.44 backward in BF16,
 * 0.40 and 0.51 in FP32 (cuDNN's extended calls); PyTorch's own kernels reach 0.19. */
static double norm_share(const struct graph *g, const struct draw *d)
{
    return query_of_pytorch(g->a) ? draw_around(d, 1, 0.4, 0.2, 0.14)
                                  : draw_around(d, 1, 0.55, 0.4, 0.25);
}

/* Without sizes, by the name. In 16 bits cuDNN's kernels for NCHW that read their tensors several
 * times kept 0.28 in that ResNet-50, and PyTorch's own 0.52 in one of batches of 32 (0.67 forward,
 * 0.41 backward). cuDNN's others keep their bytes: they took 0.88 backward, and 1.46 forward. */
static double norm_by_name(const struct graph *g, uint32_t i, const struct draw *d)
{
    const struct op *o = edit_op(g, i);
    const char *name = tl_text(g->a->tl, o->full_name);
    if (is_half(&o->class) && query_name_has(name, "bn_fw_tr_1C11_kernel|bn_bw_1C11_kernel"))
        return draw_around(d, 1, 0.2, 0.4, 1);
    if (is_half(&o->class) && query_name_has(name, "batch_norm_"))
        return draw_around(d, 1, 0.4, 0.55, 1);
    return draw_around(d, 1, 0.85, 1, 1.3);
}

static double norm_left(const struct edit *x, const struct graph *g, uint32_t i,
                        const struct draw *d)
{
    const struct call *c = edit_call(x, g, i);
    const struct kernel_class *k = &edit_op(g, i)->class;
    if (k->by_row || k->layout == SPOOL_LAYOUT_NHWC || (c && c->row.in_layout == SPOOL_LAYOUT_NHWC))
        return 1;
    uint32_t longest = TL_NONE;
    double rate = query_memory_rate(g->a), bytes = c ? query_norm_bytes(g->a, &c->row) : 0;
    double ns = c ? (double)query_call_ns(g->a, c, &longest) : 0;
    if (rate <= 0 || bytes <= 0 || ns <= 0)
        return norm_by_name(g, i, d);
    return (NORM_FLOOR_NS + bytes / rate / norm_share(g, d)) / ns;
}

/* Pooling: 0.56 of the time by cuDNN in that ResNet-50, of single calls 0.09 to 1.4; by PyTorch's
 * own kernels 0.7, and 0.6 to 1.1. */
static double pool_left(const struct graph *g, const struct draw *d)
{
    return query_of_pytorch(g->a) ? draw_around(d, 1, 0.6, 0.75, 1.1)
                                  : draw_around(d, 1, 0.5, 0.6, 1.05);
}

static double left_of(const struct edit *x, const struct graph *g, uint32_t i, const struct draw *d)
{
    switch (edit_op(g, i)->class.family) {
    case FAMILY_CONV:
        return conv_left(x, g, i, d);
    case FAMILY_NORM:
        return norm_left(x, g, i, d);
    case FAMILY_POOL:
        return pool_left(g, d);
    default:
        return 1;
    }
}

/* A 1x1 convolution in NHWC is a product, for which cuDNN's calls by algorithm ask cuBLASLt each
 * time: on the H200 its trials took the host 118 us, those of other convolutions 48. Loops may ask
 * as often, or find the answer kept. PyTorch keeps its plans. */
static void slow_call(const struct edit *x, const struct graph *g, uint32_t i, struct plan *p,
                      const struct draw *d)
{
    const struct call *c = edit_call(x, g, i);
    uint32_t launch = g->tasks[i].issue;
    if (!c || launch == TASK_NONE || g->tasks[launch].kind != TASK_HOST_API ||
        query_of_pytorch(g->a))
        return;
    const int64_t *dim = c->row.dim;
    if (dim[5] == 1 && dim[6] == 1 && dim[7] == 1 && dim[10] <= 1 && dim[1] >= FEW_CHANNELS)
        p->dur[launch] += (int64_t)draw_between(d, 2, 0, PRODUCT_CALL_NS);
}

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    for (uint32_t i = 0; i < g->count; i++) {
        const struct op *o = edit_op(g, i);
        if (!o || o->kind != OP_KERNEL || edit_in_nhwc(x, g, i))
            continue;
        if (o->class.family == FAMILY_LAYOUT)
            edit_drop_launched(g, p, i);
        else
            p->dur[i] = (int64_t)((double)p->dur[i] * left_of(x, g, i, d));
        if (o->class.family == FAMILY_CONV)
            slow_call(x, g, i, p, d);
    }
}

const struct edit_kind edit_layout = {
    .name = "layout",
    .apply = apply,
};
