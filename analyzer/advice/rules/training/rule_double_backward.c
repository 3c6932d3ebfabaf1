/* Fires if much of the step are gradients of gradients: a backward pass that keeps its graph, and another
 * one that goes through it. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/training/twice.h"

static enum query_take takes(const struct facts *f, uint32_t op, const void *marks)
{
    return ((const bool *)marks)[op] && query_used(f, op) ? QUERY_ALL : QUERY_NO;
}

static void check_double_backward(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_twice twice = query_twice(f, arena);
    o->why = "no gradient keeps a graph for another backward pass";
    if (!twice.calls || !twice.marks)
        return;
    struct query_ops first = query_ops_of(f, takes, twice.first_marks),
                     all = query_ops_of(f, takes, twice.marks);
    int64_t cost = per_step(f, all.busy_ns + all.idle_ns);
    o->why = arena_printf(arena, "gradients of gradients take %s %s", time_text(arena, cost),
                          scope_words(f)->per);
    if (cost * QUERY_SOME < f->step_ns)
        return;
    int64_t first_ns = per_step(f, first.busy_ns);
    outcome_evidence_per(o, "such gradients", (double)twice.calls / (double)f->steps.used, "count",
                         "SELECT r.* FROM range r JOIN string s ON s.id = r.name WHERE s.text LIKE "
                         "'autograd.grad%'");
    outcome_evidence_per(o, "their GPU time", ms(first_ns), "ms", NULL);
    outcome_evidence_per(o, "GPU time of the backward passes behind them",
                         ms(per_step(f, all.busy_ns) - first_ns), "ms", NULL);
    o->remedy.object.place = twice.place;
    bool loop = twice.calls >= RULES_LOOP_OF_GRADIENTS * f->steps.used;
    o->remedy.conditions[CONDITION_LOOP] = loop;
    if (loop)
        o->title = "Take the gradients of all outputs in one call, and less often";
    o->error_class = ERROR_RERUN_DECIDES; /* the loss without it keeps a part of that pass */
    o->edit = (struct edit){.kind = &edit_remove, .at.op_marks = twice.marks, .best_case = true};
    outcome_fires(
        o, cost,
        arena_printf(arena,
                     "autograd.grad(create_graph=True)%s%s takes %s %s of the GPU's time, and the "
                     "backward pass that goes through its graph %s: %s of %s with the pauses "
                     "between",
                     twice.place ? " at " : "", twice.place ? twice.place : "",
                     time_text(arena, first_ns), scope_words(f)->per,
                     time_text(arena, per_step(f, all.busy_ns) - first_ns), time_text(arena, cost),
                     time_text(arena, f->step_ns)));
    outcome_example_op(o, f->tl, all.longest, "longest of it");
}

const struct rule rule_double_backward = {
    .id = "double-backward",
    .title = "Take gradients of gradients less often",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_double_backward,
    .looks_for = "Calls of torch.autograd.grad(create_graph=True), and the first backward pass "
                 "behind them, with a tenth of the step or more in all.",
    .doc = "A penalty on a gradient needs a backward pass that keeps its graph, and then one "
           "through both passes: three to five times as much computing as the loss alone. Such a "
           "penalty works about as well every 8 or 16 steps, with that number as a factor. Where "
           "the derivative is the result itself (forces, equations of physics) each step needs it: "
           "then forward-mode derivatives, or fewer points, are cheaper. The bound is both passes; "
           "the part of the second that belongs to the loss itself stays.",
    .remedy = {.action = ACTION_DIFFERENTIATE_LESS, .object.kind = OBJECT_CALL},
    .tips = {{"lazy-regularisation", "Apply penalties on gradients every few steps", NULL}},
};
