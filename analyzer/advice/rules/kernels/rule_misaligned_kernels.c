/* Fires if matrix kernels on tensor cores load one or two elements at a time because a dimension is
 * odd. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"

#include "wire/spool_format.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTHS = 32 /* different odd sizes that are counted */ };

static bool is_padding(const struct facts *f, const struct op *o)
{
    return o->class.family == FAMILY_LAYOUT &&
           strstr(tl_text(f->tl, o->full_name), "AddPadding") != NULL;
}

static enum query_take is_padding_op(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return o->kind == OP_KERNEL && is_padding(f, o) ? QUERY_BUSY : QUERY_NO;
}

/* Takes kernels that load single elements, and kernels that first copy operands to padded memory.
 * It leaves out convolutions in NCHW: their odd size is that of the image, which padding of
 * channels does not change (rule channels-last answers for them). */
static enum query_take is_misaligned(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    bool matrix = o->class.family == FAMILY_GEMM ||
                  (o->class.family == FAMILY_CONV && o->class.layout == SPOOL_LAYOUT_NHWC);
    bool narrow =
        matrix && o->class.tensor == TRI_YES && (o->class.align == 1 || o->class.align == 2);
    return o->kind == OP_KERNEL && (narrow || is_padding(f, o)) ? QUERY_BUSY : QUERY_NO;
}

/* Sizes that are no multiple of 8, and how often each was seen. */
struct sizes {
    int64_t at[WIDTHS];
    size_t counts[WIDTHS], n, best;
};

static void see_size(struct sizes *s, int64_t size)
{
    size_t k = 0;
    while (k < s->n && s->at[k] != size)
        k++;
    if (size % 8 == 0 || k == WIDTHS)
        return;
    s->at[k] = size;
    s->n += k == s->n;
    if (++s->counts[k] > s->counts[s->best])
        s->best = k;
}

/* Counts the last two sizes of each 16-bit input in a text such as "1024 x 768 BFloat16, 768 x
 * 50257 BFloat16". Sizes before these two belong to a batch. */
static void see_shapes(struct sizes *s, const char *shapes)
{
    for (const char *at = shapes; at && *at; at = strstr(at, ", ") ? strstr(at, ", ") + 2 : NULL) {
        int64_t last[2] = {8, 8};
        char *end = (char *)at;
        do {
            last[0] = last[1];
            last[1] = strtoll(end, &end, 10);
            end += strncmp(end, " x ", 3) == 0 ? 3 : 0;
        } while (*end >= '0' && *end <= '9');
        for (int i = 0;
             i < 2 && (strncmp(end, " BFloat16", 9) == 0 || strncmp(end, " Half", 5) == 0); i++)
            see_size(s, last[i]);
    }
}

/* Counts the sizes of matrix products that a framework recorded as operators with shapes. */
static void see_operators(struct sizes *s, const struct timeline *t)
{
    for (size_t i = 0; i < t->range_count; i++)
        if (t->ranges[i].shapes && query_is_product(tl_text(t, t->ranges[i].name)))
            see_shapes(s, tl_text(t, t->ranges[i].shapes));
}

/* Returns the most frequent size that is no multiple of 8 among the recorded 16-bit products; 0 if
 * there is none. */
static int64_t odd_size(const struct facts *f)
{
    struct sizes s = {.n = 0};
    for (size_t i = 0; i < f->tl->call_count; i++) {
        const struct row_call *c = &f->tl->calls[i].row;
        bool asked = c->family == SPOOL_CALL_GEMM &&
                     (c->in_type == SPOOL_DT_F16 || c->in_type == SPOOL_DT_BF16);
        for (int d = 0; asked && d < 3; d++) /* the three sizes m, n, k */
            see_size(&s, c->dim[d]);
    }
    if (s.n == 0)
        see_operators(&s, f->tl);
    return s.n ? s.at[s.best] : 0;
}

/* ---- what aligned kernels would take ---- */

/* An aligned product's work and rate. */
struct rate {
    double flops, per_ns;
};

static int by_rate(const void *x, const void *y)
{
    const struct rate *a = x, *b = y;
    return (a->per_ns > b->per_ns) - (a->per_ns < b->per_ns);
}

struct products {
    bool *marks; /* by operation: it is a misaligned product */
    double flops, ns;
    struct rate *aligned;
    size_t n;
};

static void add_product(struct products *p, const struct timeline *t, const struct call *c)
{
    const struct row_call *r = &c->row; /* its dim has m, n, k, batch */
    double flops = 2.0 * (double)r->dim[0] * (double)r->dim[1] * (double)r->dim[2];
    flops *= r->dim[3] > 1 ? (double)r->dim[3] : 1;
    for (uint32_t k = 0; k < c->apis; k++) {
        uint32_t i = t->apis[c->first_api + k].op;
        const struct op *o = i == TL_NONE ? NULL : &t->ops[i];
        if (!o || o->class.family != FAMILY_GEMM || o->class.tensor != TRI_YES || flops <= 0 ||
            o->end_ns <= o->start_ns)
            continue;
        double ns = (double)(o->end_ns - o->start_ns);
        if (o->class.align == 1 || o->class.align == 2) {
            p->marks[i] = true;
            p->flops += flops;
            p->ns += ns;
        } else {
            p->aligned[p->n++] = (struct rate){flops, flops / ns};
        }
        return;
    }
}

/* Sets the range by which the kernels become shorter: they would run as fast as aligned products of
 * this program, from the rate of the middle of their work up to the fastest. A larger product fills
 * the device better, which RULES_LARGER_PRODUCT allows for. */
static void range_of(struct products *p, struct edit *edit)
{
    double half = 0, sum = 0, own = p->flops / p->ns;
    size_t k = 0;
    qsort(p->aligned, p->n, sizeof *p->aligned, by_rate);
    for (size_t i = 0; i < p->n; i++)
        half += p->aligned[i].flops / 2;
    while (k + 1 < p->n && sum + p->aligned[k].flops < half)
        sum += p->aligned[k++].flops;
    edit->scale.good = own / (RULES_LARGER_PRODUCT * p->aligned[p->n - 1].per_ns);
    edit->scale.bad = own / p->aligned[k].per_ns;
    edit->scale.good = edit->scale.good < 1 ? edit->scale.good : 1;
    edit->scale.bad = edit->scale.bad < 1 ? edit->scale.bad : 1;
}

/* Returns the edit, or one without a kind if too few aligned products were recorded for a
 * comparison. */
static struct edit aligned_edit(const struct facts *f, struct arena *arena)
{
    struct products p = {.marks = arena_array(arena, f->tl->op_count + 1, sizeof *p.marks),
                         .aligned = malloc((f->tl->call_count + 1) * sizeof *p.aligned)};
    struct edit edit = {.kind = NULL};
    if (p.marks && p.aligned) {
        for (size_t i = 0; i < f->tl->call_count; i++)
            if (f->tl->calls[i].row.family == SPOOL_CALL_GEMM)
                add_product(&p, f->tl, &f->tl->calls[i]);
        if (p.n >= RULES_COMPARED && p.ns > 0) {
            edit = (struct edit){.kind = &edit_scale, .at.op_marks = p.marks};
            range_of(&p, &edit);
        }
    }
    free(p.aligned);
    return edit;
}

static void check_misaligned_kernels(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_ops m = query_ops(f, is_misaligned), pads = query_ops(f, is_padding_op);
    int64_t each = per_step(f, m.busy_ns), size = odd_size(f);
    o->why = arena_printf(arena, "%.3f ms %s in misaligned matrix kernels", ms(each),
                          scope_words(f)->per);
    if (m.longest == TL_NONE || each * QUERY_WORTH < f->step_ns)
        return;
    const char *rows = "SELECT k.* FROM kernel k JOIN string s ON s.id = k.name WHERE s.text LIKE "
                       "'%align1%' OR s.text LIKE '%align2%' OR s.text LIKE '%AddPadding%'";
    outcome_evidence_per(o, "matrix kernels with alignment 1 or 2, and padding kernels,",
                         (double)m.count / (double)f->steps.used, "count", rows);
    outcome_evidence_per(o, "time in them", ms(each), "ms", rows);
    if (pads.busy_ns > 0)
        outcome_evidence(o, "of that, copying to padded operands", ms(per_step(f, pads.busy_ns)),
                         "ms", rows);
    if (size > 0)
        outcome_evidence(o, "size that is not a multiple of 8 in most products", (double)size, "",
                         NULL);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = aligned_edit(f, arena);
    const char *longest = tl_text(f->tl, f->tl->ops[m.longest].name);
    const char *which = size > 0 ? arena_printf(arena, "%lld", (long long)size) : "a dimension";
    o->remedy.conditions[CONDITION_OF_CONVOLUTIONS] = pads.busy_ns == m.busy_ns;
    if (pads.busy_ns == m.busy_ns) { /* only convolutions have such a size */
        outcome_fires(o, each,
                      arena_printf(arena,
                                   "convolutions copy operands to padded places for %s %s "
                                   "(longest: %s): a number of channels is not a multiple of 8",
                                   time_text(arena, each), scope_words(f)->per, longest));
    } else {
        outcome_fires(o, each,
                      arena_printf(arena,
                                   "matrix kernels load operands element by element for %s %s "
                                   "(longest: %s): %s is not a multiple of 8",
                                   time_text(arena, each), scope_words(f)->per, longest, which));
    }
    outcome_example_op(o, f->tl, m.longest, "longest misaligned kernel");
}

const struct rule rule_misaligned_kernels = {
    .id = "misaligned-kernels",
    .title = "Pad matrix dimensions to multiples of 8",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check_misaligned_kernels,
    .cheaper = true,
    .in_window = true,
    .looks_for =
        "Tensor-core kernels whose names contain align1 or align2, and kernels that pad operands.",
    .doc = "Tensor cores read 16 bytes at a time: 8 elements of fp16 or bf16, 4 of TF32. If a "
           "dimension (vocabulary, number of tokens, channels) is odd, the library falls back to "
           "kernels that load single elements, often those of an older architecture. Padding the "
           "dimension, or the sequence, restores the fast kernels. gpuprof estimates their speed "
           "from the aligned products of the same program; if there are too few of them, only a "
           "rerun can show it.",
    .remedy = {.action = ACTION_PAD_SIZES, .object.kind = OBJECT_KERNEL},
    .tips = {{"aligned-sizes", "Use sizes (channels, vocabulary) that are multiples of 8", NULL}},
};
