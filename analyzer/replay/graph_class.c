/* Copies what edits and rules often ask of a task into an array of its own (struct task_class). */
#include "analyzer/replay/graph_make.h"

#include <stdlib.h>

int graph_classify(struct graph *g)
{
    g->classes = calloc(g->count + 1, sizeof *g->classes);
    g->computes = calloc(g->streams + 1, sizeof *g->computes);
    if (!g->classes || !g->computes)
        return -1;
    for (size_t i = 0; i < g->count; i++) {
        const struct task *t = &g->tasks[i];
        g->classes[i].kind = t->kind;
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
