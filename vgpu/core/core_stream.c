/* Streams, the hardware queue, and placing work on the timeline.
 *
 * An operation is placed when it is submitted: start = max(call + latency, the stream's previous
 * end + gap, events that it waits for, the legacy stream's rules, the engine), end = start +
 * duration. Engines serve operations in the order of submission: two streams that compete for an
 * engine are served in turn, without preemption. A kernel with fewer blocks than half of the
 * multiprocessors leaves the engine to others. */
#include "core/core_graph.h"

#include <stdlib.h>

static _Thread_local struct vg_stream *thread_stream[VG_MAX_DEVICES];
static struct vg_stream *gone; /* destroyed streams */

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t vg_scaled(double duration_ns, double floor_ns)
{
    double d = duration_ns * vg_noise() * vg_core.scale;
    double least = floor_ns * vg_core.scale;
    return (int64_t)(d > least ? d : least);
}

static int64_t stream_start(const struct vg_device *d, const struct vg_stream *s)
{
    if (s->legacy)
        return d->blocking_tail_ns;
    if (s->flags & 1)
        return 0;
    return d->legacy ? d->legacy->tail_ns : 0;
}

static bool uses_engine(const struct vg_work *w)
{
    return w->engine != VG_ENGINE_NONE && !w->shares_engine;
}

int64_t vg_start_locked(const struct vg_stream *s, const struct vg_work *w)
{
    const struct vg_device *d = &vg_core.device[s->device];
    int64_t start = max_ns(w->earliest_ns, s->ready_ns);
    start = max_ns(start, s->tail_ns + (s->tail_is_work ? w->gap_ns : 0));
    start = max_ns(start, stream_start(d, s));
    return uses_engine(w) ? max_ns(start, d->engine_free_ns[w->engine]) : start;
}

struct vg_span vg_place_locked(struct vg_stream *s, const struct vg_work *w)
{
    struct vg_device *d = &vg_core.device[s->device];
    int64_t start = vg_start_locked(s, w);
    bool engine = uses_engine(w);
    int64_t duration = w->duration_ns;
    if (engine && w->engine == VG_ENGINE_COMPUTE)
        duration = vg_crowded_locked(d, start, duration);
    struct vg_span span = {start, start + duration};
    if (engine)
        d->engine_free_ns[w->engine] = span.end_ns;
    if (w->engine == VG_ENGINE_COMPUTE) {
        d->busy_ns += duration;
        vg_gauges_put(d);
    }
    s->tail_ns = span.end_ns;
    if (!w->is_mark) /* an event does not interrupt a row of kernels */
        s->tail_is_work = w->engine != VG_ENGINE_NONE;
    if (!(s->flags & 1))
        d->blocking_tail_ns = max_ns(d->blocking_tail_ns, span.end_ns);
    d->work_tail_ns = max_ns(d->work_tail_ns, span.end_ns);
    s->slots[s->head] = span.end_ns;
    s->head = (s->head + 1) % s->depth;
    return span;
}

void vg_extend_locked(struct vg_stream *s, int64_t end_ns)
{
    struct vg_device *d = &vg_core.device[s->device];
    s->tail_ns = max_ns(s->tail_ns, end_ns);
    s->tail_is_work = true;
    s->slots[(s->head + s->depth - 1) % s->depth] = s->tail_ns;
    if (!(s->flags & 1))
        d->blocking_tail_ns = max_ns(d->blocking_tail_ns, s->tail_ns);
    d->work_tail_ns = max_ns(d->work_tail_ns, s->tail_ns);
}

void vg_queue_locked(struct vg_stream *s)
{
    enum { QUERY_AGAIN_NS = 200000 }; /* held operations have no end yet */
    int64_t blocked_ns = 0;
    for (;;) {
        bool full = s->held_n >= s->depth;
        int64_t now = vg_now_ns();
        int64_t until = now + QUERY_AGAIN_NS;
        if (!full)
            until = s->slots[(s->head + s->held_n) % s->depth];
        if (until <= now)
            break;
        if (!blocked_ns)
            blocked_ns = now;
        pthread_mutex_unlock(&vg_core.lock);
        vg_sleep_until(until);
        pthread_mutex_lock(&vg_core.lock);
    }
    if (!blocked_ns)
        return;
    struct vg_record r = vg_record_on(s, VG_REC_OVERHEAD);
    r.start_ns = blocked_ns;
    r.end_ns = vg_now_ns();
    r.overhead.kind = VG_OVERHEAD_COMMAND_BUFFER_FULL;
    pthread_mutex_unlock(&vg_core.lock);
    vg_emit(&r);
    pthread_mutex_lock(&vg_core.lock);
}

bool vg_submit(struct vg_stream *s, const struct vg_work *w, struct vg_record *r)
{
    vg_settle_legacy(s);
    pthread_mutex_lock(&vg_core.lock);
    vg_queue_locked(s);
    bool held = vg_hold_work_locked(s, w, r);
    struct vg_span span = {0, 0};
    if (!held)
        span = vg_place_locked(s, w);
    pthread_mutex_unlock(&vg_core.lock);
    if (held)
        return false;
    r->start_ns = span.start_ns;
    r->end_ns = span.end_ns;
    vg_emit(r);
    return true;
}

static struct vg_stream *stream_new_locked(struct vg_device *d, unsigned flags, int priority)
{
    struct vg_stream *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->depth = d->profile.queue_depth >= 1 ? (uint32_t)d->profile.queue_depth : 1;
    s->slots = calloc(s->depth, sizeof *s->slots);
    if (!s->slots) {
        free(s);
        return NULL;
    }
    s->magic = VG_STREAM_MAGIC;
    s->held_end = &s->held;
    s->device = d->index;
    s->flags = flags & 1;
    s->priority = priority;
    s->id = d->next_stream_id;
    d->next_stream_id += d->next_stream_id == 7 ? 6 : 1;
    s->next = d->streams;
    d->streams = s;
    return s;
}

static struct vg_stream *stream_new(int device, unsigned flags, int priority, bool legacy)
{
    struct vg_device *d = &vg_core.device[device];
    pthread_mutex_lock(&vg_core.lock);
    struct vg_stream *s = legacy ? d->legacy : NULL;
    if (!s && !d->legacy) { /* the first stream of a context is the legacy one: CUPTI's id 7 */
        d->legacy = stream_new_locked(d, 0, 0);
        if (d->legacy)
            d->legacy->legacy = true;
        s = legacy ? d->legacy : NULL;
    }
    if (!s && !legacy)
        s = stream_new_locked(d, flags, priority);
    pthread_mutex_unlock(&vg_core.lock);
    return s;
}

int vg_stream_resolve(struct vg_stream *handle, bool per_thread, struct vg_stream **out)
{
    uintptr_t h = (uintptr_t)handle;
    int device = vg_current_device();
    vg_context_use(device);
    if (h == 0)
        h = per_thread ? 2 : 1;
    if (h == 1) {
        struct vg_stream *s = vg_core.device[device].legacy;
        *out = s ? s : stream_new(device, 0, 0, true);
    } else if (h == 2) {
        if (!thread_stream[device])
            thread_stream[device] = stream_new(device, 0, 0, false);
        *out = thread_stream[device];
    } else {
        *out = handle;
        if (handle->magic != VG_STREAM_MAGIC || handle->destroyed)
            return VG_INVALID_HANDLE;
    }
    return *out ? VG_OK : VG_NO_MEMORY;
}

int vg_stream_create(struct vg_stream **out, unsigned flags, int priority)
{
    if (!out || flags > 1)
        return VG_INVALID_VALUE;
    *out = stream_new(vg_current_device(), flags, priority, false);
    if (!*out)
        return VG_NO_MEMORY;
    struct vg_api *api = vg_api_current();
    struct vg_record r = {.kind = VG_REC_STREAM,
                          .device = (*out)->device,
                          .stream_id = (*out)->id,
                          .context_id = vg_core.device[(*out)->device].context_id,
                          .correlation = api ? api->correlation : 0,
                          .stream = {flags, priority}};
    vg_emit(&r);
    return VG_OK;
}

struct vg_stream *vg_stream_lane(struct vg_stream *s, size_t lane)
{
    if (!s->lanes && !(s->lanes = calloc(VG_LANES, sizeof(struct vg_stream *))))
        return NULL;
    if (!s->lanes[lane] && (s->lanes[lane] = stream_new(s->device, 1, s->priority, false)))
        s->lanes[lane]->lane_of = s;
    return s->lanes[lane];
}

/* Destroys a stream. Its work goes on: the device knows when it ends. The struct stays (some
 * hundred bytes), so that using a stale handle is an error and not a crash. A stream whose host
 * functions have not run yet stays in the list, so that a synchronisation of the device waits for
 * them. */
int vg_stream_destroy(struct vg_stream *s)
{
    if (s->legacy)
        return VG_INVALID_HANDLE;
    vg_settle(s);
    for (size_t i = 0; s->lanes && i < VG_LANES; i++)
        if (s->lanes[i])
            vg_stream_destroy(s->lanes[i]);
    free(s->lanes);
    s->lanes = NULL;
    bool listed = !vg_host_done(s, s->host_queued);
    pthread_mutex_lock(&vg_core.lock);
    s->destroyed = true;
    struct vg_stream **at = &vg_core.device[s->device].streams;
    while (!listed && *at && *at != s)
        at = &(*at)->next;
    if (!listed && *at) {
        *at = s->next;
        s->gone = gone;
        gone = s;
    }
    free(s->slots);
    s->slots = NULL;
    pthread_mutex_unlock(&vg_core.lock);
    return VG_OK;
}

int64_t vg_stream_tail(struct vg_stream *s)
{
    const struct vg_device *d = &vg_core.device[s->device];
    vg_settle(s);
    vg_settle_legacy(s);
    pthread_mutex_lock(&vg_core.lock);
    int64_t tail = max_ns(s->tail_ns, s->ready_ns);
    if (s->legacy)
        tail = max_ns(tail, d->blocking_tail_ns);
    pthread_mutex_unlock(&vg_core.lock);
    return tail;
}

static void emit_sync(enum vg_sync_type type, int device, uint32_t stream_id, int64_t start_ns)
{
    struct vg_api *api = vg_api_current();
    struct vg_record r = {.kind = VG_REC_SYNC,
                          .device = device,
                          .stream_id = stream_id,
                          .context_id = vg_core.device[device].context_id,
                          .correlation = api ? api->correlation : 0,
                          .start_ns = start_ns,
                          .end_ns = vg_now_ns(),
                          .sync = {.type = type}};
    vg_emit(&r);
}

int vg_stream_sync(struct vg_stream *s)
{
    int bad = vg_capture_forbids(s);
    if (bad)
        return bad;
    int64_t start_ns = vg_now_ns();
    int64_t least_ns = start_ns + (int64_t)vg_core.device[s->device].profile.sync_min_ns;
    vg_wait_for(vg_stream_tail(s), vg_core.device[s->device].sync_flags & 4);
    vg_host_drain(s, s->host_queued);
    vg_spin_until(least_ns);
    emit_sync(VG_SYNC_STREAM, s->device, s->id, start_ns);
    return VG_OK;
}

int vg_stream_query(struct vg_stream *s)
{
    int bad = vg_capture_forbids(s);
    if (bad)
        return bad;
    vg_barriers_changed();
    bool done = !s->held && vg_stream_tail(s) <= vg_now_ns() && vg_host_done(s, s->host_queued);
    return done ? VG_OK : VG_NOT_READY;
}

/* CUPTI also reports waits of streams, with the correlation id of the event recording that they
 * wait for. */
static void emit_stream_wait(const struct vg_stream *s, const struct vg_event *e,
                             const struct vg_api *api)
{
    struct vg_record r = {
        .kind = VG_REC_SYNC,
        .device = s->device,
        .stream_id = s->id,
        .context_id = vg_core.device[s->device].context_id,
        .correlation = api ? api->correlation : 0,
        .start_ns = vg_now_ns(),
        .sync = {.type = VG_SYNC_WAIT_EVENT, .event_id = e->id, .recording = e->recording}};
    r.end_ns = r.start_ns;
    vg_emit(&r);
}

int vg_stream_wait(struct vg_stream *s, struct vg_event *e)
{
    if (s->capture || vg_event_capture(e))
        return vg_capture_wait(s, e);
    struct vg_api *api = vg_api_current();
    if (api)
        api->host_ns = (int64_t)vg_core.device[s->device].profile.stream_wait_host_ns;
    if (!e->recorded)
        return VG_OK;
    pthread_mutex_lock(&vg_core.lock);
    vg_queue_locked(s);
    if (!vg_hold_wait_locked(s, e)) {
        s->ready_ns = max_ns(s->ready_ns, e->time_ns);
        s->slots[s->head] = max_ns(s->tail_ns, s->ready_ns);
        s->head = (s->head + 1) % s->depth;
    }
    pthread_mutex_unlock(&vg_core.lock);
    emit_stream_wait(s, e, api);
    return VG_OK;
}

struct vg_stream *vg_stream_after(const struct vg_device *d, const struct vg_stream *s)
{
    pthread_mutex_lock(&vg_core.lock);
    struct vg_stream *next = s ? s->next : d->streams;
    pthread_mutex_unlock(&vg_core.lock);
    return next;
}

int64_t vg_device_tail(int device)
{
    const struct vg_device *d = &vg_core.device[device];
    for (struct vg_stream *s = vg_stream_after(d, NULL); s; s = vg_stream_after(d, s))
        vg_settle(s);
    pthread_mutex_lock(&vg_core.lock);
    int64_t tail = vg_core.device[device].work_tail_ns;
    pthread_mutex_unlock(&vg_core.lock);
    return tail;
}

int vg_device_sync(void)
{
    int bad = vg_capture_forbids(NULL);
    if (bad)
        return bad;
    struct vg_device *d = &vg_core.device[vg_current_device()];
    int64_t start_ns = vg_now_ns();
    vg_wait_for(vg_device_tail(d->index), d->sync_flags & 4);
    for (struct vg_stream *s = vg_stream_after(d, NULL); s; s = vg_stream_after(d, s))
        vg_host_drain(s, s->host_queued);
    vg_spin_until(start_ns + (int64_t)d->profile.sync_min_ns);
    emit_sync(VG_SYNC_CONTEXT, d->index, 0xffffffffu, start_ns);
    return VG_OK;
}
