/* Kernels and memsets: submits them to a stream or to a capture, for the program or for a
 * library. */
#include "core/core_graph.h"

/* CUPTI's runtime callback ids of calls that libraries make (the core does not include CUDA). */
enum {
    CBID_LAUNCH = 211,
    CBID_LAUNCH_EXC = 430,
    CBID_MEMSET_ASYNC = 51,
    CBID_COPY = 31,
    CBID_COPY_2D = 32,
    CBID_COPY_ASYNC = 41,
    CBID_COPY_2D_ASYNC = 44,
    CBID_STREAM_SYNC = 131,
    CBID_MALLOC = 20,
    CBID_FREE = 22
};

static bool leaves_room(const struct vg_kernel *k, const struct vg_profile *p)
{
    uint64_t blocks = (uint64_t)k->grid[0] * k->grid[1] * k->grid[2];
    return blocks * 2 < (uint64_t)p->sm_count;
}

struct vg_work vg_kernel_work(const struct vg_profile *p, const struct vg_kernel *k)
{
    double share = vg_clock_now();
    return (struct vg_work){.engine = VG_ENGINE_COMPUTE,
                            .duration_ns =
                                vg_scaled((double)k->duration_ns / share, p->kernel_min_ns),
                            .gap_ns = (int64_t)p->kernel_gap_ns,
                            .shares_engine = leaves_room(k, p)};
}

struct vg_record vg_record_on(const struct vg_stream *s, enum vg_record_kind kind)
{
    struct vg_api *api = vg_api_current();
    return (struct vg_record){.kind = kind,
                              .device = s->device,
                              .stream_id = s->id,
                              .context_id = vg_core.device[s->device].context_id,
                              .correlation = api ? api->correlation : 0};
}

/* Work in the legacy stream would join a capture of another blocking stream: invalidates that
 * capture. */
static int capture_conflict(struct vg_stream *s)
{
    if (!s->legacy)
        return VG_OK;
    for (struct vg_stream *o = vg_core.device[s->device].streams; o; o = o->next)
        if (o->capture && !(o->flags & 1) && o->capture_mode == 0) {
            o->capture->invalid = true;
            return VG_CAPTURE_IMPLICIT;
        }
    return VG_OK;
}

int vg_launch(struct vg_stream *s, const struct vg_kernel *k, double host_ns)
{
    struct vg_device *d = &vg_core.device[s->device];
    struct vg_api *api = vg_api_current();
    int64_t now = api ? api->start_ns : vg_now_ns();
    if (api) {
        api->host_ns = (int64_t)host_ns;
        api->symbol = k->name;
    }
    int bad = capture_conflict(s);
    if (bad)
        return bad;
    struct vg_record r = vg_record_on(s, VG_REC_KERNEL);
    r.kernel = *k;
    if (s->capture) {
        struct vg_node *n = vg_capture_node(s, VG_NODE_KERNEL);
        if (!n)
            return VG_NO_MEMORY;
        n->kernel = *k;
        n->record = r;
        return VG_OK;
    }
    struct vg_work w = vg_kernel_work(&d->profile, k);
    w.earliest_ns = now + (int64_t)d->profile.start_latency_ns;
    bool placed = vg_submit(s, &w, &r);
    if (vg_core.launch_blocking)
        vg_sleep_until(placed ? r.end_ns : vg_stream_tail(s));
    return VG_OK;
}

double vg_set_ns(const struct vg_profile *p, const struct vg_set *set)
{
    return (double)vg_cost_memory(p, (double)(set->width * set->rows), 1, 0.85);
}

static void fill_set(struct vg_record *r, const struct vg_set *set, bool async)
{
    r->set.bytes = set->width * set->rows;
    r->set.value = (int)set->value;
    r->set.memory = vg_pointer(set->ptr).kind;
    r->set.async = async;
}

void vg_set_node(struct vg_node *n, int device, const struct vg_set *set)
{
    n->set = *set;
    n->duration_ns = vg_set_ns(&vg_core.device[device].profile, set);
    n->record = (struct vg_record){.kind = VG_REC_MEMSET, .device = device};
    fill_set(&n->record, set, true);
}

int vg_memset_rows(struct vg_stream *s, const struct vg_set *set, bool async)
{
    struct vg_device *d = &vg_core.device[s->device];
    struct vg_api *api = vg_api_current();
    int64_t now = api ? api->start_ns : vg_now_ns();
    struct vg_pointer at = vg_pointer(set->ptr);
    if (api)
        api->host_ns = (int64_t)d->profile.memset_host_ns;
    if (at.kind == VG_MEM_PAGEABLE)
        return VG_INVALID_VALUE;
    int bad = capture_conflict(s);
    if (bad || set->width * set->rows == 0)
        return bad;
    if (s->capture) {
        struct vg_node *n = vg_capture_node(s, VG_NODE_MEMSET);
        if (n)
            vg_set_node(n, s->device, set);
        return n ? VG_OK : VG_NO_MEMORY;
    }
    struct vg_record r = vg_record_on(s, VG_REC_MEMSET);
    fill_set(&r, set, async);
    vg_set_bytes(set);
    struct vg_work w = {.engine = VG_ENGINE_COMPUTE,
                        .earliest_ns = now + (int64_t)d->profile.start_latency_ns,
                        .duration_ns =
                            vg_scaled(vg_set_ns(&d->profile, set), d->profile.copy_fixed_ns),
                        .gap_ns = (int64_t)d->profile.kernel_gap_ns};
    bool placed = vg_submit(s, &w, &r);
    if (!async && at.kind == VG_MEM_PINNED)
        vg_sleep_until(placed ? r.end_ns : vg_stream_tail(s));
    return VG_OK;
}

int vg_memset(struct vg_stream *s, void *ptr, int value, size_t bytes, bool async)
{
    struct vg_set set = {ptr, (unsigned)value, 1, bytes, 1, bytes, 0, 0};
    return vg_memset_rows(s, &set, async);
}

int vg_library_launch(struct vg_stream *stream, const struct vg_kernel *k)
{
    struct vg_stream *s;
    struct vg_api api;
    const struct vg_profile *p = vg_profile(vg_current_device());
    int bad = vg_api_enter(&api, p->cc_major >= 9 ? CBID_LAUNCH_EXC : CBID_LAUNCH);
    if (bad)
        return bad;
    bad = vg_stream_resolve(stream, false, &s);
    if (!bad)
        bad = vg_launch(s, k, p->launch_library_host_ns);
    return vg_api_exit(&api, bad);
}

void vg_library_host(int64_t start_ns, double host_ns)
{
    vg_spin_until(start_ns + (int64_t)host_ns);
}

int vg_library_copy(struct vg_stream *stream, void *dst, const void *src, size_t bytes)
{
    struct vg_stream *s;
    struct vg_api api;
    struct vg_copy c = {.dst = dst, .src = src, .bytes = bytes, .kind = 4, .async = true};
    int bad = vg_api_enter(&api, CBID_COPY_ASYNC);
    if (bad)
        return bad;
    bad = vg_stream_resolve(stream, false, &s);
    if (!bad)
        bad = vg_copy(s, &c);
    return vg_api_exit(&api, bad);
}

int vg_library_copy_rows(struct vg_stream *stream, void *dst, size_t dst_pitch, const void *src,
                         size_t src_pitch, size_t width, size_t rows, bool async)
{
    struct vg_stream *s;
    struct vg_api api;
    bool whole = rows == 1 || (dst_pitch == width && src_pitch == width);
    struct vg_copy c = {.dst = dst,
                        .src = src,
                        .bytes = width * rows,
                        .kind = 4,
                        .async = async,
                        .rows = whole ? 0 : rows,
                        .row_bytes = width,
                        .dst_pitch = dst_pitch,
                        .src_pitch = src_pitch};
    int bad = vg_api_enter(&api, whole   ? async ? CBID_COPY_ASYNC : CBID_COPY
                                 : async ? CBID_COPY_2D_ASYNC
                                         : CBID_COPY_2D);
    if (bad)
        return bad;
    bad = vg_stream_resolve(stream, false, &s);
    if (!bad)
        bad = vg_copy(s, &c);
    return vg_api_exit(&api, bad);
}

int vg_library_sync(struct vg_stream *stream)
{
    struct vg_stream *s;
    struct vg_api api;
    int bad = vg_api_enter(&api, CBID_STREAM_SYNC);
    if (bad)
        return bad;
    bad = vg_stream_resolve(stream, false, &s);
    if (!bad)
        bad = vg_stream_sync(s);
    return vg_api_exit(&api, bad);
}

int vg_library_malloc(void **ptr, size_t bytes)
{
    struct vg_api api;
    int bad = vg_api_enter(&api, CBID_MALLOC);
    if (bad)
        return bad;
    bad = vg_malloc(vg_current_device(), ptr, bytes);
    api.host_ns = vg_malloc_host_ns(*ptr);
    return vg_api_exit(&api, bad);
}

int vg_library_free(void *ptr)
{
    struct vg_api api;
    int bad = vg_api_enter(&api, CBID_FREE);
    if (bad)
        return bad;
    vg_sleep_until(vg_device_tail(vg_current_device()));
    return vg_api_exit(&api, vg_free(ptr));
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

/* Notes a collective's kernel, each of whose blocks holds a multiprocessor from its start on. */
struct vg_crowd *vg_crowd_locked(struct vg_device *d, const struct vg_kernel *k, int64_t start)
{
    enum { ROOM = sizeof d->crowd / sizeof *d->crowd };
    double held = (double)k->grid[0], all = (double)d->profile.sm_count;
    struct vg_crowd *c = &d->crowd[d->crowd_n++ % ROOM];
    d->crowd_open++;
    *c = (struct vg_crowd){start, INT64_MAX, held < all ? held / (all - held) : 1};
    return c;
}

/* ---- kernels behind barriers ---- */

static int submit_barrier(struct vg_stream *s, const struct vg_kernel *k,
                          const struct vg_barrier *barrier)
{
    const struct vg_profile *p = &vg_core.device[s->device].profile;
    struct vg_api *api = vg_api_current();
    if (s->capture)
        return vg_capture_barrier(s, k, barrier);
    api->host_ns = (int64_t)p->launch_library_host_ns;
    api->symbol = k->name;
    vg_settle_legacy(s);
    struct vg_record r = vg_record_on(s, VG_REC_KERNEL);
    r.kernel = *k;
    pthread_mutex_lock(&vg_core.lock);
    vg_queue_locked(s);
    struct vg_work w = vg_kernel_work(p, k);
    w.earliest_ns = api->start_ns + (int64_t)p->start_latency_ns;
    vg_held_barrier_locked(s, &w, &r, barrier);
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
