/* Turns tables of an Nsight Systems export into rows. */
#include "analyzer/import/nsys/nsys.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 24 };

#define PUT(kind, row) n->out->put(n->out->self, kind, &(row), n->e)

/* See nsys.h. */
bool nsys_span(struct nsys *n, struct sql_stmt *q, int64_t *start, int64_t *end)
{
    int64_t a = sql_int(q, 0), b = sql_is_null(q, 1) ? -1 : sql_int(q, 1);
    if (a < 0 || b < a || b > NSYS_LATEST) {
        n->bad++;
        return false;
    }
    *start = a - n->base_ns;
    *end = b - n->base_ns;
    return true;
}

/* Returns the stream id of a GPU record whose columns globalPid, deviceId, contextId, streamId
 * start at `col`; *process: its process id. -1 with *n->e set. */
static int64_t place(struct nsys *n, struct sql_stmt *q, int col, int64_t *process)
{
    *process = nsys_process_id(n, sql_int(q, col));
    if (*process < 0 || nsys_context_ran(n, *process, sql_int(q, col + 2), sql_int(q, col + 1)) < 0)
        return -1;
    return nsys_stream_id(n, *process, sql_int(q, col + 1), sql_int(q, col + 2),
                          sql_int(q, col + 3));
}

/* ---- one function per table, called for each row ---- */

static int put_kernel(struct nsys *n, struct sql_stmt *q)
{
    struct row_kernel k = {0};
    if (!nsys_span(n, q, &k.start_ns, &k.end_ns))
        return 0;
    k.id = ++n->ids[ROW_KERNEL];
    if ((k.stream = place(n, q, 2, &k.process)) < 0)
        return -1;
    k.correlation = sql_int(q, 6);
    k.name = nsys_string(n, sql_is_null(q, 8) ? nsys_known(q, 7)
                                              /* the mangled name if there is one,
                                               * otherwise the demangled one */
                                              : sql_int(q, 8));
    if (!k.name)
        k.name = nsys_string(n, nsys_known(q, 7));
    k.grid_x = sql_int(q, 9), k.grid_y = sql_int(q, 10), k.grid_z = sql_int(q, 11);
    k.block_x = sql_int(q, 12), k.block_y = sql_int(q, 13), k.block_z = sql_int(q, 14);
    k.registers = nsys_known(q, 15), k.smem_static = nsys_known(q, 16),
    k.smem_dynamic = nsys_known(q, 17);
    k.graph = sql_int(q, 18), k.graph_node = sql_int(q, 19);
    return PUT(ROW_KERNEL, k);
}

/* Nsight's numbers for kinds of memory: 0 pageable, 1 pinned, 2 device, ... */
static int64_t memory_kind(struct nsys *n, struct sql_stmt *q, int col)
{
    static const int64_t kinds[] = {MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE, MEMORY_ARRAY,
                                    MEMORY_MANAGED,  MEMORY_DEVICE, MEMORY_MANAGED};
    int64_t v = nsys_known(q, col);
    n->memory_kinds |= v >= 0;
    return v >= 0 && v < (int64_t)(sizeof kinds / sizeof *kinds) ? kinds[v] : MEMORY_UNKNOWN;
}

static int put_copy(struct nsys *n, struct sql_stmt *q)
{
    struct row_copy c = {.is_async = -1, .peer_device = -1};
    if (!nsys_span(n, q, &c.start_ns, &c.end_ns))
        return 0;
    c.id = ++n->ids[ROW_COPY];
    if ((c.stream = place(n, q, 2, &c.process)) < 0)
        return -1;
    c.correlation = sql_int(q, 6);
    c.bytes = sql_int(q, 7);
    c.kind = sql_int(q, 8);
    enum { MIGRATION = 11 }; /* kinds from here on: pages of managed memory that move on demand */
    static const uint8_t plain[] = {
        [3] = COPY_H2D, [4] = COPY_D2H, [5] = COPY_D2D, /* from and to arrays */
        [6] = COPY_D2D, [7] = COPY_D2D, [11] = COPY_H2D, [12] = COPY_D2H, [13] = COPY_D2D};
    bool migrates = c.kind >= MIGRATION && c.kind < (int64_t)sizeof plain;
    if (c.kind >= 0 && c.kind < (int64_t)sizeof plain && plain[c.kind])
        c.kind = plain[c.kind];
    c.src_kind = memory_kind(n, q, 9);
    c.dst_kind = memory_kind(n, q, 10);
    if (migrates) /* for these the export gives "unknown" */
        c.src_kind = c.dst_kind = MEMORY_MANAGED;
    c.graph_node = sql_int(q, 11);
    return PUT(ROW_COPY, c);
}

static int put_memset(struct nsys *n, struct sql_stmt *q)
{
    struct row_memset m = {0};
    if (!nsys_span(n, q, &m.start_ns, &m.end_ns))
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

/* Puts a whole CUDA graph as one operation: the export has such rows if its
 * nodes were not traced. */
static int put_graph(struct nsys *n, struct sql_stmt *q)
{
    struct row_kernel k = {0};
    if (!nsys_span(n, q, &k.start_ns, &k.end_ns))
        return 0;
    k.id = ++n->ids[ROW_KERNEL];
    if ((k.stream = place(n, q, 2, &k.process)) < 0)
        return -1;
    k.correlation = sql_int(q, 6);
    k.graph = sql_int(q, 7);
    k.name = nsys_intern(n, "CUDA graph");
    n->graph_whole = true;
    return PUT(ROW_KERNEL, k);
}

static int put_api(struct nsys *n, struct sql_stmt *q)
{
    struct row_api a = {0};
    if (!nsys_span(n, q, &a.start_ns, &a.end_ns))
        return 0;
    a.id = ++n->ids[ROW_API];
    int64_t tid = sql_int(q, 2);
    a.thread = nsys_thread_id(n, tid);
    a.process = nsys_process_id(n, tid);
    if (a.thread < 0 || a.process < 0)
        return -1;
    a.correlation = sql_int(q, 3);
    bool driver = false;
    a.name = nsys_api_name(n, nsys_known(q, 4), &driver);
    if (a.name == STR_NONE)
        return err_set(n->e, "out of memory");
    a.layer = driver;
    a.result = sql_int(q, 5);
    return PUT(ROW_API, a);
}

static int put_sync(struct nsys *n, struct sql_stmt *q)
{
    struct row_sync s = {.stream = -1};
    if (!nsys_span(n, q, &s.start_ns, &s.end_ns))
        return 0;
    s.id = ++n->ids[ROW_SYNC];
    s.process = nsys_process_id(n, sql_int(q, 2));
    if (!sql_is_null(q, 5) && sql_int(q, 5) > 0 && sql_int(q, 5) < UINT32_MAX)
        s.stream = nsys_waited_stream(n, q, 3, s.process);
    s.correlation = sql_int(q, 6);
    s.type = sql_int(q, 7);
    s.event = nsys_known(q, 8);
    s.event_sync = nsys_known(q, 9);
    n->sync = true;
    return s.process < 0 ? -1 : PUT(ROW_SYNC, s);
}

static int put_event(struct nsys *n, struct sql_stmt *q)
{
    struct row_event v = {.id = ++n->ids[ROW_EVENT], .device_ns = -1};
    v.process = nsys_process_id(n, sql_int(q, 2));
    if (v.process < 0 || (v.stream = nsys_waited_stream(n, q, 3, v.process)) < 0)
        return -1;
    v.correlation = sql_int(q, 6);
    v.event = nsys_known(q, 7);
    v.event_sync = nsys_known(q, 8);
    n->events = true;
    return PUT(ROW_EVENT, v);
}

enum { NVTX_PUSH_POP = 59, NVTX_START_END = 60 };

/* Length of the operator's name in what PyTorch's emit_nvtx() writes: "aten::add, seq = 7, op_id =
 * 9, sizes = [...]". The numbers would make every range's name different. */
static size_t operator_length(const char *text, size_t size)
{
    static const char *const tails[] = {", seq = ", ", op_id = ", ", sizes = "};
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; text[i] == ',' && k < sizeof tails / sizeof *tails; k++) {
            size_t m = strlen(tails[k]);
            if (size - i >= m && memcmp(text + i, tails[k], m) == 0)
                return i;
        }
    return size;
}

static int put_range(struct nsys *n, struct sql_stmt *q)
{
    struct row_range r = {.depth = -1};
    int64_t type = sql_int(q, 2);
    if ((type != NVTX_PUSH_POP && type != NVTX_START_END) || sql_is_null(q, 1) ||
        !nsys_span(n, q, &r.start_ns, &r.end_ns))
        return 0;
    size_t size;
    const char *text = sql_text(q, 3, &size);
    if (!size)
        text = nsys_text(n, nsys_known(q, 4), &size);
    n->pytorch |= size > 6 && (memcmp(text, "aten::", 6) == 0 || memcmp(text, "torch.", 6) == 0);
    uint32_t name = n->out->intern(n->out->self, text, operator_length(text, size));
    if (name == STR_NONE)
        return err_set(n->e, "out of memory");
    int64_t tid = sql_int(q, 5);
    r.id = ++n->ids[ROW_RANGE];
    r.thread = nsys_thread_id(n, tid);
    r.process = nsys_process_id(n, tid);
    r.name = name;
    r.domain = nsys_domain(n, tid, sql_int(q, 6));
    return r.thread < 0 ? -1 : PUT(ROW_RANGE, r);
}

static int put_overhead(struct nsys *n, struct sql_stmt *q)
{
    struct row_overhead o = {0};
    if (!nsys_span(n, q, &o.start_ns, &o.end_ns))
        return 0;
    o.id = ++n->ids[ROW_OVERHEAD];
    int64_t tid = sql_int(q, 2);
    o.process = nsys_process_id(n, tid);
    o.thread = nsys_thread_id(n, tid);
    o.name = nsys_string(n, nsys_known(q, 3));
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
    {"NVTX_EVENTS",
     {"start", "end", "eventType", "text", "textId", "globalTid", "domainId", NULL},
     put_range},
    {"PROFILER_OVERHEAD", {"start", "end", "globalTid", "nameId", NULL}, put_overhead},
    {"OSRT_API",
     {"start", "end", "globalTid", "nameId", NULL},
     nsys_put_os_call}, /* after all others, see nsys_put_os_call */
};

static int read_source(struct nsys *n, const struct source *s)
{
    if (!sql_has_table(n->db, s->table))
        return 0;
    struct sql_stmt *q = nsys_open_table(n, s->table, s->columns);
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

static int put_meta(struct nsys *n, const char *key, const char *value)
{
    struct row_meta m = {++n->ids[ROW_META], 0, nsys_intern(n, key), nsys_intern(n, value)};
    return PUT(ROW_META, m);
}

/* True if the export has ranges of PyTorch, or kernels with PyTorch's names. */
static bool runs_pytorch(const struct nsys *n)
{
    for (int64_t i = 0; i < n->string_count; i++)
        if (n->strings[i].own && (strstr(n->strings[i].text, "at::native::") ||
                                  strncmp(n->strings[i].text, "_ZN2at6native", 13) == 0))
            return true;
    return n->pytorch;
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
    if (runs_pytorch(n) && put_meta(n, "framework", "pytorch") < 0)
        return -1;
    if (put_meta(n, "source", "nsys") < 0 || put_meta(n, "have", text) < 0)
        return -1;
    return nsys_put_notes(n);
}

/* Sets time 0 of the profile to the first GPU operation or CUDA call. Several exports of one
 * host share the UTC scale. */
static void find_base(struct nsys *n)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char text[128];
        if (!sql_has_table(n->db, sources[i].table) || sources[i].put == nsys_put_os_call)
            continue;
        snprintf(text, sizeof text, "SELECT min(%s) FROM %s", sources[i].columns[0],
                 sources[i].table);
        int64_t v = sql_value(n->db, text, INT64_MAX);
        first = v >= 0 && v < first ? v : first;
    }
    int64_t utc = sql_has_table(n->db, "TARGET_INFO_SESSION_START_TIME")
                      ? sql_value(n->db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME", 0)
                      : 0;
    if (first > NSYS_LATEST)
        first = 0;
    if (utc < 0 || utc > NSYS_LATEST)
        utc = 0;
    if (!n->out->epoch_ns)
        n->out->epoch_ns = utc + first ? utc + first : 1;
    n->base_ns = utc ? n->out->epoch_ns - utc : first;
}

const char *nsys_non_table(struct sql *db)
{
    static const char *const others[] = {"StringIds",
                                         "ThreadNames",
                                         "TARGET_INFO_GPU",
                                         "TARGET_INFO_SESSION_START_TIME",
                                         "TARGET_INFO_GPU_METRICS",
                                         "GPU_METRICS",
                                         "DIAGNOSTIC_EVENT",
                                         "TARGET_INFO_CUDA_STREAM"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (sql_has_else(db, others[i]))
            return others[i];
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (sql_has_else(db, sources[i].table))
            return sources[i].table;
    return NULL;
}

int nsys_read_tables(struct nsys *n)
{
    if (nsys_read_strings(n) < 0 || nsys_read_domains(n) < 0)
        return -1;
    find_base(n);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (read_source(n, &sources[i]) < 0)
            return -1;
    return nsys_read_thread_names(n) < 0 || nsys_put_places(n) < 0 || nsys_put_devices(n) < 0 ||
                   nsys_put_metrics(n) < 0 || put_facts(n) < 0
               ? -1
               : 0;
}
