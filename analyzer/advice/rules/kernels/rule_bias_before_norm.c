/* Fires if a convolution adds a bias that the following batch normalisation subtracts again: two
 * useless passes over the activations forward, and one backward. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"
#include "analyzer/queries/training/tensors.h"

#include <string.h>

/* True for a kernel that normalises each channel by itself. A normalisation over several channels
 * keeps what their biases differ by. */
static bool batch_norm(const struct timeline *t, const struct op *o)
{
    static const char *const several[] = {"layer_norm", "group_norm", "GroupNorm", "rms_norm"};
    static const char *const parts[] = {"batch_norm", "batchnorm", "BatchNorm", "bn_fw", "bn_bw",
                                        "bnorm",      "Bn_fwd",    "Bn_bwd",    "norm_"};
    const char *name = tl_text(t, o->full_name);
    for (size_t i = 0; i < sizeof several / sizeof *several; i++)
        if (strstr(name, several[i]))
            return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i]))
            return o->class.family == FAMILY_NORM;
    return false;
}

/* Returns the nearest kernel of the same stream, in one direction, that computes; it skips kernels
 * that only change the layout, change the type or clear buffers. NULL: none is near. */
static const struct op *neighbour(const struct timeline *t, uint32_t op, int direction)
{
    enum { REACH = 64 };
    int64_t at = (int64_t)op + direction;
    for (int n = 0; n < REACH && at >= 0 && at < (int64_t)t->op_count; n++, at += direction) {
        const struct op *o = &t->ops[at];
        uint8_t f = o->class.family;
        if (o->stream == t->ops[op].stream && o->kind == OP_KERNEL && f != FAMILY_LAYOUT &&
            f != FAMILY_CAST && f != FAMILY_FILL)
            return o;
    }
    return NULL;
}

/* Frameworks add the bias by a broadcasting element-wise addition, cuDNN by a kernel of its own. An
 * addition of a residual reads two whole tensors, and its name contains `vectorized`. */
static bool adds_bias(const struct timeline *t, const struct op *o)
{
    const char *name = tl_text(t, o->full_name);
    if (o->class.family == FAMILY_BIAS || strstr(name, "op_generic_tensor") ||
        strstr(name, "op_tensor_kernel"))
        return true;
    return o->class.family == FAMILY_ELEMENTWISE && strstr(name, "CUDAFunctor_add") &&
           !strstr(name, "vectorized");
}

static bool forward_bias(const struct timeline *t, uint32_t op)
{
    const struct op *before = neighbour(t, op, -1), *behind = neighbour(t, op, 1);
    return before && behind && before->class.family == FAMILY_CONV &&
           before->class.pass != PASS_DGRAD && before->class.pass != PASS_WGRAD &&
           batch_norm(t, behind);
}

/* The sum over a gradient that the normalisation has just computed: it comes before, between or
 * behind the convolution's own gradients. */
static bool backward_bias(const struct timeline *t, uint32_t op)
{
    const struct op *before = neighbour(t, op, -1), *behind = neighbour(t, op, 1);
    return t->ops[op].class.family == FAMILY_BIAS && before && behind &&
           (batch_norm(t, before) || before->class.family == FAMILY_CONV) &&
           behind->class.family == FAMILY_CONV;
}

static enum query_take is_idle_bias(const struct facts *f, uint32_t op)
{
    const struct timeline *t = f->tl;
    if (t->ops[op].kind != OP_KERNEL || !adds_bias(t, &t->ops[op]))
        return QUERY_NO;
    return forward_bias(t, op) || backward_bias(t, op) ? QUERY_ALL : QUERY_NO;
}

/* Returns the edit without these biases: their kernels, and what the program does for each
 * parameter separately. */
static struct edit without_biases(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    bool *ops = arena_array(arena, t->op_count + 1, sizeof *ops);
    bool *calls = arena_array(arena, t->api_count + 1, sizeof *calls);
    int64_t gradients = 0;
    for (uint32_t i = 0; ops && i < t->op_count; i++) {
        ops[i] = is_idle_bias(f, i) != QUERY_NO;
        gradients += ops[i] && query_used(f, i) && backward_bias(t, i);
    }
    if (ops && calls)
        query_without_tensors(f, arena, each_step(f, gradients), ops, calls);
    return (struct edit){.kind = &edit_remove, .at = {.op_marks = ops, .call_marks = calls}};
}

static void check_bias_before_norm(const struct facts *f, struct arena *arena, struct outcome *o)
{
    if (f->totals.family_ns[FAMILY_CONV] == 0 || f->totals.family_ns[FAMILY_NORM] == 0) {
        o->why = "no convolution with a batch normalisation after it";
        return;
    }
    struct query_ops ops = query_ops(f, is_idle_bias);
    int64_t cost = per_step(f, ops.busy_ns + ops.idle_ns), count = each_step(f, ops.count);
    o->why = arena_printf(arena, "%lld kernels per step add a bias before a normalisation",
                          (long long)count);
    if (count < RULES_BIASES || cost * QUERY_WORTH < f->step_ns)
        return;
    const char *rows = "SELECT * FROM kernel_time WHERE name LIKE '%bias%' OR name LIKE "
                       "'%CUDAFunctor_add%' OR name LIKE '%op_tensor%' OR name LIKE '%dd%'";
    outcome_evidence_per(o, "kernels that add a bias before a normalisation, or sum its gradient,",
                         (double)count, "count", rows);
    outcome_evidence_per(o, "their GPU time", ms(per_step(f, ops.busy_ns)), "ms", rows);
    o->edit = without_biases(f, arena);
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "%lld kernels per step add biases that the next normalisation "
                               "subtracts again, or sum the gradients of such biases: %s",
                               (long long)count, time_text(arena, cost)));
    outcome_example_op(o, f->tl, ops.longest, "longest of them");
}

const struct rule rule_bias_before_norm = {
    .id = "bias-before-norm",
    .title = "Remove the bias before a batch normalisation",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_bias_before_norm,
    .cheaper = true,
    .looks_for = "Bias additions between a convolution and a batch normalisation, and the sums "
                 "that compute the gradients of these biases.",
    .doc = "Batch normalisation subtracts the mean of each channel, and with it any constant that "
           "the convolution added. The bias costs one pass over the activations forward and "
           "another one backward, and learns nothing. A bias that the convolution's own kernel "
           "adds costs nothing, and gpuprof does not see it. The weights of a trained model stay "
           "usable: drop the bias and subtract it from the running mean.",
    .remedy = {.action = ACTION_DROP_BIAS, .object.kind = OBJECT_KERNEL},
    .tips =
        {{"bias-before-norm", "No bias before a batch normalisation",
          "a bias inside the convolution's own kernel costs nothing, and gpuprof does not see it"}},
};
