/* The edit "keep-gradients": no kernels that set gradients to zero. */
#include "analyzer/whatif/edits/edits.h"

#include "analyzer/queries/query.h"

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    (void)x;
    return edit_op(g, i) && query_is_zeroing(g->a, g->tasks[i].source) != QUERY_NO;
}

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    uint32_t i;
    (void)d;
    for (size_t k = 0; edit_next(x, g, &k, &i);)
        edit_drop(g, p, i);
}

const struct edit_kind edit_keep_gradients = {
    .name = "keep-gradients",
    .apply = apply,
    .touches = touches,
    .change = LEDGER_HOST,
    .certain = true,
};
