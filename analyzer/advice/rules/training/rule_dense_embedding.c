/* Fires if a large embedding has a dense gradient: all its rows are filled with zeros and updated,
 * although a step looks up few of them. */
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/query.h"
#include "wire/fact_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
    long long rows, width, looked_up;
    char sparse[8];
    double share; /* of all parameters that the optimizer updates */
};

static bool find_table(const struct facts *f, struct table *t)
{
    const char *text = timeline_meta(f->tl, FACT_TORCH_EMBEDDING);
    const char *weights = timeline_meta(f->tl, FACT_TORCH_PARAMETERS);
    long long tensors, numbers;
    if (!text || !weights ||
        sscanf(text, "%lld rows of %lld, %lld looked up, sparse=%7[A-Za-z]", &t->rows, &t->width,
               &t->looked_up, t->sparse) != 4 ||
        sscanf(weights, "%lld tensors, %lld numbers", &tensors, &numbers) != 2 || numbers <= 0)
        return false;
    t->share = (double)t->rows * (double)t->width / (double)numbers;
    t->share = t->share < 1 ? t->share : 1;
    return true;
}

static enum query_take is_update(const struct facts *f, uint32_t op)
{
    return query_is_optimizer(f, op) != QUERY_NO ? QUERY_BUSY : QUERY_NO;
}

/* The backward pass's thread fills the gradient right before adding to it. */
static enum query_take is_fill(const struct facts *f, uint32_t op)
{
    const struct op *o = &f->tl->ops[op];
    bool fills = o->kind == OP_MEMSET || (o->kind == OP_KERNEL && o->class.family == FAMILY_FILL);
    return fills && o->api != TL_NONE && f->tl->apis[o->api].thread != f->steps.main_thread
               ? QUERY_BUSY
               : QUERY_NO;
}

/* The most that a CPU takes to fill the gradient: less than the update of the same rows, which reads it, reads and writes them. */
static int64_t fill_on_cpu_ns(const struct facts *f, int64_t update_ns)
{
    int64_t backward_ns = f->breakdown_ns[PART_BACKWARD];
    return backward_ns < update_ns ? backward_ns : update_ns;
}

static void check_dense_embedding(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct table t = {0};
    if (!timeline_meta(f->tl, FACT_TORCH_VERSION)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: the sizes of embeddings (gpuprof run records them of PyTorch "
                 "programs)";
        return;
    }
    o->why = "no embedding with far more rows than are looked up";
    if (!find_table(f, &t) || strcmp(t.sparse, "True") == 0 ||
        t.rows < RULES_ROWS_PER_LOOKUP * t.looked_up)
        return;
    struct query_ops update = query_ops(f, is_update), fill = query_ops(f, is_fill);
    int64_t updates_ns = f->on_cpu ? f->breakdown_ns[PART_OPTIMIZER] : per_step(f, update.busy_ns);
    int64_t update_ns = (int64_t)((double)updates_ns * t.share);
    int64_t fill_ns = f->on_cpu ? fill_on_cpu_ns(f, update_ns)
                                : (int64_t)((double)per_step(f, fill.busy_ns) * t.share);
    int64_t cost = update_ns + fill_ns;
    o->why = arena_printf(arena, "zeros in the gradient of an embedding cost %.3f ms", ms(cost));
    if (cost * QUERY_WORTH < f->step_ns)
        return;
    outcome_evidence(o, "rows of the largest embedding", (double)t.rows, "count",
                     "SELECT * FROM fact WHERE key = 'torch.embedding'");
    outcome_evidence(o, "looked up at once", (double)t.looked_up, "count", NULL);
    outcome_evidence(o, "share of all parameters", 100 * t.share, "%", NULL);
    outcome_evidence_per(o, "updating its rows", ms(update_ns), "ms", NULL);
    outcome_evidence_per(o,
                         f->on_cpu ? "filling its gradient with zeros takes at most"
                                   : "filling its gradient with zeros",
                         ms(fill_ns), "ms", NULL);
    o->error_class = ERROR_RERUN_DECIDES;
    o->remedy.object.place = timeline_meta_place(f->tl, FACT_TORCH_EMBEDDING);
    outcome_fires(o, cost,
                  arena_printf(arena,
                               "an embedding of %lld rows, of which a step looks up %lld at most, "
                               "has a dense gradient: filling and updating all rows takes %s%s %s",
                               t.rows, t.looked_up, f->on_cpu ? "up to " : "",
                               time_text(arena, cost), scope_words(f)->per));
    outcome_example_op(o, f->tl, update.longest, "longest kernel of the update");
}

const struct rule rule_dense_embedding = {
    .id = "dense-embedding",
    .title = "Update only the rows of the embedding that were looked up",
    .needs = HAVE_KERNELS | HAVE_STEPS,
    .check = check_dense_embedding,
    .asks_cpu = true,
    .about_update = true,
    .looks_for =
        "An embedding with at least eight times as many rows as are looked up at once, "
        "whose gradient is dense; the time of fills in the backward pass, and its share "
        "of the optimizer's. On a CPU the bound takes for the zeros as much as for the update.",
    .doc = "The gradient of nn.Embedding is as large as the table unless sparse=True: it is filled "
           "with zeros, a few rows are added to, and the optimizer reads and writes all rows, with "
           "their momentum. optim.SparseAdam, SGD and Adagrad take sparse gradients. Optimizers "
           "with momentum or weight decay then leave rows alone that were not looked up, which "
           "changes what is learnt a little.",
    .remedy = {.action = ACTION_USE_SPARSE_GRADIENTS, .object.kind = OBJECT_PARAMETERS},
    .tips = {{"sparse-embedding", "Use sparse gradients for large embeddings", NULL}},
};
