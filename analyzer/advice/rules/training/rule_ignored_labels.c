/* Fires if a wide last layer computes its results for positions whose labels the loss ignores. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/kernels/positions.h"
#include "wire/fact_keys.h"

static void check_ignored_labels(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_positions p;
    if (!timeline_meta(f->tl, FACT_TORCH_VERSION)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: what the labels hold (gpuprof run records it of PyTorch programs)";
        return;
    }
    o->why = "no matrix of labels holds some that a loss ignores";
    if (!query_positions(f, FACT_TORCH_IGNORED, &p))
        return;
    struct query_positions_work w = query_positions_head(f, arena, &p);
    o->why = arena_printf(arena, "no wide layer works on all %lld positions of the labels",
                          (long long)(p.rows * p.columns));
    if (!w.marks)
        return;
    int64_t cost = (int64_t)(p.share * (double)per_step(f, w.ops.busy_ns));
    o->why = arena_printf(arena, "work for labels that the loss ignores takes %.3f ms %s", ms(cost),
                          scope_words(f)->per);
    if (cost * QUERY_WORTH < f->step_ns)
        return;
    outcome_evidence(o, "labels of a batch", (double)(p.rows * p.columns), "count",
                     "SELECT * FROM fact WHERE key = 'torch.ignored'");
    outcome_evidence(o, "of them, ignored (-100)", 100 * p.share, "%", NULL);
    outcome_evidence_per(o, "GPU time of the last layer and the loss",
                         ms(per_step(f, w.ops.busy_ns)), "ms", NULL);
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit = (struct edit){.kind = &edit_scale,
                            .at.op_marks = w.marks,
                            .scale = {1 - p.share * (1 - RULES_PADDING_LEFT.good),
                                      1 - p.share * (1 - RULES_PADDING_LEFT.bad)}};
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "the loss ignores %.0f %% of the %lld labels of a batch, copied at "
                               "%s, but the last layer computes scores for all of them: about %s "
                               "of %s %s",
                               100 * p.share, (long long)(p.rows * p.columns),
                               p.place ? p.place : "a line that is not known",
                               time_text(arena, cost), time_text(arena, f->step_ns),
                               scope_words(f)->per));
    outcome_example_op(o, f->tl, w.ops.longest, "longest kernel of it");
}

const struct rule rule_ignored_labels = {
    .id = "ignored-labels",
    .title = "Compute scores only where there is a label",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_ignored_labels,
    .looks_for = "A matrix of labels that is copied to the GPU and holds -100, PyTorch's mark for "
                 "those that a loss ignores, and a product over all of its positions that is far "
                 "wider than those of other layers.",
    .doc = "A masked language model has labels for a sixth of the tokens, a dialogue for those of "
           "the answers; the others are marked, and the loss leaves them out. A layer over a "
           "vocabulary computes a score for each word at each position all the same, and so do the "
           "loss and their backward passes. Selected before that layer, the labelled positions "
           "give the same loss and the same gradients. The line that the example shows launches "
           "the layer or the loss.",
    .remedy = {.action = ACTION_SELECT_LABELLED, .object.kind = OBJECT_CALL},
    .tips = {{"labelled-positions",
              "Compute the scores over a vocabulary only for labelled positions", NULL}},
};
