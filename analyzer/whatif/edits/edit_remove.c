/* The edit "remove": without the operations and calls that the edit names. */
#include "analyzer/whatif/edits/edits.h"

/* Is task i one of the removed calls, or the wait in it? */
static bool of_call(const struct edit *x, const struct graph *g, uint32_t i)
{
    const struct task *t = &g->tasks[i];
    return (t->kind == TASK_HOST_API || t->kind == TASK_WAIT) && edit_picks_call(x, g, t->source);
}

/* Does task i follow a pause of its thread that lies between two removed calls? */
static bool behind_pause(const struct edit *x, const struct graph *g, uint32_t i)
{
    uint32_t pause = g->tasks[i].prev;
    if (!x->remove.pauses || !of_call(x, g, i) || pause == TASK_NONE ||
        g->tasks[pause].kind != TASK_HOST_GAP)
        return false;
    uint32_t before = g->tasks[pause].prev;
    return before != TASK_NONE && of_call(x, g, before);
}

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    const struct task *t = &g->tasks[i];
    if (edit_op(g, i))
        return edit_picks(x, g, t->source);
    if (t->kind != TASK_HOST_API && t->kind != TASK_WAIT)
        return false;
    uint32_t op = g->a->tl->apis[t->source].op;
    return of_call(x, g, i) || (t->flags & TASK_COPY_WAIT && op != TL_NONE && edit_picks(x, g, op));
}

/* Removes operations with their launches, and calls with their waits. Tasks that waited for a
 * removed task wait for its predecessor. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    uint32_t i;
    (void)d;
    for (size_t k = 0; edit_next(x, g, &k, &i);) {
        const struct task *t = &g->tasks[i];
        if (edit_op(g, i) && edit_picks(x, g, t->source))
            edit_drop(g, p, i);
        if (behind_pause(x, g, i))
            p->dur[t->prev] = 0;
        edit_drop_call(x, g, p, i);
    }
}

const struct edit_kind edit_remove = {
    .name = "remove",
    .apply = apply,
    .touches = touches,
    .change = LEDGER_HOST,
    .certain = true,
    .owns_calls = true,
};
