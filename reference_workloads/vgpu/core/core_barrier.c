/* Operations behind a barrier: a kernel whose end depends on something outside (other ranks), and
 * everything ordered after it by its stream or by events. Each keeps what it needs to be placed and
 * waits in its stream's row. vg_barriers_changed walks the rows and places what can be placed, in
 * order, with the times it would have had if all had been known at once; so it does not matter when
 * or on which thread that happens. Whoever must know a time (a synchronisation) waits for it here.
 *
 * Not held but waited for on the host: host functions, graph launches, and what the legacy stream
 * orders without an event. Barriers cannot be captured. */
#include "reference_workloads/vgpu/core/core_state.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum held_kind { HELD_WORK, HELD_EVENT, HELD_WAIT, HELD_BARRIER };

struct vg_held {
    enum held_kind kind;
    bool arrived;
    uint64_t number;  /* in the order of submission */
    int64_t since_ns; /* when it was submitted */
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

/* Without memory there is no honest timeline left. */
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

/* Computing beside a collective is slower while that lasts: how much cannot be said before its end
 * is known. */
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

bool vg_hold_work_locked(struct vg_stream *s, const struct vg_work *w, const struct vg_record *r)
{
    if (!s->held && !crowd_open_locked(s, w))
        return false;
    struct vg_held *h = push_locked(s, HELD_WORK);
    h->work = *w;
    h->record = *r;
    if (w->copy) {
        h->copy = *w->copy;
        vg_awaited_add(h, h->copy.dst, h->copy.bytes);
    }
    return true;
}

/* ---- events ---- */

static void unref_locked(struct vg_moment *m)
{
    if (m && --m->refs == 0)
        free(m);
}

void vg_event_forget_locked(struct vg_event *e)
{
    unref_locked(e->moment);
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

bool vg_hold_event_locked(struct vg_stream *s, const struct vg_work *w, const struct vg_record *r,
                          struct vg_event *e)
{
    if (!s->held)
        return false;
    struct vg_held *h = push_locked(s, HELD_EVENT);
    h->work = *w;
    h->record = *r;
    h->moment = calloc(1, sizeof *h->moment);
    if (!h->moment)
        abort();
    h->moment->refs = 2;
    e->moment = h->moment;
    return true;
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

/* ---- crowding ---- */

int64_t vg_crowded_locked(const struct vg_device *d, int64_t start_ns, int64_t duration_ns)
{
    enum { ROOM = sizeof d->crowd / sizeof *d->crowd };
    double more_ns = 0;
    unsigned n = d->crowd_n < ROOM ? d->crowd_n : ROOM;
    for (unsigned i = 0; i < n; i++) {
        const struct vg_crowd *c = &d->crowd[i];
        int64_t from = c->start_ns > start_ns ? c->start_ns : start_ns;
        int64_t to = c->end_ns < start_ns + duration_ns ? c->end_ns : start_ns + duration_ns;
        if (to > from)
            more_ns += (double)(to - from) * c->slower;
    }
    return duration_ns + (int64_t)more_ns;
}

/* The kernel's blocks each hold a multiprocessor from its start on. */
static struct vg_crowd *crowd_locked(struct vg_device *d, const struct vg_kernel *k, int64_t start)
{
    enum { ROOM = sizeof d->crowd / sizeof *d->crowd };
    double held = (double)k->grid[0], all = (double)d->profile.sm_count;
    struct vg_crowd *c = &d->crowd[d->crowd_n++ % ROOM];
    d->crowd_open++;
    *c = (struct vg_crowd){start, INT64_MAX, held < all ? held / (all - held) : 1};
    return c;
}

/* ---- placing ---- */

/* Where a barrier would start: everything before it in its stream has its place. */
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
        h->crowd = crowd_locked(&vg_core.device[h->stream->device], &h->record.kernel, start);
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
        /* A collective may in turn wait for this one, by way of other ranks: not for ever. */
        if (crowd_open_locked(s, &h->work) && vg_now_ns() - h->since_ns < CROWD_PATIENCE_NS)
            return false;
        span = vg_place_locked(s, &h->work);
        h->record.start_ns = h->kind == HELD_EVENT ? span.end_ns : span.start_ns;
        h->record.end_ns = span.end_ns;
        if (h->copy.bytes) {
            vg_copy_bytes(&h->copy, false);
            vg_awaited_end(h);
        }
        if (h->kind == HELD_EVENT) {
            h->moment->known = true;
            h->moment->time_ns = span.end_ns;
        }
        return true;
    }
}

/* The first operation, in the order of submission, that can be placed is. NULL: none can. */
static struct vg_held *place_one_locked(void)
{
    uint64_t tried = 0; /* heads up to this number cannot */
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

/* Everything that can be placed now, in a list. */
static struct vg_held *place_all_locked(void)
{
    struct vg_held *placed = NULL, **end = &placed, *h;
    while (held_total > 0 && (h = place_one_locked()) != NULL) {
        pop_locked(h->stream);
        h->stream->emitting++;
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
        if (h->kind != HELD_WAIT)
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
        unref_locked(h->moment);
        free(h);
    }
    pthread_cond_broadcast(&progress);
    pthread_mutex_unlock(&vg_core.lock);
}

/* ---- waiting ---- */

/* A barrier's owner tells of changes; the time limit only covers for one that could not. */
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

/* ---- the barrier itself ---- */

static int submit_barrier(struct vg_stream *s, const struct vg_kernel *k,
                          const struct vg_barrier *barrier)
{
    const struct vg_profile *p = &vg_core.device[s->device].profile;
    struct vg_api *api = vg_api_current();
    if (s->capture)
        return VG_CAPTURE_UNSUPPORTED;
    api->host_ns = (int64_t)p->launch_library_host_ns;
    api->symbol = k->name;
    vg_settle_legacy(s);
    struct vg_record r = vg_record_on(s, VG_REC_KERNEL);
    r.kernel = *k;
    pthread_mutex_lock(&vg_core.lock);
    vg_queue_locked(s);
    struct vg_held *h = push_locked(s, HELD_BARRIER);
    h->work = vg_kernel_work(p, k);
    h->work.shares_engine = true;
    h->work.earliest_ns = api->start_ns + (int64_t)p->start_latency_ns;
    h->record = r;
    h->barrier = *barrier;
    pthread_mutex_unlock(&vg_core.lock);
    vg_barriers_changed();
    if (vg_core.launch_blocking)
        vg_sleep_until(vg_stream_tail(s));
    return VG_OK;
}

int vg_library_barrier(struct vg_stream *stream, const struct vg_kernel *k,
                       const struct vg_barrier *barrier)
{
    struct vg_stream *s;
    struct vg_api api;
    int bad = vg_api_enter(&api, 430 /* cudaLaunchKernelExC */);
    if (bad)
        return bad;
    bad = vg_stream_resolve(stream, false, &s);
    if (!bad)
        bad = submit_barrier(s, k, barrier);
    return vg_api_exit(&api, bad);
}
