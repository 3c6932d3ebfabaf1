/* Fires if every step makes many small copies to the GPU: constants and small tensors that are
 * created on the host. Each costs a call, a start of the copy engine, and from pageable memory a
 * wait. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/training/actions.h"

#include <string.h>

enum { AHEAD = 64 };

/* True for PyTorch's own tables for kernels that gather and scatter many tensors at once, as
 * sharding does: copied from pinned memory right before the kernel. A program cannot avoid them. */
static bool is_table(const struct timeline *t, uint32_t op)
{
    static const char *const kernels[] = {"split_with_sizes_copy_out", "chunk_cat_cuda_kernel"};
    if (t->ops[op].src_kind == MEMORY_PAGEABLE)
        return false;
    for (uint32_t i = op + 1; i < t->op_count && i <= op + AHEAD; i++) {
        if (t->ops[i].stream != t->ops[op].stream)
            continue;
        const char *name = t->ops[i].kind == OP_KERNEL ? tl_text(t, t->ops[i].full_name) : "";
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
            if (strstr(name, kernels[k]))
                return true;
        return false;
    }
    return false;
}

static bool to_gpu(const struct op *o)
{
    return o->kind == OP_COPY && o->copy_kind == COPY_H2D;
}

/* True for copies in a row where no step repeats: a model that moves to the GPU once. */
static bool is_set_up(const struct facts *f, uint32_t op)
{
    uint32_t before = analysis_of_window(f) ? query_before(f->tl, op) : TL_NONE;
    return before != TL_NONE && to_gpu(&f->tl->ops[before]);
}

static bool small_copy(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return to_gpu(o) && o->bytes <= QUERY_SMALL_COPY && !is_table(f->tl, op) && !is_set_up(f, op);
}

static enum query_take is_small_copy(const struct facts *f, uint32_t op)
{
    return small_copy(f, op) ? QUERY_BUSY : QUERY_NO;
}

/* Returns the GPU's idle time right before such copies, and the idle time charged to their calls,
 * in ns over the used steps. */
static int64_t idle_for_them(const struct facts *f)
{
    const struct timeline *t = f->tl;
    int64_t ns = 0;
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->step == TL_NONE || !f->steps.at[g->step].used)
            continue;
        bool before = g->before_op != TL_NONE && small_copy(f, g->before_op);
        uint32_t op = g->api == TL_NONE ? TL_NONE : t->apis[g->api].op;
        bool charged = op != TL_NONE && small_copy(f, op);
        if (before || charged)
            ns += gap_ns(f, g, PART_IDLE_COPY) + gap_ns(f, g, PART_IDLE_LAUNCH) +
                  gap_ns(f, g, PART_IDLE_QUEUED) + (before ? gap_ns(f, g, PART_IDLE_SYNC) : 0);
    }
    return ns;
}

static int64_t pageable_ones(const struct facts *f)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < f->tl->op_count; i++)
        n += query_used(f, i) && small_copy(f, i) && f->tl->ops[i].src_kind == MEMORY_PAGEABLE;
    return n;
}

static bool removes(const struct facts *f, uint32_t op)
{
    return small_copy(f, op);
}

static bool is_removed_call(const struct facts *f, uint32_t api)
{
    uint32_t op = f->tl->apis[api].op;
    return op != TL_NONE && small_copy(f, op);
}

static void check_small_copies(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_ops ops = query_ops(f, is_small_copy);
    double used = (double)(f->steps.used ? f->steps.used : 1);
    int64_t count = each_step(f, ops.count), idle = per_step(f, idle_for_them(f));
    int64_t exposed = f->breakdown_ns[PART_COPY];
    int64_t busy = per_step(f, ops.busy_ns), cost = idle + (busy < exposed ? busy : exposed);
    o->why = arena_printf(arena, "%lld small copies to the GPU %s cost %.3f ms", (long long)count,
                          scope_words(f)->per, ms(cost));
    if (count < RULES_MANY_COPIES || cost * QUERY_WORTH < f->step_ns)
        return;
    /* What an environment says, one at a time: the next is known when the action has been read. */
    int64_t observed = each_step(f, query_actions(f).count);
    if (count - observed < RULES_MANY_COPIES) {
        o->why = arena_printf(arena,
                              "of %lld small copies to the GPU %s, %lld carry an environment's "
                              "answers, which come one at a time",
                              (long long)count, scope_words(f)->per, (long long)observed);
        return;
    }
    const char *rows = "SELECT * FROM copy WHERE kind = 1 AND bytes <= 65536";
    outcome_evidence_per(o, "copies of at most 64 KiB to the GPU", (double)ops.count / used,
                         "count", rows);
    if (f->tl->have & HAVE_MEMORY_KINDS)
        outcome_evidence(o, "of them, from pageable memory (the host waits for these)",
                         (double)pageable_ones(f) / used, "count",
                         "SELECT * FROM copy WHERE kind = 1 AND src_kind = 1 AND bytes <= 65536");
    outcome_evidence_per(o, "bytes in them", (double)each_step(f, ops.bytes) / 1e3, "kB", rows);
    outcome_evidence_per(o, "their GPU time", ms(busy), "ms", rows);
    outcome_evidence_per(o, "GPU idle for them", ms(idle), "ms", NULL);
    o->edit = (struct edit){.kind = &edit_remove, .at = {.ops = removes, .calls = is_removed_call}};
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "%s sends %lld copies of a few bytes to the GPU one by one: %s",
                               scope_words(f)->everyone, (long long)count, time_text(arena, cost)));
    outcome_example_op(o, f->tl, ops.longest, "longest of them");
}

const struct rule rule_small_copies = {
    .id = "small-copies",
    .title = "Create small tensors on the GPU, or send them together",
    .needs = HAVE_KERNELS | HAVE_COPIES | HAVE_API | HAVE_STEPS,
    .check = check_small_copies,
    .in_window = true,
    .looks_for = "At least eight copies of at most 64 KiB from the host to the GPU per step, with "
                 "the GPU idle around them.",
    .doc = "torch.tensor(...).cuda(), a mask or positions from NumPy, a learning rate as a tensor: "
           "each is a copy of a few bytes from pageable memory, and the host waits until all work "
           "queued before it has run. Copy constants to the GPU once; compute changing values "
           "there, or send them in one copy.",
    .remedy = {.action = ACTION_MAKE_ON_GPU, .object.kind = OBJECT_COPY},
    .tips = {{"device-tensors", "Create constants and small tensors on the device", NULL}},
};
