/* Fires if an evaluation runs in training mode: batch statistics, dropout, gradients kept. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/training/eval.h"
#include "analyzer/queries/query.h"

/* Kernels that a model in evaluation mode does not launch. */
static const char training_only[] =
    "bn_fw_tr|batchnorm_fwtr|batch_norm_collect_statistics|norm_train|norm_statistics|dropout|"
    "norm_sums";

struct evaluation {
    int64_t ranges; /* in the whole recording */
    /* Kernels launched in these ranges that only training needs. */
    int64_t train, train_ns;
    int64_t backward; /* of these, for gradients or updates */
    uint32_t longest;
};

/* Counts the kernels launched inside evaluations that only training needs. */
static struct evaluation measure_evaluation(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    struct evaluation e = {.longest = TL_NONE};
    const bool *inside = query_evaluating(f, arena, &e.ranges);
    for (uint32_t i = 0; inside && e.ranges && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind != OP_KERNEL || o->api == TL_NONE || !inside[o->api])
            continue;
        bool train = query_name_has(tl_text(t, o->full_name), training_only);
        bool backward =
            o->class.pass == PASS_WGRAD || o->class.family == FAMILY_OPTIMIZER || o->in_update;
        e.backward += backward;
        if (!train && !backward)
            continue;
        int64_t ns = o->end_ns - o->start_ns;
        e.train++;
        e.train_ns += ns;
        if (e.longest == TL_NONE || ns > t->ops[e.longest].end_ns - t->ops[e.longest].start_ns)
            e.longest = i;
    }
    return e;
}

static void check_eval_activations(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct evaluation e = measure_evaluation(f, arena);
    int64_t steps = (int64_t)(f->steps.count ? f->steps.count : 1), cost = e.train_ns / steps;
    if (e.ranges == 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: an evaluation (no range has 'eval' or 'valid' in its name)";
        return;
    }
    o->why = arena_printf(arena, "%lld evaluations, with %lld kernels that only training needs",
                          (long long)e.ranges, (long long)e.train);
    if (e.train == 0 || cost * QUERY_WORTH < f->step_ns)
        return;
    outcome_evidence(o, "evaluations", (double)e.ranges, "count",
                     "SELECT * FROM range_time WHERE name LIKE '%eval%' OR name LIKE '%valid%'");
    outcome_evidence(o, "kernels in them that only training needs", (double)e.train, "count", NULL);
    if (e.backward)
        outcome_evidence(o, "of them, for gradients or updates", (double)e.backward, "count", NULL);
    outcome_evidence(o, "their GPU time, averaged over all steps", ms(cost), "ms", NULL);
    o->error_class = ERROR_KERNEL_MODEL;
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "the evaluation runs in training mode: it runs %lld kernels that it "
                               "does not need, %s per step on average",
                               (long long)e.train, time_text(arena, cost)));
    outcome_example_op(o, f->tl, e.longest, "longest of them");
}

const struct rule rule_eval_activations = {
    .id = "eval-activations",
    .title = "Evaluate in evaluation mode, without gradients",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_RANGES | HAVE_STEPS,
    .check = check_eval_activations,
    .looks_for = "Kernels of training (batch statistics, dropout, gradients) launched inside "
                 "ranges named eval or validation.",
    .doc = "A model that stays in training mode computes batch statistics during validation, "
           "applies dropout and changes its running means: the result is wrong as well as slow. "
           "Without no_grad it also keeps its activations, which costs memory rather than time. "
           "The rule needs a range around the evaluation. The bound is the time of those kernels; "
           "cheaper kernels replace them.",
    .remedy = {.action = ACTION_EVALUATE_WITHOUT_GRADIENTS},
    .tips = {{"no-grad-eval", "Evaluate without keeping activations for a backward pass",
              "gpuprof examines the kernels inside ranges named as evaluation"}},
};
