/* The edit "unblock": launches return at once. Calls and operations that exist only for checking
 * are removed as well. */
#include "analyzer/whatif/edits/edits.h"

static bool blocks(const struct task *t)
{
    return t->kind == TASK_WAIT && t->flags & TASK_FOR_KERNEL && t->edges;
}

static bool touches(const struct edit *x, const struct graph *g, uint32_t i)
{
    return blocks(&g->tasks[i]) ||
           ((x->at.op_marks || x->at.call_marks) && edit_remove.touches(x, g, i));
}

/* A launch that waited for its kernel took the time until the kernel had run. What remains is the
 * time of a usual launch; kernels that are queued follow each other after a short delay. */
static void apply(const struct edit *x, const struct graph *g, struct plan *p, const struct draw *d)
{
    double left = draw_span(d, 0, ASSUMED_LAUNCH_LEFT);
    int64_t apart_ns = (int64_t)draw_span(d, 1, ASSUMED_APART_NS);
    uint32_t i;
    for (size_t k = 0; edit_next(x, g, &k, &i);) {
        const struct task *t = &g->tasks[i];
        if (!blocks(t))
            continue;
        p->dur[g->edges[t->edge].from] += apart_ns;
        p->mark[i] |= PLAN_DROP;
        p->dur[t->prev] = (int64_t)((double)p->dur[t->prev] * left);
    }
    if (x->at.op_marks || x->at.call_marks)
        edit_remove.apply(x, g, p, d);
}

const struct edit_kind edit_unblock = {
    .name = "unblock",
    .apply = apply,
    .touches = touches,
};
