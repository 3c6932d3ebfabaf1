/* Matrix kernels on tensor cores that load one or two elements at a time, because a dimension is
 * odd. */
#include "analyzer/rules/look.h"

static void check(struct analysis *a, struct outcome *o)
{
    int64_t ns = 0, count = 0, best = 0;
    const struct kernel_total *worst = NULL;
    for (size_t i = 0; i < a->totals.kernel_count; i++) {
        const struct kernel_total *k = &a->totals.kernels[i];
        bool matrix = k->class.family == FAMILY_GEMM || k->class.family == FAMILY_CONV;
        if (!matrix || k->class.tensor != TRI_YES || (k->class.align != 1 && k->class.align != 2))
            continue;
        ns += k->total_ns;
        count += k->count;
        if (k->total_ns > best) {
            best = k->total_ns;
            worst = k;
        }
    }
    int64_t each = per_step(a, ns);
    o->why = arena_printf(&a->arena, "%.3f ms per step in misaligned matrix kernels", ms(each));
    if (!worst || each * 100 < a->steps.median_ns)
        return;
    const char *rows = "SELECT k.* FROM kernel k JOIN string s ON s.id = k.name WHERE s.text LIKE "
                       "'%align1%' OR s.text LIKE '%align2%'";
    outcome_evidence(o, "matrix kernels with alignment 1 or 2 per step",
                     (double)count / (double)a->steps.used, "count", rows);
    outcome_evidence(o, "time in them per step", ms(each), "ms", rows);
    o->error_class = ERROR_KERNEL_MODEL;
    outcome_fires(o, each,
                  arena_printf(&a->arena,
                               "%.1f ms per step of matrix work loads operands element by element "
                               "(longest: %s): a dimension is not a multiple of 8",
                               ms(each), tl_text(a->tl, worst->name)));
    outcome_example(o, a->tl->ops[worst->longest].start_ns, a->tl->ops[worst->longest].end_ns,
                    "longest misaligned kernel", worst->longest);
}

const struct rule rule_misaligned_kernels = {
    .id = "misaligned-kernels",
    .title = "Pad matrix dimensions to multiples of 8",
    .needs = HAVE_KERNELS | HAVE_NODES | HAVE_STEPS,
    .check = check,
    .looks_for = "Tensor-core kernels whose name says align1 or align2.",
    .doc = "Tensor cores want 16 bytes at a time: 8 elements of fp16 or bf16, 4 of TF32. When a "
           "dimension (vocabulary, number of tokens, channels) is odd, the library falls back to "
           "kernels that load single elements, often those of an older architecture. Padding the "
           "dimension, or the sequence, brings the fast kernels back. How much faster they are is "
           "decided by a rerun.",
    .remedy =
        {"pad vocabulary, sequence and feature sizes to multiples of 8 (64 is better): "
         "tokenizer(..., pad_to_multiple_of=8), resize_token_embeddings(pad_to_multiple_of=64)",
         "pad dimensions to multiples of 8 in the model and in dataset.padded_batch",
         "pad leading dimensions to 16 bytes and ask cuBLASLt with the padded layout"},
};
