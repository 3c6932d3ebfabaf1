/* The edit "read-free": faster storage, so making a batch no longer waits for files. */
#include "analyzer/whatif/edits/edits.h"

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    (void)x;
    return g->tasks[i].kind == TASK_LOAD;
}

/* An upper bound: how fast the other storage is cannot be known, so no wait remains. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    uint32_t i;
    (void)d;
    for (size_t k = 0; edit_next(x, g, &k, &i);)
        p->dur[i] = (int64_t)((double)p->dur[i] * x->read_free.left);
}

const struct edit_kind edit_read_free = {
    .name = "read-free",
    .apply = apply,
    .touches = touches,
    .certain = true,
    .of_host = true,
};
