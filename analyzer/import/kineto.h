/* The parts of the Kineto importer (PyTorch profiler's Chrome trace JSON).
 *   kineto_event.c   one event's text -> struct kineto_event
 *   kineto_rows.c    struct kineto_event -> rows
 *   import_kineto.c  the document around the events, sniffing, the importer itself
 */
#ifndef GPUPROF_IMPORT_KINETO_H
#define GPUPROF_IMPORT_KINETO_H

#include "analyzer/base/json_read.h"
#include "analyzer/base/vec.h"
#include "analyzer/store/rows.h"

enum kineto_category {
    KINETO_SKIP, /* flows, counters, spans, GPU-side annotations: nothing that a row needs */
    KINETO_UNKNOWN,
    KINETO_KERNEL,
    KINETO_MEMCPY,
    KINETO_MEMSET,
    KINETO_RUNTIME,
    KINETO_DRIVER,
    KINETO_CPU_OP,
    KINETO_ANNOTATION,
    KINETO_PYTHON,
    KINETO_SYNC,
    KINETO_OVERHEAD
};

struct kineto_event {
    char phase; /* 'X', 'M', ...; 0 = none */
    uint8_t category;
    uint32_t name;
    bool has_ts, has_dur, bad_number;
    int64_t pid, tid; /* numbers; of a text the digits in it, -1 without any */
    int64_t ts_ns, dur_ns;
    /* args; -1 = absent */
    int64_t device, stream, context, correlation, bytes, graph, graph_node, registers, smem;
    int64_t grid[3], block[3];
    int64_t wait_correlation, ranks, elements;
    uint32_t collective, dtype;
    char copy[8];   /* HIP's "kind": DtoD, ... */
    char head[48];  /* first bytes of the name, for the kinds of copies and syncs */
    char label[64]; /* args.name of a metadata event */
    bool is_thread_name;
};

struct kineto_device {
    int64_t ordinal, memory_bytes, cc_major, cc_minor, sm_count;
    uint32_t name;
    bool seen;
};

struct kineto_thread {
    int64_t tid;
    uint32_t name;
};

struct kineto_stream {
    int64_t device, stream, context;
};

struct kineto {
    struct sink *out;
    struct err *e;
    struct json_reader json;
    char *scratch; /* for texts with escapes */
    size_t scratch_cap;
    int64_t ids[ROW_KINDS];
    int64_t pid, rank, world_size;
    int64_t events, skipped, bad;
    int64_t first_ns, last_ns;
    uint32_t have_mask; /* what was seen: 1 << enum kineto_category */
    bool memory_kinds, hip;
    struct VEC(struct kineto_device) devices;
    struct VEC(struct kineto_thread) threads;
    struct VEC(struct kineto_stream) streams;
    size_t last_thread, last_stream;
};

/* Reads the event whose '{' was just returned. 0, or -1 (k->json.error or *k->e). */
int kineto_event_read(struct kineto *k, struct kineto_event *v);
/* Interns the text of the token just read, backslashes undone. STR_NONE with *k->e set on failure.
 */
uint32_t kineto_intern_token(struct kineto *k);

/* Puts the rows of one event. 0, or -1 with *k->e set. */
int kineto_put(struct kineto *k, const struct kineto_event *v);
/* Processes, threads, streams, devices and meta: known only at the end. */
int kineto_put_ends(struct kineto *k);

#endif
