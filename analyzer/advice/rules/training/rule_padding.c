/* Fires if the program pads its batches farther than their longest sequence: much of the GPU's work
 * is then on padding. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/input/feed.h"
#include "analyzer/queries/kernels/positions.h"
#include "wire/fact_keys.h"

#include <string.h>

/* The program's own function that makes the loader's batches, else their samples: "collate
 * train.py:9". NULL: no loader does, or functions of packages. */
static const char *maker(const struct facts *f, struct arena *arena)
{
    static const char *const keys[] = {FACT_LOADER_COLLATE, FACT_LOADER_DATASET};
    struct feed feed;
    for (int i = 0; i < 2 && query_feed(f, arena, &feed); i++) {
        const char *made = query_feed_fact(f, arena, &feed, keys[i]);
        if (made && strrchr(made, ' ') && !strchr(made, '/'))
            return made;
    }
    return NULL;
}

static void check_padding(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_positions p;
    if (!timeline_meta(f->tl, FACT_TORCH_VERSION)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: what the batches hold (gpuprof run records it of PyTorch programs)";
        return;
    }
    o->why = "no matrix of whole numbers ends in columns of padding";
    if (!query_positions(f, FACT_TORCH_PADDING, &p))
        return;
    struct query_positions_work w = query_positions_all(f, arena, &p);
    o->why =
        arena_printf(arena, "nothing works on %lld x %lld positions, of which %.0f %% are padding",
                     (long long)p.rows, (long long)p.columns, 100 * p.share);
    if (!w.marks)
        return;
    int64_t cost = (int64_t)(p.share * (double)per_step(f, w.ops.busy_ns));
    o->why = arena_printf(arena, "padding takes %.3f ms %s", ms(cost), scope_words(f)->per);
    if (cost * QUERY_WORTH < f->step_ns)
        return;
    outcome_evidence(o, "columns of a batch", (double)p.columns, "count",
                     "SELECT * FROM fact WHERE key = 'torch.padding'");
    outcome_evidence(o, "of them, padding in all rows", 100 * p.share, "%", NULL);
    outcome_evidence_per(o, "GPU time of what works on them", ms(per_step(f, w.ops.busy_ns)), "ms",
                         NULL);
    const char *made = maker(f, arena);
    o->remedy.object.place = made ? strrchr(made, ' ') + 1 : p.place;
    o->error_class = ERROR_KERNEL_MODEL;
    o->edit =
        w.gone ? (struct edit){.kind = &edit_remove, .at.op_marks = w.gone, .remove.pauses = true}
               : (struct edit){.kind = &edit_scale,
                               .at.op_marks = w.marks,
                               .scale = {1 - p.share * (1 - RULES_PADDING_LEFT.good),
                                         1 - p.share * (1 - RULES_PADDING_LEFT.bad)}};
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "%.0f %% of the %lld columns of a batch hold padding in all of its "
                               "%lld rows, at %s%s%s: work on them takes about %s of %s %s",
                               100 * p.share, (long long)p.columns, (long long)p.rows,
                               p.place ? p.place : "a line that is not known",
                               made ? ", made by " : "", made ? made : "", time_text(arena, cost),
                               time_text(arena, f->step_ns), scope_words(f)->per));
    outcome_example_op(o, f->tl, w.ops.longest, "longest kernel of it");
}

const struct rule rule_padding = {
    .id = "padding",
    .title = "Pad a batch to its longest sequence, not farther",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_padding,
    .looks_for = "A matrix of whole numbers that is copied to the GPU, as tokens are, whose last "
                 "columns hold the same number in all rows, and matrix products of that many rows "
                 "and columns, or kernels that run for each column, as recurrent layers do.",
    .doc = "Tokenizers and collate functions can pad to a fixed length, often the most that the "
           "model takes. The attention mask hides the padding from the result, but every layer "
           "computes it, and attention the square of it. Padded to its longest sequence, a batch "
           "gives the same result if the model masks padding. Batches of similar lengths leave "
           "still less padding. The share "
           "is that of the columns that are padding in all rows, in up to sixteen copies; padding "
           "inside the longest sequence's length does not count. Shapes that change from step to "
           "step may want lengths rounded up to multiples of 8 or 64.",
    .remedy = {.action = ACTION_PAD_TO_LONGEST, .object.kind = OBJECT_PROGRAM},
    .tips = {{"short-padding",
              "Pad batches to their longest sequence; put similar lengths together", NULL}},
};
