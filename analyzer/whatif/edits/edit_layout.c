/* The edit "layout": images in NHWC instead of NCHW.
 *
 * limits.def has the measured shares: train_conv with batches of 64 in BF16 on an H200, recorded in
 * both layouts with algorithms that cuDNN 9.19 measured, and compared call by call
 * (docs/measurements). */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"
#include "analyzer/queries/kernels/shapes.h"
#include "analyzer/queries/limits.h"
#include "wire/spool_format.h"

#include <math.h>

static bool is_half(const struct kernel_class *c)
{
    return c->half || c->dtype == SPOOL_DT_F16 || c->dtype == SPOOL_DT_BF16;
}

/* True if the kernel loads one or two elements at a time. A 1x1 convolution in NCHW is a matrix
 * product whose rows are images. With sides of 14 or 7 these rows begin at addresses that forbid
 * wider loads. In NHWC a row has as many elements as there are channels. */
static bool is_narrow(const struct kernel_class *c)
{
    return c->tensor == TRI_YES && (c->align == 1 || c->align == 2);
}

/* True if NHWC would allow wide loads: the numbers of channels are multiples of 8. */
static bool held_up_by_rows(const struct kernel_class *c, const struct row_call *r)
{
    return is_narrow(c) && r && query_in_16_bits(r) && r->dim[1] % 8 == 0 && r->dim[4] % 8 == 0;
}

/* Returns the share of a convolution's time that remains. A kernel that works in NHWC already stays
 * the same; only the conversions around it go (ResNet-50 on an H200: 1.00). If the library chose
 * the algorithm by a heuristic, x->layout.best of the time is possible. */
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
        return draw_around(d, 2, ASSUMED_PICKED.good * edit_on_tensor_cores(g, 1),
                           ASSUMED_PICKED.likely, ASSUMED_PICKED.bad);
    if (r && query_conv_in_wide_groups(r))
        return draw_range(d, 0, ASSUMED_NHWC_GROUPS);
    if (held_up_by_rows(c, r))
        return draw_range(d, 0, ASSUMED_ODD_ROWS);
    if (is_narrow(c) && !r) /* the number of channels may be odd */
        return draw_range(d, 0, ASSUMED_NARROW);
    if (c->tensor == TRI_NO && r && query_in_16_bits(r) && r->dim[1] < QUERY_FEW_CHANNELS)
        return draw_range(d, 0, ASSUMED_FEW_IN);
    if (c->tensor == TRI_NO && !is_half(c) && !(r && query_in_16_bits(r)))
        return draw_around(d, 0, ASSUMED_NHWC_FP32.good * lucky, ASSUMED_NHWC_FP32.likely,
                           ASSUMED_NHWC_FP32.bad);
    return draw_around(d, 0, ASSUMED_NHWC.good * lucky, ASSUMED_NHWC.likely, ASSUMED_NHWC.bad);
}

/* PyTorch's kernels reach a fifth of an H200's memory rate, so the multiprocessors limit them.
 * Returns how many times as many of their clocks this card has for each byte of its memory rate. */
static double clocks_for_bytes(const struct graph *g)
{
    const struct row_device *v = g->a->device;
    double rate = query_memory_rate(g->a); /* bytes per ns */
    if (!v || v->sm_count <= 0 || v->clock_khz <= 0 || rate <= 0)
        return 1;
    return (double)v->sm_count * (double)v->clock_khz / 1e6 / rate / ASSUMED_NORM_CLOCKS;
}

/* Returns the share of the memory's rate that batch normalisation in NHWC reaches, beyond a fixed
 * time per call. */
static double norm_share(const struct graph *g, const struct draw *d)
{
    return query_of_pytorch(g->a)
               ? fmin(draw_range(d, 1, ASSUMED_NORM_PYTORCH) * clocks_for_bytes(g),
                      ASSUMED_NORM_MOST)
               : draw_range(d, 1, ASSUMED_NORM);
}

/* The same when sizes are not known: the share of the time, by the kernel's name. */
static double norm_by_name(const struct graph *g, uint32_t i, const struct draw *d)
{
    const struct op *o = edit_op(g, i);
    const char *name = tl_text(g->a->tl, o->full_name);
    if (is_half(&o->class) && query_name_has(name, "bn_fw_tr_1C11_kernel|bn_bw_1C11_kernel"))
        return draw_range(d, 1, ASSUMED_NORM_CUDNN_16);
    if (is_half(&o->class) && query_name_has(name, "batch_norm_"))
        return draw_range(d, 1, ASSUMED_NORM_PYTORCH_16);
    return draw_range(d, 1, ASSUMED_NORM_OTHER);
}

/* Returns the share of a normalisation's time that remains. */
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
    return (ASSUMED_FLOOR_NS + bytes / rate / norm_share(g, d)) / ns;
}

static double pool_left(const struct graph *g, const struct draw *d)
{
    return query_of_pytorch(g->a) ? draw_range(d, 1, ASSUMED_POOL_PYTORCH)
                                  : draw_range(d, 1, ASSUMED_POOL);
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

/* A 1x1 convolution in NHWC is a matrix product. cuDNN's calls by algorithm ask cuBLASLt for it
 * each time, which costs host time. Some programs find the answer cached, so the cost is drawn from
 * 0 up. PyTorch keeps its plans and does not pay it. */
static void slow_call(const struct edit *x, const struct graph *g, uint32_t i, struct plan *p,
                      const struct draw *d)
{
    const struct call *c = edit_call(x, g, i);
    uint32_t launch = g->tasks[i].issue;
    if (!c || launch == TASK_NONE || g->tasks[launch].kind != TASK_HOST_API ||
        query_of_pytorch(g->a))
        return;
    const int64_t *dim = c->row.dim;
    if (dim[5] == 1 && dim[6] == 1 && dim[7] == 1 && dim[10] <= 1 && dim[1] >= QUERY_FEW_CHANNELS)
        p->dur[launch] += (int64_t)draw_between(d, 2, 0, ASSUMED_PRODUCT_CALL_NS);
}

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    const struct op *o = edit_op(g, i);
    if (!o || o->kind != OP_KERNEL)
        return false;
    uint8_t f = o->class.family;
    return (f == FAMILY_LAYOUT || f == FAMILY_CONV || f == FAMILY_NORM || f == FAMILY_POOL) &&
           !edit_in_nhwc(x, g, i);
}

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    uint32_t i;
    for (size_t k = 0; edit_next(x, g, &k, &i);) {
        const struct op *o = edit_op(g, i);
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
    .touches = touches,
    .change = LEDGER_KERNEL,
};
