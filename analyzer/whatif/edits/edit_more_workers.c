/* The edit "more-workers", for recordings that do not show what the present workers do: batches
 * that workers make come faster. */
#include "analyzer/whatif/edits/edits.h"

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    (void)x;
    return g->tasks[i].kind == TASK_LOAD && g->tasks[i].flags & TASK_BEHIND;
}

/* The recording does not show how many workers there are, what a batch costs them and how many
 * cores are free. So more workers deliver batches in any time from the present one (no free core,
 * slow storage) to a tenth of it (ASSUMED_MORE_WORKERS). The upper bound is no time at all. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    uint32_t i;
    double by = p->most ? 0 : draw_span(d, 0, ASSUMED_MORE_WORKERS);
    for (size_t k = 0; edit_next(x, g, &k, &i);)
        p->dur[i] = (int64_t)((double)p->dur[i] * by);
}

const struct edit_kind edit_more_workers = {
    .name = "more-workers",
    .apply = apply,
    .touches = touches,
    .of_host = true,
};
