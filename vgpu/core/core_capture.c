/* Stream capture: work of the joined streams becomes nodes of a graph. Each stream keeps the nodes
 * on which its next one depends; an event recorded in a capture carries them to another stream. */
#include "core/core_graph.h"

#include <stdlib.h>
#include <string.h>

static struct vg_graph *captures; /* captures in progress; vg_core.lock guards the list */

struct vg_graph *vg_event_capture(const struct vg_event *e)
{
    if (!e->capture_id)
        return NULL;
    pthread_mutex_lock(&vg_core.lock);
    struct vg_graph *g = captures;
    while (g && g->id != e->capture_id)
        g = g->next_capture;
    pthread_mutex_unlock(&vg_core.lock);
    return g;
}

int vg_capture_forbids(struct vg_stream *s)
{
    struct vg_device *d = &vg_core.device[s ? s->device : vg_current_device()];
    if (!captures)
        return VG_OK;
    if (s && s->capture) {
        s->capture->invalid = true;
        return VG_CAPTURE_UNSUPPORTED;
    }
    for (struct vg_stream *o = d->streams; o; o = o->next) {
        bool hit = s ? s->legacy && !(o->flags & 1) : true;
        if (o->capture && o->capture_mode == 0 && hit) {
            o->capture->invalid = true;
            return s ? VG_CAPTURE_IMPLICIT : VG_CAPTURE_UNSUPPORTED;
        }
    }
    return VG_OK;
}

/* Whether this thread may make calls that a capture might not survive. */
static _Thread_local int thread_mode;

int vg_capture_thread_mode(int mode)
{
    int before = thread_mode;
    thread_mode = mode;
    return before;
}

int vg_capture_forbids_unsafe(void)
{
    enum { RELAXED = 2 };
    return thread_mode == RELAXED ? VG_OK : vg_capture_forbids(NULL);
}

static int set_frontier(struct vg_stream *s, struct vg_node *const *nodes, size_t n, bool add)
{
    size_t had = add ? s->frontier_n : 0;
    struct vg_node **grown = realloc(s->frontier, (had + n + 1) * sizeof *grown);
    if (!grown)
        return VG_NO_MEMORY;
    s->frontier = grown;
    for (size_t i = 0; i < n; i++)
        grown[had + i] = nodes[i];
    s->frontier_n = had + n;
    return VG_OK;
}

struct vg_node *vg_capture_node(struct vg_stream *s, enum vg_node_kind kind)
{
    struct vg_node *n = vg_graph_add(s->capture, kind, s->frontier, s->frontier_n);
    if (n && set_frontier(s, &n, 1, false) != VG_OK)
        return NULL;
    return n;
}

int vg_capture_barrier(struct vg_stream *s, const struct vg_kernel *k,
                       const struct vg_barrier *barrier)
{
    struct vg_node *n = barrier->begin ? vg_capture_node(s, VG_NODE_KERNEL) : NULL;
    if (!barrier->begin)
        return VG_CAPTURE_UNSUPPORTED;
    if (!n)
        return VG_NO_MEMORY;
    n->kernel = *k;
    n->record = vg_record_on(s, VG_REC_KERNEL);
    n->barrier = *barrier;
    return VG_OK;
}

bool vg_library_captures(struct vg_stream *stream)
{
    struct vg_stream *s;
    return vg_start() == VG_OK && vg_stream_resolve(stream, false, &s) == VG_OK && s->capture;
}

static int join(struct vg_stream *s, struct vg_graph *g, int mode)
{
    if (g->stream_count == sizeof g->streams / sizeof *g->streams)
        return VG_NO_MEMORY;
    g->streams[g->stream_count++] = s;
    s->capture = g;
    s->capture_mode = mode;
    s->frontier_n = 0;
    return VG_OK;
}

int vg_capture_depend(struct vg_stream *s, struct vg_node *const *deps, size_t n, bool add)
{
    return s->capture ? set_frontier(s, deps, n, add) : VG_INVALID_VALUE;
}

int vg_capture_begin(struct vg_stream *s, int mode, struct vg_graph *into,
                     struct vg_node *const *deps, size_t n)
{
    if (s->legacy)
        return VG_CAPTURE_UNSUPPORTED;
    if (s->capture || mode < 0 || mode > 2)
        return VG_INVALID_VALUE;
    struct vg_graph *g = into ? into : vg_graph_new();
    if (!g)
        return VG_NO_MEMORY;
    g->kept = into != NULL;
    g->stream_count = 0;
    g->invalid = false;
    pthread_mutex_lock(&vg_core.lock);
    g->next_capture = captures;
    captures = g;
    pthread_mutex_unlock(&vg_core.lock);
    int bad = join(s, g, mode);
    return bad || !n ? bad : set_frontier(s, deps, n, false);
}

int vg_capture_record(struct vg_event *e, struct vg_stream *s)
{
    struct vg_node **deps = malloc((s->frontier_n + 1) * sizeof(struct vg_node *));
    if (!deps)
        return VG_NO_MEMORY;
    if (s->frontier_n)
        memcpy(deps, s->frontier, s->frontier_n * sizeof(struct vg_node *));
    free(e->deps);
    e->deps = deps;
    e->deps_n = s->frontier_n;
    e->capture_id = s->capture->id;
    return VG_OK;
}

int vg_capture_wait(struct vg_stream *s, struct vg_event *e)
{
    struct vg_graph *g = vg_event_capture(e);
    if (!g || (s->capture && s->capture != g)) {
        s->capture->invalid = true;
        return VG_CAPTURE_ISOLATION;
    }
    if (!s->capture) {
        if (s->legacy)
            return VG_CAPTURE_IMPLICIT;
        int bad = join(s, g, g->streams[0]->capture_mode);
        if (bad)
            return bad;
    }
    return set_frontier(s, e->deps, e->deps_n, true);
}

static void mark(const struct vg_node *n, bool *seen)
{
    if (seen[n->index])
        return;
    seen[n->index] = true;
    for (size_t i = 0; i < n->deps_n; i++)
        mark(n->deps[i], seen);
}

/* True if every joined stream has come back to the first one. */
static bool all_joined(const struct vg_graph *g)
{
    bool *seen = calloc(g->count + 1, sizeof *seen);
    bool joined = seen != NULL;
    const struct vg_stream *origin = g->streams[0];
    for (size_t i = 0; joined && i < origin->frontier_n; i++)
        mark(origin->frontier[i], seen);
    for (size_t k = 1; joined && k < g->stream_count; k++)
        for (size_t i = 0; i < g->streams[k]->frontier_n; i++)
            joined &= seen[g->streams[k]->frontier[i]->index];
    free(seen);
    return joined;
}

int vg_capture_end(struct vg_stream *s, struct vg_graph **out)
{
    struct vg_graph *g = s->capture, *unasked;
    out = out ? out : &unasked; /* the program may not ask for the graph that it captured into */
    *out = NULL;
    if (!g)
        return VG_INVALID_VALUE;
    if (g->streams[0] != s)
        return VG_CAPTURE_UNMATCHED;
    int result = g->invalid ? VG_CAPTURE_INVALIDATED : all_joined(g) ? VG_OK : VG_CAPTURE_UNJOINED;
    pthread_mutex_lock(&vg_core.lock);
    struct vg_graph **at = &captures;
    while (*at != g)
        at = &(*at)->next_capture;
    *at = g->next_capture;
    pthread_mutex_unlock(&vg_core.lock);
    for (size_t i = 0; i < g->stream_count; i++) {
        g->streams[i]->capture = NULL;
        g->streams[i]->frontier_n = 0;
    }
    if (result == VG_OK)
        *out = g;
    else if (!g->kept)
        vg_graph_free(g);
    return result;
}
