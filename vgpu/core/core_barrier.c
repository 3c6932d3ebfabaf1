/* Operations behind a barrier. A barrier is a kernel whose end depends on something outside
 * (other ranks). Operations ordered after it, by its stream or by events, wait in their stream's
 * row until their times can be computed. vg_barriers_changed walks the rows in order and gives
 * operations the times that they would have had if everything had been known at once, so the
 * result does not depend on when or on which thread it runs. A synchronisation waits here for
 * the times that it needs.
 *
 * Graphs that contain a barrier or follow one are laid out in rows, too (core_graph_held.c). For
 * host functions, and for the order that the legacy stream imposes without an event, the host
 * waits instead. */
#include "core/core_state.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum held_kind { HELD_WORK, HELD_EVENT, HELD_WAIT, HELD_BARRIER, HELD_MARK, HELD_GRAPH };

struct vg_held {
    enum held_kind kind;
    bool arrived;
    uint64_t number;  /* order of submission */
    int64_t since_ns; /* time of submission */
    struct vg_work work;
    struct vg_record record;
    struct vg_copy copy;
    struct vg_moment *moment;
    struct vg_barrier barrier;
    struct vg_crowd *crowd;
    struct vg_stream *stream;
    struct vg_held *next;
};

static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;
static _Atomic int held_total;

/* ---- rows ---- */

/* Appends an operation. Without memory the timeline would be wrong, so the program ends. */
static struct vg_held *push_locked(struct vg_stream *s, enum held_kind kind)
{
    struct vg_held *h = calloc(1, sizeof *h);
    if (!h)
        abort();
    static uint64_t numbers;
    h->kind = kind;
    h->number = ++numbers;
    h->since_ns = vg_now_ns();
    h->stream = s;
    *s->held_end = h;
    s->held_end = &h->next;
    s->held_n++;
    held_total++;
    return h;
}

static void pop_locked(struct vg_stream *s)
{
    struct vg_held *h = s->held;
    s->held = h->next;
    if (!s->held)
        s->held_end = &s->held;
    h->next = NULL;
    s->held_n--;
    held_total--;
}

/* True if the end of a collective that runs beside this operation is still unknown. Computing is
 * slower beside a collective, by an amount that depends on its end. */
static bool crowd_open_locked(const struct vg_stream *s, const struct vg_work *w)
{
    enum { ROOM = sizeof vg_core.device[0].crowd / sizeof *vg_core.device[0].crowd };
    const struct vg_device *d = &vg_core.device[s->device];
    if (d->crowd_open == 0 || w->engine != VG_ENGINE_COMPUTE || w->shares_engine)
        return false;
    int64_t end = vg_start_locked(s, w) + w->duration_ns;
    for (unsigned i = 0; i < ROOM && i < d->crowd_n; i++)
        if (d->crowd[i].end_ns == INT64_MAX && d->crowd[i].start_ns < end)
            return true;
    return false;
}

void vg_held_work_locked(struct vg_stream *s, const struct vg_work *w, const struct vg_record *r)
{
    struct vg_held *h = push_locked(s, HELD_WORK);
    h->work = *w;
    h->record = *r;
    if (w->copy) {
        h->copy = *w->copy;
        vg_awaited_add(h, h->copy.dst, h->copy.bytes);
    }
}

bool vg_hold_work_locked(struct vg_stream *s, const struct vg_work *w, const struct vg_record *r)
{
    if (!s->held && !crowd_open_locked(s, w))
        return false;
    vg_held_work_locked(s, w, r);
    return true;
}

void vg_held_barrier_locked(struct vg_stream *s, const struct vg_work *w, const struct vg_record *r,
                            const struct vg_barrier *barrier)
{
    struct vg_held *h = push_locked(s, HELD_BARRIER);
    h->work = *w;
    h->work.shares_engine = true;
    h->record = *r;
    h->barrier = *barrier;
}

/* ---- events ---- */

void vg_moment_unref_locked(struct vg_moment *m)
{
    if (m && --m->refs == 0)
        free(m);
}

void vg_event_forget_locked(struct vg_event *e)
{
    vg_moment_unref_locked(e->moment);
    e->moment = NULL;
}

bool vg_event_settled_locked(struct vg_event *e)
{
    if (!e->moment)
        return true;
    if (!e->moment->known)
        return false;
    e->time_ns = e->moment->time_ns;
    vg_event_forget_locked(e);
    return true;
}

/* A moment that is known once the row has come to this point. One reference is the caller's. */
static struct vg_moment *mark_locked(struct vg_stream *s, enum held_kind kind,
                                     const struct vg_work *w, const struct vg_record *r)
{
    struct vg_held *h = push_locked(s, kind);
    h->work = *w;
    if (r)
        h->record = *r;
    h->moment = calloc(1, sizeof *h->moment);
    if (!h->moment)
        abort();
    h->moment->refs = 2;
    return h->moment;
}

bool vg_hold_event_locked(struct vg_stream *s, const struct vg_work *w, const struct vg_record *r,
                          struct vg_event *e)
{
    if (!s->held)
        return false;
    e->moment = mark_locked(s, HELD_EVENT, w, r);
    return true;
}

struct vg_moment *vg_held_mark_locked(struct vg_stream *s, const struct vg_work *w)
{
    return mark_locked(s, HELD_MARK, w, NULL);
}

void vg_held_after_locked(struct vg_stream *s, struct vg_moment *m)
{
    push_locked(s, HELD_WAIT)->moment = m;
    m->refs++;
}

void vg_held_graph_locked(struct vg_stream *s, const struct vg_record *r, struct vg_moment *begin)
{
    struct vg_held *h = push_locked(s, HELD_GRAPH);
    h->work = (struct vg_work){.is_mark = true};
    h->record = *r;
    h->moment = begin;
    begin->refs++;
}

bool vg_hold_wait_locked(struct vg_stream *s, struct vg_event *e)
{
    bool known = vg_event_settled_locked(e);
    if (known && !s->held)
        return false;
    struct vg_held *h = push_locked(s, HELD_WAIT);
    if (known) {
        h->work.earliest_ns = e->time_ns;
        return true;
    }
    h->moment = e->moment;
    h->moment->refs++;
    return true;
}

/* ---- placing ---- */

/* When a barrier would start: all operations before it in its stream have their places. */
static int64_t barrier_start_locked(const struct vg_held *h)
{
    const struct vg_stream *s = h->stream;
    int64_t start = h->work.earliest_ns > s->ready_ns ? h->work.earliest_ns : s->ready_ns;
    int64_t after = s->tail_ns + (s->tail_is_work ? h->work.gap_ns : 0);
    return after > start ? after : start;
}

static bool pass_barrier_locked(struct vg_held *h)
{
    int64_t start = barrier_start_locked(h), begin = start;
    if (!h->arrived && !h->barrier.arrive(h->barrier.arg, start))
        return false;
    if (!h->arrived)
        h->crowd = vg_crowd_locked(&vg_core.device[h->stream->device], &h->record.kernel, start);
    h->arrived = true;
    if (!h->barrier.ready(h->barrier.arg, &begin))
        return false;
    struct vg_work w = h->work;
    w.duration_ns += begin > start ? begin - start : 0;
    struct vg_span span = vg_place_locked(h->stream, &w);
    h->record.start_ns = span.start_ns;
    h->record.end_ns = span.end_ns;
    if (h->crowd->start_ns == start)
        h->crowd->end_ns = span.end_ns;
    vg_core.device[h->stream->device].crowd_open--;
    return true;
}

enum { CROWD_PATIENCE_NS = 200000000 };

static bool place_locked(struct vg_held *h)
{
    struct vg_stream *s = h->stream;
    struct vg_span span;
    switch (h->kind) {
    case HELD_BARRIER:
        return pass_barrier_locked(h);
    case HELD_WAIT:
        if (h->moment && !h->moment->known)
            return false;
        if (h->moment)
            h->work.earliest_ns = h->moment->time_ns;
        if (h->work.earliest_ns > s->ready_ns)
            s->ready_ns = h->work.earliest_ns;
        s->slots[s->head] = s->tail_ns > s->ready_ns ? s->tail_ns : s->ready_ns;
        s->head = (s->head + 1) % s->depth;
        return true;
    default:
        /* Another rank's collective may in turn wait for this one, so this wait has a limit. */
        if (crowd_open_locked(s, &h->work) && vg_now_ns() - h->since_ns < CROWD_PATIENCE_NS)
            return false;
        span = vg_place_locked(s, &h->work);
        h->record.start_ns = h->kind == HELD_EVENT   ? span.end_ns
                             : h->kind == HELD_GRAPH ? h->moment->time_ns
                                                     : span.start_ns;
        h->record.end_ns = span.end_ns;
        if (h->copy.bytes) {
            vg_copy_bytes(&h->copy, false);
            vg_awaited_end(h);
        }
        if (h->kind == HELD_EVENT || h->kind == HELD_MARK) {
            h->moment->known = true;
            h->moment->time_ns = span.end_ns;
        }
        return true;
    }
}

/* Places the first operation, in the order of submission, that can be placed. NULL: none can. */
static struct vg_held *place_one_locked(void)
{
    uint64_t tried = 0; /* row heads up to this number cannot be placed */
    for (;;) {
        struct vg_held *first = NULL;
        for (int i = 0; i < vg_core.device_count; i++)
            for (struct vg_stream *s = vg_core.device[i].streams; s; s = s->next)
                if (s->held && s->held->number > tried &&
                    (!first || s->held->number < first->number))
                    first = s->held;
        if (!first || place_locked(first))
            return first;
        tried = first->number;
    }
}

/* Places all operations that can be placed now, and returns them as a list. */
static struct vg_held *place_all_locked(void)
{
    struct vg_held *placed = NULL, **end = &placed, *h;
    while (held_total > 0 && (h = place_one_locked()) != NULL) {
        pop_locked(h->stream);
        h->stream->emitting++;
        if (h->stream->lane_of)
            h->stream->lane_of->emitting++;
        *end = h;
        end = &h->next;
    }
    return placed;
}

void vg_barriers_changed(void)
{
    if (held_total == 0)
        return;
    pthread_mutex_lock(&vg_core.lock);
    struct vg_held *placed = place_all_locked();
    pthread_mutex_unlock(&vg_core.lock);
    for (struct vg_held *h = placed; h; h = h->next) {
        if (h->kind != HELD_WAIT && h->kind != HELD_MARK)
            vg_emit(&h->record);
        if (h->kind == HELD_BARRIER)
            h->barrier.done(h->barrier.arg);
    }
    if (!placed)
        return;
    pthread_mutex_lock(&vg_core.lock);
    while (placed) {
        struct vg_held *h = placed;
        placed = h->next;
        h->stream->emitting--;
        if (h->stream->lane_of)
            h->stream->lane_of->emitting--;
        vg_moment_unref_locked(h->moment);
        free(h);
    }
    pthread_cond_broadcast(&progress);
    pthread_mutex_unlock(&vg_core.lock);
}

/* ---- waiting ---- */

/* Waits for progress. The barrier's owner reports changes; the time limit is for when it cannot. */
static void await_locked(void)
{
    enum { LIMIT_NS = 20000000 };
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += LIMIT_NS;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(&progress, &vg_core.lock, &t) != ETIMEDOUT)
        return;
    pthread_mutex_unlock(&vg_core.lock);
    vg_barriers_changed();
    pthread_mutex_lock(&vg_core.lock);
}

void vg_settle(struct vg_stream *s)
{
    if (held_total == 0 && s->emitting == 0)
        return;
    vg_barriers_changed();
    pthread_mutex_lock(&vg_core.lock);
    while (s->held || s->emitting)
        await_locked();
    pthread_mutex_unlock(&vg_core.lock);
}

void vg_event_settle(struct vg_event *e)
{
    vg_barriers_changed();
    pthread_mutex_lock(&vg_core.lock);
    while (!vg_event_settled_locked(e))
        await_locked();
    pthread_mutex_unlock(&vg_core.lock);
}

void vg_settle_legacy(struct vg_stream *s)
{
    const struct vg_device *d = &vg_core.device[s->device];
    if (held_total == 0 || (s->flags & 1))
        return;
    if (!s->legacy && d->legacy && d->legacy->held)
        vg_settle(d->legacy);
    for (struct vg_stream *o = s->legacy ? vg_stream_after(d, NULL) : NULL; o;
         o = vg_stream_after(d, o))
        if (o != s && o->held && !(o->flags & 1))
            vg_settle(o);
}
