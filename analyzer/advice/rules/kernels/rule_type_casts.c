/* Fires if values are converted between types again and again: weights, or activations that
 * autocast converts to FP32 and back. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"

static bool casts(const struct op *o)
{
    return o->kind == OP_KERNEL && o->class.family == FAMILY_CAST;
}

/* Takes casts with the idle time before them, except the first of a row: the idle time before it
 * has another cause. */
static enum query_take is_cast(const struct facts *f, uint32_t op)
{
    if (!casts(&f->tl->ops[op]))
        return QUERY_NO;
    uint32_t before = query_before(f->tl, op);
    return before != TL_NONE && casts(&f->tl->ops[before]) ? QUERY_ALL : QUERY_BUSY;
}

static enum query_take is_short_cast(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    return casts(o) && o->end_ns - o->start_ns < RULES_SHORT_CAST_NS ? QUERY_BUSY : QUERY_NO;
}

/* True if short casts, which are those of weights, take most of the time. */
static bool of_weights(const struct facts *f, int64_t busy_ns)
{
    return 2 * query_ops(f, is_short_cast).busy_ns > busy_ns;
}

static bool goes(const struct facts *f, uint32_t op)
{
    return is_cast(f, op) != QUERY_NO;
}

static void check_type_casts(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_ops ops = query_ops(f, is_cast);
    int64_t cost = per_step(f, ops.busy_ns + ops.idle_ns), count = each_step(f, ops.count);
    o->why = arena_printf(arena, "%lld casts and %.3f ms per step", (long long)count, ms(cost));
    bool long_ones = cost * QUERY_SOME >= f->step_ns;
    if ((count < RULES_MANY_OPS && !long_ones) || cost * QUERY_WORTH < f->step_ns)
        return;
    const char *rows = "SELECT * FROM kernel_time WHERE name LIKE '%cast%' OR name LIKE '%copy%' "
                       "OR name LIKE '%convertTensor%'";
    outcome_evidence_per(o, "type conversions", (double)ops.count / (double)f->steps.used, "count",
                         rows);
    outcome_evidence_per(o, "their GPU time", ms(per_step(f, ops.busy_ns)), "ms", rows);
    outcome_evidence_per(o, "GPU idle between them", ms(per_step(f, ops.idle_ns)), "ms", NULL);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){
        .kind = &edit_fuse, .at.ops = goes, .fuse = {.bad = RULES_CAST_LEFT, .within = true}};
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "%lld kernels per step convert values from one type to another: "
                               "%s",
                               (long long)count, time_text(arena, cost)));
    o->remedy.conditions[CONDITION_OF_WEIGHTS] = of_weights(f, ops.busy_ns);
    outcome_example_op(o, f->tl, ops.longest, "longest conversion");
}

const struct rule rule_type_casts = {
    .id = "type-casts",
    .title = "Convert fewer values between types",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_type_casts,
    .cheaper = true,
    .looks_for =
        "Dozens of kernels per step that only convert types, or a few that take a tenth of "
        "the step.",
    .doc = "Mixed precision computes with 16-bit copies of FP32 weights. If the program casts "
           "tensor by tensor in every step, or for every use, each cast costs a small kernel. An "
           "update that writes both the FP32 weight and its 16-bit copy costs only two bytes per "
           "parameter. Autocast also converts activations: it runs softmax, pow, norms and losses "
           "in FP32, and the next product in 16 bits. Written out by their formulas, attention and "
           "GELU convert in every layer; their fused forms do not. Some conversions remain, so the "
           "time of all of them is a bound.",
    .remedy = {.action = ACTION_CAST_LESS, .object.kind = OBJECT_KERNEL},
    .tips = {{"mixed-precision", "Train in mixed precision", NULL}},
};
