/* The Nsight Systems importer: the SQLite export (nsys export --type sqlite) of 2021 to 2026.
 *   import_nsys.c  sniffing, gunzip to a temporary file, order of the tables
 *   nsys_rows.c    one table at a time -> rows
 * Tables and columns are discovered, never assumed: what is missing reads as 0 or -1. It never
 * touches tables that hold the environment, arguments, user or host (META_DATA_CAPTURE,
 * TARGET_INFO_SYSTEM_ENV, ANALYSIS_FILE).
 */
#ifndef GPUPROF_IMPORT_NSYS_H
#define GPUPROF_IMPORT_NSYS_H

#include "analyzer/base/vec.h"
#include "analyzer/store/rows.h"
#include "analyzer/store/sql.h"

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

struct nsys {
    struct sql *db;
    struct sink *out;
    struct err *e;
    const char *path; /* as the user gave it, for messages */
    int64_t base_ns;  /* nsys time of the profile's time 0 */
    int64_t ids[ROW_KINDS];
    struct VEC(struct nsys_process) processes;
    struct VEC(struct nsys_thread) threads;
    struct VEC(struct nsys_stream) streams;
    struct VEC(struct nsys_device) devices;
    uint32_t *strings; /* StringIds.id -> sink id */
    uint32_t *bare;    /* the same without a trailing _vNNNN, for names of API calls */
    bool *driver;      /* it is a driver call */
    int64_t string_count;
    bool sync, events, memory_kinds, graph_whole;
    int64_t bad;
};

int nsys_read_tables(struct nsys *n);

#endif
