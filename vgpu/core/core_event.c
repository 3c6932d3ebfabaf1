/* Events: a point on a stream's timeline, fixed when the event is recorded. */
#include "core/core_graph.h"

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
    pthread_mutex_lock(&vg_core.lock);
    vg_event_forget_locked(e);
    pthread_mutex_unlock(&vg_core.lock);
    free(e->deps);
    free(e);
    return VG_OK;
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
    vg_settle_legacy(s);
    struct vg_record r = vg_record_on(s, VG_REC_EVENT);
    r.event.event_id = e->id;
    struct vg_work w = {.earliest_ns = now + (int64_t)p->event_record_host_ns, .is_mark = true};
    pthread_mutex_lock(&vg_core.lock);
    vg_queue_locked(s);
    vg_event_forget_locked(e);
    bool held = vg_hold_event_locked(s, &w, &r, e);
    if (!held)
        e->time_ns = vg_place_locked(s, &w).end_ns;
    e->capture_id = 0;
    e->recorded = true;
    e->stream_id = s->id;
    e->recording = api ? api->correlation : 0;
    e->host_stream = s;
    e->host_upto = s->host_queued;
    r.start_ns = r.end_ns = e->time_ns;
    pthread_mutex_unlock(&vg_core.lock);
    if (!held)
        vg_emit(&r);
    return VG_OK;
}

int vg_event_query(struct vg_event *e)
{
    if (vg_event_capture(e))
        return VG_CAPTURE_UNSUPPORTED;
    if (!e->recorded)
        return VG_OK;
    vg_barriers_changed();
    pthread_mutex_lock(&vg_core.lock);
    bool known = vg_event_settled_locked(e);
    pthread_mutex_unlock(&vg_core.lock);
    bool done = known && e->time_ns <= vg_now_ns() && vg_host_done(e->host_stream, e->host_upto);
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
        vg_event_settle(e);
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
