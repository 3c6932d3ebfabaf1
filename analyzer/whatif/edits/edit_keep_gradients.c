/* The edit "keep-gradients": no kernels that set gradients to zero. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)x;
    (void)d;
    for (uint32_t i = 0; i < g->count; i++)
        if (edit_op(g, i) && query_is_zeroing(g->a, g->tasks[i].source) != QUERY_NO)
            edit_drop(g, p, i);
}

const struct edit_kind edit_keep_gradients = {
    .name = "keep-gradients",
    .apply = apply,
    .change = LEDGER_HOST,
    .certain = true,
};
