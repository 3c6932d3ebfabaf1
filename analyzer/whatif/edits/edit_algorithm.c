/* The edit "algorithm": faster algorithms for convolutions, within a range (ASSUMED_ALGORITHM). */
#include "analyzer/whatif/edits/edits.h"

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)x;
    double by = draw_span(d, 0, ASSUMED_ALGORITHM);
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->classes[i].family == FAMILY_CONV)
            p->dur[i] = (int64_t)((double)p->dur[i] * by);
    }
}

const struct edit_kind edit_algorithm = {
    .name = "algorithm",
    .apply = apply,
    .change = LEDGER_KERNEL,
};
