/* Computes the arithmetic and bytes of a library call from its shapes. */
#include "analyzer/queries/kernels/shapes.h"

#include "analyzer/measure/arithmetic.h"
#include "wire/spool_format.h"

#include <string.h>

bool query_is_conv(const struct row_call *c)
{
    return spool_call_convolves(c->family);
}

double query_conv_flops(const struct row_call *c)
{
    return query_is_conv(c) ? arithmetic_of_call(c) : 0;
}

static double in_elements(const struct row_call *c)
{
    return (double)c->dim[0] * (double)c->dim[1] * (double)c->dim[2] * (double)c->dim[3];
}

static double bytes_of(int64_t type)
{
    switch (type) {
    case SPOOL_DT_F64:
        return 8;
    case SPOOL_DT_F32:
    case SPOOL_DT_TF32:
        return 4;
    case SPOOL_DT_F16:
    case SPOOL_DT_BF16:
        return 2;
    default:
        return 0;
    }
}

double query_conv_bytes(const struct row_call *c)
{
    return bytes_of(c->in_type) * (in_elements(c) + arithmetic_conv_out(c) +
                                   (double)c->dim[4] * arithmetic_conv_filter(c));
}

/* dim: m n k batch transa transb */
double query_product_elements(const struct row_call *c)
{
    double m = (double)c->dim[0], n = (double)c->dim[1], k = (double)c->dim[2];
    double batch = c->dim[3] > 1 ? (double)c->dim[3] : 1;
    return m > 0 && n > 0 && k > 0 ? batch * (m * k + k * n + m * n) : 0;
}

/* cuBLAS stores matrices by columns, so "rows" here means whatever is contiguous. */
bool query_rows_aligned(const struct row_call *c, int64_t of)
{
    int64_t a = c->dim[4] ? c->dim[2] : c->dim[0], b = c->dim[5] ? c->dim[1] : c->dim[2];
    return a % of == 0 && b % of == 0 && c->dim[0] % of == 0;
}

/* The forward pass reads one tensor and writes another; the backward pass reads
 * two and writes a third. */
double query_norm_bytes(const struct facts *f, const struct row_call *c)
{
    bool backward = strstr(tl_text(f->tl, c->function), "Backward") != NULL;
    return bytes_of(c->in_type) * in_elements(c) * (backward ? 3 : 2);
}

int64_t query_call_ns(const struct facts *f, const struct call *c, uint32_t *longest)
{
    const struct timeline *t = f->tl;
    int64_t ns = 0, most = 0;
    for (uint32_t i = 0; c->first_api != TL_NONE && i < c->apis; i++) {
        uint32_t o = t->apis[c->first_api + i].op;
        if (o == TL_NONE || t->ops[o].kind != OP_KERNEL ||
            t->ops[o].class.family == FAMILY_LAYOUT || !query_used(f, o))
            continue;
        int64_t own = t->ops[o].end_ns - t->ops[o].start_ns;
        ns += own;
        if (own > most) {
            most = own;
            *longest = o;
        }
    }
    return ns;
}

bool query_in_16_bits(const struct row_call *c)
{
    return c->in_type == SPOOL_DT_F16 || c->in_type == SPOOL_DT_BF16;
}

bool query_norm_extended(const struct facts *f, const struct row_call *c)
{
    const char *name = tl_text(f->tl, c->function);
    size_t n = name ? strlen(name) : 0;
    return n > 2 && strcmp(name + n - 2, "Ex") == 0;
}

int64_t query_images_layout(const struct facts *f)
{
    int64_t layout = SPOOL_LAYOUT_UNKNOWN;
    for (size_t i = 0; i < f->tl->call_count; i++) {
        const struct row_call *r = &f->tl->calls[i].row;
        if (!query_is_conv(r))
            continue;
        if (layout != SPOOL_LAYOUT_UNKNOWN && r->in_layout != layout)
            return SPOOL_LAYOUT_UNKNOWN;
        layout = r->in_layout;
    }
    return layout;
}

const uint32_t *query_op_calls(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    uint32_t *calls = arena_array(arena, t->op_count + 1, sizeof *calls);
    for (size_t i = 0; calls && i < t->op_count; i++)
        calls[i] = TL_NONE;
    for (size_t i = 0; calls && i < t->call_count; i++) {
        const struct call *c = &t->calls[i];
        for (uint32_t k = 0; c->first_api != TL_NONE && k < c->apis; k++) {
            const struct api *a = &t->apis[c->first_api + k];
            if (a->op != TL_NONE && a->ops == 1)
                calls[a->op] = (uint32_t)i;
        }
    }
    return calls;
}

/* Excludes grouped and depthwise convolutions, which have kernels of their own on CUDA cores. If
 * the number of groups is not known (0), it may be one of these. With fewer channels than a vector,
 * tensor cores do not help. */
bool query_conv_in_16_bits(const struct row_call *c)
{
    return query_is_conv(c) && query_in_16_bits(c) && c->in_layout == SPOOL_LAYOUT_NHWC &&
           c->dim[10] == 1 && c->dim[1] >= QUERY_FEW_CHANNELS && c->dim[4] >= QUERY_FEW_CHANNELS;
}

bool query_conv_in_wide_groups(const struct row_call *c)
{
    int64_t groups = c->dim[10], width = groups > 1 ? c->dim[1] / groups : 0;
    bool many = width <= QUERY_MANY_GROUPS && groups % QUERY_MANY_GROUPS == 0;
    return query_is_conv(c) && query_in_16_bits(c) && width > QUERY_NARROW_GROUP && !many;
}

bool query_conv_off_tensor_cores(const struct facts *f, const struct call *c, uint32_t op)
{
    if (op == TL_NONE || !query_conv_in_16_bits(&c->row))
        return false;
    const struct kernel_class *k = &f->tl->ops[op].class;
    return (k->family == FAMILY_CONV || k->family == FAMILY_GEMM) && k->tensor == TRI_NO;
}

double query_memory_rate(const struct facts *f)
{
    return f->device && f->device->memory_bytes_per_s > 0
               ? (double)f->device->memory_bytes_per_s / 1e9
               : 0;
}
