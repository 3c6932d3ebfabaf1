/* The rows of a profile, as every importer makes them and all later stages read them: one
 * struct per table, with integers only, texts as string ids. Nothing here depends on
 * where a row came from.
 *
 * Times: int64 nanoseconds since the start of the profile. -1 in an id or a count = not known.
 * `id` is the primary key: given by the producer of the row, from 1, rising within its table.
 * References (process, thread, stream, device) are ids of those tables. A `correlation` is
 * unique within its process and links api rows to the kernels, copies, memsets and syncs that
 * they caused; 0 = none. */
#ifndef GPUPROF_PROFILE_ROWS_H
#define GPUPROF_PROFILE_ROWS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum row_kind {
    ROW_META,
    ROW_PROCESS,
    ROW_THREAD,
    ROW_DEVICE,
    ROW_STREAM,
    ROW_KERNEL,
    ROW_COPY,
    ROW_MEMSET,
    ROW_API,
    ROW_SYNC,
    ROW_EVENT,
    ROW_OVERHEAD,
    ROW_RANGE,
    ROW_CALL,
    ROW_LOADER,
    ROW_COLLECTIVE,
    ROW_HOST_SAMPLE,
    ROW_GPU_SAMPLE,
    ROW_HEALTH,
    ROW_RECORDED,
    ROW_STEP_BLOCK,
    ROW_STACK,
    ROW_STACK_SAMPLE,
    ROW_LAUNCH_LINE,
    ROW_ALLOCATION,
    ROW_KINDS
};

/* A fact about the whole profile (process = 0) or about one process.
 * docs/profile.md lists the keys. */
#define IMPORT_FILE_KEY                                                                            \
    "import.file" /* of a process: number of the imported file that it came from, from 0 */
struct row_meta {
    int64_t id, process;
    uint32_t key, value;
};

struct row_process {
    int64_t id, pid, ppid;
    int64_t rank, local_rank, world_size;
    int64_t start_ns, end_ns; /* of the recording of this process */
    uint32_t command, host;
    int64_t sealed; /* 1 ended normally, 0 killed or still running, -1 does not apply */
};

struct row_thread {
    int64_t id, process, tid;
    uint32_t name;
};

struct row_device {
    int64_t id, process, ordinal;
    uint32_t name, uuid;
    int64_t is_virtual; /* 1: the virtual GPU; times on it are modelled, not measured */
    int64_t cc_major, cc_minor, sm_count, clock_khz;
    int64_t memory_bytes, memory_bytes_per_s, l2_bytes, copy_engines;
};

enum stream_flags { STREAM_LEGACY_DEFAULT = 1, STREAM_NON_BLOCKING = 2, STREAM_PER_THREAD = 4 };

struct row_stream {
    int64_t id, process, device, context;
    int64_t stream; /* CUPTI's number of the stream */
    int64_t flags;  /* enum stream_flags; -1 = not known */
    int64_t priority;
};

struct row_kernel {
    int64_t id, process, stream;
    int64_t start_ns, end_ns;
    uint32_t name; /* as recorded, mangled or not */
    int64_t correlation;
    int64_t grid_x, grid_y, grid_z, block_x, block_y, block_z;
    int64_t registers, smem_static, smem_dynamic;
    int64_t graph, graph_node; /* CUPTI's numbers; 0 = not part of a CUDA graph */
};

/* Values are those of CUPTI. */
enum copy_kind { COPY_H2D = 1, COPY_D2H = 2, COPY_D2D = 8, COPY_H2H = 9, COPY_P2P = 10 };
enum memory_kind {
    MEMORY_UNKNOWN,
    MEMORY_PAGEABLE,
    MEMORY_PINNED,
    MEMORY_DEVICE,
    MEMORY_ARRAY,
    MEMORY_MANAGED
};

struct row_copy {
    int64_t id, process, stream;
    int64_t start_ns, end_ns;
    int64_t correlation;
    int64_t kind;               /* enum copy_kind */
    int64_t src_kind, dst_kind; /* enum memory_kind; -1 = not known */
    int64_t bytes;
    int64_t is_async;    /* 1 yes, 0 no, -1 not known */
    int64_t peer_device; /* of a P2P copy: ordinal of the other GPU; else -1 */
    int64_t graph, graph_node;
};

struct row_memset {
    int64_t id, process, stream;
    int64_t start_ns, end_ns;
    int64_t correlation, bytes, value;
    int64_t graph, graph_node;
};

struct row_api {
    int64_t id, process, thread;
    int64_t start_ns, end_ns;
    uint32_t name; /* without a version suffix: cudaLaunchKernel, cuLaunchKernel, ... */
    int64_t correlation;
    int64_t layer;  /* 0 runtime, 1 driver */
    int64_t result; /* the error code that the call returned, 0 = success */
};

/* Values are those of CUPTI. */
enum sync_type { SYNC_EVENT = 1, SYNC_STREAM_WAIT_EVENT = 2, SYNC_STREAM = 3, SYNC_CONTEXT = 4 };

struct row_sync {
    int64_t id, process;
    int64_t start_ns, end_ns;
    int64_t type;       /* enum sync_type */
    int64_t stream;     /* id, or -1 */
    int64_t event;      /* CUPTI's event id, or -1 */
    int64_t event_sync; /* unique number of the recording that it waits for, or -1 */
    int64_t correlation;
};

/* A cudaEventRecord in its stream. */
struct row_event {
    int64_t id, process, stream;
    int64_t event, event_sync, correlation;
    int64_t device_ns; /* when the GPU reached it, or -1 */
};

struct row_overhead { /* time that the profiler and the driver cost the program */
    int64_t id, process, thread;
    int64_t start_ns, end_ns;
    uint32_t name; /* lazy-loading, command-buffer-full, buffer-flush, ... */
};

/* Ranges of this domain are calls of the operating system's libraries in which a thread waited or
 * read: poll, pthread_cond_wait, read. */
#define OS_DOMAIN     "os runtime"
/* Ranges of this domain are long CUDA calls together with the program's line that makes them: "sync
 * cudaStreamSynchronize() train.c:211 (train_step)". */
#define CALLER_DOMAIN "caller"
struct row_range {
    int64_t id, process, thread;
    int64_t start_ns, end_ns;
    uint32_t name, domain;
    int64_t depth; /* 0 = outermost */
    int64_t payload;
    uint32_t shapes; /* shapes of an operator's inputs: "64 x 3 x 224 x 224 float, ..." */
};

/* A cuBLAS, cuDNN or framework call with its shapes. wire/spool_format.h has the enumerations. */
struct row_call {
    int64_t id, process, thread;
    int64_t start_ns, end_ns;
    uint32_t function;
    int64_t family, in_type, weight_type, out_type, compute_type, in_layout, weight_layout, math;
    int64_t algo, workspace_bytes;
    int64_t dim[12];
};

struct row_loader {
    int64_t id, process, thread;
    int64_t start_ns, end_ns;
    int64_t what;          /* enum spool_loader_kind */
    int64_t worker, batch; /* worker: its number, -1 = the training process;
                              batch: number of the loader */
    int64_t cpu_ns;
};

struct row_collective {
    int64_t id, process, thread; /* the calling thread, or -1 */
    int64_t start_ns, end_ns;    /* of the call on the host */
    uint32_t name;               /* AllReduce, AllGather, ... */
    int64_t kernel;              /* id of the kernel that ran it, or -1 */
    int64_t communicator, sequence, bytes, dtype, ranks;
    int64_t rank, root;  /* the caller's rank; root or peer rank; -1 = none */
    uint32_t group_name; /* the program's name for the communicator, 0 = not known */
};

struct row_host_sample {
    int64_t id, process, thread;
    int64_t time_ns, cpu_ns, run_queue_ns, io_wait_ns, major_faults, storage_bytes, read_bytes;
};

struct row_gpu_sample {
    int64_t id, device;
    int64_t time_ns, util_pct, memory_used_bytes, sm_clock_mhz, memory_clock_mhz, power_mw;
    int64_t temperature_c, throttle_reasons, pcie_tx_bytes_per_s, pcie_rx_bytes_per_s;
};

struct row_health {
    int64_t id, process;
    int64_t severity; /* 0 info, 1 warning, 2 error */
    uint32_t code, text;
    int64_t value;
};

/* A window of a process in which everything was recorded. Without such rows the whole process was
 * recorded. Host records lie in [start, end). GPU records start at gpu_start (-1: work queued
 * before the window may have run unseen) and reach to gpu_end, because queued work runs on. */
struct row_recorded {
    int64_t id, process;
    int64_t start_ns, end_ns, gpu_start_ns, gpu_end_ns;
    /* number of the step that begins at start_ns, counted from 1; another step begins at end_ns. 0:
     * the window begins before the first step; -1: the window is not cut at steps */
    int64_t first_step;
};

/* Steps of the run, recorded in full or not. Neighbouring steps are summed up, so that
 * there are never many rows. */
struct row_step_block {
    int64_t id, process;
    int64_t first_step, steps; /* number of the first step, from 1; number of steps */
    int64_t start_ns, end_ns;
    int64_t min_ns, max_ns; /* shortest and longest step, from its start to the next one's start */
};

/* A frame of a sampled Python stack, linked to its caller. The id of the innermost frame
 * stands for the whole stack. */
struct row_stack {
    int64_t id, caller; /* id of the caller's row, 0 = none; always smaller than id */
    uint32_t file, function;
    int64_t line;    /* 0 = not known */
    uint32_t source; /* string id of the line's text, for the user's own code; 0 = not known */
};

/* What a thread did when the recorder looked at it from outside. One row covers several looks if
 * the thread did not run between them. */
enum stack_state { STACK_ASLEEP, STACK_RUNNING, STACK_READY, STACK_DISK };
struct row_stack_sample {
    int64_t id, process, thread;
    int64_t start_ns, end_ns; /* time of the first and of the last look */
    int64_t looks;
    int64_t state; /* enum stack_state */
    uint32_t call; /* string id of the system call it sleeps in: futex, wait4,
                      nanosleep; 0 = not known */
    int64_t stack; /* id, 0 = it runs no Python */
};

/* From start_ns on the thread launches from this line, until its next row. Lines are recorded
 * only in stretches, mostly of one step: a row with SPOOL_LINE_STRETCH says from when to
 * when, for all threads. */
struct row_launch_line {
    int64_t id, process, thread; /* thread -1 for a stretch */
    int64_t start_ns, end_ns;    /* end_ns -1 for a line */
    int64_t stretch;             /* number of the stretch within the process, from 1 */
    int64_t what;                /* enum spool_line */
    int64_t stack;               /* id, 0 = none */
};

/* A piece of the GPU's memory that a framework's allocator gave out or took back. */
struct row_allocation {
    int64_t id, device, thread; /* thread: that asked */
    int64_t time_ns;
    int64_t bytes; /* below 0: taken back */
    int64_t address;
    int64_t in_use_bytes; /* all that is given out then; -1 = not known */
    int64_t held_bytes;   /* with what the allocator keeps free; -1 = not known */
    int64_t stack;        /* id: the line that asked; 0 or -1 = not recorded */
};

/* ---- results of the analysis, kept with the profile ---- */

enum derived_kind { DERIVED_STEP, DERIVED_GAP, DERIVED_FINDING, DERIVED_TRIAL, DERIVED_KINDS };

struct row_step { /* one per step; the parts sum to to_ns - from_ns */
    int64_t id, start_ns, end_ns, used, from_ns, to_ns;
    int64_t compute_ns, comm_exposed_ns, copy_exposed_ns, idle_input_ns, idle_copy_ns;
    int64_t idle_sync_ns, idle_launch_ns, idle_alloc_ns, idle_host_ns, idle_queued_ns,
        unexplained_ns;
};

struct row_gap {      /* one per idle stretch of the GPU */
    int64_t id, step; /* id of the step, -1 outside all steps */
    int64_t start_ns, end_ns;
    uint32_t cause;      /* the part with the largest share: idle_input, ... */
    uint32_t api, range; /* names of the call and of the innermost range that it is charged to */
};

struct row_finding {
    int64_t id, rank;                                  /* 1 = the best */
    uint32_t rule, title, summary, kind;               /* kind: predicted, upper-bound */
    int64_t saves_low_ns, saves_mid_ns, saves_high_ns; /* saved per step */
};

struct row_trial { /* a rerun with the advice applied */
    int64_t id;
    uint32_t setting, verdict;
    int64_t predicted_low_ns, predicted_mid_ns, predicted_high_ns;
    int64_t measured_low_ns, measured_mid_ns, measured_high_ns;
    uint32_t rule;
    int64_t step_ns, runs_without, runs_with, tried_realtime_ns;
    int64_t own_low_ns, own_high_ns; /* predicted, before past trials widened the interval */
};

/* Where an importer puts what it reads; the store and the timeline are sinks. intern: the id of a
 * text (0 for the empty text); STR_NONE: the sink failed. put: adds one row; `row` is the struct of
 * `kind`, and is copied. -1 with *e set: the sink failed. The importer must then stop. */
struct sink {
    void *self;
    uint32_t (*intern)(void *self, const char *s, size_t n);
    int (*put)(void *self, enum row_kind kind, const void *row, struct err *e);
    /* Unix ns of the profile's time 0; 0 = not chosen yet. The first importer sets it;
     * later ones of the same profile (other ranks) subtract the same value, so rows may
     * have small negative times. */
    int64_t epoch_ns;
};

#endif
