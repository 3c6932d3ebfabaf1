/* Attention written out: a product makes the scores, a softmax of its own reads and writes them, a
 * second product reads them again. A fused kernel never writes them to memory. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/query.h"

#include "wire/spool_format.h"

#include <string.h>

enum {
    FAR = 6,      /* operations between a softmax and its product: scale, mask, cast, dropout */
    BACKWARD = 2, /* products on each side of a softmax's backward pass */
    FUSED_CC = 8, /* from this compute capability on there are FlashAttention's kernels */
};

/* How long a fused kernel takes, in times of the products that it replaces. It computes the same
 * (5 products for 4 backward), causal attention half of it. In 16 bits products of heads of 64 to
 * 128 values are limited by writing the scores: FlashAttention 2 (Dao 2023, figures 4 to 6) is up
 * to four times as fast as such products, and no faster where sequences are short. Kernels for
 * older devices gain less. For FP32 they compute each product as three in TF32: about as fast as
 * CUDA cores where the peak of TF32 is eight times theirs (A100, H100). Elsewhere, and beside
 * products in TF32, they are several times slower than the products: it does not pay. */
static const struct factors {
    double good, bad; /* 0: it does not pay */
} from_16_bit = {0.25, 1.3}, from_16_bit_unaligned = {0.12, 1.1}, from_16_bit_old = {0.5, 1.5},
  from_fp32 = {0.6, 1.7}, not_worth = {0, 0};

/* By op: the one before and the one after it, TL_NONE. */
struct neighbours {
    uint32_t *before, *after;
};

struct attention {
    struct neighbours on_stream, on_device;
    bool *marks, *gone; /* by op: of an attention; of those, all but the products */
    int64_t products_ns, between_ns, fp32_ns, tf32_ns, unaligned_ns;
    int64_t forward, backward; /* softmaxes */
    uint32_t longest;          /* softmax */
};

/* softmax_warp_forward<IN, OUT, ACC, LOG2_ELEMENTS, IS_LOG, ...>; mangled, IS_LOG is the first Lb
 */
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

/* Not that of a loss. */
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

/* A matrix times a vector makes no scores of all pairs: what graph attention adds up before its
 * softmax. */
static bool by_vector(const struct facts *f, const struct op *o)
{
    return query_name_has(tl_text(f->tl, o->full_name), "gemv|dot_kernel");
}

/* What may happen to scores between a product and the softmax. */
static bool on_scores(const struct op *o)
{
    static const bool does[FAMILY_COUNT] = {
        [FAMILY_ELEMENTWISE] = true, [FAMILY_CAST] = true, [FAMILY_BIAS] = true};
    return o->kind == OP_KERNEL && does[o->class.family];
}

/* Transposed operands, a mask being made: they need not go, and do not part an attention. */
static bool beside(const struct op *o)
{
    static const bool does[FAMILY_COUNT] = {
        [FAMILY_COPY] = true, [FAMILY_LAYOUT] = true, [FAMILY_FILL] = true};
    return o->kind != OP_KERNEL || does[o->class.family];
}

/* The next product from `op` on in one direction, TL_NONE; `row` gets what lies between. */
static uint32_t next_product(const struct facts *f, const uint32_t *neighbours, uint32_t op,
                             uint32_t *row, size_t *n)
{
    uint32_t i = neighbours[op];
    for (int k = 0; k <= FAR && i != TL_NONE && f->steps.op_step[i] == f->steps.op_step[op];
         k++, i = neighbours[i]) {
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

static void take(const struct facts *f, struct attention *a, uint32_t i, bool goes)
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

/* The products on both sides of a softmax, `products`, and what lies between, `row`; how many
 * products: 0 where one is missing. */
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

/* `op` is a softmax: are there products on both sides? Then all of it is attention. A program's own
 * softmax may be on the default stream, which waits for the others, as they wait for it. */
static void look_around(const struct facts *f, struct attention *a, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    bool backward = query_name_has(tl_text(f->tl, o->full_name), "ackward|_bwd");
    uint32_t row[2 * BACKWARD * (FAR + 1)], products[2 * BACKWARD];
    size_t n, found = products_around(f, &a->on_stream, op, backward, products, row, &n);
    if (!found)
        found = products_around(f, &a->on_device, op, backward, products, row, &n);
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

static bool neighbours(const struct timeline *t, struct arena *arena, struct attention *a)
{
    struct neighbours *const each[] = {&a->on_stream, &a->on_device};
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
    for (size_t d = 0; d <= t->device_count; d++) /* the last: nobody knows which */
        of_device[d] = TL_NONE;
    for (uint32_t i = 0; i < t->op_count; i++) {
        uint32_t device = tl_op_device(t, i);
        put_behind(&a->on_stream, &of_stream[t->ops[i].stream], i);
        put_behind(&a->on_device,
                   &of_device[device < t->device_count ? device : (uint32_t)t->device_count], i);
    }
    return true;
}

/* -1 without memory. */
static int find(const struct facts *f, struct arena *arena, struct attention *a)
{
    const struct timeline *t = f->tl;
    a->marks = arena_array(arena, t->op_count + 1, sizeof *a->marks);
    a->gone = arena_array(arena, t->op_count + 1, sizeof *a->gone);
    if (!a->marks || !a->gone || !neighbours(t, arena, a))
        return -1;
    for (uint32_t i = 0; i < t->op_count; i++)
        if (query_used(f, i) && softmax(f, &t->ops[i]))
            look_around(f, a, i);
    return 0;
}

static struct factors range_of(const struct facts *f, const struct attention *a)
{
    int64_t major = f->device ? f->device->cc_major : 0;
    if (a->fp32_ns * 2 > a->products_ns)
        return major >= FUSED_CC && f->device->cc_minor == 0 ? from_fp32 : not_worth;
    if (a->tf32_ns * 2 > a->products_ns)
        return not_worth;
    if (major > 0 && major < FUSED_CC)
        return from_16_bit_old;
    return a->unaligned_ns * 2 > a->products_ns ? from_16_bit_unaligned : from_16_bit;
}

/* "12", or "12 forward and 12 backward" */
static const char *how_many(const struct facts *f, struct arena *arena, const struct attention *a)
{
    double used = (double)f->steps.used;
    if (a->backward == 0)
        return arena_printf(arena, "%.0f", (double)a->forward / used);
    return arena_printf(arena, "%.0f forward and %.0f backward", (double)a->forward / used,
                        (double)a->backward / used);
}

static void fires(const struct facts *f, struct arena *arena, const struct attention *a,
                  int64_t cost, struct outcome *o)
{
    const char *rows = "SELECT * FROM kernel_time WHERE name LIKE '%softmax%'";
    double used = (double)f->steps.used;
    int64_t all = per_step(f, a->products_ns + a->between_ns);
    outcome_evidence(o, "softmaxes between matrix products per step, forward",
                     (double)a->forward / used, "count", rows);
    if (a->backward > 0)
        outcome_evidence(o, "... backward", (double)a->backward / used, "count", rows);
    outcome_evidence(o, "GPU time of these softmaxes, masks and casts per step",
                     ms(per_step(f, a->between_ns)), "ms", rows);
    outcome_evidence(o, "GPU time of the products on both sides per step",
                     ms(per_step(f, a->products_ns)), "ms", NULL);
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "attention is written out as products with a softmax between them "
                               "(%s per step): %.1f ms, of which %.1f ms go to softmax, masks and "
                               "casts (longest: %s)",
                               how_many(f, arena, a), ms(all), ms(per_step(f, a->between_ns)),
                               tl_text(f->tl, f->tl->ops[a->longest].name)));
    outcome_example_op(o, f->tl, a->longest, "longest softmax between two products");
}

static void check_fused_attention(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct attention a = {.longest = TL_NONE};
    if (find(f, arena, &a) < 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    struct factors times = range_of(f, &a);
    int64_t cost = per_step(f, a.between_ns + (int64_t)((double)a.products_ns * (1 - times.good)));
    o->why = arena_printf(arena, "%lld softmaxes between matrix products; %.3f ms per step",
                          (long long)(a.forward + a.backward), ms(cost));
    if (a.longest == TL_NONE || per_step(f, a.between_ns) * 100 < f->step_ns)
        return;
    if (times.good <= 0) {
        o->verdict = RULE_SUPPRESSED;
        o->why = "attention is written out, but fused kernels are slow here in FP32 and TF32: "
                 "compute in 16 bits first";
        return;
    }
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = EDIT_SCALE,
                            .op_marks = a.marks,
                            .gone_marks = a.gone,
                            .good = times.good,
                            .bad = times.bad};
    fires(f, arena, &a, cost, o);
}

const struct rule rule_fused_attention = {
    .id = "fused-attention",
    .title = "Compute attention in one fused kernel",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_fused_attention,
    .in_window = true,
    .looks_for = "A softmax that is not part of a loss, with a matrix product right before and "
                 "after it (two on each side in the backward pass); only scaling, masks, casts and "
                 "dropout lie between.",
    .doc =
        "Attention that is written out stores the scores of all pairs of tokens, and reads and "
        "writes them for the mask, the softmax and dropout: memory traffic that grows with the "
        "square of the sequence's length. A fused kernel keeps the scores on the chip. Softmax "
        "and masks cost nothing then; the products take 0.25 to 1.3 times as long in 16 bits (0.5 "
        "to 1.5 times before Ampere), 0.6 to 1.7 times in FP32 on A100 and H100. It is not "
        "advised for FP32 on other devices, nor for TF32: there are no fast fused kernels for "
        "them. "
        "Short sequences gain little. It does not hold where the program uses the "
        "scores themselves (output_attentions=True), or changes them in a way that no fused kernel "
        "knows.",
    .remedy = {"F.scaled_dot_product_attention(q, k, v, attn_mask=..., dropout_p=..., "
               "is_causal=...); Transformers: from_pretrained(..., attn_implementation='sdpa'); "
               "nn.MultiheadAttention(...)(..., need_weights=False); for scores of your own: "
               "torch.nn.attention.flex_attention with torch.compile",
               "tf.function(jit_compile=True), whose compiler may fuse attention; a fused kernel "
               "for sure needs Keras on JAX or PyTorch (keras.config.enable_flash_attention())",
               "cuDNN's graph API (scaled dot product attention, forward and backward), or "
               "FlashAttention's kernels"},
    .libtorch = "torch::scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)",
    .tips = {{"fused-attention", "Use fused attention (FlashAttention)", NULL}},
};
