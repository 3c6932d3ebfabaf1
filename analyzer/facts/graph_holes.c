/* Finds CUDA graphs of which records are missing. A graph's operations follow each other
 * within microseconds. So if the GPU seems idle for milliseconds between the nodes of a
 * graph, or before a graph that was already launched, it runs kernels without records. Cost:
 * one pass over the gaps. */
#include "analyzer/facts/passes.h"
#include "analyzer/facts/limits.h"

static bool of_graph(const struct timeline *t, uint32_t op)
{
    const struct op *o = &t->ops[op];
    return o->in_graph == GRAPH_NODE || (o->in_graph == GRAPH_NONE && o->api != TL_NONE &&
                                         t->apis[o->api].kind == API_GRAPH_LAUNCH);
}

void graph_holes_measure(struct facts *f)
{
    int64_t sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        int64_t ns = gap_ns(f, g, PART_IDLE_QUEUED);
        if (ns < FACTS_HOLE_NS || g->step == TL_NONE || !f->steps.at[g->step].used ||
            g->before_op == TL_NONE || !of_graph(f->tl, g->before_op))
            continue;
        sum += ns;
        n++;
    }
    if (n >= FACTS_HOLES) /* fewer may be the slow first launch of a graph */
        f->health.graph_holes_ns = sum;
}
