/* Fires if chains of kernels mostly move data: each reads and writes what a single kernel could
 * keep in registers. A person can fuse pointwise kernels over one shape; the compiler of PyTorch or
 * XLA also fuses what lies between them (softmax, norms, reductions, casts, copies). */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/kernels/attention.h"
#include "analyzer/queries/kernels/shapes.h"

#include "wire/spool_format.h"

#include <string.h>

/* A chain in one stream. */
struct chain {
    double threads;
    int64_t end_ns, sum_ns, longest_ns, first_ns;
    size_t length;
    uint32_t first, last, step;
    bool behind_product; /* it follows a matrix product, whose epilogue could do all of its work */
};

/* Over the used steps. */
struct chains {
    bool compiles;              /* a compiler can fuse them */
    int64_t spared_ns, busy_ns; /* most that fusion may save; time of all members */
    int64_t count, kernels;
    struct chain longest; /* the chain with the largest saving */
    bool *marks;          /* by operation: it is in a chain */
    uint32_t *before;     /* by operation: the member before it in its chain */
};

/* Returns the most that fusing saves, in ns: one kernel remains, or none if the product before the
 * chain can do its work. A compiler leaves more. */
static int64_t spared(const struct chains *all, const struct chain *c)
{
    if (all->compiles)
        return c->sum_ns - (int64_t)(RULES_COMPILED_LEAVES * (double)c->sum_ns);
    return c->behind_product ? c->sum_ns : c->sum_ns - c->longest_ns;
}

static bool behind_product(const struct facts *f, uint32_t i)
{
    uint32_t before = query_before(f->tl, i);
    if (before == TL_NONE || f->steps.op_step[before] != f->steps.op_step[i])
        return false;
    const struct op *o = &f->tl->ops[before];
    return o->kind == OP_KERNEL &&
           (o->class.family == FAMILY_GEMM || o->class.family == FAMILY_CONV);
}

static bool pointwise(const struct op *o)
{
    return o->class.family == FAMILY_ELEMENTWISE || o->class.family == FAMILY_BIAS;
}

/* True if the operation can be part of a chain. Kernels that a compiler has fused already are what
 * the remedy makes, and kernels of the optimizer have a rule of their own. */
static bool member(const struct facts *f, uint32_t i, bool compiles)
{
    const struct op *o = &f->tl->ops[i];
    uint8_t family = o->class.family;
    bool moves = family == FAMILY_CAST || family == FAMILY_SOFTMAX || family == FAMILY_NORM ||
                 family == FAMILY_REDUCE || family == FAMILY_COPY || family == FAMILY_FILL;
    if (compiles && o->kind == OP_COPY && o->copy_kind == COPY_D2D)
        return true;
    return o->kind == OP_KERNEL && !o->class.fused && (pointwise(o) || (compiles && moves)) &&
           query_is_optimizer(f, i) == QUERY_NO;
}

static void finish(struct chains *all, struct chain *c)
{
    if (c->length >= 2) {
        all->spared_ns += spared(all, c);
        all->busy_ns += c->sum_ns;
        all->kernels += (int64_t)c->length;
        all->count++;
        if (spared(all, c) > spared(all, &all->longest))
            all->longest = *c;
        for (uint32_t i = c->last; i != TL_NONE; i = all->before[i])
            all->marks[i] = true;
    }
    c->length = 0;
}

static double threads_of(const struct op *o)
{
    return (double)o->grid[0] * o->grid[1] * o->grid[2] * o->block[0] * o->block[1] * o->block[2];
}

/* Appends kernel i to its stream's chain, or finishes the chain and begins a new one: at another
 * shape (which only a compiler can fuse), after a pause, or in another step. */
static void add(const struct facts *f, struct chains *all, struct chain *c, uint32_t i)
{
    const struct op *o = &f->tl->ops[i];
    int64_t length_ns = o->end_ns - o->start_ns;
    bool other_shape = !all->compiles && c->threads != threads_of(o);
    if (c->length &&
        (other_shape || o->start_ns - c->end_ns > RULES_NEAR_NS || c->step != f->steps.op_step[i]))
        finish(all, c);
    if (c->length == 0)
        *c = (struct chain){.threads = threads_of(o),
                            .first = i,
                            .first_ns = o->start_ns,
                            .behind_product = behind_product(f, i),
                            .step = f->steps.op_step[i]};
    all->before[i] = c->length++ ? c->last : TL_NONE;
    c->last = i;
    c->end_ns = o->end_ns;
    c->sum_ns += length_ns;
    c->longest_ns = length_ns > c->longest_ns ? length_ns : c->longest_ns;
}

/* Finds the chains. Other work of a stream ends its chain; work of other streams does not. Returns
 * -1 without memory. */
static int find(const struct facts *f, struct arena *arena, struct chains *all)
{
    const struct timeline *t = f->tl;
    struct chain *open = arena_array(arena, t->stream_count + 1, sizeof *open);
    all->marks = arena_array(arena, t->op_count + 1, sizeof *all->marks);
    all->before = arena_array(arena, t->op_count + 1, sizeof *all->before);
    if (!open || !all->marks || !all->before)
        return -1;
    for (uint32_t i = 0; i < t->op_count; i++) {
        struct chain *c = &open[t->ops[i].stream];
        if (query_used(f, i) && member(f, i, all->compiles))
            add(f, all, c, i);
        else
            finish(all, c);
    }
    for (size_t s = 0; s < t->stream_count; s++)
        finish(all, &open[s]);
    return 0;
}

static enum query_take is_conversion(const struct facts *f, uint32_t op, const void *arg)
{
    (void)arg;
    const struct op *o = &f->tl->ops[op];
    return o->kind == OP_KERNEL && o->class.family == FAMILY_LAYOUT ? QUERY_BUSY : QUERY_NO;
}

/* Adds what else torch.compile may leave out. Returns false without memory. */
static bool add_compilers_own(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_attention a;
    if (!query_attention(f, arena, &a))
        return false;
    o->edit.at.gone_marks = a.gone;
    if (a.longest != TL_NONE)
        outcome_evidence(
            o, "softmax, masks and casts of written-out attention, which a compiler may fuse",
            ms(per_step(f, a.between_ns)), "ms", NULL);
    int64_t layout = per_step(f, query_ops_of(f, is_conversion, NULL).busy_ns);
    if (f->totals.family_ns[FAMILY_CONV] <= 0 || layout <= 0 || !query_nvidia(f) ||
        query_images_layout(f) == SPOOL_LAYOUT_NHWC) /* for AMD GPUs it keeps the layout */
        return true;
    o->edit.at.op_calls = query_op_calls(f, arena);
    outcome_evidence(o, "conversions of images' layout, which a compiler may leave out", ms(layout),
                     "ms", NULL);
    return o->edit.at.op_calls != NULL;
}

static void check_pointwise_fusion(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct chains all = {.compiles = query_of_pytorch(f), .longest.first = TL_NONE};
    if (find(f, arena, &all) < 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    int64_t cost = per_step(f, all.spared_ns);
    const char *what = all.compiles ? "kernels that mostly move data" : "pointwise kernels";
    double used = (double)(f->steps.used ? f->steps.used : 1);
    o->why = arena_printf(arena, "%.1f chains of %s %s; fusing them may save %.3f ms",
                          (double)all.count / used, what, scope_words(f)->per, ms(cost));
    if (cost * QUERY_WORTH < f->step_ns)
        return;
    outcome_evidence_per(o, arena_printf(arena, "chains of %s,", what), (double)all.count / used,
                         "count", NULL);
    outcome_evidence_per(o, "kernels in them", (double)all.kernels / used, "count",
                         "SELECT * FROM kernel ORDER BY stream, start_ns");
    outcome_evidence_per(o, "their GPU time", ms(per_step(f, all.busy_ns)), "ms", NULL);
    outcome_evidence(
        o,
        all.compiles
            ? "of that, what a compiler may save at most"
            : "of that, beyond one kernel per chain, or beyond none after a matrix product",
        ms(cost), "ms", NULL);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = &edit_join, .at.op_marks = all.marks};
    if (all.compiles && !add_compilers_own(f, arena, o)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    const struct chain *c = &all.longest;
    outcome_fires(
        o, cost,
        arena_printf(
            arena,
            "%.0f %s %s follow each other in %.0f chain%s (the most expensive: %zu, from %s)",
            (double)all.kernels / used, what, scope_words(f)->per, (double)all.count / used,
            (size_t)all.count == f->steps.used ? "" : "s", c->length,
            tl_text(f->tl, f->tl->ops[c->first].name)));
    outcome_example(o, c->first_ns, c->end_ns, "the most expensive chain", c->first);
}

const struct rule rule_pointwise_fusion = {
    .id = "pointwise-fusion",
    .title = "Fuse chains of memory-bound kernels",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_pointwise_fusion,
    .cheaper = true,
    .in_window = true,
    .looks_for = "Two or more pointwise kernels in a row on one stream, launched with the same "
                 "number of threads; in Python's programs, which compilers fuse, softmax, norms, "
                 "reductions, casts and copies count as well, whatever their threads.",
    .doc = "These kernels do little arithmetic: reading and writing their data takes all their "
           "time. A chain of them moves the data once per kernel; a fused kernel moves it once. "
           "The bound is the time of all kernels of a chain except the longest; of pointwise "
           "kernels directly after a matrix product, whose epilogue can do the work, it is the "
           "time of the whole chain. torch.compile leaves a fifth of the chains' time at best, and "
           "0.42 of it usually. It also keeps images of convolutions in channels-last, and fuses "
           "some forms of attention: the prediction counts that, too. Consecutive kernels do not "
           "prove that each reads what the "
           "previous one wrote; a rerun decides. gpuprof does not count kernels that a compiler "
           "has already fused (triton_...), nor the optimizer's.",
    .remedy = {.action = ACTION_FUSE_POINTWISE, .object.kind = OBJECT_KERNEL},
    .tips = {{"fuse-pointwise", "Fuse chains of element-wise operations (compile, JIT)", NULL}},
};
