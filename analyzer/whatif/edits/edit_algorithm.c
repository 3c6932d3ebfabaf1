/* The edit "algorithm": faster algorithms for convolutions, within a range (ASSUMED_ALGORITHM). */
#include "analyzer/whatif/edits/edits.h"

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    (void)x;
    return g->classes[i].family == FAMILY_CONV;
}

static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    double by = draw_span(d, 0, ASSUMED_ALGORITHM);
    uint32_t i;
    for (size_t k = 0; edit_next(x, g, &k, &i);)
        p->dur[i] = (int64_t)((double)p->dur[i] * by);
}

const struct edit_kind edit_algorithm = {
    .name = "algorithm",
    .apply = apply,
    .touches = touches,
    .change = LEDGER_KERNEL,
};
