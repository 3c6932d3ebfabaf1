/* The Nsight Systems importer: reads SQLite exports (nsys export --type sqlite) of 2021 to 2026.
 *   import_nsys.c  sniffing, gunzip to a temporary file, order of the tables
 *   nsys_places.c  texts, processes, threads, streams, GPUs: what rows refer to
 *   nsys_rows.c    one table at a time -> rows
 *   nsys_os.c      waits in the operating system's libraries
 *   nsys_metrics.c samples of the GPUs' own counters
 * Tables and columns are looked up, never assumed: a missing one reads as 0 or -1. Tables that
 * contain the environment, arguments, user or host (META_DATA_CAPTURE, TARGET_INFO_SYSTEM_ENV,
 * ANALYSIS_FILE) are never read. */
#ifndef GPUPROF_IMPORT_NSYS_NSYS_H
#define GPUPROF_IMPORT_NSYS_NSYS_H

#include "analyzer/profile/rows.h"
#include "analyzer/profile/sql/sql.h"
#include "base/arena.h"
#include "base/keymap.h"
#include "base/vec.h"

/* Latest possible time, ns. */
#define NSYS_LATEST ((int64_t)1 << 61)

struct nsys_process {
    int64_t global_pid; /* pid = bits 24..47 */
};

struct nsys_thread {
    int64_t global_tid; /* tid = bits 0..23 */
    uint32_t name;
};

struct nsys_stream {
    int64_t process, device, context, stream, flags, priority;
};

struct nsys_device {
    int64_t process, ordinal;
};

struct nsys_string {
    const char *text; /* NULL: this id does not exist */
    size_t size;
    uint32_t own, bare; /* string ids in the sink, 0 = not interned yet; bare:
                           without a trailing _vNNNN */
};

struct nsys_domain {
    int64_t process, id; /* process as in nsys_process */
    uint32_t name;
};

struct nsys {
    struct sql *db;
    struct sink *out;
    struct err *e;
    const char *path; /* as the user typed it, for messages */
    int64_t base_ns;  /* nsys time of the profile's time 0 */
    int64_t ids[ROW_KINDS];
    struct VEC(struct nsys_process) processes;
    struct VEC(struct nsys_thread) threads;
    struct VEC(struct nsys_stream) streams;
    struct VEC(struct nsys_device) devices;
    struct VEC(struct nsys_domain) domains;
    size_t last_thread;
    /* key -> index in the list */
    struct keymap process_of, thread_of, stream_of, device_of, domain_of;
    struct keymap device_in;     /* (process, context) -> number of the device */
    struct arena arena;          /* texts of StringIds */
    struct nsys_string *strings; /* by StringIds.id */
    int64_t string_count;
    bool sync, events, memory_kinds, graph_whole, pytorch;
    int64_t bad;
};

/* The name of a table that gpuprof would read and that is no plain table in this file, such as a
 * view, which may compute for ever. NULL: there is none. */
const char *nsys_non_table(struct sql *db);
int nsys_read_tables(struct nsys *n);

/* Opens a SELECT of `columns` (NULL-terminated) from a table; columns that this export lacks read
 * as NULL. NULL with *n->e set. */
struct sql_stmt *nsys_open_table(struct nsys *n, const char *table, const char *const *columns);
struct sql_stmt *nsys_open_where(struct nsys *n, const char *table, const char *const *columns,
                                 const char *where);
int64_t nsys_known(struct sql_stmt *q, int col); /* -1 for NULL */

/* Columns 0 and 1, start and end, converted to the profile's time. False, and counted as bad,
 * if they are impossible. */
bool nsys_span(struct nsys *n, struct sql_stmt *q, int64_t *start, int64_t *end);
/* Puts a row of OSRT_API (start, end, globalTid, nameId) as a range of OS_DOMAIN. Call it
 * after all other tables. */
int nsys_put_os_call(struct nsys *n, struct sql_stmt *q);

uint32_t nsys_intern(struct nsys *n, const char *s);
uint32_t nsys_string(struct nsys *n, int64_t id); /* string id of the text in StringIds; 0 = none */
const char *nsys_text(const struct nsys *n, int64_t id, size_t *size);
uint32_t nsys_api_name(struct nsys *n, int64_t id, bool *driver);
uint32_t nsys_domain(struct nsys *n, int64_t thread, int64_t domain);
int nsys_read_strings(struct nsys *n);
int nsys_read_domains(struct nsys *n);
int nsys_read_thread_names(struct nsys *n);

/* Ids of rows, given at first use; -1 with *n->e set. `global` contains process and thread. */
int64_t nsys_process_id(struct nsys *n, int64_t global);
int64_t nsys_thread_id(struct nsys *n, int64_t global);
int64_t nsys_stream_id(struct nsys *n, int64_t process, int64_t device, int64_t context,
                       int64_t stream);
/* Notes that work of this process and context ran on this device. -1 with *n->e set. */
int nsys_context_ran(struct nsys *n, int64_t process, int64_t context, int64_t device);
/* The stream of a wait or an event, whose columns deviceId, contextId, streamId start at
 * `col`. CUPTI gives no device for these, and the export writes 0; so the device is
 * taken from the context. */
int64_t nsys_waited_stream(struct nsys *n, struct sql_stmt *q, int col, int64_t process);
int nsys_put_places(struct nsys *n);
int nsys_put_devices(struct nsys *n);
/* Puts notes on what the export lacks. Call it after all other rows. */
int nsys_put_notes(struct nsys *n);
/* Puts samples from GPU_METRICS, reduced to one per GPU and 10 ms. Call it
 * after nsys_put_devices. */
int nsys_put_metrics(struct nsys *n);

#endif
