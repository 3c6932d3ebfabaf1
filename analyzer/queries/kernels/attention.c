/* Finds attention computed by separate kernels: a softmax between two matrix products. */
#include "analyzer/queries/kernels/attention.h"

#include "wire/spool_format.h"

#include <string.h>

enum {
    FAR = 6,     /* most operations between a softmax and its product: scale, mask, cast, dropout */
    BACKWARD = 2 /* products on each side of the softmax in a backward pass */
};

/* By op: index of the operation before and after it, or TL_NONE. */
struct neighbours {
    uint32_t *before, *after;
};

struct places {
    struct neighbours on_stream, on_device;
};

/* True for a log-softmax, by its template arguments softmax_warp_forward<IN, OUT, ACC,
 * LOG2_ELEMENTS, IS_LOG, ...>. In a mangled name IS_LOG is the first Lb. */
static bool log_by_template(const char *name)
{
    const char *at = strstr(name, "softmax_warp_"), *list = at ? strchr(at, '<') : NULL;
    if (at && !list) {
        at = strstr(at, "ELb");
        return at && at[3] == '1';
    }
    for (int k = 0; list && k < 4; k++)
        list = strchr(list + 1, ',');
    return list && strncmp(list, ", true", 6) == 0;
}

/* True for a softmax kernel that does not compute a loss. */
static bool softmax(const struct facts *f, const struct op *o)
{
    const char *name = tl_text(f->tl, o->full_name);
    return o->kind == OP_KERNEL && o->class.family != FAMILY_LOSS &&
           o->class.family != FAMILY_ATTENTION && query_name_has(name, "softmax|SoftMax|Softmax") &&
           !query_name_has(name, "log_softmax|LogSoftMax|LogSoftmax|xent|loss") &&
           !log_by_template(name);
}

static bool product(const struct op *o)
{
    return o->kind == OP_KERNEL && o->class.family == FAMILY_GEMM;
}

/* True for a product of a matrix and a vector. It makes no scores of all pairs; graph attention
 * uses such products before its softmax. */
static bool by_vector(const struct facts *f, const struct op *o)
{
    return query_name_has(tl_text(f->tl, o->full_name), "gemv|dot_kernel");
}

/* True for kernels that may change the scores between a product and the softmax. */
static bool on_scores(const struct op *o)
{
    static const bool does[FAMILY_COUNT] = {
        [FAMILY_ELEMENTWISE] = true, [FAMILY_CAST] = true, [FAMILY_BIAS] = true};
    return o->kind == OP_KERNEL && does[o->class.family];
}

/* True for operations that may lie between but are no part of the attention: transposing
 * operands, making a mask. */
static bool beside(const struct op *o)
{
    static const bool does[FAMILY_COUNT] = {
        [FAMILY_COPY] = true, [FAMILY_LAYOUT] = true, [FAMILY_FILL] = true};
    return o->kind != OP_KERNEL || does[o->class.family];
}

/* True if two neighbouring operations belong to one pass. Layers that were taken for steps begin
 * anywhere in a layer, also between a product and its softmax. */
static bool together(const struct facts *f, uint32_t a, uint32_t b)
{
    return f->steps.op_step[a] == f->steps.op_step[b] || (f->steps.layers && query_used(f, b));
}

/* The next product after `op` in one direction, or TL_NONE. Appends the operations on scores
 * between them to `row`. */
static uint32_t next_product(const struct facts *f, const uint32_t *neighbours, uint32_t op,
                             uint32_t *row, size_t *n)
{
    uint32_t i = neighbours[op];
    for (int k = 0; k <= FAR && i != TL_NONE && together(f, op, i); k++, i = neighbours[i]) {
        const struct op *o = &f->tl->ops[i];
        if (product(o))
            return by_vector(f, o) ? TL_NONE : i;
        if (on_scores(o))
            row[(*n)++] = i;
        else if (!beside(o))
            break;
    }
    return TL_NONE;
}

/* Counts operation i as part of an attention. goes: fused attention would not need it. */
static void take(const struct facts *f, struct query_attention *a, uint32_t i, bool goes)
{
    const struct op *o = &f->tl->ops[i];
    int64_t ns = o->end_ns - o->start_ns;
    if (a->marks[i])
        return;
    a->marks[i] = true;
    a->gone[i] = goes;
    *(goes ? &a->between_ns : &a->products_ns) += ns;
    if (goes)
        return;
    bool wide = o->class.dtype == SPOOL_DT_F32 && !o->class.half;
    a->fp32_ns += wide && o->class.tensor != TRI_YES ? ns : 0;
    a->tf32_ns += o->class.dtype == SPOOL_DT_TF32 || (wide && o->class.tensor == TRI_YES) ? ns : 0;
    a->unaligned_ns += o->class.align == 1 || o->class.align == 2 ? ns : 0;
}

/* Finds the products on both sides of a softmax, and the operations on scores between (`row`).
 * Returns the number of products; 0 if one is missing. */
static size_t products_around(const struct facts *f, const struct neighbours *by, uint32_t op,
                              bool backward, uint32_t *products, uint32_t *row, size_t *n)
{
    const uint32_t *const sides[] = {by->before, by->after};
    size_t found = 0;
    *n = 0;
    for (int side = 0; side < 2; side++) {
        uint32_t at = next_product(f, sides[side], op, row, n);
        if (at == TL_NONE)
            return 0;
        products[found++] = at;
        size_t unused = *n;
        at = backward ? next_product(f, sides[side], at, row, &unused) : TL_NONE;
        if (backward && at == TL_NONE)
            return 0;
        if (backward)
            products[found++] = at;
    }
    return found;
}

/* `op` is a softmax. If there are products on both sides, all of them are attention. Looks on the
 * same stream first, then on the device: a program's own softmax may run on the default stream,
 * which waits for the other streams, as they wait for it. */
static void look_around(const struct facts *f, const struct places *by, struct query_attention *a,
                        uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    bool backward = query_name_has(tl_text(f->tl, o->full_name), "ackward|_bwd");
    uint32_t row[2 * BACKWARD * (FAR + 1)], products[2 * BACKWARD];
    size_t n, found = products_around(f, &by->on_stream, op, backward, products, row, &n);
    if (!found)
        found = products_around(f, &by->on_device, op, backward, products, row, &n);
    if (!found)
        return;
    for (size_t k = 0; k < found; k++)
        take(f, a, products[k], false);
    for (size_t k = 0; k < n; k++)
        take(f, a, row[k], true);
    take(f, a, op, true);
    ++*(backward ? &a->backward : &a->forward);
    const struct op *most = a->longest == TL_NONE ? NULL : &f->tl->ops[a->longest];
    if (!most || o->end_ns - o->start_ns > most->end_ns - most->start_ns)
        a->longest = op;
}

static void put_behind(struct neighbours *by, uint32_t *last, uint32_t i)
{
    by->before[i] = *last;
    by->after[i] = TL_NONE;
    if (*last != TL_NONE)
        by->after[*last] = i;
    *last = i;
}

static bool neighbours(const struct timeline *t, struct arena *arena, struct places *by)
{
    struct neighbours *const each[] = {&by->on_stream, &by->on_device};
    uint32_t *of_stream = arena_array(arena, t->stream_count + 1, sizeof *of_stream);
    uint32_t *of_device = arena_array(arena, t->device_count + 1, sizeof *of_device);
    bool room = of_stream && of_device;
    for (int k = 0; k < 2; k++) {
        each[k]->before = arena_array(arena, t->op_count + 1, sizeof(uint32_t));
        each[k]->after = arena_array(arena, t->op_count + 1, sizeof(uint32_t));
        room = room && each[k]->before && each[k]->after;
    }
    if (!room)
        return false;
    for (size_t s = 0; s < t->stream_count; s++)
        of_stream[s] = TL_NONE;
    /* the last entry collects operations whose device is not known */
    for (size_t d = 0; d <= t->device_count; d++)
        of_device[d] = TL_NONE;
    for (uint32_t i = 0; i < t->op_count; i++) {
        uint32_t device = tl_op_device(t, i);
        put_behind(&by->on_stream, &of_stream[t->ops[i].stream], i);
        put_behind(&by->on_device,
                   &of_device[device < t->device_count ? device : (uint32_t)t->device_count], i);
    }
    return true;
}

bool query_attention(const struct facts *f, struct arena *arena, struct query_attention *out)
{
    const struct timeline *t = f->tl;
    struct places by;
    *out =
        (struct query_attention){.marks = arena_array(arena, t->op_count + 1, sizeof *out->marks),
                                 .gone = arena_array(arena, t->op_count + 1, sizeof *out->gone),
                                 .longest = TL_NONE};
    if (!out->marks || !out->gone || !neighbours(t, arena, &by))
        return false;
    for (uint32_t i = 0; i < t->op_count; i++)
        if (query_used(f, i) && softmax(f, &t->ops[i]))
            look_around(f, &by, out, i);
    return true;
}
