/* The edit of more workers, where nobody recorded what those at work do: batches that they make
 * come faster. */
#include "analyzer/whatif/edits/edits.h"

/* How many workers there are, what a batch costs them and how many cores are free was not recorded:
 * more of them make batches come in anything from the same time (no core, no room in the storage)
 * to a tenth of it. As a bound, in none. */
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
