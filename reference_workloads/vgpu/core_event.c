/* Events: a point of a stream's timeline, fixed when it is recorded. */
#include "reference_workloads/vgpu/core_state.h"

#include <stdlib.h>

int vg_event_create(struct vg_event **out, unsigned flags)
{
    if (!out || flags > 7)
        return VG_INVALID_VALUE;
    struct vg_event *e = calloc(1, sizeof *e);
    if (!e)
        return VG_NO_MEMORY;
    e->magic = VG_EVENT_MAGIC;
    e->id = vg_core.next_id++;
    e->flags = flags;
    e->device = vg_current_device();
    *out = e;
    return VG_OK;
}

int vg_event_check(const struct vg_event *e)
{
    return e && e->magic == VG_EVENT_MAGIC ? VG_OK : VG_INVALID_HANDLE;
}

int vg_event_destroy(struct vg_event *e)
{
    e->magic = 0;
    free(e->deps);
    free(e);
    return VG_OK;
}

static void emit_recorded(const struct vg_event *e, const struct vg_stream *s)
{
    struct vg_api *api = vg_api_current();
    struct vg_record r = {.kind = VG_REC_EVENT,
                          .device = s->device,
                          .stream_id = s->id,
                          .context_id = vg_core.device[s->device].context_id,
                          .correlation = api ? api->correlation : 0,
                          .start_ns = e->time_ns,
                          .end_ns = e->time_ns,
                          .event = {e->id}};
    vg_emit(&r);
}

int vg_event_record(struct vg_event *e, struct vg_stream *s)
{
    const struct vg_profile *p = &vg_core.device[s->device].profile;
    struct vg_api *api = vg_api_current();
    int64_t now = api ? api->start_ns : vg_now_ns();
    if (api)
        api->host_ns = (int64_t)p->event_record_host_ns;
    if (s->capture)
        return vg_capture_record(e, s);
    pthread_mutex_lock(&vg_core.lock);
    vg_queue_locked(s);
    struct vg_work w = {.earliest_ns = now + (int64_t)p->event_record_host_ns};
    bool behind_work = s->tail_is_work;
    struct vg_span span = vg_place_locked(s, &w);
    s->tail_is_work = behind_work; /* an event does not break a row of kernels */
    e->capture_id = 0;
    e->recorded = true;
    e->time_ns = span.end_ns;
    e->stream_id = s->id;
    e->recording = api ? api->correlation : 0;
    e->host_stream = s;
    e->host_upto = s->host_queued;
    pthread_mutex_unlock(&vg_core.lock);
    emit_recorded(e, s);
    return VG_OK;
}

int vg_event_query(struct vg_event *e)
{
    if (vg_event_capture(e))
        return VG_CAPTURE_UNSUPPORTED;
    if (!e->recorded)
        return VG_OK;
    bool done = e->time_ns <= vg_now_ns() && vg_host_done(e->host_stream, e->host_upto);
    return done ? VG_OK : VG_NOT_READY;
}

int vg_event_sync(struct vg_event *e)
{
    if (vg_event_capture(e))
        return VG_CAPTURE_UNSUPPORTED;
    struct vg_device *d = &vg_core.device[e->device];
    struct vg_api *api = vg_api_current();
    int64_t start_ns = vg_now_ns();
    if (e->recorded) {
        vg_wait_for(e->time_ns, e->flags & 1);
        vg_host_drain(e->host_stream, e->host_upto);
    }
    vg_spin_until(start_ns + (int64_t)d->profile.sync_min_ns);
    struct vg_record r = {
        .kind = VG_REC_SYNC,
        .device = e->device,
        .stream_id = e->stream_id,
        .context_id = d->context_id,
        .correlation = api ? api->correlation : 0,
        .start_ns = start_ns,
        .end_ns = vg_now_ns(),
        .sync = {.type = VG_SYNC_EVENT, .event_id = e->id, .recording = e->recording}};
    vg_emit(&r);
    return VG_OK;
}
