/* The edit "scale": the kernels that the edit names take between two shares of their time. */
#include "analyzer/whatif/edits/edits.h"

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    return edit_op(g, i) && edit_picks(x, g, g->tasks[i].source);
}

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    double by = draw_between(d, 0, x->scale.good, x->scale.bad);
    uint32_t i;
    for (size_t k = 0; edit_next(x, g, &k, &i);) {
        if (x->at.gone_marks && x->at.gone_marks[g->tasks[i].source])
            edit_drop(g, p, i);
        else
            p->dur[i] = (int64_t)((double)p->dur[i] * by);
    }
}

const struct edit_kind edit_scale = {
    .name = "scale",
    .apply = apply,
    .touches = touches,
    .change = LEDGER_KERNEL,
};
