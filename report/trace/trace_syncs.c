/* Finds the recording of an event for which a sync waits. Without it, readers of the trace would
 * have to guess the dependencies between streams. */
#include "report/trace/trace.h"

#include <stdlib.h>

static uint32_t process_of(const struct timeline *t, uint32_t api)
{
    return api == TL_NONE ? TL_NONE : t->threads[t->apis[api].thread].process;
}

static int by_sync(const void *a, const void *b)
{
    const struct trace_recording *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->event_sync > y->event_sync) - (x->event_sync < y->event_sync);
}

int trace_index_recordings(struct trace *c)
{
    const struct timeline *t = c->t;
    c->recordings = arena_array(&c->arena, t->event_count + 1, sizeof *c->recordings);
    if (!c->recordings)
        return -1;
    for (uint32_t i = 0; i < t->event_count; i++) {
        const struct event_record *e = &t->events[i];
        if (e->api != TL_NONE && e->stream != TL_NONE && e->event_sync >= 0)
            c->recordings[c->recording_count++] =
                (struct trace_recording){process_of(t, e->api), i, e->event_sync};
    }
    qsort(c->recordings, c->recording_count, sizeof *c->recordings, by_sync);
    return 0;
}

void trace_sync_args(struct trace *c, const struct sync *s)
{
    const struct timeline *t = c->t;
    const struct stream *on = s->stream == TL_NONE ? NULL : &t->streams[s->stream];
    c->to->integer(c->w, "stream", on ? on->row.stream : -1);
    if (on && on->device < t->device_count) {
        c->to->integer(c->w, "device", t->devices[on->device].ordinal);
        c->to->integer(c->w, "context", on->row.context);
    }
    if (s->api != TL_NONE)
        c->to->integer(c->w, "correlation", (int64_t)s->api + 1);
    struct trace_recording key = {.process = process_of(t, s->api), .event_sync = s->event_sync};
    const struct trace_recording *r =
        c->recording_count ? bsearch(&key, c->recordings, c->recording_count, sizeof key, by_sync)
                           : NULL;
    if (!r)
        return;
    const struct event_record *e = &t->events[r->event];
    c->to->integer(c->w, "wait_on_stream", t->streams[e->stream].row.stream);
    c->to->integer(c->w, "wait_on_cuda_event_record_corr_id", (int64_t)e->api + 1);
}
