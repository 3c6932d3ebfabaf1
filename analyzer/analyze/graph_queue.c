/* Calls that wait without being asked to: launches, for room in a stream's queue or for their own
 * kernel; frees, for the whole device. Cost: a binary search for each long launch and each free,
 * one pass over the operations where any memory is freed. */
#include "analyzer/analyze/graph_make.h"

#include <stdlib.h>
#include <string.h>

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

/* By operation: when all that began no later had ended. -1: out of memory. */
static int find_ends(struct maker *m)
{
    int64_t most = INT64_MIN;
    m->ended = m->ended ? m->ended : malloc((m->t->op_count + 1) * sizeof *m->ended);
    for (size_t i = 0; m->ended && i < m->t->op_count; i++) {
        const struct op *o = &m->t->ops[i];
        if (m->t->streams[o->stream].process == m->a->steps.process && o->end_ns > most)
            most = o->end_ns;
        m->ended[i] = most;
    }
    return m->ended ? 0 : -1;
}

/* A free waits for all work of its device (CUDA's reference lists it among the calls that
 * synchronise), even where there happened to be none. Not one that came back while some ran. */
int64_t graph_free_waited(struct maker *m, uint32_t api)
{
    const struct api *c = &m->t->apis[api];
    const char *name = tl_text(m->t, c->name);
    if (c->kind != API_FREE || strstr(name, "Async") || !strstr(name, "Free"))
        return -1;
    if (!m->ended && find_ends(m) < 0) {
        m->failed = true;
        return -1;
    }
    size_t low = 0, high = m->t->op_count;
    while (low < high) { /* first one that starts behind the call */
        size_t mid = low + (high - low) / 2;
        if (m->t->ops[mid].start_ns < c->end_ns)
            low = mid + 1;
        else
            high = mid;
    }
    int64_t idle = low == 0 ? INT64_MIN : m->ended[low - 1];
    return idle > c->end_ns ? -1 : idle > c->start_ns ? idle : c->start_ns;
}
