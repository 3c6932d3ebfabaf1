/* The spool: what the agent writes inside the target and the collector reads outside it.
 *
 * One file per process, MAP_SHARED by both, so that whatever was stored is still there after the
 * target is killed. Nothing in it is a pointer except what CUPTI itself wrote into its buffers.
 *
 *   header | buffer descriptors | ring headers | name table | strings | buffers | rings
 *
 * Rules. The target only appends: it never parses, never blocks, never waits for the reader. No
 * room means a counted drop. Each word shared by both sides is atomic and is written by one side
 * only, except buffer_desc.state, which hands a buffer back and forth (state machine below).
 *
 * Clocks. Ring records are CLOCK_MONOTONIC nanoseconds, CUPTI's have its own clock (by default
 * CLOCK_REALTIME); `anchors` relate the two and show when the real-time clock was stepped.
 *
 * The file is sparse: only what is in use has disk blocks (buffers, rings and strings are added as
 * the target needs them). Read descriptors, counts and offsets first, and touch nothing else.
 */
#ifndef GPUPROF_WIRE_SPOOL_FORMAT_H
#define GPUPROF_WIRE_SPOOL_FORMAT_H

#include "wire/call_types.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_MAGIC         "GPUPSPL" /* 8 bytes with its terminator; written when the rest is ready */
#define SPOOL_VERSION       4u
/* File name in $GPUPROF_DIR: <pid>-<start ticks>.spool, or <pid>-<start ticks>-N.spool for the Nth
 * image that one process runs by exec (pid and start_ticks in the header say the same). A process
 * that could not make one leaves an empty file <pid>-<start ticks>.<errno>.failed, if it can. */
#define SPOOL_SUFFIX        ".spool"
#define SPOOL_FAILED_SUFFIX ".failed"

enum {
    SPOOL_PAGE = 4096,     /* the smallest page of a kernel */
    SPOOL_ALIGN = 1 << 16, /* the largest: each part of the file gets room in whole pages */
    SPOOL_STRIDES = 128,   /* CUPTI activity kinds below this have a learnt record size */
    SPOOL_WINDOWS = 64,    /* ring of windows recorded in full */
    SPOOL_COMMS = 64,      /* communicators whose newest collective is known */
    SPOOL_ANCHORS = 1024,  /* ring of clock anchors; the reader keeps up or loses the oldest */
    SPOOL_BUFFER_BYTES = 1 << 20,
    SPOOL_RING_BYTES = 1 << 20, /* data bytes of one ring; a power of two */
};

enum spool_counter {
    SPOOL_CUPTI_DROPPED,  /* records dropped as reported by cuptiActivityGetNumDroppedRecords */
    SPOOL_BUFFER_STARVED, /* buffer requests without a free one; the records that this lost are in
                             SPOOL_CUPTI_DROPPED (from API 27 on), else in SPOOL_DISCARDED */
    SPOOL_RING_FULL,      /* ring records not written: reader too slow, and no other ring left */
    SPOOL_NO_RING,        /* ring records not written: more threads than rings */
    SPOOL_STRINGS_FULL,   /* strings not interned; the record carries string id 0 */
    SPOOL_NAMES_FULL,     /* kernel names not interned */
    SPOOL_BUFFERS_LOST,   /* completed buffers that are not ours (another client took over) */
    SPOOL_SELF_NS,        /* CPU ns spent in the agent's own thread */
    SPOOL_DISCARDED,      /* records of CUPTI's that found no room in the spool */
    SPOOL_TOO_DEEP,       /* ranges not written: nested too deep */
    SPOOL_RINGS_LEFT,     /* full rings that a thread has left for another one; no loss */
    SPOOL_CUPTI_UNASKED,  /* records dropped like SPOOL_CUPTI_DROPPED, but outside of a window */
    SPOOL_BUFFERS_MADE,   /* no loss: how many buffers, from the first one on, got disk space */
    SPOOL_COUNTERS = 16
};

enum spool_control {
    SPOOL_RUN = 0,
    SPOOL_STOP = 1,  /* collector asks the agent to go passive: no new records */
    SPOOL_PAUSE = 2, /* ... to record step marks alone, until it says SPOOL_RUN */
};

/* By what a process records windows of the run in full ($GPUPROF_WINDOW). */
enum spool_window_plan {
    SPOOL_WINDOWS_ALL,     /* all of it is one */
    SPOOL_WINDOWS_EVERY,   /* some steps now and then */
    SPOOL_WINDOWS_STEPS,   /* from one step to another */
    SPOOL_WINDOWS_PROFILER /* from cudaProfilerStart to cudaProfilerStop */
};

/* A window recorded in full, CLOCK_MONOTONIC; INT64_MAX: it lasts. Work that was queued in it is
 * recorded until gpu_to_ns. gpu_to_ns is stored before to_ns (release). */
struct spool_window {
    _Atomic int64_t from_ns, to_ns, gpu_to_ns;
    _Atomic uint64_t first_step; /* number of the step that began it; 0 = before the first mark */
};

/* The real-time clock is slewed by less than this between two looks, or it was set. */
#define SPOOL_CLOCK_STEP_NS INT64_C(1000000)

/* One sample of the clocks, taken together (best of several brackets). All ns. */
struct spool_anchor {
    int64_t monotonic_ns;
    int64_t realtime_ns;
    int64_t cupti_ns;   /* cuptiGetTimestamp; 0 = CUPTI not running */
    int64_t bracket_ns; /* how far apart the first and last of the samples were */
};

/* How far a rank is on one communicator, also while nothing is recorded. `begun` is stored last
 * (release). Calls that are begun and not ended are inside the library. */
struct spool_comm {
    _Atomic uint64_t key;  /* of the entry; 0 = free */
    _Atomic uint64_t comm; /* number of the communicator, the same for its ranks; 0 = not filled */
    _Atomic int32_t rank, ranks; /* -1 = not known */
    _Atomic uint64_t begun, ended;
    _Atomic int64_t begun_ns;  /* of the newest call, CLOCK_MONOTONIC */
    _Atomic uint32_t function; /* string id; 0 = not known */
    _Atomic uint32_t in_pairs; /* 1: it also sends and receives, so ranks differ in their counts */
};

struct spool_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes; /* sizeof(struct spool_header): older readers can tell */
    uint64_t file_bytes;
    int32_t pid, ppid;
    uint64_t start_ticks;       /* field 22 of /proc/PID/stat: tells a reused pid apart */
    int64_t start_monotonic_ns; /* when the spool was made */
    int64_t start_realtime_ns;

    uint64_t descs_off, rings_off, names_off, strings_off, buffers_off, ring_data_off;
    uint32_t buffer_count, buffer_bytes; /* CUPTI arena */
    uint32_t ring_count, ring_bytes;
    uint32_t names_cap, anchors_cap;
    uint64_t strings_cap; /* bytes */

    uint32_t cupti_version;         /* cuptiGetVersion, 0 = it records nothing */
    uint32_t stride[SPOOL_STRIDES]; /* record size by kind, learnt by probing; 0 = unknown */

    _Atomic uint32_t sealed;  /* 1: the process ended in good order and flushed */
    _Atomic uint32_t passive; /* 1: the agent turned itself off (why: a SPOOL_REC_HEALTH record) */
    _Atomic uint32_t control; /* enum spool_control; written by the collector */
    _Atomic uint32_t wake;    /* futex word: bumped by the target when a buffer becomes READY */
    _Atomic uint64_t strings_used; /* bytes of the string table in use */
    _Atomic uint32_t names_used;
    _Atomic uint32_t anchors_head; /* anchors ever written; slot = index % anchors_cap */
    _Atomic uint64_t counter[SPOOL_COUNTERS];
    uint32_t window;               /* enum spool_window_plan */
    _Atomic uint32_t windows_head; /* windows ever opened; slot = index % SPOOL_WINDOWS */
    _Atomic uint32_t thin;  /* by the collector: the pauses between them are 2^thin times as long */
    _Atomic uint32_t full;  /* by the collector: 1 = take no more of the disk */
    _Atomic uint64_t steps; /* marks counted, while a window is there */
    _Atomic uint32_t rings_used; /* those behind have never been used */
    struct spool_window windows[SPOOL_WINDOWS];
    struct spool_comm comms[SPOOL_COMMS];
    struct spool_anchor anchors[SPOOL_ANCHORS];
};

/* ---- CUPTI arena ---- */

/* FREE -(agent: request)-> OWNED -(CUPTI: completed)-> COMPLETE -(agent: names interned)-> READY
 * READY -(collector: parsed and zeroed)-> FREE. A buffer is all zero while FREE, so a reader that
 * adopts a dead target parses OWNED and COMPLETE buffers up to the first record kind 0.
 * On a full disk: FREE or READY -(collector)-> GONE; the agent never uses that buffer again. */
enum spool_buffer_state { SPOOL_FREE, SPOOL_OWNED, SPOOL_COMPLETE, SPOOL_READY, SPOOL_GONE };

struct spool_buffer_desc {
    _Atomic uint32_t state;       /* enum spool_buffer_state */
    uint32_t tid;                 /* thread that asked for it */
    _Atomic uint64_t valid_bytes; /* set on completion */
    _Atomic uint64_t seq;         /* order of requests */
};

/* Names that CUPTI records point to (kernel and device names live in the target's heap). The entry
 * with the highest index wins for a pointer; `string` is an id of the string table. */
struct spool_name {
    uint64_t pointer;
    uint32_t string;
    uint32_t unused;
};

/* Append-only, each entry 8-byte aligned: struct spool_string, bytes, NUL, padding. A string's id
 * is its offset / 8. Offset 0 holds the empty string, so id 0 = none. `length` is stored last
 * (release) and is never 0 for a finished entry other than id 0. */
struct spool_string {
    _Atomic uint32_t length;
    uint32_t hash;
};

/* CLOSED: the thread has ended. LEFT: it was full, and its thread goes on in the ring `next`. */
enum spool_ring_state { SPOOL_RING_FREE, SPOOL_RING_OPEN, SPOOL_RING_CLOSED, SPOOL_RING_LEFT };

/* Single producer (one thread), single consumer. head and tail are byte counts that never wrap
 * back; position = count % ring_bytes. Records never straddle the end: a SPOOL_REC_PAD fills the
 * rest (it may be as small as 8 bytes: only kind, size and tid are there). Full when head - tail +
 * size > ring_bytes. The collector frees a CLOSED ring once drained; before that, the next thread
 * may take it and go on behind what is in it.
 *
 * A thread whose ring is full goes on in a FREE one. It stores `after` there and `next` here, then
 * LEFT (release), and never writes here again. So that a thread's records come in their order, the
 * collector reads no ring while its `after` is set. When it has drained a LEFT ring, it frees it
 * and then clears `after` of the `next` one. It loads head (acquire) before `after`.
 */
struct spool_ring {
    _Atomic uint32_t state;
    _Atomic uint32_t tid;
    _Atomic uint64_t head;        /* stored (release) by the thread after the record is complete */
    _Atomic uint64_t tail;        /* stored (release) by the collector */
    _Atomic uint32_t after, next; /* index + 1 of a ring; 0 = none */
    uint8_t pad[32];
};

enum spool_rec_kind {
    SPOOL_REC_PAD = 1,
    SPOOL_REC_META,   /* struct spool_rec_meta: a fact about the process */
    SPOOL_REC_HEALTH, /* struct spool_rec_health: what could not be done, and why */
    SPOOL_REC_RANGE,  /* struct spool_rec_range: an NVTX range that has ended */
    SPOOL_REC_CALL,   /* struct spool_rec_call: a library call with shapes */
    SPOOL_REC_LOADER, /* struct spool_rec_loader: data loading seen by a framework hook */
    SPOOL_REC_THREAD, /* struct spool_rec_meta with key = name of the thread */
    SPOOL_REC_STEP,   /* struct spool_rec_range: one that is a step mark, where they are counted */
    SPOOL_REC_SILENT, /* struct spool_rec_silent: CUPTI told nothing while the program went on */
    SPOOL_REC_STACK, /* struct spool_rec_stack: who called a long call of CUDA, for the collector to
                        unwind */
    SPOOL_REC_LINE,  /* struct spool_rec_line: the line from which a thread launches work */
};

/* Head of every record. size counts the whole record and is a multiple of 8. */
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

/* Keys of META records (the last one of a key counts):
 *   command          its words, each with a NUL behind it
 *   exe, rank, local_rank, world_size, libcupti (its path), env.NAME (a short list, about.c)
 *   LIBRARY_version  of driver, runtime, cupti, cudnn, cublas, nccl, as they number themselves
 *   cost.range_ns, cost.call_ns  what one range, one library call costs the target, as measured
 *   cbid.LAYER.N     name of the API function N of LAYER (runtime, driver), without the _vNNNN of
 *                    CUPTI; written before the first buffer that mentions N becomes READY */

enum spool_severity { SPOOL_INFO, SPOOL_WARNING, SPOOL_ERROR };
struct spool_rec_health {
    struct spool_rec head;
    uint32_t code;     /* string id: short stable word, e.g. "cupti-subscriber" */
    uint32_t text;     /* string id: one sentence for the user, with the cure */
    uint32_t severity; /* enum spool_severity */
    uint32_t unused;
    int64_t value; /* a count or an error number, by code */
};

/* From the look after the last record to the one that saw another; end_ns INT64_MAX: it lasts. The
 * agent looks every SPOOL_LOOK_NS. The same start_ns again: what is known of it by now. */
#define SPOOL_LOOK_NS INT64_C(1000000000)
struct spool_rec_silent {
    struct spool_rec head;
    uint32_t held;    /* 1: another client held CUPTI in it */
    uint32_t stepped; /* 1: the program's steps went on in it */
};

enum spool_range_flags { SPOOL_RANGE_STARTEND = 1, SPOOL_RANGE_MARK = 2 };

struct spool_rec_range {
    struct spool_rec head;
    uint32_t name, domain; /* string ids */
    uint16_t depth;        /* 0 = outermost open push on this thread (all domains together) */
    uint16_t flags;
    uint32_t color;
    uint64_t payload; /* as given; for NCCL's domain: bytes of the collective */
};

/* dims by family: GEMM m,n,k,batch,transa,transb; CONV n,c,h,w,k,r,s,stride,pad,dilation,groups;
 * COLLECTIVE ranks, own rank, root or peer (-1 = not known); others n,c,h,w. 0 = not known. */
struct spool_rec_call {
    struct spool_rec head;
    uint32_t function; /* string id, e.g. cudnnConvolutionForward */
    uint8_t family;    /* enum spool_call_family */
    uint8_t in_type, weight_type, out_type, compute_type; /* enum spool_dtype */
    uint8_t in_layout, weight_layout;                     /* enum spool_layout */
    uint8_t math;                                         /* enum spool_math */
    int32_t algo;                                         /* the library's number; -1 = not given */
    int32_t dim[12];
    int64_t bytes;     /* workspace for CONV, message for COLLECTIVE */
    uint64_t comm;     /* communicator of a COLLECTIVE, 0 otherwise */
    uint64_t sequence; /* of the collective on its communicator */
};

enum spool_loader_kind {
    SPOOL_LOADER_WAIT,  /* the training thread waits for a batch */
    SPOOL_LOADER_FETCH, /* a worker makes a batch */
    SPOOL_LOADER_COLLATE,
    SPOOL_LOADER_PIN,
    SPOOL_LOADER_BEGIN, /* a loop over it begins: its workers are started */
    SPOOL_LOADER_END    /* it had no more batches: its workers are stopped */
};

struct spool_rec_loader {
    struct spool_rec head;
    uint32_t what;  /* enum spool_loader_kind */
    int32_t worker; /* -1 = the training process itself */
    int64_t loader; /* its number in the process, from 1; -1 = not known */
    int64_t cpu_ns; /* CPU time used inside the span, -1 = not known */
};

/* A call of CUDA that took SPOOL_LONG_NS or more, and the stack of its thread at its end. `stack`
 * numbers the way there; the stack's bytes, from the stack pointer up, follow the first record of a
 * number, others have none. The registers are those at the lowest byte (x86-64: rip rsp rbp rbx r12
 * r13 r14 r15). */
#define SPOOL_LONG_NS INT64_C(500000)
enum { SPOOL_STACK_BYTES = 16384, SPOOL_STACK_REGISTERS = 8 };
struct spool_rec_stack {
    struct spool_rec head;
    uint32_t correlation; /* CUPTI's */
    uint32_t function;    /* string id: cudaStreamSynchronize */
    uint16_t layer;       /* 0 runtime, 1 driver */
    uint16_t bytes;       /* of the stack, behind this */
    uint32_t unused;
    uint64_t stack; /* never 0 */
    uint64_t registers[SPOOL_STACK_REGISTERS];
};

/* From start_ns on the thread's launches come from this line, until its next record or the end of
 * the stretch. Lines are recorded in stretches only, mostly of one step; of one, SPOOL_LINE_STRETCH
 * tells at its end from when to when it was. */
enum spool_line {
    SPOOL_LINE_STRETCH,  /* a stretch of all threads: no line */
    SPOOL_LINE_OWN,      /* the innermost line of the user's code on the thread's stack */
    SPOOL_LINE_FORWARD,  /* in a backward pass: the line of the forward call that it goes back
                            through */
    SPOOL_LINE_BACKWARD, /* in one that knows no such line: the line that called backward() */
    SPOOL_LINE_NONE,     /* not known */
    SPOOL_LINES
};
struct spool_rec_line {
    struct spool_rec head;
    uint32_t file, function; /* string ids */
    int32_t line;            /* 0 = not known */
    uint16_t what;           /* enum spool_line */
    uint16_t unused;
    uint32_t stretch; /* its number in the process, from 1 */
    uint32_t module;  /* string id of the one that it runs in, "blocks.0 (Block)"; 0 = none */
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
#undef SPOOL_ASSERT

#endif
