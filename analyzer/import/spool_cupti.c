/* CUPTI activity records -> rows.
 *
 * Records are read as append-only prefixes: no field of these kinds has moved between CUPTI 11.8
 * and 13.x, newer ones only add at the end (offsets from the CUPTI 13.0 headers). The size of a
 * record comes from the spool's stride table, learnt by the agent from the library itself; a field
 * is there iff it ends before the stride. Unknown kinds are skipped by their stride and counted.
 */
#include "analyzer/import/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    KIND_MEMCPY = 1,
    KIND_MEMSET = 2,
    KIND_KERNEL = 3,
    KIND_DRIVER = 4,
    KIND_RUNTIME = 5,
    KIND_DEVICE = 8,
    KIND_CONTEXT = 9,
    KIND_CONCURRENT_KERNEL = 10,
    KIND_OVERHEAD = 17,
    KIND_MEMCPY2 = 22,
    KIND_CUDA_EVENT = 36,
    KIND_STREAM = 37,
    KIND_SYNCHRONIZATION = 38,
    KIND_GRAPH_TRACE = 51
};

/* One record under the cursor. */
struct record {
    const uint8_t *at;
    uint32_t stride;
};

static uint64_t field(const struct record *r, uint32_t offset, uint32_t bytes)
{
    uint64_t v = 0;
    if (offset + bytes <= r->stride)
        memcpy(&v, r->at + offset, bytes);
    return v;
}

#define U8(o)  ((int64_t)field(r, o, 1))
#define U16(o) ((int64_t)field(r, o, 2))
#define U32(o) ((uint32_t)field(r, o, 4))
#define I32(o) ((int64_t)(int32_t)field(r, o, 4))
#define U64(o) ((int64_t)field(r, o, 8))

/* 32-bit correlation ids wrap after four billion calls; rows carry them unwrapped. */
static int64_t correlation(struct spool *s, uint32_t c)
{
    if (c == 0)
        return 0; /* none */
    uint64_t epoch = s->epoch;
    if (s->last_correlation > 0xc0000000u && c < 0x40000000u)
        s->epoch = ++epoch;
    else if (s->last_correlation < 0x40000000u && c > 0xc0000000u && epoch > 0)
        return (int64_t)((epoch - 1) << 32 | c);
    s->last_correlation = c;
    return (int64_t)(epoch << 32 | c);
}

/* UINT32_MAX as device: not known where this record was read; the same stream all the same. */
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

/* Damaged times wrap around instead of being undefined. */
static int64_t later(int64_t ns, int64_t length)
{
    return (int64_t)((uint64_t)ns + (uint64_t)length);
}

/* Start and end of GPU work; false when CUPTI could not time it (0, 0), or it still ran when it was
 * cut off. */
static bool times(struct spool *s, const struct record *r, uint32_t offset, int64_t *start,
                  int64_t *end)
{
    int64_t a = U64(offset), b = U64(offset + 8);
    if (a && !b) {
        s->in_flight++;
        return false;
    }
    if (a <= 0 || b < a) {
        s->untimed++;
        return false;
    }
    *start = spool_cupti_time(s, a);
    *end = later(*start, b - a);
    return true;
}

static void put_kernel(struct spool *s, struct spool_out *out, const struct record *r)
{
    struct row_kernel k = {.process = s->process};
    if (!times(s, r, 16, &k.start_ns, &k.end_ns))
        return;
    k.id = ++out->ids[ROW_KERNEL];
    k.stream = stream_id(s, out, U32(40), U32(44), U32(48));
    k.name = spool_name(s, out, (uint64_t)U64(104));
    k.correlation = correlation(s, U32(92));
    k.grid_x = I32(52), k.grid_y = I32(56), k.grid_z = I32(60);
    k.block_x = I32(64), k.block_y = I32(68), k.block_z = I32(72);
    k.registers = U16(6), k.smem_static = I32(76), k.smem_dynamic = I32(80);
    k.graph_node = U64(144), k.graph = U32(156);
    spool_put(out, ROW_KERNEL, &k);
}

static void put_copy(struct spool *s, struct spool_out *out, const struct record *r)
{
    struct row_copy c = {.process = s->process, .peer_device = -1};
    if (!times(s, r, 16, &c.start_ns, &c.end_ns))
        return;
    c.id = ++out->ids[ROW_COPY];
    c.stream = stream_id(s, out, U32(32), U32(36), U32(40));
    c.correlation = correlation(s, U32(44));
    c.kind = U8(4), c.src_kind = U8(5), c.dst_kind = U8(6);
    c.is_async = U8(7) & 1;
    c.bytes = U64(8);
    c.graph_node = U64(64), c.graph = U32(72);
    spool_put(out, ROW_COPY, &c);
}

static void put_peer_copy(struct spool *s, struct spool_out *out, const struct record *r)
{
    struct row_copy c = {.process = s->process};
    if (!times(s, r, 16, &c.start_ns, &c.end_ns))
        return;
    c.id = ++out->ids[ROW_COPY];
    c.stream = stream_id(s, out, U32(32), U32(36), U32(40));
    c.correlation = correlation(s, U32(60));
    c.kind = COPY_P2P, c.src_kind = U8(5), c.dst_kind = U8(6);
    c.is_async = U8(7) & 1;
    c.bytes = U64(8);
    c.peer_device = U32(52);
    spool_put(out, ROW_COPY, &c);
}

static void put_memset(struct spool *s, struct spool_out *out, const struct record *r)
{
    struct row_memset m = {.process = s->process};
    if (!times(s, r, 16, &m.start_ns, &m.end_ns))
        return;
    m.id = ++out->ids[ROW_MEMSET];
    m.stream = stream_id(s, out, U32(32), U32(36), U32(40));
    m.correlation = correlation(s, U32(44));
    m.value = U32(4), m.bytes = U64(8);
    m.graph_node = U64(64), m.graph = U32(72);
    spool_put(out, ROW_MEMSET, &m);
}

static uint32_t api_name(struct spool *s, struct spool_out *out, int layer, uint32_t cbid)
{
    if (cbid < SPOOL_CBIDS && s->cbid[layer][cbid])
        return s->cbid[layer][cbid];
    char text[32];
    snprintf(text, sizeof text, "%s call %u", layer ? "driver" : "runtime", cbid);
    return spool_intern(out, text);
}

static void put_api(struct spool *s, struct spool_out *out, const struct record *r, int layer)
{
    int64_t start = U64(8), end = U64(16);
    if (start <= 0 || end < start) {
        s->untimed++;
        return;
    }
    struct row_api a = {.id = ++out->ids[ROW_API], .process = s->process, .layer = layer};
    a.thread = spool_thread_id(s, out, U32(28));
    a.start_ns = spool_cupti_time(s, start);
    a.end_ns = later(a.start_ns, end - start);
    a.name = api_name(s, out, layer, U32(4));
    a.correlation = correlation(s, U32(32));
    a.result = U32(36);
    spool_put(out, ROW_API, &a);
}

static uint32_t device_of(const struct spool *s, uint32_t context)
{
    for (size_t i = 0; i < s->contexts.n; i++)
        if (s->contexts.at[i].context == context)
            return s->contexts.at[i].device;
    return UINT32_MAX;
}

static void put_sync(struct spool *s, struct spool_out *out, const struct record *r)
{
    int64_t start = U64(8), end = U64(16);
    if (start <= 0 || end < start) {
        s->untimed++;
        return;
    }
    struct row_sync y = {.id = ++out->ids[ROW_SYNC],
                         .process = s->process,
                         .stream = -1,
                         .event = -1,
                         .event_sync = -1};
    y.start_ns = spool_cupti_time(s, start);
    y.end_ns = later(y.start_ns, end - start);
    y.type = U32(4);
    y.correlation = correlation(s, U32(24));
    if (U32(32) != UINT32_MAX)
        y.stream = stream_id(s, out, device_of(s, U32(28)), U32(28), U32(32));
    if (U32(36) != UINT32_MAX)
        y.event = U32(36);
    if (r->stride >= 48 && y.event >= 0)
        y.event_sync = U64(40);
    spool_put(out, ROW_SYNC, &y);
}

static void put_event(struct spool *s, struct spool_out *out, const struct record *r)
{
    s->has_events = true;
    struct row_event v = {
        .id = ++out->ids[ROW_EVENT], .process = s->process, .event_sync = -1, .device_ns = -1};
    uint32_t device = r->stride >= 28 ? U32(24) : device_of(s, U32(8));
    v.stream = stream_id(s, out, device, U32(8), U32(12));
    v.event = U32(16);
    v.correlation = correlation(s, U32(4));
    if (r->stride >= 56) {
        v.event_sync = U64(48);
        v.device_ns = U64(40) ? spool_cupti_time(s, U64(40)) : -1;
    }
    spool_put(out, ROW_EVENT, &v);
}

static void put_overhead(struct spool *s, struct spool_out *out, const struct record *r)
{
    static const char *const names[] = {
        "unknown",      "buffer-flush",        "instrumentation", "resource", "module-loading",
        "lazy-loading", "command-buffer-full", "buffer-request",  "uvm-init"};
    int64_t start = U64(24), end = U64(32);
    if (start <= 0 || end < start)
        return;
    uint32_t kind = U32(4), i = kind >> 16;
    struct row_overhead o = {.id = ++out->ids[ROW_OVERHEAD], .process = s->process, .thread = -1};
    o.start_ns = spool_cupti_time(s, start);
    o.end_ns = later(o.start_ns, end - start);
    o.name = spool_intern(out, kind == 1                          ? "driver-compiler"
                               : i < sizeof names / sizeof *names ? names[i]
                                                                  : "other");
    if (U32(8) == 2) /* object is a thread: pid, tid */
        o.thread = spool_thread_id(s, out, U32(16));
    spool_put(out, ROW_OVERHEAD, &o);
}

/* A whole CUDA graph as one operation (no node records when this kind is on). */
static void put_graph(struct spool *s, struct spool_out *out, const struct record *r)
{
    struct row_kernel k = {.process = s->process};
    if (!times(s, r, 8, &k.start_ns, &k.end_ns))
        return;
    k.id = ++out->ids[ROW_KERNEL];
    k.stream = stream_id(s, out, U32(24), U32(32), U32(36));
    k.name = spool_intern(out, "CUDA graph");
    k.correlation = correlation(s, U32(4));
    k.graph = U32(28);
    spool_put(out, ROW_KERNEL, &k);
}

static void note_device(struct spool *s, struct spool_out *out, const struct record *r)
{
    struct spool_device *d = NULL;
    for (size_t i = 0; i < s->devices.n; i++)
        if (s->devices.at[i].row.ordinal == U32(112))
            d = &s->devices.at[i];
    if (!d && !(d = vec_push(&s->devices)))
        return;
    char uuid[48] = "GPU-";
    for (uint32_t i = 0, n = 4; i < 16; i++) {
        n += (uint32_t)snprintf(uuid + n, sizeof uuid - n, "%02x", (unsigned)U8(120 + i));
        if (i == 3 || i == 5 || i == 7 || i == 9)
            uuid[n++] = '-';
    }
    if (!d->row.id)
        d->row.id = ++out->ids[ROW_DEVICE];
    d->described = true;
    d->row.process = s->process;
    d->row.ordinal = U32(112);
    d->row.name = spool_name(s, out, (uint64_t)U64(136));
    d->row.uuid = spool_intern(out, uuid);
    d->row.is_virtual = s->virtual_name && d->row.name == s->virtual_name;
    d->row.cc_major = U32(104), d->row.cc_minor = U32(108);
    d->row.sm_count = U32(44), d->row.clock_khz = U32(36);
    d->row.memory_bytes = U64(16), d->row.memory_bytes_per_s = U64(8) * 1000; /* recorded in KB/s */
    d->row.l2_bytes = U32(28), d->row.copy_engines = U32(40);
}

static void note_context(struct spool *s, const struct record *r)
{
    struct spool_context *c = vec_push(&s->contexts);
    if (c)
        *c = (struct spool_context){U32(4), U32(8), (uint32_t)U16(14)};
}

static void note_stream(struct spool *s, struct spool_out *out, const struct record *r)
{
    static const int64_t flags[] = {-1, 0, STREAM_NON_BLOCKING, STREAM_LEGACY_DEFAULT};
    if (stream_id(s, out, device_of(s, U32(4)), U32(4), U32(8)) < 0)
        return;
    struct spool_stream *p = &s->streams.at[s->last_stream];
    p->flags = U32(16) < 4 ? flags[U32(16)] : -1;
    p->priority = I32(12);
    p->known = true;
}

static void put_record(struct spool *s, struct spool_out *out, const struct record *r)
{
    switch (U32(0)) {
    case KIND_KERNEL:
    case KIND_CONCURRENT_KERNEL:
        put_kernel(s, out, r);
        break;
    case KIND_MEMCPY:
        put_copy(s, out, r);
        break;
    case KIND_MEMCPY2:
        put_peer_copy(s, out, r);
        break;
    case KIND_MEMSET:
        put_memset(s, out, r);
        break;
    case KIND_DRIVER:
    case KIND_RUNTIME:
        put_api(s, out, r, U32(0) == KIND_DRIVER);
        break;
    case KIND_SYNCHRONIZATION:
        put_sync(s, out, r);
        break;
    case KIND_CUDA_EVENT:
        put_event(s, out, r);
        break;
    case KIND_OVERHEAD:
        put_overhead(s, out, r);
        break;
    case KIND_GRAPH_TRACE:
        put_graph(s, out, r);
        break;
    case KIND_DEVICE:
        note_device(s, out, r);
        break;
    case KIND_CONTEXT:
        note_context(s, r);
        break;
    case KIND_STREAM:
        note_stream(s, out, r);
        break;
    default:
        s->unknown_kinds++;
        break;
    }
}

static void parse(struct spool *s, struct spool_out *out, const uint8_t *data, uint64_t bytes)
{
    uint64_t at = 0;
    while (at + 4 <= bytes) {
        uint32_t kind;
        memcpy(&kind, data + at, sizeof kind);
        if (kind == 0)
            return;
        uint32_t stride = kind < SPOOL_STRIDES ? s->h->stride[kind] : 0;
        if (stride < 8 || stride > bytes - at) {
            s->cut_buffers++;
            return;
        }
        struct record r = {data + at, stride};
        put_record(s, out, &r);
        at += stride;
    }
}

struct ready {
    uint64_t seq;
    uint32_t index;
};

static int by_seq(const void *a, const void *b)
{
    uint64_t x = ((const struct ready *)a)->seq, y = ((const struct ready *)b)->seq;
    return (x > y) - (x < y);
}

void spool_drain_buffers(struct spool *s, struct spool_out *out, bool adopt)
{
    struct spool_buffer_desc *descs =
        (struct spool_buffer_desc *)(void *)(s->map + s->fixed.descs_off);
    uint32_t count = s->fixed.buffer_count;
    struct ready *ready = calloc(count + 1u, sizeof *ready);
    size_t n = 0;
    for (uint32_t i = 0; ready && i < count; i++) {
        uint32_t state = atomic_load_explicit(&descs[i].state, memory_order_acquire);
        if (state == SPOOL_READY || (adopt && (state == SPOOL_OWNED || state == SPOOL_COMPLETE)))
            ready[n++] = (struct ready){atomic_load(&descs[i].seq), i};
    }
    if (n) {
        qsort(ready, n, sizeof *ready, by_seq);
        spool_read_anchors(s);
        spool_read_names(s, out); /* a pointer may mean another kernel by now */
        spool_drain_rings(s,
                          out); /* names of API functions come before the records that use them */
    }
    for (size_t k = 0; k < n; k++) {
        struct spool_buffer_desc *d = &descs[ready[k].index];
        uint8_t *data =
            s->map + s->fixed.buffers_off + (uint64_t)ready[k].index * s->fixed.buffer_bytes;
        bool owned = atomic_load_explicit(&d->state, memory_order_acquire) == SPOOL_OWNED;
        uint64_t bytes = owned ? s->fixed.buffer_bytes
                               : atomic_load_explicit(&d->valid_bytes, memory_order_acquire);
        if (bytes > s->fixed.buffer_bytes)
            bytes = s->fixed.buffer_bytes;
        parse(s, out, data, bytes);
        if (adopt)
            continue; /* nobody will use it again; leave the file as it was found */
        memset(data, 0, bytes);
        atomic_store_explicit(&d->valid_bytes, 0, memory_order_relaxed);
        atomic_store_explicit(&d->state, SPOOL_FREE, memory_order_release);
    }
    free(ready);
}

/* ---- the ends
 * ------------------------------------------------------------------------------------------ */

static void put_health(struct spool *s, struct spool_out *out, int severity, const char *code,
                       const char *text, int64_t value)
{
    if (value <= 0)
        return;
    struct row_health h = {++out->ids[ROW_HEALTH],  s->process, severity, spool_intern(out, code),
                           spool_intern(out, text), value};
    spool_put(out, ROW_HEALTH, &h);
}

static void put_losses(struct spool *s, struct spool_out *out)
{
    static const struct {
        enum spool_counter counter;
        const char *code, *text;
    } losses[] = {
        {SPOOL_CUPTI_DROPPED, "cupti-dropped", "records dropped by CUPTI: totals are too small"},
        {SPOOL_BUFFER_STARVED, "buffer-starved",
         "activity buffers discarded because none was free: record fewer steps (--steps) or leave "
         "the collector a core"},
        {SPOOL_RING_FULL, "ring-full",
         "host events dropped because the collector could not keep up"},
        {SPOOL_NO_RING, "no-ring", "host events dropped: more threads than rings"},
        {SPOOL_STRINGS_FULL, "strings-full", "names lost: the string table is full"},
        {SPOOL_NAMES_FULL, "names-full", "kernel names lost: the name table is full"},
        {SPOOL_BUFFERS_LOST, "buffers-lost",
         "activity buffers taken over by another profiler in the program"},
    };
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        put_health(s, out, 1, losses[i].code, losses[i].text,
                   (int64_t)atomic_load(&s->h->counter[losses[i].counter]));
    put_health(s, out, 1, "untimed", "records without usable times were left out", s->untimed);
    put_health(s, out, 0, "in-flight", "GPU operations still running at the end were left out",
               s->in_flight);
    put_health(s, out, 0, "unknown-kinds",
               "records of kinds that this version does not know were skipped", s->unknown_kinds);
    put_health(s, out, 1, "cut-buffers", "activity buffers could be read only in part",
               s->cut_buffers);
    put_health(s, out, 1, "bad-records", "damaged host records were left out", s->bad_records);
    put_health(s, out, 0, "agent-cpu", "CPU time of the agent's own thread, ns",
               (int64_t)atomic_load(&s->h->counter[SPOOL_SELF_NS]));
}

static void put_places(struct spool *s, struct spool_out *out)
{
    for (size_t i = 0; i < s->threads.n; i++) {
        struct row_thread t = {s->threads.at[i].id, s->process, s->threads.at[i].tid,
                               s->threads.at[i].name};
        spool_put(out, ROW_THREAD, &t);
    }
    for (size_t i = 0; i < s->streams.n; i++) {
        struct spool_stream *p = &s->streams.at[i];
        int64_t device = -1, flags = p->flags;
        for (size_t k = 0; k < s->devices.n; k++)
            if (s->devices.at[k].row.ordinal == p->device)
                device = s->devices.at[k].row.id;
        if (device < 0 && p->device != UINT32_MAX) { /* work on a device that no record describes */
            struct spool_device *d = vec_push(&s->devices);
            if (d) {
                d->row = (struct row_device){.id = ++out->ids[ROW_DEVICE],
                                             .process = s->process,
                                             .ordinal = p->device,
                                             .is_virtual = -1,
                                             .cc_major = -1,
                                             .cc_minor = -1};
                device = d->row.id;
            }
        }
        for (size_t k = 0; k < s->contexts.n && !p->known; k++)
            if (s->contexts.at[k].context == p->context &&
                s->contexts.at[k].null_stream == p->stream)
                flags = STREAM_LEGACY_DEFAULT;
        struct row_stream r = {p->id,     s->process, device,     p->context,
                               p->stream, flags,      p->priority};
        spool_put(out, ROW_STREAM, &r);
    }
    for (size_t i = 0; i < s->devices.n; i++)
        spool_put(out, ROW_DEVICE, &s->devices.at[i].row);
}

void spool_put_ends(struct spool *s, struct spool_out *out)
{
    put_places(s, out);
    put_losses(s, out);
    s->row.id = s->process;
    s->row.sealed = atomic_load(&s->h->sealed) != 0;
    s->row.start_ns = spool_time(s, s->fixed.start_monotonic_ns);
    spool_put(out, ROW_PROCESS, &s->row);
}
