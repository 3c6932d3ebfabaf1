/* Fires if batch normalisation in channels-last moves its tensors at a small fraction of the
 * memory's rate.
 *
 * Memory limits a normalisation: its least time follows from the bytes that it must move (recorded
 * call) and the memory's rate (device row). cuDNN's kernels for NCHW also accept NHWC, but then
 * handle one channel at a time and use two bytes of each line of memory. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/kernels/shapes.h"

#include "wire/spool_format.h"

#include <string.h>

struct found {
    bool *marks;              /* by operation */
    int64_t count, ns;        /* over the used steps */
    double bytes;             /* that these calls must move */
    double best_ns, worst_ns; /* range of what fast kernels would take */
    int64_t calls;            /* calls in channels-last, slow or not */
    uint32_t longest;
};

/* Adds a call if it takes much longer than its bytes need, and the range of what fast kernels would
 * take. */
static void add_call(const struct facts *f, const struct call *c, struct found *x)
{
    uint32_t op = TL_NONE;
    int64_t ns = query_call_ns(f, c, &op);
    double bytes = query_norm_bytes(f, &c->row), rate = query_memory_rate(f);
    if (op == TL_NONE || bytes <= 0)
        return;
    x->calls++;
    double best = bytes / rate + RULES_FLOOR_NS,
           worst = bytes / rate / RULES_NORM_WORST + 2.0 * RULES_FLOOR_NS;
    if (rate <= 0 || (double)ns < best * RULES_NORM_SLOW || query_norm_extended(f, &c->row))
        return;
    const struct timeline *t = f->tl;
    for (uint32_t i = 0; i < c->apis; i++)
        if (t->apis[c->first_api + i].op != TL_NONE && t->apis[c->first_api + i].ops == 1)
            x->marks[t->apis[c->first_api + i].op] = true;
    x->count++;
    x->ns += ns;
    x->bytes += bytes;
    x->best_ns += best;
    x->worst_ns += worst < (double)ns ? worst : (double)ns;
    if (x->longest == TL_NONE || t->ops[op].end_ns - t->ops[op].start_ns >
                                     t->ops[x->longest].end_ns - t->ops[x->longest].start_ns)
        x->longest = op;
}

static struct found find(const struct facts *f, struct arena *arena)
{
    struct found x = {.longest = TL_NONE};
    x.marks = arena_array(arena, f->tl->op_count + 1, sizeof *x.marks);
    for (size_t i = 0; x.marks && i < f->tl->call_count; i++) {
        const struct row_call *r = &f->tl->calls[i].row;
        if (r->family == SPOOL_CALL_NORM && r->in_layout == SPOOL_LAYOUT_NHWC)
            add_call(f, &f->tl->calls[i], &x);
    }
    return x;
}

/* Kernels that are slow in channels-last and fast in NCHW. */
static enum query_take may_be_slow(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return o->kind == OP_KERNEL && o->class.family == FAMILY_NORM &&
                   query_name_has(tl_text(f->tl, o->full_name),
                                  "bn_fw_tr_1C11_singleread|bn_bw_1C11_singleread")
               ? QUERY_BUSY
               : QUERY_NO;
}

/* Returns false, with the reason in *o, if sizes or the memory's rate are not known. PyTorch does
 * not use cuDNN's plain calls in channels-last: it has kernels of its own for that. */
static bool can_tell(const struct facts *f, struct arena *arena, const struct found *x,
                     struct outcome *o)
{
    int64_t cost = per_step(f, query_ops(f, may_be_slow).busy_ns);
    o->why = arena_printf(arena, "cuDNN's kernels for normalisation take %.3f ms %s", ms(cost),
                          scope_words(f)->per);
    bool calls = (f->tl->have & HAVE_CALLS) != 0;
    if (x->calls == 0 && (calls || cost * QUERY_WORTH < f->step_ns || query_of_pytorch(f)))
        return false;
    if (!calls) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: the sizes of the tensors that cuDNN normalises (gpuprof run "
                 "records them)";
        return false;
    }
    if (x->calls > 0 && query_memory_rate(f) <= 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: the bandwidth of the GPU's memory";
        return false;
    }
    return true;
}

static void check_slow_normalisation(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct found x = find(f, arena);
    if (!x.marks) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    if (!can_tell(f, arena, &x, o))
        return;
    int64_t each = per_step(f, x.ns), lost = per_step(f, x.ns - (int64_t)x.best_ns);
    o->why = arena_printf(
        arena, "%.3f ms %s in normalisation in channels-last far below the memory's rate", ms(each),
        scope_words(f)->per);
    if (x.count == 0 || lost * QUERY_WORTH < f->step_ns)
        return;
    double share = 100 * x.bytes / (double)x.ns / query_memory_rate(f);
    const char *rows = "SELECT * FROM library_call WHERE family = 5 AND in_layout = 2";
    outcome_evidence_per(o, "slow calls of batch normalisation",
                         (double)x.count / (double)f->steps.used, "count", rows);
    outcome_evidence_per(o, "their GPU time", ms(each), "ms",
                         "SELECT * FROM kernel_time WHERE name LIKE '%bn_%'");
    outcome_evidence_share(o, "their share", share_pct(f, each), NULL);
    outcome_evidence_per(o, "bytes that they have to move", x.bytes / (double)f->steps.used / 1e6,
                         "MB", rows);
    outcome_evidence(o, "rate at which they do", x.bytes / (double)x.ns, "GB/s", rows);
    outcome_evidence(o, "rate of the GPU's memory", query_memory_rate(f), "GB/s",
                     "SELECT * FROM device");
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = &edit_scale,
                            .at.op_marks = x.marks,
                            .scale = {x.best_ns / (double)x.ns, x.worst_ns / (double)x.ns}};
    outcome_fires(
        o, lost,
        arena_printf(arena,
                     "batch normalisation takes %s %s and moves its tensors at %.2g %% of the "
                     "memory's rate: these cuDNN kernels are not made for channels-last",
                     time_text(arena, each), scope_words(f)->per, share));
    outcome_example_op(o, f->tl, x.longest, "longest normalisation");
}

const struct rule rule_slow_normalisation = {
    .id = "slow-normalisation",
    .title = "Use batch normalisation that is made for channels-last",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check_slow_normalisation,
    .cheaper = true,
    .in_window = true,
    .looks_for = "cuDNN's batch normalisation of tensors in NHWC that takes more than eight times "
                 "as long as the memory needs for the bytes (from the sizes in the recorded calls, "
                 "and the GPU's bandwidth), by other calls than the extended ones.",
    .doc = "Normalisation computes little: the memory's rate is its limit. cuDNN's plain calls "
           "accept NHWC, but their kernels take one channel at a time, and use two bytes of each "
           "line of memory that they read: 1 to 3 % of an H200's rate. The extended calls have "
           "kernels for NHWC, if workspace and reserve space are given: 57 to 81 % of that rate "
           "in FP32, FP16 and BF16 (docs/measurements). The persistent mode bounds the range of "
           "values that it sums: watch the loss. gpuprof "
           "takes the full bandwidth as the best case, and an eighth of it as the worst.",
    .remedy = {.action = ACTION_USE_NHWC_NORMALISATION, .object.kind = OBJECT_KERNEL},
    .tips = {{"nhwc-normalisation", "Use cuDNN's NHWC kernels for batch normalisation",
              "seen in gpuprof's own recordings, which have the sizes"}},
};
