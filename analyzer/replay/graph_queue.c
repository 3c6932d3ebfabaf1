/* Calls that wait without being asked to: launches, for room in a stream's queue or for their own
 * kernel; frees, for the whole device. Cost: a binary search for each long launch and each free,
 * one pass over the operations where any memory is freed. */
#include "analyzer/replay/graph_make.h"

#include "analyzer/measure/median.h"
#include "analyzer/replay/limits.h"

#include <stdlib.h>
#include <string.h>

/* A launch into a full queue comes back when the stream is done with an operation far ahead of its
 * own: that one, TL_NONE when it was something else that took the call so long. Where the queue
 * holds as many as are documented, it was full, and drivers may notice room a while after it is
 * there (H200: up to 0.4 ms): then it is the last one that ended. */
uint32_t graph_made_room(const struct facts *f, uint32_t api)
{
    const struct timeline *t = f->tl;
    const struct api *c = &t->apis[api];
    uint32_t low = 0, high = c->op;
    if (c->kind != API_LAUNCH || c->op == TL_NONE || c->end_ns - c->start_ns < REPLAY_BLOCKED_NS ||
        t->ops[c->op].start_ns < c->end_ns)
        return TL_NONE;
    while (low < high) { /* first one that starts behind the call */
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

/* Did the launch come back when its kernel had run? */
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
        m->launch_ns = 1; /* asked, and shorter than the recording's clock can tell */
    return m->launch_ns;
}

static bool frees_now(const struct timeline *t, const struct api *c)
{
    if (c->kind != API_FREE)
        return false;
    const char *name = tl_text(t, c->name);
    return strstr(name, "Free") && !strstr(name, "Async");
}

/* When all that had begun before `time` had ended; INT64_MIN: nothing had. */
static int64_t ended(const struct maker *m, int64_t time)
{
    size_t low = 0, high = m->t->op_count;
    while (low < high) { /* first one that starts from `time` on */
        size_t mid = low + (high - low) / 2;
        if (m->t->ops[mid].start_ns < time)
            low = mid + 1;
        else
            high = mid;
    }
    return low == 0 ? INT64_MIN : m->ended[low - 1];
}

/* Fills m->ended, and asks whether any free came back while work ran that had begun before it. -1:
 * out of memory. */
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
 * synchronise), even where there happened to be none. Not where one was seen not to. */
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
    if (!m->frees_wait || idle > c->end_ns) /* of another thread: launched meanwhile */
        return -1;
    return idle > c->start_ns ? idle : c->start_ns;
}
