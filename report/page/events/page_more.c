/* Further text for an event on the timeline: shapes and bytes (page_more.h). */
#include "report/page/events/page_more.h"

#include "wire/spool_format.h"

#include <string.h>

static void add(struct text *b, const char *name, int64_t v)
{
    size_t n = strlen(b->s);
    if (v > 0)
        snprintf(b->s + n, sizeof b->s - n, "%s%s %lld", n ? ", " : "", name, (long long)v);
}

static void product(struct text *b, const int64_t *dims, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(b->s);
        if (dims[i] > 0)
            snprintf(b->s + n, sizeof b->s - n, "%s%lld", n ? " x " : "", (long long)dims[i]);
    }
}

static void call_shape(struct text *b, const struct row_call *c)
{
    static const char *const gemm[] = {"m", "n", "k", "batch"};
    static const char *const conv[] = {"batch",   "channels", "height", "width",
                                       "filters", "filter ",  "by",     "stride"};
    bool is_gemm = c->family == SPOOL_CALL_GEMM;
    bool is_conv = spool_call_convolves(c->family);
    for (int i = 0; is_gemm && i < 4; i++)
        add(b, gemm[i], c->dim[i]);
    for (int i = 0; is_conv && i < 8; i++)
        add(b, conv[i], c->dim[i]);
    if (!is_gemm && !is_conv && c->family != SPOOL_CALL_COLLECTIVE)
        product(b, c->dim, 4);
}

static void op_shape(struct text *b, const struct op *op)
{
    struct text bytes;
    if (op->in_graph == GRAPH_WHOLE)
        snprintf(b->s, sizeof b->s, "a whole CUDA graph");
    else if (op->kind != OP_KERNEL)
        snprintf(b->s, sizeof b->s, "%s", text_bytes(&bytes, op->bytes));
    else if (op->grid[0])
        snprintf(b->s, sizeof b->s, "%u x %u x %u blocks of %u x %u x %u threads", op->grid[0],
                 op->grid[1], op->grid[2], op->block[0], op->block[1], op->block[2]);
}

const char *page_more(struct text *b, const struct timeline *t, const struct item *i)
{
    b->s[0] = 0;
    if (i->kind == ITEM_OP)
        op_shape(b, &t->ops[i->index]);
    else if (i->kind == ITEM_CALL)
        call_shape(b, &t->calls[i->index].row);
    else if (i->kind == ITEM_RANGE)
        snprintf(b->s, sizeof b->s, "%.190s", tl_text(t, t->ranges[i->index].shapes));
    return b->s;
}
