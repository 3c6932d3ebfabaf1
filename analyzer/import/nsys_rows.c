/* Tables of an Nsight Systems export -> rows. */
#include "analyzer/import/nsys.h"

#include "analyzer/base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 24, MAX_STRINGS = 1 << 26 };

static const int64_t latest = (int64_t)1 << 61; /* ns; what is beyond is no time */

#define PUT(kind, row) n->out->put(n->out->self, kind, &(row), n->e)

static uint32_t intern(struct nsys *n, const char *s)
{
    return n->out->intern(n->out->self, s, strlen(s));
}

/* SELECT of `columns` (NULL-ended) of a table; columns that this schema lacks read as NULL. */
static struct sql_stmt *open_table(struct nsys *n, const char *table, const char *const *columns)
{
    char text[2048];
    size_t at = (size_t)snprintf(text, sizeof text, "SELECT ");
    for (size_t i = 0; columns[i]; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? ", " : "",
                               sql_has_column(n->db, table, columns[i]) ? columns[i] : "NULL");
    snprintf(text + at, sizeof text - at, " FROM %s", table);
    return sql_prepare(n->db, text, n->e);
}

static int64_t known(struct sql_stmt *q, int col)
{
    return sql_is_null(q, col) ? -1 : sql_int(q, col);
}

/* ---- strings, places
 * --------------------------------------------------------------------------------- */

static int read_strings(struct nsys *n)
{
    n->string_count = sql_value(n->db, "SELECT max(id) + 1 FROM StringIds", 0);
    if (n->string_count < 0 || n->string_count > MAX_STRINGS)
        return err_set(n->e, "%s: damaged: the ids of StringIds cannot be", n->path);
    n->strings = calloc((size_t)n->string_count + 1, sizeof *n->strings);
    n->bare = calloc((size_t)n->string_count + 1, sizeof *n->bare);
    n->driver = calloc((size_t)n->string_count + 1, sizeof *n->driver);
    if (!n->strings || !n->bare || !n->driver)
        return err_set(n->e, "out of memory");
    struct sql_stmt *q = sql_prepare(n->db, "SELECT id, value FROM StringIds", n->e);
    if (!q)
        return -1;
    int rc;
    while ((rc = sql_step(q, n->e)) == 1) {
        size_t size;
        const char *text = sql_text(q, 1, &size);
        int64_t id = sql_int(q, 0);
        if (id < 0 || id >= n->string_count)
            continue;
        uint32_t own = n->out->intern(n->out->self, text, size);
        if (own == STR_NONE) {
            rc = err_set(n->e, "out of memory");
            break;
        }
        n->strings[id] = own;
        size_t bare = size; /* cudaLaunchKernel_v7000: the version is not part of the name */
        while (bare > 0 && text[bare - 1] >= '0' && text[bare - 1] <= '9')
            bare--;
        bool version = bare >= 2 && bare < size && text[bare - 1] == 'v' && text[bare - 2] == '_';
        n->bare[id] = version ? n->out->intern(n->out->self, text, bare - 2) : own;
        n->driver[id] =
            size > 2 && text[0] == 'c' && text[1] == 'u' && text[2] >= 'A' && text[2] <= 'Z';
    }
    sql_finalize(q);
    return rc;
}

static uint32_t string(const struct nsys *n, int64_t id)
{
    return id >= 0 && id < n->string_count ? n->strings[id] : 0;
}

static int64_t process_id(struct nsys *n, int64_t global)
{
    int64_t key = global & ~(int64_t)0xffffff;
    for (size_t i = 0; i < n->processes.n; i++)
        if (n->processes.at[i].global_pid == key)
            return (int64_t)i + 1;
    struct nsys_process *p = vec_push(&n->processes);
    if (!p)
        return err_set(n->e, "out of memory");
    p->global_pid = key;
    return (int64_t)n->processes.n;
}

static int64_t thread_id(struct nsys *n, int64_t global)
{
    for (size_t i = n->threads.n; i-- > 0;)
        if (n->threads.at[i].global_tid == global)
            return (int64_t)i + 1;
    struct nsys_thread *t = vec_push(&n->threads);
    if (!t || process_id(n, global) < 0)
        return err_set(n->e, "out of memory");
    t->global_tid = global;
    return (int64_t)n->threads.n;
}

static int64_t device_id(struct nsys *n, int64_t process, int64_t ordinal)
{
    for (size_t i = 0; i < n->devices.n; i++)
        if (n->devices.at[i].ordinal == ordinal && n->devices.at[i].process == process)
            return (int64_t)i + 1;
    struct nsys_device *d = vec_push(&n->devices);
    if (!d)
        return err_set(n->e, "out of memory");
    *d = (struct nsys_device){process, ordinal};
    return (int64_t)n->devices.n;
}

static int64_t stream_id(struct nsys *n, int64_t process, int64_t device, int64_t context,
                         int64_t stream)
{
    for (size_t i = 0; i < n->streams.n; i++) {
        const struct nsys_stream *s = &n->streams.at[i];
        if (s->stream == stream && s->process == process && s->context == context &&
            s->device == device)
            return (int64_t)i + 1;
    }
    struct nsys_stream *s = vec_push(&n->streams);
    if (!s || device_id(n, process, device) < 0)
        return err_set(n->e, "out of memory");
    *s = (struct nsys_stream){process, device, context, stream, -1, 0};
    return (int64_t)n->streams.n;
}

/* nsys time -> profile time; false for spans that are none. */
static bool span(struct nsys *n, struct sql_stmt *q, int64_t *start, int64_t *end)
{
    int64_t a = sql_int(q, 0), b = sql_is_null(q, 1) ? -1 : sql_int(q, 1);
    if (a < 0 || b < a || b > latest) {
        n->bad++;
        return false;
    }
    *start = a - n->base_ns;
    *end = b - n->base_ns;
    return true;
}

/* Process and stream of a GPU record whose columns start at `col`: globalPid, deviceId, contextId,
 * streamId. */
static int64_t place(struct nsys *n, struct sql_stmt *q, int col, int64_t *process)
{
    *process = process_id(n, sql_int(q, col));
    return *process < 0 ? -1
                        : stream_id(n, *process, sql_int(q, col + 1), sql_int(q, col + 2),
                                    sql_int(q, col + 3));
}

/* ---- one function a table; each is called with the row under the cursor
 * --------------------------------- */

static int put_kernel(struct nsys *n, struct sql_stmt *q)
{
    struct row_kernel k = {0};
    if (!span(n, q, &k.start_ns, &k.end_ns))
        return 0;
    k.id = ++n->ids[ROW_KERNEL];
    if ((k.stream = place(n, q, 2, &k.process)) < 0)
        return -1;
    k.correlation = sql_int(q, 6);
    k.name =
        string(n, sql_is_null(q, 8) ? known(q, 7) : sql_int(q, 8)); /* mangled, else demangled */
    if (!k.name)
        k.name = string(n, known(q, 7));
    k.grid_x = sql_int(q, 9), k.grid_y = sql_int(q, 10), k.grid_z = sql_int(q, 11);
    k.block_x = sql_int(q, 12), k.block_y = sql_int(q, 13), k.block_z = sql_int(q, 14);
    k.registers = known(q, 15), k.smem_static = known(q, 16), k.smem_dynamic = known(q, 17);
    k.graph = sql_int(q, 18), k.graph_node = sql_int(q, 19);
    return PUT(ROW_KERNEL, k);
}

/* The export has its own numbers for kinds of memory: 0 pageable, 1 pinned, 2 device, ... */
static int64_t memory_kind(struct nsys *n, struct sql_stmt *q, int col)
{
    static const int64_t kinds[] = {MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE, MEMORY_ARRAY,
                                    MEMORY_MANAGED,  MEMORY_DEVICE, MEMORY_MANAGED};
    int64_t v = known(q, col);
    n->memory_kinds |= v >= 0;
    return v >= 0 && v < (int64_t)(sizeof kinds / sizeof *kinds) ? kinds[v] : MEMORY_UNKNOWN;
}

static int put_copy(struct nsys *n, struct sql_stmt *q)
{
    struct row_copy c = {.is_async = -1, .peer_device = -1};
    if (!span(n, q, &c.start_ns, &c.end_ns))
        return 0;
    c.id = ++n->ids[ROW_COPY];
    if ((c.stream = place(n, q, 2, &c.process)) < 0)
        return -1;
    c.correlation = sql_int(q, 6);
    c.bytes = sql_int(q, 7);
    c.kind = sql_int(q, 8);
    if (c.kind >= 11 && c.kind <= 13) /* unified memory's own H2D, D2H, D2D */
        c.kind = c.kind == 11 ? COPY_H2D : c.kind == 12 ? COPY_D2H : COPY_D2D;
    c.src_kind = memory_kind(n, q, 9);
    c.dst_kind = memory_kind(n, q, 10);
    c.graph_node = sql_int(q, 11);
    return PUT(ROW_COPY, c);
}

static int put_memset(struct nsys *n, struct sql_stmt *q)
{
    struct row_memset m = {0};
    if (!span(n, q, &m.start_ns, &m.end_ns))
        return 0;
    m.id = ++n->ids[ROW_MEMSET];
    if ((m.stream = place(n, q, 2, &m.process)) < 0)
        return -1;
    m.correlation = sql_int(q, 6);
    m.bytes = sql_int(q, 7);
    m.value = sql_int(q, 8);
    m.graph_node = sql_int(q, 9);
    return PUT(ROW_MEMSET, m);
}

/* A whole CUDA graph as one operation: the export has this where nodes were not traced. */
static int put_graph(struct nsys *n, struct sql_stmt *q)
{
    struct row_kernel k = {0};
    if (!span(n, q, &k.start_ns, &k.end_ns))
        return 0;
    k.id = ++n->ids[ROW_KERNEL];
    if ((k.stream = place(n, q, 2, &k.process)) < 0)
        return -1;
    k.correlation = sql_int(q, 6);
    k.graph = sql_int(q, 7);
    k.name = intern(n, "CUDA graph");
    n->graph_whole = true;
    return PUT(ROW_KERNEL, k);
}

static int put_api(struct nsys *n, struct sql_stmt *q)
{
    struct row_api a = {0};
    if (!span(n, q, &a.start_ns, &a.end_ns))
        return 0;
    a.id = ++n->ids[ROW_API];
    int64_t tid = sql_int(q, 2);
    a.thread = thread_id(n, tid);
    a.process = process_id(n, tid);
    if (a.thread < 0 || a.process < 0)
        return -1;
    a.correlation = sql_int(q, 3);
    int64_t id = known(q, 4);
    if (id >= 0 && id < n->string_count) {
        a.name = n->bare[id];
        a.layer = n->driver[id];
    }
    a.result = sql_int(q, 5);
    return PUT(ROW_API, a);
}

static int put_sync(struct nsys *n, struct sql_stmt *q)
{
    struct row_sync s = {.stream = -1};
    if (!span(n, q, &s.start_ns, &s.end_ns))
        return 0;
    s.id = ++n->ids[ROW_SYNC];
    s.process = process_id(n, sql_int(q, 2));
    if (!sql_is_null(q, 5) && sql_int(q, 5) > 0 && sql_int(q, 5) < UINT32_MAX)
        s.stream = stream_id(n, s.process, sql_int(q, 3), sql_int(q, 4), sql_int(q, 5));
    s.correlation = sql_int(q, 6);
    s.type = sql_int(q, 7);
    s.event = known(q, 8);
    s.event_sync = known(q, 9);
    n->sync = true;
    return s.process < 0 ? -1 : PUT(ROW_SYNC, s);
}

static int put_event(struct nsys *n, struct sql_stmt *q)
{
    struct row_event v = {.id = ++n->ids[ROW_EVENT], .device_ns = -1};
    if ((v.stream = place(n, q, 2, &v.process)) < 0)
        return -1;
    v.correlation = sql_int(q, 6);
    v.event = known(q, 7);
    v.event_sync = known(q, 8);
    n->events = true;
    return PUT(ROW_EVENT, v);
}

enum { NVTX_PUSH_POP = 59, NVTX_START_END = 60 };

static int put_range(struct nsys *n, struct sql_stmt *q)
{
    struct row_range r = {.depth = -1};
    int64_t type = sql_int(q, 2);
    if ((type != NVTX_PUSH_POP && type != NVTX_START_END) || sql_is_null(q, 1) ||
        !span(n, q, &r.start_ns, &r.end_ns))
        return 0;
    size_t size;
    const char *text = sql_text(q, 3, &size);
    uint32_t name = size ? n->out->intern(n->out->self, text, size) : string(n, known(q, 4));
    if (name == STR_NONE)
        return err_set(n->e, "out of memory");
    int64_t tid = sql_int(q, 5);
    r.id = ++n->ids[ROW_RANGE];
    r.thread = thread_id(n, tid);
    r.process = process_id(n, tid);
    r.name = name;
    r.domain = intern(n, "nvtx");
    return r.thread < 0 ? -1 : PUT(ROW_RANGE, r);
}

static int put_overhead(struct nsys *n, struct sql_stmt *q)
{
    struct row_overhead o = {0};
    if (!span(n, q, &o.start_ns, &o.end_ns))
        return 0;
    o.id = ++n->ids[ROW_OVERHEAD];
    int64_t tid = sql_int(q, 2);
    o.process = process_id(n, tid);
    o.thread = thread_id(n, tid);
    o.name = string(n, known(q, 3));
    return o.thread < 0 ? -1 : PUT(ROW_OVERHEAD, o);
}

struct source {
    const char *table;
    const char *columns[COLUMNS];
    int (*put)(struct nsys *, struct sql_stmt *);
};

#define GPU_PLACE "globalPid", "deviceId", "contextId", "streamId", "correlationId"
static const struct source sources[] = {
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     {"start", "end", "globalTid", "correlationId", "nameId", "returnValue", NULL},
     put_api},
    {"CUPTI_ACTIVITY_KIND_DRIVER",
     {"start", "end", "globalTid", "correlationId", "nameId", "returnValue", NULL},
     put_api},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     {"start", "end", GPU_PLACE, "demangledName", "mangledName", "gridX", "gridY", "gridZ",
      "blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory",
      "dynamicSharedMemory", "graphId", "graphNodeId", NULL},
     put_kernel},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     {"start", "end", GPU_PLACE, "bytes", "copyKind", "srcKind", "dstKind", "graphNodeId", NULL},
     put_copy},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     {"start", "end", GPU_PLACE, "bytes", "value", "graphNodeId", NULL},
     put_memset},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {"start", "end", GPU_PLACE, "graphId", NULL}, put_graph},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     {"start", "end", GPU_PLACE, "syncType", "eventId", "eventSyncId", NULL},
     put_sync},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT",
     {"timestamp", "timestamp", GPU_PLACE, "eventId", "eventSyncId", NULL},
     put_event},
    {"NVTX_EVENTS", {"start", "end", "eventType", "text", "textId", "globalTid", NULL}, put_range},
    {"PROFILER_OVERHEAD", {"start", "end", "globalTid", "nameId", NULL}, put_overhead},
};

static int read_source(struct nsys *n, const struct source *s)
{
    if (!sql_has_table(n->db, s->table))
        return 0;
    struct sql_stmt *q = open_table(n, s->table, s->columns);
    if (!q)
        return -1;
    int rc;
    while ((rc = sql_step(q, n->e)) == 1)
        if (s->put(n, q) < 0) {
            rc = -1;
            break;
        }
    sql_finalize(q);
    return rc;
}

/* ---- the rest
 * ------------------------------------------------------------------------------------------ */

static int64_t pid_of(int64_t global)
{
    return global >> 24 & 0xffffff;
}

static int put_places(struct nsys *n)
{
    for (size_t i = 0; i < n->processes.n; i++) {
        struct row_process p = {.id = (int64_t)i + 1,
                                .pid = pid_of(n->processes.at[i].global_pid),
                                .ppid = -1,
                                .rank = -1,
                                .local_rank = -1,
                                .world_size = -1,
                                .sealed = -1};
        if (PUT(ROW_PROCESS, p) < 0)
            return -1;
    }
    for (size_t i = 0; i < n->threads.n; i++) {
        int64_t g = n->threads.at[i].global_tid;
        struct row_thread t = {(int64_t)i + 1, process_id(n, g), g & 0xffffff,
                               n->threads.at[i].name};
        if (PUT(ROW_THREAD, t) < 0)
            return -1;
    }
    for (size_t i = 0; i < n->streams.n; i++) {
        const struct nsys_stream *s = &n->streams.at[i];
        struct row_stream r = {
            (int64_t)i + 1, s->process, device_id(n, s->process, s->device),
            s->context,     s->stream,  s->stream == 7 ? STREAM_LEGACY_DEFAULT : s->flags,
            s->priority};
        if (PUT(ROW_STREAM, r) < 0)
            return -1;
    }
    return 0;
}

/* Names and sizes of the GPUs, where the export has them (by ordinal). */
static int put_devices(struct nsys *n)
{
    static const char *const columns[] = {"id",
                                          "name",
                                          "computeMajor",
                                          "computeMinor",
                                          "smCount",
                                          "totalMemory",
                                          "memoryBandwidth",
                                          "l2CacheSize",
                                          "asyncEngines",
                                          "clockRate",
                                          NULL};
    struct sql_stmt *q =
        sql_has_table(n->db, "TARGET_INFO_GPU") ? open_table(n, "TARGET_INFO_GPU", columns) : NULL;
    for (size_t i = 0; i < n->devices.n; i++) {
        struct row_device d = {.id = (int64_t)i + 1,
                               .process = n->devices.at[i].process,
                               .ordinal = n->devices.at[i].ordinal,
                               .cc_major = -1,
                               .cc_minor = -1};
        if (q)
            sql_reset(q);
        while (q && sql_step(q, n->e) == 1)
            if (sql_int(q, 0) == d.ordinal) {
                size_t size;
                const char *name = sql_text(q, 1, &size);
                d.name = n->out->intern(n->out->self, name, size);
                d.cc_major = known(q, 2), d.cc_minor = known(q, 3);
                d.sm_count = sql_int(q, 4), d.memory_bytes = sql_int(q, 5),
                d.memory_bytes_per_s = sql_int(q, 6);
                d.l2_bytes = sql_int(q, 7), d.copy_engines = sql_int(q, 8),
                d.clock_khz = sql_int(q, 9) / 1000;
            }
        if (PUT(ROW_DEVICE, d) < 0) {
            sql_finalize(q);
            return -1;
        }
    }
    sql_finalize(q);
    return 0;
}

static int put_meta(struct nsys *n, const char *key, const char *value)
{
    struct row_meta m = {++n->ids[ROW_META], 0, intern(n, key), intern(n, value)};
    return PUT(ROW_META, m);
}

static int put_facts(struct nsys *n)
{
    char have[256];
    snprintf(have, sizeof have, "kernels,copies,memsets%s%s%s%s%s%s",
             n->memory_kinds ? ",memory_kinds" : "", n->ids[ROW_API] ? ",api" : "",
             n->sync ? ",sync" : "", n->events ? ",events" : "",
             sql_has_table(n->db, "NVTX_EVENTS") ? ",ranges" : "",
             sql_has_table(n->db, "TARGET_INFO_GPU") ? ",device" : "");
    const char *text = n->ids[ROW_KERNEL] || n->ids[ROW_COPY] || n->ids[ROW_MEMSET] ? have
                       : n->ids[ROW_API]                                            ? "api,ranges"
                                                                                    : "ranges";
    if (put_meta(n, "source", "nsys") < 0 || put_meta(n, "have", text) < 0)
        return -1;
    if (n->graph_whole) {
        struct row_health h = {
            ++n->ids[ROW_HEALTH],
            1,
            0,
            intern(n, "graphs-opaque"),
            intern(n, "CUDA graphs were traced as a whole: what is inside them was not recorded "
                      "(nsys profile --cuda-graph-trace=node)"),
            0};
        if (PUT(ROW_HEALTH, h) < 0)
            return -1;
    }
    if (n->bad) {
        struct row_health h = {++n->ids[ROW_HEALTH],
                               1,
                               1,
                               intern(n, "bad-events"),
                               intern(n, "records without usable times were left out"),
                               n->bad};
        return PUT(ROW_HEALTH, h);
    }
    return 0;
}

/* Time 0: the first GPU operation or CUDA call; several exports of one host share the UTC scale. */
static void find_base(struct nsys *n)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char text[128];
        if (!sql_has_table(n->db, sources[i].table))
            continue;
        snprintf(text, sizeof text, "SELECT min(%s) FROM %s", sources[i].columns[0],
                 sources[i].table);
        int64_t v = sql_value(n->db, text, INT64_MAX);
        first = v >= 0 && v < first ? v : first;
    }
    int64_t utc = sql_has_table(n->db, "TARGET_INFO_SESSION_START_TIME")
                      ? sql_value(n->db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME", 0)
                      : 0;
    if (first > latest)
        first = 0;
    if (utc < 0 || utc > latest)
        utc = 0;
    if (!n->out->epoch_ns)
        n->out->epoch_ns = utc + first ? utc + first : 1;
    n->base_ns = utc ? n->out->epoch_ns - utc : first;
}

static int read_thread_names(struct nsys *n)
{
    static const char *const columns[] = {"globalTid", "nameId", NULL};
    struct sql_stmt *q =
        sql_has_table(n->db, "ThreadNames") ? open_table(n, "ThreadNames", columns) : NULL;
    int rc = 0;
    while (q && (rc = sql_step(q, n->e)) == 1)
        for (size_t i = 0; i < n->threads.n; i++)
            if (n->threads.at[i].global_tid == sql_int(q, 0))
                n->threads.at[i].name = string(n, known(q, 1));
    sql_finalize(q);
    return rc;
}

int nsys_read_tables(struct nsys *n)
{
    if (read_strings(n) < 0)
        return -1;
    find_base(n);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (read_source(n, &sources[i]) < 0)
            return -1;
    return read_thread_names(n) < 0 || put_places(n) < 0 || put_devices(n) < 0 || put_facts(n) < 0
               ? -1
               : 0;
}
