/* Turns CUPTI activity records into rows. The structs in spool_records.h are prefixes of the
 * records: members beyond a record's size read as 0. */
#include "analyzer/collector/spool/spool.h"
#include "analyzer/collector/spool/spool_records.h"

#include <stdio.h>
#include <string.h>

struct record {
    const uint8_t *at;
    uint32_t stride; /* size of the record in bytes */
};

/* Defines struct cupti_TYPE name, filled from the record. */
#define TAKE(type, name, r)                                                                        \
    struct cupti_##type name = {0};                                                                \
    memcpy(&name, (r)->at, (r)->stride < sizeof name ? (r)->stride : sizeof name)

/* True if the record contains this member. */
#define REACHES(r, type, member)                                                                   \
    ((r)->stride >=                                                                                \
     offsetof(struct cupti_##type, member) + sizeof(((struct cupti_##type *)0)->member))

/* The unwrapped correlation id: 32-bit ids wrap after four billion calls. */
static int64_t correlation(struct spool *s, uint32_t c)
{
    if (c == 0 || s->same_ids >= SPOOL_SAME_IDS)
        return 0; /* no id, or ids that CUPTI repeats */
    uint64_t epoch = s->epoch;
    if (s->last_correlation > 0xc0000000u && c < 0x40000000u)
        s->epoch = ++epoch;
    else if (s->last_correlation < 0x40000000u && c > 0xc0000000u && epoch > 0)
        return (int64_t)((epoch - 1) << 32 | c);
    s->last_correlation = c;
    return (int64_t)(epoch << 32 | c);
}

/* Id of the stream's row, added if it is new. device UINT32_MAX: the record does not state the
 * device; matches by context and stream. */
static int64_t stream_id(struct spool *s, struct spool_out *out, uint32_t device, uint32_t context,
                         uint32_t stream)
{
    for (size_t n = 0; n < s->streams.n; n++) {
        size_t i = (s->last_stream + n) % s->streams.n;
        const struct spool_stream *p = &s->streams.at[i];
        if (p->stream == stream && p->context == context &&
            (p->device == device || p->device == UINT32_MAX || device == UINT32_MAX)) {
            s->last_stream = i;
            if (device != UINT32_MAX)
                s->streams.at[i].device = device;
            return p->id;
        }
    }
    struct spool_stream *p = vec_push(&s->streams);
    if (!p)
        return -1;
    *p = (struct spool_stream){device, context, stream, ++out->ids[ROW_STREAM], -1, 0, false};
    s->last_stream = s->streams.n - 1;
    return p->id;
}

static uint32_t device_of(const struct spool *s, uint32_t context)
{
    for (size_t i = 0; i < s->contexts.n; i++)
        if (s->contexts.at[i].context == context)
            return s->contexts.at[i].device;
    return UINT32_MAX;
}

/* ---- work on the GPU ---- */

static void put_kernel(struct spool *s, struct spool_out *out, const struct record *r)
{
    TAKE(kernel, k, r);
    struct row_kernel row = {.process = s->process};
    if (!spool_place_work(s, out, k.start, k.end, &row.start_ns, &row.end_ns))
        return;
    row.id = ++out->ids[ROW_KERNEL];
    row.stream = stream_id(s, out, k.device, k.context, k.stream);
    row.name = spool_name(s, out, k.name, &s->lost.unnamed);
    row.correlation = correlation(s, k.correlation);
    row.grid_x = k.grid[0], row.grid_y = k.grid[1], row.grid_z = k.grid[2];
    row.block_x = k.block[0], row.block_y = k.block[1], row.block_z = k.block[2];
    row.registers = k.registers;
    row.smem_static = k.smem_static, row.smem_dynamic = k.smem_dynamic;
    row.graph = k.graph, row.graph_node = (int64_t)k.graph_node;
    spool_put(out, ROW_KERNEL, &row);
}

static void put_copy(struct spool *s, struct spool_out *out, const struct record *r)
{
    TAKE(copy, c, r);
    struct row_copy row = {.process = s->process, .peer_device = -1};
    if (!spool_place_work(s, out, c.start, c.end, &row.start_ns, &row.end_ns))
        return;
    row.id = ++out->ids[ROW_COPY];
    row.stream = stream_id(s, out, c.device, c.context, c.stream);
    row.correlation = correlation(s, c.correlation);
    row.kind = c.copy_kind, row.src_kind = c.src_kind, row.dst_kind = c.dst_kind;
    row.bytes = c.bytes;
    row.is_async = c.flags & 1;
    row.graph = c.graph, row.graph_node = (int64_t)c.graph_node;
    spool_put(out, ROW_COPY, &row);
}

static void put_peer_copy(struct spool *s, struct spool_out *out, const struct record *r)
{
    TAKE(peer_copy, c, r);
    struct row_copy row = {.process = s->process};
    if (!spool_place_work(s, out, c.start, c.end, &row.start_ns, &row.end_ns))
        return;
    row.id = ++out->ids[ROW_COPY];
    row.stream = stream_id(s, out, c.device, c.context, c.stream);
    row.correlation = correlation(s, c.correlation);
    row.kind = COPY_P2P, row.src_kind = c.src_kind, row.dst_kind = c.dst_kind;
    row.bytes = c.bytes;
    row.is_async = c.flags & 1;
    row.peer_device = c.dst_device;
    row.graph = c.graph, row.graph_node = (int64_t)c.graph_node;
    spool_put(out, ROW_COPY, &row);
}

static void put_memset(struct spool *s, struct spool_out *out, const struct record *r)
{
    TAKE(memset, m, r);
    struct row_memset row = {.process = s->process};
    if (!spool_place_work(s, out, m.start, m.end, &row.start_ns, &row.end_ns))
        return;
    row.id = ++out->ids[ROW_MEMSET];
    row.stream = stream_id(s, out, m.device, m.context, m.stream);
    row.correlation = correlation(s, m.correlation);
    row.value = m.value, row.bytes = m.bytes;
    row.graph = m.graph, row.graph_node = (int64_t)m.graph_node;
    spool_put(out, ROW_MEMSET, &row);
}

/* Puts a whole CUDA graph as one operation: with this kind of record CUPTI
 * gives none for the nodes. */
static void put_graph(struct spool *s, struct spool_out *out, const struct record *r)
{
    TAKE(graph, g, r);
    struct row_kernel row = {.process = s->process};
    if (!spool_place_work(s, out, g.start, g.end, &row.start_ns, &row.end_ns))
        return;
    row.id = ++out->ids[ROW_KERNEL];
    row.stream = stream_id(s, out, g.device, g.context, g.stream);
    row.name = spool_intern(out, "CUDA graph");
    row.correlation = correlation(s, g.correlation);
    row.graph = g.graph;
    spool_put(out, ROW_KERNEL, &row);
}

/* ---- the host's side ---- */

static uint32_t api_name(struct spool *s, struct spool_out *out, int layer, uint32_t cbid)
{
    uint32_t name = cbid < SPOOL_CBIDS ? spool_string(s, out, s->cbid[layer][cbid]) : 0;
    if (name)
        return name;
    char text[32];
    snprintf(text, sizeof text, "%s call %u", layer ? "driver" : "runtime", cbid);
    return spool_intern(out, text);
}

static void put_api(struct spool *s, struct spool_out *out, const struct record *r)
{
    TAKE(api, a, r);
    struct row_api row = {.process = s->process, .layer = a.kind == CUPTI_DRIVER};
    if (!spool_place_call(s, out, a.start, a.end, &row.start_ns, &row.end_ns))
        return;
    row.id = ++out->ids[ROW_API];
    row.thread = spool_thread_id(s, out, a.tid);
    row.name = api_name(s, out, a.kind == CUPTI_DRIVER, a.cbid);
    row.correlation = correlation(s, spool_note_call_id(s, a.correlation, row.layer));
    row.result = a.result;
    spool_put(out, ROW_API, &row);
    spool_put_caller(s, out, &row);
    spool_note_caller(s, out, &row);
}

static void put_sync(struct spool *s, struct spool_out *out, const struct record *r)
{
    TAKE(sync, y, r);
    struct row_sync row = {.process = s->process, .stream = -1, .event = -1, .event_sync = -1};
    bool timed = y.start; /* CUPTI may give only the end */
    if (timed && !spool_place_call(s, out, y.start, y.end, &row.start_ns, &row.end_ns))
        return;
    row.type = y.type;
    row.correlation = correlation(s, y.correlation);
    if (y.stream != CUPTI_NONE)
        row.stream = stream_id(s, out, device_of(s, y.context), y.context, y.stream);
    if (y.event != CUPTI_NONE)
        row.event = y.event;
    if (row.event >= 0 && REACHES(r, sync, event_sync))
        row.event_sync = y.event_sync;
    spool_put_wait(s, out, &row, timed);
}

static void put_event(struct spool *s, struct spool_out *out, const struct record *r)
{
    TAKE(event, v, r);
    s->has_events = true;
    struct row_event row = {
        .id = ++out->ids[ROW_EVENT], .process = s->process, .event_sync = -1, .device_ns = -1};
    uint32_t device = REACHES(r, event, device) ? v.device : device_of(s, v.context);
    row.stream = stream_id(s, out, device, v.context, v.stream);
    row.event = v.event;
    row.correlation = correlation(s, v.correlation);
    if (REACHES(r, event, event_sync)) {
        row.event_sync = v.event_sync;
        row.device_ns = v.device_time ? spool_cupti_time(s, v.device_time) : -1;
    }
    spool_put(out, ROW_EVENT, &row);
}

static void put_overhead(struct spool *s, struct spool_out *out, const struct record *r)
{
    static const char *const names[] = {
        "unknown",      "buffer-flush",        "instrumentation", "resource", "module-loading",
        "lazy-loading", "command-buffer-full", "buffer-request",  "uvm-init"};
    enum { DRIVER_COMPILER = 1, COUNT = sizeof names / sizeof *names };
    TAKE(overhead, o, r);
    struct row_overhead row = {.process = s->process, .thread = -1};
    if (o.start <= 0 || o.end < o.start)
        return;
    if (!spool_place(s, out, o.start, o.end, &row.start_ns, &row.end_ns))
        return;
    uint32_t what = o.what >> 16; /* numbered in steps of 65536, except for the compiler */
    row.id = ++out->ids[ROW_OVERHEAD];
    row.name = spool_intern(out, o.what == DRIVER_COMPILER ? "driver-compiler"
                                 : what < COUNT            ? names[what]
                                                           : "other");
    if (o.object_kind == CUPTI_OBJECT_THREAD)
        row.thread = spool_thread_id(s, out, o.tid);
    spool_put(out, ROW_OVERHEAD, &row);
}

/* ---- places: spool_ends.c puts their rows at the end ---- */

static void note_device(struct spool *s, struct spool_out *out, const struct record *r)
{
    TAKE(device, v, r);
    struct spool_device *d = NULL;
    for (size_t i = 0; i < s->devices.n; i++)
        if (s->devices.at[i].row.ordinal == v.ordinal)
            d = &s->devices.at[i];
    if (!d && !(d = vec_push(&s->devices)))
        return;
    char uuid[48] = "GPU-";
    for (uint32_t i = 0, n = 4; i < sizeof v.uuid; i++) {
        n += (uint32_t)snprintf(uuid + n, sizeof uuid - n, "%02x", v.uuid[i]);
        if (i == 3 || i == 5 || i == 7 || i == 9)
            uuid[n++] = '-';
    }
    if (!d->row.id)
        d->row.id = ++out->ids[ROW_DEVICE];
    d->described = true;
    d->row.process = s->process;
    d->row.ordinal = v.ordinal;
    d->name = v.name;
    d->row.name = spool_name(s, out, v.name, &s->unnamed_devices);
    d->row.uuid = spool_intern(out, uuid);
    memcpy(d->uuid, uuid, sizeof d->uuid);
    d->row.is_virtual = s->virtual_name && d->row.name == s->virtual_name;
    d->row.cc_major = v.cc_major, d->row.cc_minor = v.cc_minor;
    d->row.sm_count = v.sm_count, d->row.clock_khz = v.clock_khz;
    d->row.memory_bytes = v.memory_bytes;
    d->row.memory_bytes_per_s = (int64_t)(v.bandwidth * 1000);
    d->row.l2_bytes = v.l2_bytes, d->row.copy_engines = v.copy_engines;
}

static void note_context(struct spool *s, const struct record *r)
{
    TAKE(context, x, r);
    struct spool_context *c = vec_push(&s->contexts);
    if (c)
        *c = (struct spool_context){x.context, x.device, x.null_stream};
}

static void note_stream(struct spool *s, struct spool_out *out, const struct record *r)
{
    static const int64_t flags[] = {-1, 0, STREAM_NON_BLOCKING, STREAM_LEGACY_DEFAULT};
    TAKE(stream, t, r);
    if (stream_id(s, out, device_of(s, t.context), t.context, t.stream) < 0)
        return;
    struct spool_stream *p = &s->streams.at[s->last_stream];
    p->flags = t.flag < sizeof flags / sizeof *flags ? flags[t.flag] : -1;
    p->priority = t.priority;
    p->known = true;
}

void spool_put_record(struct spool *s, struct spool_out *out, const uint8_t *at, uint32_t stride)
{
    const struct record r = {at, stride};
    uint32_t kind;
    memcpy(&kind, at, sizeof kind);
    switch (kind) {
    case CUPTI_KERNEL:
    case CUPTI_CONCURRENT_KERNEL:
        put_kernel(s, out, &r);
        break;
    case CUPTI_MEMCPY:
        put_copy(s, out, &r);
        break;
    case CUPTI_MEMCPY2:
        put_peer_copy(s, out, &r);
        break;
    case CUPTI_MEMSET:
        put_memset(s, out, &r);
        break;
    case CUPTI_DRIVER:
    case CUPTI_RUNTIME:
        put_api(s, out, &r);
        break;
    case CUPTI_SYNCHRONIZATION:
        put_sync(s, out, &r);
        break;
    case CUPTI_CUDA_EVENT:
        put_event(s, out, &r);
        break;
    case CUPTI_OVERHEAD:
        put_overhead(s, out, &r);
        break;
    case CUPTI_GRAPH_TRACE:
        put_graph(s, out, &r);
        break;
    case CUPTI_DEVICE:
        note_device(s, out, &r);
        break;
    case CUPTI_CONTEXT:
        note_context(s, &r);
        break;
    case CUPTI_STREAM:
        note_stream(s, out, &r);
        break;
    default: /* another client of CUPTI in the program requested this kind, not the agent */
        break;
    }
}
