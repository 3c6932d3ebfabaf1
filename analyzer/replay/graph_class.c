/* Copies what edits and rules often ask of a task into an array of its own (struct task_class). */
#include "analyzer/replay/graph_make.h"

#include "analyzer/queries/waits.h"

#include <stdlib.h>

/* Returns the traits of a call. DDP launches collectives in hooks, outside of what torch.compile and
 * make_graphed_callables capture. A copy, an event, or a call without a kind of its own may stand
 * between two captured launches; the program no longer makes it when it runs the graph. */
static unsigned traits_of_call(const struct timeline *t, const struct api *c)
{
    const struct op *o = c->op == TL_NONE ? NULL : &t->ops[c->op];
    bool between = c->kind == API_OTHER || c->kind == API_EVENT_RECORD ||
                   c->kind == API_STREAM_WAIT || c->kind == API_COPY_ASYNC;
    return (o && o->kind == OP_KERNEL && o->class.family == FAMILY_COMM ? TRAIT_COLLECTIVE : 0) |
           (between && !query_stops_capture(t, c) ? TRAIT_CAPTURES : 0);
}

int graph_classify(struct graph *g)
{
    g->classes = calloc(g->count + 1, sizeof *g->classes);
    g->computes = calloc(g->streams + 1, sizeof *g->computes);
    if (!g->classes || !g->computes)
        return -1;
    for (size_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        g->classes[i].kind = t->kind;
        if (t->kind == TASK_HOST_API || t->kind == TASK_WAIT) {
            const struct api *c = &g->a->tl->apis[t->source];
            g->classes[i].call = c->kind;
            g->classes[i].traits = (uint8_t)traits_of_call(g->a->tl, c);
        }
        if (t->kind != TASK_KERNEL && t->kind != TASK_COLL)
            continue;
        g->computes[t->lane] |= t->kind == TASK_KERNEL;
        const struct kernel_class *c = &g->a->tl->ops[t->source].class;
        g->classes[i].family = c->family;
        g->classes[i].traits =
            (uint8_t)((c->tensor == TRI_NO ? TRAIT_NO_TENSOR : 0) | (c->half ? TRAIT_HALF : 0) |
                      (c->by_row ? TRAIT_BY_ROW : 0) | (c->fused ? TRAIT_FUSED : 0));
    }
    return 0;
}
