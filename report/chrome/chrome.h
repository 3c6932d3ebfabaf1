/* Parts of the Chrome trace: pids and tids, and the slices of host and GPU.
 *
 * The rules (docs/trace.md): one event a line; times in microseconds with three decimals, from a
 * base in the header; slices of a row nest or do not overlap, overlapping ones go to another lane;
 * ids are positive integers; a flow binds a launch to its first kernel by their correlation. */
#ifndef GPUPROF_REPORT_CHROME_CHROME_H
#define GPUPROF_REPORT_CHROME_CHROME_H

#include "report/chrome/rows.h"
#include "report/export.h"
#include "report/json/json_write.h"

struct chrome_recording {
    uint32_t process, event; /* indices */
    int64_t event_sync;
};

struct chrome {
    struct json j;
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
    struct chrome_recording *recordings; /* recordings of events, by process and event_sync */
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
int chrome_name_rows(struct chrome *c, bool merged);
/* chrome_index_recordings finds the recordings of events; -1: out of memory. chrome_sync_args
 * writes the args of a sync: where it waits, and for which recording, with the names that PyTorch's
 * profiler uses (chrome_syncs.c). */
int chrome_index_recordings(struct chrome *c);
void chrome_sync_args(struct chrome *c, const struct sync *s);
int64_t chrome_stream_pid(const struct chrome *c, uint32_t stream);

/* "M" events: name and order of a process or a row. */
void chrome_process(struct chrome *c, int64_t pid, const char *name, int64_t sort);
void chrome_thread(struct chrome *c, int64_t pid, int64_t tid, const char *name, int64_t sort);
/* An "X" event whose args are left open. */
void chrome_slice(struct chrome *c, const char *cat, const char *name, int64_t pid, int64_t tid,
                  int64_t start_ns, int64_t end_ns);
void chrome_slice_end(struct chrome *c);
void chrome_flow(struct chrome *c, bool finish, int64_t id, int64_t pid, int64_t tid,
                 int64_t at_ns);

void chrome_counter(struct chrome *c, int64_t pid, int64_t at_ns, const char *name, const char *key,
                    int64_t value);

/* Where step i ends on the trace: a nanosecond before the next one begins, because readers that
 * keep microseconds as doubles would otherwise see an overlap. */
int64_t chrome_step_end(const struct steps *s, size_t i);

/* Results of the analysis on the trace (chrome_notes.c). */
void chrome_step_causes(struct chrome *c, int64_t pid);
int chrome_findings(struct chrome *c, int64_t pid);
int chrome_queue_depth(struct chrome *c);

/* Each writes its rows; -1 if out of memory. */
int chrome_host(struct chrome *c);
int chrome_gpu(struct chrome *c);

#endif
