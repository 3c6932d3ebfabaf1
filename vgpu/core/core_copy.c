/* Copies, and when they block the host (CUDA Runtime API, "API synchronization behavior", and the
 * Programming Guide's list of what is asynchronous):
 *
 * - pageable to device, up to 64 KB: asynchronous, because the bytes travel with the command;
 * - pageable to device, larger: waits for the stream, then the host feeds the staging buffer and
 *   returns shortly before the last DMA ends;
 * - pinned to device: cudaMemcpy waits for the end, cudaMemcpyAsync does not wait;
 * - device to pageable: both forms return after the copy and the host's last memcpy;
 * - device to pinned: cudaMemcpy waits, cudaMemcpyAsync does not;
 * - device to device: neither form waits;
 * - host to host: both wait.
 *
 * Data that moves (core_data.c) moves at the call or, behind a collective, when that is over. If
 * the host waits for the copy anyway, it moves during that wait. */
#include "core/core_graph.h"

#include <math.h>

enum { SMALL = 65536 };

static bool on_device(enum vg_memory_kind k)
{
    return k == VG_MEM_DEVICE || k == VG_MEM_MANAGED;
}

/* Finds the direction from the pointers, as with unified addressing. A cudaMemcpyKind that
 * contradicts them is an error only if it takes pageable memory for device memory. */
static int classify(const struct vg_copy *c, struct vg_record *r)
{
    struct vg_pointer dst = vg_pointer(c->dst), src = vg_pointer(c->src);
    if (!c->dst || !c->src)
        return VG_INVALID_VALUE;
    if (c->kind < 0 || c->kind > 4)
        return VG_INVALID_DIRECTION;
    enum vg_copy_kind k = on_device(src.kind) ? (on_device(dst.kind) ? VG_COPY_DTOD : VG_COPY_DTOH)
                                              : (on_device(dst.kind) ? VG_COPY_HTOD : VG_COPY_HTOH);
    bool to_device = c->kind == 1 || c->kind == 3, from_device = c->kind == 2 || c->kind == 3;
    if ((to_device && dst.kind == VG_MEM_PAGEABLE) || (from_device && src.kind == VG_MEM_PAGEABLE))
        return VG_INVALID_VALUE;
    if (k == VG_COPY_DTOD && src.device >= 0 && dst.device >= 0 && src.device != dst.device)
        k = VG_COPY_PTOP;
    r->copy.kind = k;
    r->copy.src = src.kind;
    r->copy.dst = dst.kind;
    r->copy.src_device = src.device;
    r->copy.dst_device = dst.device;
    r->copy.bytes = c->bytes;
    r->copy.async = c->async;
    return VG_OK;
}

static double rate(const struct vg_profile *p, const struct vg_record *r)
{
    switch (r->copy.kind) {
    case VG_COPY_HTOD:
        return r->copy.src == VG_MEM_PAGEABLE && r->copy.bytes > SMALL ? p->pageable_h2d_bytes_per_s
                                                                       : p->pinned_h2d_bytes_per_s;
    case VG_COPY_DTOH:
        return r->copy.dst == VG_MEM_PAGEABLE && r->copy.bytes > SMALL ? p->pageable_d2h_bytes_per_s
                                                                       : p->pinned_d2h_bytes_per_s;
    case VG_COPY_PTOP:
        return p->pinned_h2d_bytes_per_s;
    default:
        return p->memory_bytes_per_s * p->d2d_eff / 2; /* each byte is read and written */
    }
}

static enum vg_engine engine_of(const struct vg_profile *p, enum vg_copy_kind k)
{
    if (k == VG_COPY_HTOD)
        return VG_ENGINE_H2D;
    if (k == VG_COPY_DTOH || k == VG_COPY_PTOP)
        return p->copy_engines >= 2 ? VG_ENGINE_D2H : VG_ENGINE_H2D;
    return VG_ENGINE_COMPUTE;
}

static void fill_node(struct vg_node *n, const struct vg_profile *p, const struct vg_copy *c,
                      const struct vg_record *r)
{
    n->copy = *c;
    n->record = *r;
    n->engine = engine_of(p, r->copy.kind);
    n->duration_ns = p->copy_fixed_ns + (double)c->bytes / rate(p, r) * 1e9;
}

int vg_copy_node(struct vg_node *n, int device, const struct vg_copy *c)
{
    struct vg_record r = {.kind = VG_REC_COPY, .device = device};
    int bad = classify(c, &r);
    if (bad == VG_OK)
        fill_node(n, &vg_core.device[device].profile, c, &r);
    return bad;
}

static int capture_copy(struct vg_stream *s, const struct vg_copy *c, const struct vg_record *r)
{
    if (!c->async)
        return vg_capture_forbids(s);
    struct vg_node *n = vg_capture_node(s, VG_NODE_COPY);
    if (!n)
        return VG_NO_MEMORY;
    fill_node(n, &vg_core.device[s->device].profile, c, r);
    return VG_OK;
}

/* True if the host feeds a staging buffer. The bytes of a small pageable copy travel in the
 * command, so it is as asynchronous as a pinned one. */
static bool is_staged(const struct vg_record *r)
{
    return r->copy.kind == VG_COPY_HTOD && r->copy.src == VG_MEM_PAGEABLE && r->copy.bytes > SMALL;
}

static bool host_waits(const struct vg_record *r)
{
    switch (r->copy.kind) {
    case VG_COPY_HTOD:
        return !r->copy.async && r->copy.src == VG_MEM_PINNED;
    case VG_COPY_DTOH:
        return !r->copy.async || r->copy.dst == VG_MEM_PAGEABLE;
    case VG_COPY_HTOH:
        return true;
    default:
        return false;
    }
}

/* True if the bytes move when the copy is placed. Behind a collective the source may not have its
 * data yet. Bytes from the host move at once, because the program may overwrite them. */
static bool moves_later(const struct vg_record *r)
{
    return r->copy.kind != VG_COPY_HTOD && !host_waits(r);
}

/* Host time after the device has ended a copy into pageable memory, in which the host copies the
 * last piece. */
static int64_t unstage_ns(const struct vg_profile *p, const struct vg_record *r)
{
    if (r->copy.kind != VG_COPY_DTOH || r->copy.dst != VG_MEM_PAGEABLE)
        return 0;
    double all_ns = (double)r->copy.bytes / p->pageable_h2d_bytes_per_s * 1e9;
    return (int64_t)fmin(p->copy_unstage_base_ns + all_ns, p->copy_unstage_most_ns);
}

/* Moves the bytes while the host waits: from the copy's start on, or at once if they come from the
 * host. */
static void wait_and_move(struct vg_stream *s, const struct vg_copy *c, const struct vg_record *r,
                          bool here)
{
    bool waits = is_staged(r) || host_waits(r);
    here = here && (waits || r->copy.kind != VG_COPY_HTOD); /* otherwise they have moved already */
    if (host_waits(r) && r->copy.kind != VG_COPY_HTOD)
        vg_sleep_until(r->start_ns);
    if (host_waits(r) && r->copy.kind == VG_COPY_DTOH)
        vg_host_drain(s, s->host_queued);
    if (here && r->copy.kind == VG_COPY_HTOD)
        vg_await(c->dst, c->bytes);
    if (here)
        vg_copy_bytes(c, waits);
    if (is_staged(r))
        vg_spin_until(r->end_ns - (int64_t)vg_core.device[s->device].profile.copy_stage_lead_ns);
    else if (waits)
        vg_sleep_until(r->end_ns);
}

/* Moves the bytes before the call begins, because a device would fetch them later by itself. */
static void move_before(const struct vg_copy *c)
{
    int64_t from = vg_now_ns();
    vg_await(c->dst, c->bytes);
    vg_copy_bytes(c, false);
    vg_emulated(from);
}

int vg_copy(struct vg_stream *s, const struct vg_copy *c)
{
    struct vg_device *d = &vg_core.device[s->device];
    const struct vg_profile *p = &d->profile;
    struct vg_api *api = vg_api_current();
    if (api)
        api->host_ns = (int64_t)p->memcpy_async_host_ns;
    struct vg_record r = vg_record_on(s, VG_REC_COPY);
    int bad = c->bytes ? classify(c, &r) : VG_OK;
    if (bad || c->bytes == 0)
        return bad;
    if (s->capture)
        return capture_copy(s, c, &r);
    if (r.copy.kind == VG_COPY_HTOH || is_staged(&r)) {
        vg_sleep_until(vg_stream_tail(s));
        vg_host_drain(s, s->host_queued);
    }
    if (r.copy.kind == VG_COPY_HTOH) {
        vg_copy_rows(c);
        return VG_OK;
    }
    if (host_waits(&r))
        vg_settle(s); /* from here on its end is known at once */
    if (r.copy.kind == VG_COPY_HTOD && !is_staged(&r) && !host_waits(&r))
        move_before(c);
    struct vg_work w = {.engine = engine_of(p, r.copy.kind),
                        .earliest_ns = (is_staged(&r) || !api ? vg_now_ns() : api->start_ns) +
                                       (int64_t)p->start_latency_ns,
                        .duration_ns =
                            vg_scaled(p->copy_fixed_ns + (double)c->bytes / rate(p, &r) * 1e9, 0),
                        .gap_ns = (int64_t)p->kernel_gap_ns,
                        .copy = moves_later(&r) ? c : NULL};
    bool placed = vg_submit(s, &w, &r);
    if (!placed && (is_staged(&r) || host_waits(&r)))
        r.start_ns = r.end_ns = vg_stream_tail(s); /* another thread has put a barrier before it */
    wait_and_move(s, c, &r, placed || !w.copy);
    if (host_waits(&r))
        vg_spin_until(r.end_ns + unstage_ns(p, &r));
    return VG_OK;
}
