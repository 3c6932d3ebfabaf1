/* Finds the stream that orders the nodes of a CUDA graph. Drivers run nodes in internal streams
 * that no call names, but a launch is ordered by the stream that it was issued to. The recording
 * does not name that stream, so this file infers it: if the nodes of each launch lie in one
 * internal stream, and ran between the work that the same thread launched just before and just
 * behind, and all of that work lies in one stream, then the nodes count as work of that stream.
 * Cost: one pass over the calls and their operations. */
#include "analyzer/replay/graph_make.h"
#include "analyzer/replay/limits.h"

#include <stdlib.h>

struct home {
    uint32_t stream;   /* the inferred home; TL_NONE: no node seen yet */
    uint32_t launches; /* launches with work before and behind them */
    int64_t last_ns;   /* end of the latest node seen */
    /* `other`: the stream also holds work that calls launched one by one. `broken`: the order of
     * its work contradicts the inference. */
    bool other, broken;
};

struct search {
    const struct maker *m;
    struct home *of;     /* by stream */
    uint32_t before;     /* stream of the thread's latest work that is no node; TL_NONE */
    int64_t before_ns;   /* end of that work */
    uint32_t nodes;      /* stream of the latest launch's nodes; TL_NONE if none, or if work
                            followed */
    uint32_t nodes_home; /* the home that these nodes would have */
};

static bool is_node(const struct timeline *t, const struct op *o)
{
    return o->api != TL_NONE && t->apis[o->api].kind == API_GRAPH_LAUNCH;
}

/* Work behind the nodes of a launch: if it is in their home, it must not start before they end. */
static void note_work(struct search *x, const struct op *o)
{
    if (x->nodes != TL_NONE && o->stream == x->nodes_home) {
        struct home *h = &x->of[x->nodes];
        h->broken |= o->start_ns + REPLAY_ROUNDING_NS < h->last_ns;
        h->launches++;
        x->nodes = TL_NONE;
    }
    x->before = o->stream;
    x->before_ns = o->end_ns;
}

static void note_node(struct search *x, const struct op *o, bool first, uint32_t stream)
{
    struct home *h = &x->of[o->stream];
    h->broken |= x->before == TL_NONE || o->stream != stream ||
                 (first && o->start_ns + REPLAY_ROUNDING_NS < x->before_ns) ||
                 (h->stream != TL_NONE && h->stream != x->before);
    h->stream = x->before;
    h->last_ns = first || o->end_ns > h->last_ns ? o->end_ns : h->last_ns;
    x->nodes = o->stream;
    x->nodes_home = x->before;
}

static void note_call(struct search *x, uint32_t api)
{
    const struct maker *m = x->m;
    bool first = true;
    uint32_t stream = TL_NONE;
    for (uint32_t i = m->first_op[api]; i != TL_NONE; i = m->next_op[i]) {
        const struct op *o = &m->t->ops[i];
        if (!is_node(m->t, o)) {
            note_work(x, o);
            continue;
        }
        stream = first ? o->stream : stream;
        if (o->stream != stream) /* the graph has parallel branches */
            x->of[stream].broken = true;
        note_node(x, o, first, stream);
        first = false;
    }
}

static void note_calls(struct search *x)
{
    const struct timeline *t = x->m->t;
    for (uint32_t i = 0; i < t->op_count; i++)
        x->of[t->ops[i].stream].other |= t->ops[i].api != TL_NONE && !is_node(t, &t->ops[i]);
    for (uint32_t th = 0; th < t->thread_count; th++) {
        x->before = x->nodes = TL_NONE;
        for (uint32_t i = 0; i < t->threads[th].apis; i++)
            note_call(x, t->threads[th].first_api + i);
    }
}

int graph_find_homes(struct maker *m)
{
    size_t n = m->t->stream_count;
    struct search x = {.m = m, .of = calloc(n + 1, sizeof *x.of)};
    m->home = malloc((n + 1) * sizeof *m->home);
    if (!x.of || !m->home) {
        free(x.of);
        return -1;
    }
    for (size_t s = 0; s < n; s++)
        x.of[s] = (struct home){.stream = TL_NONE, .last_ns = INT64_MIN};
    note_calls(&x);
    for (uint32_t s = 0; s < n; s++) {
        const struct home *h = &x.of[s];
        bool found = h->stream != TL_NONE && !h->other && !h->broken && h->launches > 1;
        m->home[s] = found ? h->stream : s;
    }
    free(x.of);
    return 0;
}
