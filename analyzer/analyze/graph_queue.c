/* Launches that wait: for room in a stream's queue, or for their own kernel. Cost: a binary search
 * for each long launch. */
#include "analyzer/analyze/graph.h"

/* A launch into a full queue comes back when the stream is done with an operation far ahead of its
 * own: that one, TL_NONE when it was something else that took the call so long. */
uint32_t graph_made_room(const struct analysis *a, uint32_t api)
{
    enum { BLOCKED_NS = 20000, LOOKED_BACK = 8 };
    const struct timeline *t = a->tl;
    const struct api *c = &t->apis[api];
    uint32_t low = 0, high = c->op;
    if (c->kind != API_LAUNCH || c->op == TL_NONE || c->end_ns - c->start_ns < BLOCKED_NS ||
        t->ops[c->op].start_ns < c->end_ns)
        return TL_NONE;
    while (low < high) { /* first one that starts behind the call */
        uint32_t mid = low + (high - low) / 2;
        if (t->ops[mid].start_ns < c->end_ns)
            low = mid + 1;
        else
            high = mid;
    }
    for (uint32_t k = low; k-- > 0 && low - k <= LOOKED_BACK;) {
        const struct op *o = &t->ops[k];
        if (o->stream == t->ops[c->op].stream && o->end_ns <= c->end_ns)
            return o->end_ns + BLOCKED_NS > c->end_ns && c->op - k >= QUEUE_DEPTH / 2 ? k : TL_NONE;
    }
    return TL_NONE;
}

/* Did the launch come back when its kernel had run? */
bool graph_ran_inside(const struct analysis *a, uint32_t api)
{
    const struct api *c = &a->tl->apis[api];
    if (c->kind != API_LAUNCH || c->op == TL_NONE || c->ops > 1)
        return false;
    const struct op *o = &a->tl->ops[c->op];
    return o->kind == OP_KERNEL && o->end_ns <= c->end_ns;
}
