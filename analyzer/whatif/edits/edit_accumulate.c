/* The edit "accumulate": several steps add up their gradients before one update. */
#include "analyzer/whatif/edits/edits.h"

/* Spreads the update and the exchange of gradients over `every` steps. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)d;
    int every = x->accumulate.every > 1 ? x->accumulate.every : 1;
    for (uint32_t i = 0; i < g->count; i++) {
        if (!edit_op(g, i) || (!edit_exchange(g, i) && !edit_updates(g, i)))
            continue;
        p->dur[i] /= every;
        if (g->tasks[i].issue != TASK_NONE)
            p->dur[g->tasks[i].issue] /= every;
    }
}

const struct edit_kind edit_accumulate = {
    .name = "accumulate",
    .apply = apply,
    .certain = true,
};
