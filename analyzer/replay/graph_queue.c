/* Calls that block although their purpose is another one: launches, for room in a stream's queue or
 * for their own kernel; frees, for the whole device. Cost: a binary search for each long launch and
 * each free, and one pass over the operations if the program frees memory. */
#include "analyzer/replay/graph_make.h"

#include "analyzer/measure/median.h"
#include "analyzer/replay/limits.h"

#include <stdlib.h>
#include <string.h>

/* A launch into a full queue returns when the stream has finished an operation far ahead of the
 * launched one. Returns that operation, or TL_NONE if something else made the call long. If at
 * least QUEUE_DEPTH operations were queued, the queue was full, and the operation that ended last
 * made room even if that was a while before the return: drivers notice room late (H200: up to 0.4
 * ms). With fewer, but at least half of that, the operation must have ended just before the
 * return. */
uint32_t graph_awaited_for_room(const struct facts *f, uint32_t api)
{
    const struct timeline *t = f->tl;
    const struct api *c = &t->apis[api];
    uint32_t low = 0, high = c->op;
    if (c->kind != API_LAUNCH || c->op == TL_NONE || c->end_ns - c->start_ns < REPLAY_BLOCKED_NS ||
        t->ops[c->op].start_ns < c->end_ns)
        return TL_NONE;
    while (low < high) { /* finds the first operation that starts after the call */
        uint32_t mid = low + (high - low) / 2;
        if (t->ops[mid].start_ns < c->end_ns)
            low = mid + 1;
        else
            high = mid;
    }
    for (uint32_t k = low; k-- > 0 && low - k <= REPLAY_LOOKED_BACK;) {
        const struct op *o = &t->ops[k];
        if (o->stream != t->ops[c->op].stream || o->end_ns > c->end_ns)
            continue;
        bool at_once = o->end_ns + REPLAY_BLOCKED_NS > c->end_ns;
        return c->op - k >= (at_once ? QUEUE_DEPTH / 2 : QUEUE_DEPTH) ? k : TL_NONE;
    }
    return TL_NONE;
}

/* Returns true if the launch returned only after its kernel had run. */
bool graph_ran_inside(const struct facts *f, uint32_t api)
{
    const struct api *c = &f->tl->apis[api];
    if (c->kind != API_LAUNCH || c->op == TL_NONE || c->ops > 1)
        return false;
    const struct op *o = &f->tl->ops[c->op];
    return o->kind == OP_KERNEL && o->end_ns <= c->end_ns;
}

int64_t graph_launch_ns(struct maker *m)
{
    enum { SEEN_MOST = 4096 };
    int64_t seen[SEEN_MOST];
    size_t n = 0;
    for (size_t i = 0; m->launch_ns == 0 && i < m->t->api_count && n < SEEN_MOST; i++) {
        const struct api *c = &m->t->apis[i];
        int64_t ns = c->end_ns - c->start_ns;
        if (c->kind == API_LAUNCH && ns < REPLAY_BLOCKED_NS && c->start_ns >= m->g->start_ns)
            seen[n++] = ns;
    }
    if (m->launch_ns == 0)
        m->launch_ns = n ? median_ns(seen, n) : REPLAY_CALL_NS;
    if (m->launch_ns <= 0)
        m->launch_ns = 1; /* computed, but shorter than the recording's clock resolves */
    return m->launch_ns;
}

static bool frees_now(const struct timeline *t, const struct api *c)
{
    if (c->kind != API_FREE)
        return false;
    const char *name = tl_text(t, c->name);
    return strstr(name, "Free") && !strstr(name, "Async");
}

/* Returns when all operations that started before `time` had ended; INT64_MIN if there are none. */
static int64_t ended(const struct maker *m, int64_t time)
{
    size_t low = 0, high = m->t->op_count;
    while (low < high) { /* finds the first operation that starts at or after `time` */
        size_t mid = low + (high - low) / 2;
        if (m->t->ops[mid].start_ns < time)
            low = mid + 1;
        else
            high = mid;
    }
    return low == 0 ? INT64_MIN : m->ended[low - 1];
}

/* Fills m->ended and sets m->frees_wait: false if any free returned while earlier work still ran.
 * Returns -1 without memory. */
static int learn_from_frees(struct maker *m)
{
    const struct timeline *t = m->t;
    int64_t most = INT64_MIN;
    m->ended = malloc((t->op_count + 1) * sizeof *m->ended);
    if (!m->ended)
        return -1;
    for (size_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (t->streams[o->stream].process == m->a->steps.process && !tl_migrates(o) &&
            o->end_ns > most)
            most = o->end_ns;
        m->ended[i] = most;
    }
    m->frees_wait = true;
    for (size_t i = 0; i < t->api_count && m->frees_wait; i++) {
        const struct api *c = &t->apis[i];
        if (frees_now(t, c) && t->threads[c->thread].process == m->a->steps.process)
            m->frees_wait = ended(m, c->start_ns) <= c->end_ns;
    }
    return 0;
}

/* A free waits for all work of its device (CUDA's reference lists it among the calls that
 * synchronise), also where no work happened to run. But if the recording shows one free that did
 * not wait, none counts as waiting. */
int64_t graph_free_waited(struct maker *m, uint32_t api)
{
    const struct api *c = &m->t->apis[api];
    if (!frees_now(m->t, c))
        return -1;
    if (!m->ended && learn_from_frees(m) < 0) {
        m->failed = true;
        return -1;
    }
    int64_t idle = ended(m, c->end_ns);
    if (!m->frees_wait || idle > c->end_ns) /* another thread launched that work during the call */
        return -1;
    return idle > c->start_ns ? idle : c->start_ns;
}
