/* The edit "scale": the kernels that the edit names take between two shares of their time. */
#include "analyzer/whatif/edits/edits.h"

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    double by = draw_between(d, 0, x->scale.good, x->scale.bad);
    for (uint32_t i = 0; i < g->count; i++) {
        if (!edit_op(g, i) || !edit_picks(x, g, g->tasks[i].source))
            continue;
        if (x->at.gone_marks && x->at.gone_marks[g->tasks[i].source])
            edit_drop(g, p, i);
        else
            p->dur[i] = (int64_t)((double)p->dur[i] * by);
    }
}

const struct edit_kind edit_scale = {
    .name = "scale",
    .apply = apply,
    .change = LEDGER_KERNEL,
};
