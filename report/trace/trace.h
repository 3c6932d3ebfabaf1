/* The contents of a trace for viewers, whatever its format: rows with pids and tids, and the slices of host and GPU, counters
 * and results of the analysis. A format (trace_chrome.c, trace_perfetto.c) writes them.
 *
 * The rules (docs/trace.md): slices of a row nest or do not overlap, overlapping ones go to another lane; ids are positive
 * integers; a launch and its first operation have the same correlation. */
#ifndef GPUPROF_REPORT_TRACE_TRACE_H
#define GPUPROF_REPORT_TRACE_TRACE_H

#include "report/export.h"
#include "report/trace/rows.h"

/* One slice of a row. Times are ns since the trace's base. */
struct slice {
    const char *cat, *name;
    int64_t pid, tid, start_ns, end_ns;
    int64_t correlation; /* of a call or a GPU operation; 0: it has none */
    uint32_t
        launches; /* of a call: the index + 1 of the first operation that it launched; 0: none */
    /* Of a GPU operation (op is NULL for all other slices). */
    const struct op *op;
    uint32_t index;                  /* the operation's */
    bool bound;                      /* it is the first that its call launched */
    int64_t device, context, stream; /* numbers as CUDA gives them */
    int64_t owner;                   /* pid of the process that launched it */
};

enum lane_of { LANE_OF_THREAD, LANE_OF_STREAM, LANE_OF_NOTES };

/* A format writes what it is told, in the order of the calls. A slice is followed by its arguments and slice_end. */
struct trace_format {
    void (*process)(void *w, int64_t pid, bool is_gpu, const char *name, int64_t sort);
    void (*row)(void *w, int64_t pid, int64_t tid, enum lane_of kind, const char *name,
                int64_t sort);
    void (*slice)(void *w, const struct slice *s);
    void (*integer)(void *w, const char *key, int64_t v);
    void (*real)(void *w, const char *key, double v, int decimals);
    void (*ms)(void *w, const char *key, int64_t ns);
    void (*text)(void *w, const char *key, const char *v);
    void (*flag)(void *w, const char *key, bool v);
    void (*shape)(void *w, const char *key, const int64_t *dim, size_t n);
    void (*slice_end)(void *w, const struct slice *s, const char *color); /* color: or NULL */
    void (*counter)(void *w, int64_t pid, int64_t at_ns, const char *name, const char *unit,
                    int64_t value);
    /* Slice `id` of data loading, which may overlap others of its row. */
    void (*span)(void *w, int64_t id, const struct slice *s, int64_t loader);
};

struct trace_recording {
    uint32_t process, event; /* indices */
    int64_t event_sync;
};

struct trace {
    const struct trace_format *to;
    void *w;            /* the format's writer */
    struct slice slice; /* the one that is being written; times since base_ns */
    const struct advice *a;
    const struct timeline *t;
    struct rows rows;
    struct items items; /* of the row that is being written */
    struct arena arena;
    int64_t base_ns;      /* time 0 of the trace */
    bool merged;          /* several processes used a GPU: pids are made from ranks */
    int64_t *first_pid;   /* by process index: the first of its pids in a merged file */
    int64_t *process_pid; /* by process index */
    int64_t *device_pid;  /* by device index; the last is for streams without a device */
    int64_t *thread_tid, *stream_tid;
    struct trace_recording *recordings; /* recordings of events, by process and event_sync */
    size_t recording_count;
    uint32_t *op_collective; /* by op: index of its collective or TL_NONE; NULL: there are none */
};

enum {
    TID_CONTEXT_SYNC = 999999,
    TID_GAPS = 999998,
    TID_SYNC_OFFSET = 1000000, /* stream + this: its synchronisations */
    PIDS_A_PROCESS = 1000,
    TID_LANE_OFFSET = 2000000 /* GPU rows: lane k = tid + k * this */
};
#define TID_STEPS     4200000000
#define TID_CAUSES    4200000001
#define TID_FINDINGS  4200000100 /* lane k = this + k */
#define TID_HOST_LANE 1000000000 /* host rows: lane k of thread i = this + 1000 * i + k */

/* Chooses pids and tids. 0, or -1 if out of memory. */
int trace_name_rows(struct trace *c, bool merged);
/* trace_index_recordings finds the recordings of events; -1: out of memory. trace_sync_args
 * writes the args of a sync: where it waits, and for which recording, with the names that PyTorch's
 * profiler uses (trace_syncs.c). */
int trace_index_recordings(struct trace *c);
void trace_sync_args(struct trace *c, const struct sync *s);
int64_t trace_stream_pid(const struct trace *c, uint32_t stream);

void trace_row(struct trace *c, int64_t pid, int64_t tid, enum lane_of kind, const char *name,
               int64_t sort);
/* Begins a slice of the profile's times; its arguments follow, and then trace_slice_end. */
void trace_slice(struct trace *c, const struct slice *s);
void trace_slice_end(struct trace *c, const char *color);
void trace_counter(struct trace *c, int64_t pid, int64_t at_ns, const char *name, const char *unit,
                   int64_t value);
int64_t trace_since(const struct trace *c, int64_t ns); /* ns since the trace's base */

/* Where step i ends on the trace: a nanosecond before the next one begins, because readers that
 * keep microseconds as doubles would otherwise see an overlap. */
int64_t trace_step_end(const struct steps *s, size_t i);

/* Results of the analysis on the trace (trace_notes.c). */
void trace_step_causes(struct trace *c, int64_t pid);
int trace_findings(struct trace *c, int64_t pid);
int trace_queue_depth(struct trace *c);

/* Each writes its rows; -1 if out of memory. */
int trace_host(struct trace *c);
int trace_gpu(struct trace *c);
/* Numbers the rows of a recording for `to`; merged: one file holds all ranks. -1 if out of memory. The caller closes c, also
 * after a failure. */
int trace_open(struct trace *c, const struct advice *a, const struct trace_format *to, void *w,
               bool merged);
int trace_write(struct trace *c); /* -1 if out of memory */
void trace_close(struct trace *c);

#endif
