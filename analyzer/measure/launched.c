/* Finds the launch time of each operation: from its call, or else from its start and from what
 * follows in its stream. */
#include "analyzer/measure/launched.h"

#include <stdlib.h>

/* Operations of a stream from its first known launch on: with and without a known launch. */
struct stream_launches {
    size_t known, unknown;
};

/* True if most launches are known. If a shortened trace names only a few launches, the first of
 * them shows nothing about operations before it. */
static bool tells(const struct stream_launches *s)
{
    return s->known && s->unknown <= s->known;
}

static void count_launches(struct stream_launches *of, const struct timeline *t)
{
    for (uint32_t i = 0; i < t->op_count; i++) {
        struct stream_launches *s = &of[t->ops[i].stream];
        s->known += t->ops[i].api != TL_NONE;
        s->unknown += s->known && t->ops[i].api == TL_NONE;
    }
}

int launched_find(const struct timeline *t, int64_t *launch)
{
    int64_t *next = malloc((t->stream_count + 1) * sizeof *next);
    bool *seen = calloc(t->stream_count + 1, sizeof *seen);
    struct stream_launches *of = calloc(t->stream_count + 1, sizeof *of);
    for (size_t i = 0; next && i < t->stream_count; i++)
        next[i] = INT64_MAX;
    for (size_t i = t->op_count; next && i-- > 0;) {
        const struct op *o = &t->ops[i];
        int64_t behind = next[o->stream];
        launch[i] = o->api != TL_NONE      ? t->apis[o->api].start_ns
                    : o->start_ns < behind ? o->start_ns
                                           : behind;
        if (o->api != TL_NONE)
            next[o->stream] = launch[i];
    }
    if (of)
        count_launches(of, t);
    for (uint32_t i = 0; seen && of && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        seen[o->stream] |= o->api != TL_NONE;
        if (!seen[o->stream] && tells(&of[o->stream]))
            launch[i] = LAUNCHED_BEFORE;
    }
    int rc = next && seen && of ? 0 : -1;
    free(next);
    free(seen);
    free(of);
    return rc;
}

/* Returns true if the thread that launched the copy was in a call until the copy ended: the copy's
 * own call or one that waits. */
static bool waited_for(const struct timeline *t, const struct op *o)
{
    uint32_t thread = t->apis[o->api].thread;
    const struct thread *th = &t->threads[thread];
    uint32_t next = timeline_api_from(t, th, o->end_ns);
    return next > th->first_api && t->apis[next - 1].end_ns >= o->end_ns;
}

/* Streams whose events other streams wait for are part of the program's order, so they are not
 * aside. */
static void leave_out_awaited(const struct timeline *t, bool *aside)
{
    for (size_t i = 0; i < t->event_count; i++) {
        const struct event_record *e = &t->events[i];
        for (size_t k = 0; e->stream != TL_NONE && aside[e->stream] && k < t->sync_count; k++)
            if (t->syncs[k].event == e->event && t->syncs[k].type == SYNC_STREAM_WAIT_EVENT &&
                t->syncs[k].stream != e->stream)
                aside[e->stream] = false;
    }
}

bool *launched_aside(const struct timeline *t)
{
    bool *aside = calloc(t->stream_count + 1, sizeof *aside);
    /* by thread: it launches other work than copies */
    bool *computes = calloc(t->thread_count + 1, sizeof *computes);
    size_t *waits = calloc(t->stream_count + 1, sizeof *waits);
    bool *other = calloc(t->stream_count + 1, sizeof *other);
    size_t *copies = calloc(t->stream_count + 1, sizeof *copies);
    bool ready = aside && computes && waits && other && copies;
    for (size_t i = 0; ready && i < t->op_count; i++)
        if (t->ops[i].kind != OP_COPY && t->ops[i].api != TL_NONE)
            computes[t->apis[t->ops[i].api].thread] = true;
    for (size_t i = 0; ready && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind != OP_COPY || o->api == TL_NONE || computes[t->apis[o->api].thread]) {
            other[o->stream] = true;
            continue;
        }
        copies[o->stream]++;
        waits[o->stream] += waited_for(t, o);
    }
    for (size_t i = 0; ready && i < t->stream_count; i++)
        aside[i] = !other[i] && copies[i] && 2 * waits[i] > copies[i];
    if (ready)
        leave_out_awaited(t, aside);
    free(computes);
    free(waits);
    free(other);
    free(copies);
    if (!ready)
        free(aside);
    return ready ? aside : NULL;
}
