/* The edit "more-workers", for recordings that do not show what the present workers do: batches
 * that workers make come faster. */
#include "analyzer/whatif/edits/edits.h"

/* The recording does not show how many workers there are, what a batch costs them and how many
 * cores are free. So more workers deliver batches in any time from the present one (no free core,
 * slow storage) to a tenth of it (ASSUMED_MORE_WORKERS). The upper bound is no time at all. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)x;
    double by = p->most ? 0 : draw_span(d, 0, ASSUMED_MORE_WORKERS);
    for (uint32_t i = 0; i < g->count; i++)
        if (g->tasks[i].kind == TASK_LOAD && g->tasks[i].flags & TASK_BEHIND)
            p->dur[i] = (int64_t)((double)p->dur[i] * by);
}

const struct edit_kind edit_more_workers = {
    .name = "more-workers",
    .apply = apply,
    .of_host = true,
};
