/* The time of an FP32 matrix kernel on tensor cores, from peak rates and the share of them that
 * kernels reach in practice, the bytes that a product moves, and the alignment of its rows.
 *
 * limits.def names recordings of "llm.c on an H200": GPT-2 with 16 sequences of 1,024 tokens, the
 * same calls recorded in FP32 and in BF16 and compared one by one (docs/measurements). */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"
#include "analyzer/queries/kernels/shapes.h"
#include "wire/spool_format.h"

/* Returns the FP32 rate divided by the rate of 16-bit tensor cores, dense, from NVIDIA's data
 * sheets: V100 15.7/125, T4 8.1/65, A100 19.5/312, GA10x and Ada about 1/4, H100 67/989, B200
 * 75/2250. */
static double ratio_in_16_bits(const struct row_device *v)
{
    if (v->cc_major == 7)
        return 1.0 / 8;
    if (v->cc_major == 8)
        return v->cc_minor == 0 ? 1.0 / 16 : 1.0 / 4;
    return v->cc_major == 9 ? 1.0 / 15 : 1.0 / 30;
}

/* The same for TF32, whose rate is half of the 16-bit rate. Products in cuBLAS on an H200 ran 8.9
 * times as fast as in FP32 with sides of 8,192, 6.9 times with 2,048, and 2.4 times with 1,024.
 * GeForce cards (8.6, 8.9) compute TF32 as fast as FP32, others with the same chips twice as
 * fast. */
static double ratio_in_tf32(const struct row_device *v, const struct draw *d)
{
    if (v->cc_major == 8 && v->cc_minor != 0)
        return draw_range(d, 2, ASSUMED_TF32_GA10X);
    return 2 * ratio_in_16_bits(v);
}

double edit_on_tensor_cores(const struct graph *g, double share)
{
    const struct row_device *v = g->a->device;
    double by = v && v->cc_major >= 7 ? ratio_in_16_bits(v) / share : 1;
    return by > 1 ? 1 : by;
}

static double in_tf32(const struct graph *g, double share, const struct draw *d)
{
    const struct row_device *v = g->a->device;
    double by = v && v->cc_major >= 8 ? ratio_in_tf32(v, d) / share : 1;
    return by > 1 ? 1 : by;
}

/* Returns which part of its share of the peak rate a kernel keeps. Matrix products keep it. So do
 * convolutions in NHWC, where FP32 reaches half of what it does in NCHW; convolutions in NCHW keep
 * half. */
static double share_kept(const struct graph *g, uint32_t i, const struct draw *d)
{
    const struct kernel_class *c = &edit_op(g, i)->class;
    bool halves = c->family == FAMILY_CONV && c->layout != SPOOL_LAYOUT_NHWC;
    return draw_range(d, 0, halves ? ASSUMED_SHARE_NCHW : ASSUMED_SHARE);
}

/* Returns the factor for rows that begin at unaligned addresses: the kernel loads them element by
 * element. Hopper's cuBLAS then uses kernels of the generation before. */
static double slowed_by_rows(const struct graph *g, bool tf32, const struct draw *d)
{
    int64_t major = g->a->device ? g->a->device->cc_major : 0;
    if (major >= 9)
        return draw_range(d, 0, tf32 ? ASSUMED_ROWS_TF32 : ASSUMED_ROWS_16);
    return draw_range(d, 0, ASSUMED_ROWS_OLDER);
}

/* Returns the least time in ns that the memory's rate allows, which limits products with a short
 * side, such as those of attention. Products that fit into half of the L2 cache may be faster. */
static double floor_by_bytes(const struct graph *g, const struct row_call *r, bool tf32,
                             const struct draw *d)
{
    double rate = query_memory_rate(g->a);
    double bytes = query_product_elements(r) * (tf32 ? 4 : 2);
    bool cached = rate > 0 && bytes * 2 < (double)g->a->device->l2_bytes;
    double share = draw_range(d, 1, cached ? ASSUMED_MEMORY_CACHED : ASSUMED_MEMORY);
    return rate > 0 ? bytes / rate / share : 0;
}

double edit_matrix_left(const struct edit *x, const struct graph *g, uint32_t i,
                        const struct draw *d)
{
    double share = share_kept(g, i, d);
    double by = x->precision.tf32 ? in_tf32(g, share, d) : edit_on_tensor_cores(g, share);
    uint32_t c = x->at.op_calls ? x->at.op_calls[g->tasks[i].source] : TL_NONE;
    const struct row_call *r = c == TL_NONE ? NULL : &g->a->tl->calls[c].row;
    if (!r || r->family != SPOOL_CALL_GEMM || by >= 1)
        return by;
    if (!query_rows_aligned(r, x->precision.tf32 ? 4 : 8))
        by *= slowed_by_rows(g, x->precision.tf32, d);
    double floor = floor_by_bytes(g, r, x->precision.tf32, d) / (double)g->tasks[i].dur_ns;
    by = by > floor ? by : floor;
    return by > 1 ? 1 : by;
}
