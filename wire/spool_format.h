/* The spool: what the agent writes inside the target and the collector reads outside it.
 *
 * There is one file per process. Both map it MAP_SHARED, so that what was stored is still there
 * after the target is killed. It contains no pointers, except those that CUPTI itself wrote into
 * its buffers.
 *
 *   header | buffer descriptors | ring headers | name table | strings | buffers | rings
 *
 * Rules. The target only appends: it never parses, never blocks, never waits for the reader. If
 * there is no room, it drops the record and counts it. Each word shared by both sides is atomic and
 * is written by only one of them, except buffer_desc.state, which passes a buffer back and forth
 * (state machine below).
 *
 * Clocks. Records in rings have CLOCK_MONOTONIC nanoseconds; CUPTI's have its own clock (by default
 * CLOCK_REALTIME). `anchors` relate the two and show when the real-time clock was set.
 *
 * The file is sparse: only what is in use has disk blocks (the target adds buffers, rings and
 * strings as it needs them). A reader reads descriptors, counts and offsets first, and touches
 * nothing else. */
#ifndef GPUPROF_WIRE_SPOOL_FORMAT_H
#define GPUPROF_WIRE_SPOOL_FORMAT_H

#include "wire/call_types.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_MAGIC         "GPUPSPL" /* 8 bytes with its NUL; written when the rest is ready */
#define SPOOL_VERSION       4u
/* Name of the file in $GPUPROF_DIR: <pid>-<start ticks>.spool, or <pid>-<start ticks>-N.spool for
 * the Nth program that a process runs by exec (pid and start_ticks in the header have the same
 * values). A process that could not make a spool leaves an empty file <pid>-<start
 * ticks>.<errno>.failed, if it can. */
#define SPOOL_SUFFIX        ".spool"
#define SPOOL_FAILED_SUFFIX ".failed"

enum {
    SPOOL_PAGE = 4096,     /* the smallest page of a kernel */
    SPOOL_ALIGN = 1 << 16, /* the largest: each part of the file gets room in whole pages */
    SPOOL_STRIDES = 128,   /* CUPTI activity kinds below this have a known record size */
    SPOOL_WINDOWS = 64,    /* windows recorded in full, kept as a ring */
    SPOOL_COMMS = 64,      /* communicators of which the newest collective is kept */
    SPOOL_ANCHORS = 1024,  /* clock anchors, kept as a ring; a late reader loses the oldest */
    SPOOL_BUFFER_BYTES = 1 << 20,
    SPOOL_RING_BYTES = 1 << 20, /* bytes of data in one ring; a power of two */
};

enum spool_counter {
    SPOOL_CUPTI_DROPPED, /* dropped by CUPTI: cuptiActivityGetNumDroppedRecords */
    /* Requests for a buffer when none was free; the records lost are counted in SPOOL_CUPTI_DROPPED
     * (from API 27 on), else in SPOOL_DISCARDED. */
    SPOOL_BUFFER_STARVED,
    SPOOL_RING_FULL,    /* records not written: the reader is too slow, and no other ring is left */
    SPOOL_NO_RING,      /* records not written: more threads than rings */
    SPOOL_STRINGS_FULL, /* strings not added; their records have string id 0 */
    SPOOL_NAMES_FULL,   /* kernel names not added */
    SPOOL_BUFFERS_LOST, /* completed buffers of unknown origin (another client took over) */
    SPOOL_SELF_NS,      /* CPU time of the agent's own thread, in ns */
    SPOOL_DISCARDED,    /* records of CUPTI for which the spool had no room */
    SPOOL_TOO_DEEP,     /* ranges not written: nested too deeply */
    SPOOL_RINGS_LEFT,   /* full rings that a thread has left for another one; no loss */
    SPOOL_CUPTI_UNASKED, /* dropped like SPOOL_CUPTI_DROPPED, but outside of a window: no loss */
    SPOOL_BUFFERS_MADE,  /* no loss: how many buffers, from the first one on, got disk space */
    SPOOL_COUNTERS = 16
};

enum spool_control {
    SPOOL_RUN = 0,
    SPOOL_STOP = 1,  /* the collector asks the agent to become passive: no new records */
    SPOOL_PAUSE = 2, /* ... to record only step marks, until it asks for SPOOL_RUN */
};

/* Which windows of the run a process records in full ($GPUPROF_WINDOW). */
enum spool_window_plan {
    SPOOL_WINDOWS_ALL,      /* the whole run is one window */
    SPOOL_WINDOWS_EVERY,    /* a few steps, again and again */
    SPOOL_WINDOWS_STEPS,    /* from one step to another */
    SPOOL_WINDOWS_PROFILER, /* from cudaProfilerStart to cudaProfilerStop */
    /* Until enough of a steady loop is recorded, then a few steps now and then. LIGHT: the first
     * window is one of a few steps as well, and begins once the loop is steady. */
    SPOOL_WINDOWS_STEADY,
    SPOOL_WINDOWS_LIGHT
};

/* A window recorded in full. Times are CLOCK_MONOTONIC; INT64_MAX: it is still open. GPU work that
 * was queued in it is recorded until gpu_to_ns. gpu_to_ns is stored before to_ns (release). */
struct spool_window {
    _Atomic int64_t from_ns, to_ns, gpu_to_ns;
    _Atomic uint64_t first_step; /* number of the step that began it; 0: before the first mark */
};

/* Between two looks, adjustments change the real-time clock by less than this; if it changes by
 * more, it was set. */
#define SPOOL_CLOCK_STEP_NS INT64_C(1000000)

/* One reading of all clocks, the best of several. All times in ns. */
struct spool_anchor {
    int64_t monotonic_ns;
    int64_t realtime_ns;
    int64_t cupti_ns;   /* cuptiGetTimestamp; 0: CUPTI does not run */
    int64_t bracket_ns; /* time between the first and the last clock that was read */
};

/* How far a rank is on one communicator; kept up to date also while nothing is recorded. `begun` is
 * stored last (release). A call that has begun and not ended is inside the library. */
struct spool_comm {
    _Atomic uint64_t key; /* of the entry; 0: free */
    /* The communicator's number, the same for all its ranks; 0: not filled yet. */
    _Atomic uint64_t comm;
    _Atomic int32_t rank, ranks; /* -1: unknown */
    _Atomic uint64_t begun, ended;
    _Atomic int64_t begun_ns;  /* of the newest call, CLOCK_MONOTONIC */
    _Atomic uint32_t function; /* string id; 0: unknown */
    /* 1: it also sends and receives, so its ranks make different numbers of calls. */
    _Atomic uint32_t in_pairs;
};

struct spool_header {
    char magic[8];
    uint32_t version;
    /* sizeof(struct spool_header), by which older readers see that it differs. */
    uint32_t header_bytes;
    uint64_t file_bytes;
    int32_t pid, ppid;
    /* Field 22 of /proc/PID/stat: distinguishes processes that had the same pid. */
    uint64_t start_ticks;
    int64_t start_monotonic_ns; /* when the spool was made */
    int64_t start_realtime_ns;

    uint64_t descs_off, rings_off, names_off, strings_off, buffers_off, ring_data_off;
    uint32_t buffer_count, buffer_bytes; /* the buffers for CUPTI */
    uint32_t ring_count, ring_bytes;
    uint32_t names_cap, anchors_cap;
    uint64_t strings_cap; /* in bytes */

    uint32_t cupti_version;         /* cuptiGetVersion; 0: CUPTI records nothing */
    uint32_t stride[SPOOL_STRIDES]; /* size of a record by kind, found by trying; 0: unknown */

    /* 1: the process has ended in good order, and all records are written. */
    _Atomic uint32_t sealed;
    /* 1: the agent has turned itself off (a SPOOL_REC_HEALTH record says why) */
    _Atomic uint32_t passive;
    _Atomic uint32_t control;      /* enum spool_control; the collector writes it */
    _Atomic uint32_t wake;         /* futex word: the target adds 1 when a buffer becomes READY */
    _Atomic uint64_t strings_used; /* bytes of the string table in use */
    _Atomic uint32_t names_used;
    _Atomic uint32_t anchors_head; /* anchors written so far; slot = index % anchors_cap */
    _Atomic uint64_t counter[SPOOL_COUNTERS];
    uint32_t window;               /* enum spool_window_plan */
    _Atomic uint32_t windows_head; /* windows opened so far; slot = index % SPOOL_WINDOWS */
    _Atomic uint32_t thin;  /* by the collector: pauses between windows are 2^thin times as long */
    _Atomic uint32_t full;  /* by the collector: 1: take no more of the disk */
    _Atomic uint64_t steps; /* step marks counted; only where there are windows */
    _Atomic uint32_t rings_used; /* rings from this index on were never used */
    struct spool_window windows[SPOOL_WINDOWS];
    struct spool_comm comms[SPOOL_COMMS];
    struct spool_anchor anchors[SPOOL_ANCHORS];
};

/* ---- CUPTI's buffers ---- */

/* FREE -(agent: request)-> OWNED -(CUPTI: completed)-> COMPLETE -(agent: names added)-> READY
 * READY -(collector: parsed and zeroed)-> FREE. A FREE buffer is all zero. So a reader that takes
 * over a dead target parses OWNED and COMPLETE buffers up to the first record of kind 0.
 * On a full disk: FREE or READY -(collector)-> GONE; the agent never uses that buffer again. */
enum spool_buffer_state { SPOOL_FREE, SPOOL_OWNED, SPOOL_COMPLETE, SPOOL_READY, SPOOL_GONE };

struct spool_buffer_desc {
    _Atomic uint32_t state;       /* enum spool_buffer_state */
    uint32_t tid;                 /* thread that requested it */
    _Atomic uint64_t valid_bytes; /* set when CUPTI completes it */
    _Atomic uint64_t seq;         /* number of the request */
};

/* Names to which CUPTI's records point (kernel and device names lie in the target's memory). If a
 * pointer has several entries, the one with the highest index holds. `string` is an id of the
 * string table. */
struct spool_name {
    uint64_t pointer;
    uint32_t string;
    uint32_t unused;
};

/* Append-only; each entry is 8-byte aligned: struct spool_string, bytes, NUL, padding. A string's
 * id is its offset / 8. Offset 0 holds the empty string, so id 0 means none. `length` is stored
 * last (release), and is 0 for a finished entry only if its id is 0. */
struct spool_string {
    _Atomic uint32_t length;
    uint32_t hash;
};

/* CLOSED: the thread has ended. LEFT: the ring was full, and its thread goes on in the ring
 * `next`. */
enum spool_ring_state { SPOOL_RING_FREE, SPOOL_RING_OPEN, SPOOL_RING_CLOSED, SPOOL_RING_LEFT };

/* One thread writes, one process reads. head and tail count bytes and never go back; position =
 * count % ring_bytes. A record never crosses the end: a SPOOL_REC_PAD fills the rest (it may be as
 * small as 8 bytes: then it has only kind, size and tid). The ring is full if head - tail + size >
 * ring_bytes. The collector frees a CLOSED ring once it has read all of it; before that, the next
 * thread may take the ring and go on behind the records in it.
 *
 * A thread whose ring is full goes on in a FREE one. It stores `after` there and `next` here, then
 * LEFT (release), and never writes here again. So that a thread's records come in their order, the
 * collector reads no ring while its `after` is set. When it has read all of a LEFT ring, it frees
 * it and then clears `after` of the `next` one. It loads head (acquire) before `after`. */
struct spool_ring {
    _Atomic uint32_t state;
    _Atomic uint32_t tid;
    _Atomic uint64_t head;        /* stored (release) by the thread once the record is complete */
    _Atomic uint64_t tail;        /* stored (release) by the collector */
    _Atomic uint32_t after, next; /* index + 1 of a ring; 0: none */
    uint8_t pad[32];
};

enum spool_rec_kind {
    SPOOL_REC_PAD = 1,
    SPOOL_REC_META,   /* struct spool_rec_meta: a fact about the process */
    SPOOL_REC_HEALTH, /* struct spool_rec_health: what gpuprof could not do, and why */
    SPOOL_REC_RANGE,  /* struct spool_rec_range: an NVTX range that has ended */
    SPOOL_REC_CALL,   /* struct spool_rec_call: a library call with shapes */
    SPOOL_REC_LOADER, /* struct spool_rec_loader: data loading, from a framework's hook */
    SPOOL_REC_THREAD, /* struct spool_rec_meta with key = name of the thread */
    SPOOL_REC_STEP,   /* struct spool_rec_range: a range that counts as a step mark */
    /* Struct spool_rec_silent: CUPTI reported nothing while the program went on. */
    SPOOL_REC_SILENT,
    /* Struct spool_rec_stack: the stack that made a long call of CUDA, which the collector
     * unwinds. */
    SPOOL_REC_STACK,
    SPOOL_REC_LINE, /* struct spool_rec_line: the line from which a thread launches work */
    /* Struct spool_rec_call between windows: a search for an algorithm, whose result is used from
     * then on. */
    SPOOL_REC_SEARCH,
    SPOOL_REC_PIECE, /* struct spool_rec_piece: memory that a framework's allocator gave out */
};

/* Head of every record. size is that of the whole record, and a multiple of 8. */
struct spool_rec {
    uint16_t kind;
    uint16_t size;
    uint32_t tid;
    int64_t start_ns; /* CLOCK_MONOTONIC */
    int64_t end_ns;
};

struct spool_rec_meta {
    struct spool_rec head;
    uint32_t key, value; /* string ids */
};

/* Keys of META records (if a key occurs several times, the last one holds):
 *   command          its arguments, each ended by a NUL
 *   exe, rank, local_rank, world_size, libcupti (its path), env.NAME (a short list, about.c)
 *   LIBRARY_version  of driver, runtime, cupti, cudnn, cublas, nccl, as they number themselves
 *   cost.range_ns, cost.call_ns  what one range, one library call costs the target, as measured
 *   cbid.LAYER.N     name of the API function N of LAYER (runtime, driver), without CUPTI's
 *                    _vNNNN; written before the first buffer that mentions N becomes READY */

enum spool_severity { SPOOL_INFO, SPOOL_WARNING, SPOOL_ERROR };
struct spool_rec_health {
    struct spool_rec head;
    uint32_t code;     /* string id: a short word that never changes, such as "cupti-subscriber" */
    uint32_t text;     /* string id: one sentence for the user, with the remedy */
    uint32_t severity; /* enum spool_severity */
    uint32_t unused;
    int64_t value; /* a count or an error number, depending on code */
};

/* A silence of CUPTI. It lasts from the agent's last look that found records to the next one that
 * did; end_ns INT64_MAX: it still lasts. The agent looks every SPOOL_LOOK_NS. A later record with
 * the same start_ns replaces this one. */
#define SPOOL_LOOK_NS INT64_C(1000000000)
struct spool_rec_silent {
    struct spool_rec head;
    uint32_t held;    /* 1: another client held CUPTI meanwhile */
    uint32_t stepped; /* 1: the program's steps went on meanwhile */
};

enum spool_range_flags { SPOOL_RANGE_STARTEND = 1, SPOOL_RANGE_MARK = 2 };

struct spool_rec_range {
    struct spool_rec head;
    uint32_t name, domain; /* string ids */
    uint16_t depth;        /* 0: outermost open push on this thread (counting all domains) */
    uint16_t flags;
    uint32_t color;
    uint64_t payload; /* as the program gave it; in NCCL's domain: bytes of the collective */
};

/* dim by family: GEMM m,n,k,batch,transa,transb; CONV n,c,h,w,k,r,s,stride,pad,dilation,groups;
 * COLLECTIVE ranks, own rank, root or peer (-1: unknown); others n,c,h,w. 0: unknown. */
struct spool_rec_call {
    struct spool_rec head;
    uint32_t function; /* string id, such as cudnnConvolutionForward */
    uint8_t family;    /* enum spool_call_family */
    uint8_t in_type, weight_type, out_type, compute_type; /* enum spool_dtype */
    uint8_t in_layout, weight_layout;                     /* enum spool_layout */
    uint8_t math;                                         /* enum spool_math */
    int32_t algo; /* the library's number of the algorithm; -1: not given */
    int32_t dim[12];
    int64_t bytes;     /* of the workspace for CONV, of the message for COLLECTIVE */
    uint64_t comm;     /* communicator of a COLLECTIVE, otherwise 0 */
    uint64_t sequence; /* of a COLLECTIVE: its number on the communicator */
};

enum spool_loader_kind {
    SPOOL_LOADER_WAIT,  /* the training thread waits for a batch */
    SPOOL_LOADER_FETCH, /* a worker makes a batch */
    SPOOL_LOADER_COLLATE,
    SPOOL_LOADER_PIN,
    SPOOL_LOADER_BEGIN, /* a loop over the loader begins, and its workers start */
    SPOOL_LOADER_END    /* no batch is left, and the loader's workers stop */
};

struct spool_rec_loader {
    struct spool_rec head;
    uint32_t what;  /* enum spool_loader_kind */
    int32_t worker; /* -1: the training process itself */
    int64_t loader; /* the loader's number in the process, from 1; -1: unknown */
    int64_t cpu_ns; /* CPU time used meanwhile; -1: unknown */
};

/* A call of CUDA that took SPOOL_LONG_NS or more, and its thread's stack at its end. `stack` is a
 * number for the stack's return addresses. The first record of a number is followed by the stack's
 * bytes, from the stack pointer up; later ones have none. The registers are those at the lowest
 * byte (x86-64: rip rsp rbp rbx r12 r13 r14 r15). */
#define SPOOL_LONG_NS INT64_C(500000)
enum { SPOOL_STACK_BYTES = 16384, SPOOL_STACK_REGISTERS = 8 };
struct spool_rec_stack {
    struct spool_rec head;
    uint32_t correlation; /* CUPTI's correlation id of the call */
    uint32_t function;    /* string id, such as cudaStreamSynchronize */
    uint16_t layer;       /* 0 runtime, 1 driver */
    uint16_t bytes;       /* of the stack, which follow this struct */
    uint32_t unused;
    uint64_t stack; /* never 0 */
    uint64_t registers[SPOOL_STACK_REGISTERS];
};

/* In place of a module's name, once modules are known: the line runs in no call of one. */
#define SPOOL_NO_MODULE "outside a module"

/* From start_ns on the thread launches from this line, until its next record or the end of the
 * stretch. A stretch is a time, mostly of one step, in which the agent records lines; at its end, a
 * record SPOOL_LINE_STRETCH gives its begin and end. */
enum spool_line {
    SPOOL_LINE_STRETCH, /* a stretch, of all threads: no line */
    SPOOL_LINE_OWN,     /* the innermost line of the user's code on the thread's stack */
    /* In a backward pass: the line of the forward call that it goes back through. */
    SPOOL_LINE_FORWARD,
    /* In a backward pass without a known forward call: the line that called backward() */
    SPOOL_LINE_BACKWARD,
    SPOOL_LINE_NONE, /* unknown */
    /* As SPOOL_LINE_FORWARD, in a part of the pass of which the hook says that nobody uses what it computes. */
    SPOOL_LINE_UNUSED,
    SPOOL_LINES
};
struct spool_rec_line {
    struct spool_rec head;
    uint32_t file, function; /* string ids */
    int32_t line;            /* 0: unknown */
    uint16_t what;           /* enum spool_line */
    uint16_t unused;
    uint32_t stretch; /* number of the stretch in the process, from 1 */
    uint32_t module;  /* string id of the module that runs, such as "blocks.0 (Block)"; 0: none */
};

/* A piece of the GPU's memory that a framework's allocator gave out at start_ns, or took back. */
struct spool_rec_piece {
    struct spool_rec head;
    int64_t bytes; /* that the program asked for; below 0: taken back */
    int64_t address;
    int64_t in_use, held;    /* bytes then, of all pieces; by the allocator */
    uint32_t file, function; /* string ids of the program's line that asked; 0: unknown */
    int32_t line;
    uint32_t device; /* CUDA's number in the process */
};

#define SPOOL_ASSERT(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " changed size")
SPOOL_ASSERT(struct spool_anchor, 32);
SPOOL_ASSERT(struct spool_comm, 56);
SPOOL_ASSERT(struct spool_buffer_desc, 24);
SPOOL_ASSERT(struct spool_name, 16);
SPOOL_ASSERT(struct spool_string, 8);
SPOOL_ASSERT(struct spool_ring, 64);
SPOOL_ASSERT(struct spool_rec, 24);
SPOOL_ASSERT(struct spool_rec_meta, 32);
SPOOL_ASSERT(struct spool_rec_health, 48);
SPOOL_ASSERT(struct spool_rec_silent, 32);
SPOOL_ASSERT(struct spool_rec_range, 48);
SPOOL_ASSERT(struct spool_rec_call, 112);
SPOOL_ASSERT(struct spool_rec_loader, 48);
SPOOL_ASSERT(struct spool_rec_stack, 112);
SPOOL_ASSERT(struct spool_rec_line, 48);
SPOOL_ASSERT(struct spool_rec_piece, 72);
#undef SPOOL_ASSERT

#endif
