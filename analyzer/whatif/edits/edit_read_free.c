/* The edit "read-free": faster storage, so making a batch no longer waits for files. */
#include "analyzer/whatif/edits/edits.h"

/* An upper bound: how fast the other storage is cannot be known, so no wait remains. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    (void)d;
    for (uint32_t i = 0; i < g->count; i++)
        if (g->tasks[i].kind == TASK_LOAD)
            p->dur[i] = (int64_t)((double)p->dur[i] * x->read_free.left);
}

const struct edit_kind edit_read_free = {
    .name = "read-free",
    .apply = apply,
    .certain = true,
    .of_host = true,
};
