/* What the rows of an Nsight Systems export refer to: texts, processes, threads, streams, GPUs, and
 * the domains of NVTX ranges. Ids are given at first use; the rows of these tables are put at the
 * end. Names of processes and hosts are never read. */
#include "analyzer/import/nsys/nsys.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STRINGS = 1 << 24, MAX_DOMAINS = 1024 };

struct device_vec VEC(struct row_device);

#define PUT(kind, row) n->out->put(n->out->self, kind, &(row), n->e)

uint32_t nsys_intern(struct nsys *n, const char *s)
{
    return n->out->intern(n->out->self, s, strlen(s));
}

struct sql_stmt *nsys_open_where(struct nsys *n, const char *table, const char *const *columns,
                                 const char *where)
{
    char text[2048];
    size_t at = (size_t)snprintf(text, sizeof text, "SELECT ");
    for (size_t i = 0; columns[i]; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? ", " : "",
                               sql_has_column(n->db, table, columns[i]) ? columns[i] : "NULL");
    snprintf(text + at, sizeof text - at, " FROM %s%s%s", table, where ? " WHERE " : "",
             where ? where : "");
    return sql_prepare(n->db, text, n->e);
}

struct sql_stmt *nsys_open_table(struct nsys *n, const char *table, const char *const *columns)
{
    return nsys_open_where(n, table, columns, NULL);
}

int64_t nsys_known(struct sql_stmt *q, int col)
{
    return sql_is_null(q, col) ? -1 : sql_int(q, col);
}

/* ---- strings ---- */

/* Reads all texts into memory. A text enters the profile only if a row refers to it, so that names
 * of files, programs and people in the export stay there. */
int nsys_read_strings(struct nsys *n)
{
    n->string_count = sql_value(n->db, "SELECT max(id) + 1 FROM StringIds", 0);
    if (n->string_count < 0 || n->string_count > MAX_STRINGS)
        return err_set(n->e, "%s: damaged: the ids of StringIds are impossible", n->path);
    n->strings = calloc((size_t)n->string_count + 1, sizeof *n->strings);
    if (!n->strings)
        return err_set(n->e, "out of memory");
    struct sql_stmt *q = sql_prepare(n->db, "SELECT id, value FROM StringIds", n->e);
    if (!q)
        return -1;
    int rc;
    while ((rc = sql_step(q, n->e)) == 1) {
        size_t size;
        const char *text = sql_text(q, 1, &size);
        int64_t id = sql_int(q, 0);
        if (id < 0 || id >= n->string_count || n->strings[id].text)
            continue;
        n->strings[id] = (struct nsys_string){.size = size};
        char *copy = arena_alloc(&n->arena, size + 1);
        if (!copy) {
            rc = err_set(n->e, "out of memory");
            break;
        }
        memcpy(copy, text, size);
        n->strings[id].text = copy;
    }
    sql_finalize(q);
    return rc;
}

static struct nsys_string *string_at(const struct nsys *n, int64_t id)
{
    return id >= 0 && id < n->string_count && n->strings[id].text ? &n->strings[id] : NULL;
}

uint32_t nsys_string(struct nsys *n, int64_t id)
{
    struct nsys_string *s = string_at(n, id);
    if (s && !s->own)
        s->own = n->out->intern(n->out->self, s->text, s->size);
    return s ? s->own : 0;
}

const char *nsys_text(const struct nsys *n, int64_t id, size_t *size)
{
    const struct nsys_string *s = string_at(n, id);
    *size = s ? s->size : 0;
    return s ? s->text : "";
}

/* String id of the name without a version: cudaLaunchKernel_v7000 gives cudaLaunchKernel.
 * *driver: it is a driver call. */
uint32_t nsys_api_name(struct nsys *n, int64_t id, bool *driver)
{
    struct nsys_string *s = string_at(n, id);
    if (!s)
        return 0;
    const char *text = s->text;
    size_t bare = s->size;
    *driver = bare > 2 && text[0] == 'c' && text[1] == 'u' && text[2] >= 'A' && text[2] <= 'Z';
    if (s->bare)
        return s->bare;
    while (bare > 0 && text[bare - 1] >= '0' && text[bare - 1] <= '9')
        bare--;
    bool version = bare >= 2 && bare < s->size && text[bare - 1] == 'v' && text[bare - 2] == '_';
    s->bare = n->out->intern(n->out->self, text, version ? bare - 2 : s->size);
    return s->bare;
}

/* ---- domains of ranges ---- */

/* Rows that create a domain have its name; ranges have its number, which is counted per process. */
int nsys_read_domains(struct nsys *n)
{
    static const char *const columns[] = {"globalTid", "domainId", "text", "textId", NULL};
    if (!sql_has_column(n->db, "NVTX_EVENTS", "domainId") ||
        !sql_has_column(n->db, "NVTX_EVENTS", "eventType"))
        return 0;
    struct sql_stmt *q = nsys_open_where(n, "NVTX_EVENTS", columns, "eventType = 75");
    int rc = -1;
    while (q && (rc = sql_step(q, n->e)) == 1) {
        size_t size;
        const char *text = sql_text(q, 2, &size);
        struct nsys_domain *d = n->domains.n < MAX_DOMAINS ? vec_push(&n->domains) : NULL;
        if (!d)
            break;
        *d = (struct nsys_domain){sql_int(q, 0) & ~(int64_t)0xffffff, sql_int(q, 1), 0};
        d->name =
            size ? n->out->intern(n->out->self, text, size) : nsys_string(n, nsys_known(q, 3));
        struct key key = {{d->process, d->id}};
        if (d->name && keymap_get(&n->domain_of, key) == KEYMAP_NONE &&
            keymap_put(&n->domain_of, key, (uint32_t)n->domains.n - 1) < 0)
            break;
    }
    sql_finalize(q);
    return rc < 0 ? -1 : 0;
}

uint32_t nsys_domain(struct nsys *n, int64_t thread, int64_t domain)
{
    struct key key = {{thread & ~(int64_t)0xffffff, domain}};
    uint32_t found = domain > 0 ? keymap_get(&n->domain_of, key) : KEYMAP_NONE;
    if (found != KEYMAP_NONE)
        return n->domains.at[found].name;
    return nsys_intern(n, "nvtx");
}

/* ---- processes, threads, streams, GPUs ---- */

/* Index for the key: the known one, or `next` for a new key. -1 with *n->e set. */
static int64_t number(struct nsys *n, struct keymap *m, struct key key, size_t next)
{
    uint32_t found = keymap_get(m, key);
    if (found != KEYMAP_NONE)
        return found;
    if (next >= KEYMAP_NONE || keymap_put(m, key, (uint32_t)next) < 0)
        return err_set(n->e, "out of memory");
    return (int64_t)next;
}

int64_t nsys_process_id(struct nsys *n, int64_t global)
{
    int64_t key = global & ~(int64_t)0xffffff;
    int64_t at = number(n, &n->process_of, (struct key){{key}}, n->processes.n);
    struct nsys_process *p = at == (int64_t)n->processes.n ? vec_push(&n->processes) : NULL;
    if (at < 0 || at == (int64_t)n->processes.n)
        return err_set(n->e, "out of memory");
    if (p)
        p->global_pid = key;
    return at + 1;
}

int64_t nsys_thread_id(struct nsys *n, int64_t global)
{
    if (n->last_thread < n->threads.n && n->threads.at[n->last_thread].global_tid == global)
        return (int64_t)n->last_thread + 1;
    int64_t at = number(n, &n->thread_of, (struct key){{global}}, n->threads.n);
    struct nsys_thread *t = at == (int64_t)n->threads.n ? vec_push(&n->threads) : NULL;
    if (at < 0 || at == (int64_t)n->threads.n || (t && nsys_process_id(n, global) < 0))
        return err_set(n->e, "out of memory");
    if (t)
        t->global_tid = global;
    n->last_thread = (size_t)at;
    return at + 1;
}

static int64_t device_id(struct nsys *n, int64_t process, int64_t ordinal)
{
    int64_t at = number(n, &n->device_of, (struct key){{process, ordinal}}, n->devices.n);
    struct nsys_device *d = at == (int64_t)n->devices.n ? vec_push(&n->devices) : NULL;
    if (at < 0 || at == (int64_t)n->devices.n)
        return err_set(n->e, "out of memory");
    if (d)
        *d = (struct nsys_device){process, ordinal};
    return at + 1;
}

int64_t nsys_stream_id(struct nsys *n, int64_t process, int64_t device, int64_t context,
                       int64_t stream)
{
    struct key key = {{process, device, context, stream}};
    int64_t at = number(n, &n->stream_of, key, n->streams.n);
    struct nsys_stream *s = at == (int64_t)n->streams.n ? vec_push(&n->streams) : NULL;
    if (at < 0 || at == (int64_t)n->streams.n || (s && device_id(n, process, device) < 0))
        return err_set(n->e, "out of memory");
    if (s)
        *s = (struct nsys_stream){process, device, context, stream, -1, 0};
    return at + 1;
}

int nsys_context_ran(struct nsys *n, int64_t process, int64_t context, int64_t device)
{
    struct key key = {{process, context}};
    if (device < 0 || device >= KEYMAP_NONE || keymap_get(&n->device_in, key) != KEYMAP_NONE)
        return 0;
    return keymap_put(&n->device_in, key, (uint32_t)device) < 0 ? err_no_memory(n->e) : 0;
}

int64_t nsys_waited_stream(struct nsys *n, struct sql_stmt *q, int col, int64_t process)
{
    int64_t context = sql_int(q, col + 1);
    uint32_t ran = keymap_get(&n->device_in, (struct key){{process, context}});
    int64_t device = ran == KEYMAP_NONE ? sql_int(q, col) : ran;
    return nsys_stream_id(n, process, device, context, sql_int(q, col + 2));
}

/* ---- the rest ---- */

static int64_t pid_of(int64_t global)
{
    return global >> 24 & 0xffffff;
}

/* Fills stream.flags. The table names a stream by process, context and number. */
static int read_stream_flags(struct nsys *n)
{
    static const char *const columns[] = {"processId", "contextId", "streamId", "flag", NULL};
    /* CUpti_ActivityStreamFlag: unknown, default, non-blocking, the null stream */
    static const int64_t kinds[] = {-1, 0, STREAM_NON_BLOCKING, STREAM_LEGACY_DEFAULT};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    struct keymap flag_of = {0};
    int rc = 0;
    if (!sql_has_table(n->db, "TARGET_INFO_CUDA_STREAM"))
        return 0;
    struct sql_stmt *q = nsys_open_table(n, "TARGET_INFO_CUDA_STREAM", columns);
    while (q && rc == 0 && (rc = sql_step(q, n->e)) == 1) {
        struct key key = {{sql_int(q, 0), sql_int(q, 1), sql_int(q, 2)}};
        int64_t flag = nsys_known(q, 3);
        rc = keymap_get(&flag_of, key) == KEYMAP_NONE &&
                     keymap_put(&flag_of, key, flag > 0 && flag < KINDS ? (uint32_t)flag : 0) < 0
                 ? -1
                 : 0;
    }
    for (size_t i = 0; i < n->streams.n; i++) {
        struct nsys_stream *s = &n->streams.at[i];
        int64_t pid = pid_of(n->processes.at[s->process - 1].global_pid);
        uint32_t flag = keymap_get(&flag_of, (struct key){{pid, s->context, s->stream}});
        if (flag != KEYMAP_NONE)
            s->flags = kinds[flag];
    }
    keymap_release(&flag_of);
    sql_finalize(q);
    return q && rc >= 0 ? 0 : -1;
}

int nsys_put_places(struct nsys *n)
{
    if (read_stream_flags(n) < 0)
        return -1;
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
        struct row_thread t = {(int64_t)i + 1, nsys_process_id(n, g), g & 0xffffff,
                               n->threads.at[i].name};
        if (PUT(ROW_THREAD, t) < 0)
            return -1;
    }
    for (size_t i = 0; i < n->streams.n; i++) {
        const struct nsys_stream *s = &n->streams.at[i];
        struct row_stream r = {(int64_t)i + 1,
                               s->process,
                               device_id(n, s->process, s->device),
                               s->context,
                               s->stream,
                               s->stream == 7 && s->flags < 0 ? STREAM_LEGACY_DEFAULT : s->flags,
                               s->priority};
        if (PUT(ROW_STREAM, r) < 0)
            return -1;
    }
    return 0;
}

/* The description of a GPU in the current row; *ordinal: its number. */
static struct row_device told_device(struct nsys *n, struct sql_stmt *q, int64_t *ordinal)
{
    size_t size;
    const char *name = sql_text(q, 1, &size);
    *ordinal = sql_int(q, 0);
    return (struct row_device){.name = n->out->intern(n->out->self, name, size),
                               .cc_major = nsys_known(q, 2),
                               .cc_minor = nsys_known(q, 3),
                               .sm_count = sql_int(q, 4),
                               .memory_bytes = sql_int(q, 5),
                               .memory_bytes_per_s = sql_int(q, 6),
                               .l2_bytes = sql_int(q, 7),
                               .copy_engines = sql_int(q, 8),
                               .clock_khz = sql_int(q, 9) / 1000};
}

/* Reads all GPU descriptions, by number; a later one replaces an earlier one of the same
 * number. -1 with *n->e set. */
static int read_devices(struct nsys *n, struct device_vec *told, struct keymap *by_ordinal)
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
    if (!sql_has_table(n->db, "TARGET_INFO_GPU"))
        return 0;
    struct sql_stmt *q = nsys_open_table(n, "TARGET_INFO_GPU", columns);
    int rc = -1;
    while (q && (rc = sql_step(q, n->e)) == 1) {
        int64_t ordinal;
        struct row_device d = told_device(n, q, &ordinal);
        int64_t at = number(n, by_ordinal, (struct key){{ordinal}}, told->n);
        if (at < 0 || (at == (int64_t)told->n && !vec_push(told))) {
            rc = err_set(n->e, "out of memory");
            break;
        }
        told->at[at] = d;
    }
    sql_finalize(q);
    return rc;
}

/* Puts the GPUs' rows, with the descriptions that the export contains. */
int nsys_put_devices(struct nsys *n)
{
    struct device_vec told = {0};
    struct keymap by_ordinal = {0};
    int rc = read_devices(n, &told, &by_ordinal);
    for (size_t i = 0; rc == 0 && i < n->devices.n; i++) {
        struct row_device d = {.cc_major = -1, .cc_minor = -1};
        uint32_t at = keymap_get(&by_ordinal, (struct key){{n->devices.at[i].ordinal}});
        if (at != KEYMAP_NONE)
            d = told.at[at];
        d.id = (int64_t)i + 1;
        d.process = n->devices.at[i].process;
        d.ordinal = n->devices.at[i].ordinal;
        rc = PUT(ROW_DEVICE, d);
    }
    vec_release(&told);
    keymap_release(&by_ordinal);
    return rc;
}

int nsys_read_thread_names(struct nsys *n)
{
    static const char *const columns[] = {"globalTid", "nameId", NULL};
    struct sql_stmt *q =
        sql_has_table(n->db, "ThreadNames") ? nsys_open_table(n, "ThreadNames", columns) : NULL;
    int rc = 0;
    while (q && (rc = sql_step(q, n->e)) == 1) {
        uint32_t found = keymap_get(&n->thread_of, (struct key){{sql_int(q, 0)}});
        if (found != KEYMAP_NONE)
            n->threads.at[found].name = nsys_string(n, nsys_known(q, 1));
    }
    sql_finalize(q);
    return rc;
}
