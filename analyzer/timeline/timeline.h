/* The profile in memory: sorted arrays, read-only once finished. Analysis and reports read the
 * profile only through this.
 *
 * Order: ops and syncs by start time over the whole profile; apis, ranges, calls by (thread,
 * start). Memory: about 120 bytes per GPU operation, 56 per API call. */
#ifndef GPUPROF_TIMELINE_TIMELINE_H
#define GPUPROF_TIMELINE_TIMELINE_H

#include "analyzer/profile/rows.h"
#include "base/str.h"
#include "wire/spool_format.h"

#include <stdbool.h>

#define TL_NONE UINT32_MAX

enum op_kind { OP_KERNEL, OP_COPY, OP_MEMSET };
/* GRAPH_WHOLE: one operation stands for a whole graph launch, in recordings that
 * do not show its nodes. */
enum graph_part { GRAPH_NONE, GRAPH_NODE, GRAPH_WHOLE };

/* What a kernel does, from its name (timeline/classify.h) and the library call around it. */
enum kernel_family {
    FAMILY_UNKNOWN,
    FAMILY_GEMM,
    FAMILY_CONV,
    FAMILY_ATTENTION,
    FAMILY_NORM,
    FAMILY_POOL,
    FAMILY_SOFTMAX,
    FAMILY_ELEMENTWISE,
    FAMILY_REDUCE,
    FAMILY_OPTIMIZER,
    FAMILY_LAYOUT,
    FAMILY_CAST,
    FAMILY_FILL,
    FAMILY_EMBEDDING,
    FAMILY_LOSS,
    FAMILY_BIAS,
    FAMILY_COMM,
    FAMILY_COPY, /* a kernel that copies within the device */
    FAMILY_COUNT
};
enum tri { TRI_NO, TRI_YES, TRI_UNKNOWN };
enum conv_pass { PASS_NONE, PASS_FWD, PASS_DGRAD, PASS_WGRAD };

struct kernel_class {
    uint8_t family;     /* enum kernel_family */
    uint8_t tensor;     /* enum tri: runs on tensor cores */
    uint8_t dtype;      /* enum spool_dtype of the input operands */
    uint8_t layout;     /* enum spool_layout */
    uint8_t pass;       /* enum conv_pass */
    uint8_t align;      /* elements of alignment in the name: 1, 2, 4, 8; 0 = not stated */
    uint8_t half : 1;   /* its name mentions 16-bit numbers */
    uint8_t by_row : 1; /* it normalises rows: layer, group, RMS norm */
    uint8_t fused : 1;  /* a compiler (Triton, XLA) merged several operations into it */
};

/* One operation on a GPU. */
struct op {
    int64_t start_ns, end_ns;
    int64_t bytes;      /* copies and memsets; 0 for kernels */
    int64_t row;        /* id of its row in its table of the profile */
    uint32_t name;      /* string id; for kernels demangled and shortened by timeline_finish */
    uint32_t full_name; /* string id as recorded */
    uint32_t stream;    /* index into streams */
    uint32_t api;       /* index of the API call that launched it, or TL_NONE */
    uint32_t grid[3];   /* of a kernel; 0: not known. The product of the three fits into int64 */
    uint32_t node;      /* its number among the graph's nodes */
    uint16_t block[3];
    uint8_t kind;               /* enum op_kind */
    uint8_t copy_kind;          /* enum copy_kind */
    uint8_t src_kind, dst_kind; /* enum memory_kind */
    int8_t is_async;            /* of a copy: 1 yes, 0 no, -1 not known */
    uint8_t in_graph;           /* enum graph_part */
    uint8_t comm;               /* enum comm_kind, of a collective */
    uint8_t in_update;          /* 1: launched inside an optimizer's step */
    uint8_t in_zeroing;         /* 1: launched inside an optimizer's zero_grad() */
    uint8_t registers;          /* of a kernel, per thread; 0: not known */
    uint8_t shared_kib;         /* of a kernel, shared memory per block in KiB */
    struct kernel_class class;
};

/* What a collective exchanges, from the name of its process group. The layers of a model
 * that is split among ranks must wait for COMM_MODEL and COMM_PAIR; gradients can travel
 * while computing continues. */
enum comm_kind {
    COMM_GRADIENTS, /* gradients, or not known */
    COMM_MODEL,     /* between tensor-, context- or expert-parallel ranks */
    COMM_PAIR       /* a send or receive, as between stages of a pipeline */
};

struct api {
    int64_t start_ns, end_ns;
    int64_t row;
    uint32_t name;     /* string id */
    uint32_t thread;   /* index into threads */
    uint32_t op;       /* index of the first op that it launched, or TL_NONE */
    uint32_t ops;      /* number of ops that it launched */
    uint32_t sync;     /* index into syncs, or TL_NONE */
    uint32_t caller;   /* string id of the program's line that makes the call, "train.c:211
                          (train_step)"; 0 = not recorded */
    uint8_t kind;      /* enum api_kind, from the name */
    uint32_t line;     /* Python line that launched it, see tl_line_stack and
                          tl_line_way; 0 = not known */
    uint8_t layer : 1; /* 0 runtime, 1 driver; driver calls inside runtime calls are dropped */
    uint8_t line_matched : 1; /* the line was not recorded for this call, but for the
                                 same launch in other steps */
    uint16_t error;           /* the error code that it returned, 0 = success */
};

enum api_kind {
    API_OTHER,
    API_LAUNCH,
    API_GRAPH_LAUNCH,
    API_COPY_SYNC,
    API_COPY_ASYNC,
    API_MEMSET,
    API_SYNC_DEVICE,
    API_SYNC_STREAM,
    API_SYNC_EVENT,
    API_EVENT_RECORD,
    API_STREAM_WAIT,
    API_EVENT_QUERY,
    API_ALLOC,
    API_FREE,
    API_HOST_ALLOC,
    API_MODULE, /* loads or unloads code, creates or destroys contexts */
    API_LOOKUP  /* queries about a function or device beside launches; the
                   agent may leave them out */
};

struct sync {
    int64_t start_ns, end_ns;
    int64_t row;
    uint32_t stream; /* index, or TL_NONE = all streams */
    uint32_t api;    /* index, or TL_NONE */
    int64_t event;   /* id within its context, or -1 */
    int64_t event_sync;
    uint8_t type; /* enum sync_type */
};

struct event_record {
    uint32_t stream, api;
    int64_t event, event_sync;
};

struct range {
    int64_t start_ns, end_ns;
    int64_t row;
    uint32_t name, domain, thread;
    uint32_t depth;
    uint32_t parent; /* index of the innermost range around it on its thread, or TL_NONE */
    uint32_t shapes; /* string id of the operator's input shapes; 0 = not recorded */
};

struct call { /* library call with shapes */
    struct row_call row;
    uint32_t thread;          /* index */
    uint32_t first_api, apis; /* API calls inside it: a slice of apis */
    uint8_t trial; /* 1: cuDNN ran it only to time the algorithm; its result is not used */
};

struct collective {
    struct row_collective row;
    uint32_t thread; /* index, or TL_NONE */
    uint32_t op;     /* op of the kernel that ran it, or TL_NONE */
};

struct stream {
    struct row_stream row;
    uint32_t device;  /* index into devices */
    uint32_t process; /* index into processes */
    uint32_t ops;
};

struct thread {
    struct row_thread row;
    uint32_t process;
    uint32_t first_api, apis; /* its slice of apis */
    uint32_t first_range, ranges;
};

struct timeline {
    struct str_table strings;
    struct arena arena;
    int64_t start_ns, end_ns;         /* first and last time of all records */
    int64_t gpu_start_ns, gpu_end_ns; /* first start and last end of GPU work; 0, 0 without any */

    struct op *ops;
    size_t op_count;
    struct api *apis;
    size_t api_count;
    struct sync *syncs;
    size_t sync_count;
    struct event_record *events;
    size_t event_count;
    struct range *ranges;
    size_t range_count;
    struct call *calls;
    size_t call_count;
    struct row_loader *loaders;
    size_t loader_count;
    struct row_range *os_calls; /* rows of OS_DOMAIN, sorted by start; not among the ranges */
    size_t os_call_count;
    struct collective *collectives;
    size_t collective_count;
    struct row_overhead *overheads;
    size_t overhead_count;
    struct stream *streams;
    size_t stream_count;
    struct thread *threads;
    size_t thread_count;
    struct row_device *devices;
    size_t device_count;
    struct row_process *processes;
    size_t process_count;
    int64_t missing_ranks; /* number of the job's ranks without a process here; 0 unless at
                              least two ranks are here */
    struct row_meta *metas;
    size_t meta_count;
    struct row_health *healths;
    size_t health_count;
    struct row_recorded *recorded; /* sorted by start; a process without such rows
                                      was recorded completely */
    size_t recorded_count;
    struct row_step_block *step_blocks;
    size_t step_block_count;
    struct row_gpu_sample *gpu_samples;
    size_t gpu_sample_count;
    struct row_host_sample *host_samples;
    size_t host_sample_count;
    struct row_stack *stacks; /* sorted by id */
    size_t stack_count;
    uint32_t *node_lines; /* by op: like api.line, for the call that created the graph's node during
                             capture; 0 = not known. NULL: not known for any op */
    struct row_stack_sample *stack_samples; /* sorted by start */
    size_t stack_sample_count;
    struct row_launch_line *launch_lines; /* sorted by start */
    size_t launch_line_count;
    struct row_allocation *allocations; /* sorted by time */
    size_t allocation_count;

    /* What the source is able to record: an empty table with its bit set means "nothing
     * happened", without the bit "not recorded". Bits of enum have; importers set them
     * by the meta row "have". */
    uint32_t have;
    bool zeroing_told; /* ranges show when the optimizer's zero_grad() ran */
};

/* Which data exists; rules declare what they need. */
enum have {
    HAVE_KERNELS = 1 << 0,
    HAVE_COPIES = 1 << 1,
    HAVE_MEMORY_KINDS = 1 << 2,
    HAVE_API = 1 << 3,
    HAVE_SYNC = 1 << 4,
    HAVE_EVENTS = 1 << 5,
    HAVE_RANGES = 1 << 6,
    HAVE_CALLS = 1 << 7,
    HAVE_LOADER = 1 << 8,
    HAVE_STEPS = 1 << 9,
    HAVE_DEVICE = 1 << 10,
    HAVE_MEMSETS = 1 << 11,
    HAVE_COLLECTIVES = 1 << 12,
    HAVE_RANKS = 1 << 13,
    HAVE_HOST = 1 << 14,
    HAVE_NODES = 1 << 15, /* the nodes of CUDA graphs; set by the analysis */
    HAVE_WAITS = 1 << 16, /* what the host waits for: ranges, or calls of the operating system */
    HAVE_KINDS = 17       /* number of bits */
};
/* The meta key "have" holds names separated by ',':
 * kernels,copies,memory_kinds,api,sync,events,ranges,
 * calls,loader,steps,device,memsets,collectives,ranks,host,memory. */

/* A time with a magnitude beyond TL_TIME_MAX, 104 days, is impossible: the row is left out and
 * counted. The same applies to rows of one table whose durations would sum to more than
 * TL_TOTAL_MAX, 834 days. So a hundred such sums fit into int64. */
#define TL_TIME_MAX  ((int64_t)1 << 53)
#define TL_TOTAL_MAX ((int64_t)1 << 56)
static inline bool tl_is_time(int64_t ns)
{
    return ns > -TL_TIME_MAX && ns < TL_TIME_MAX;
}

/* timeline_sink accepts rows in any order. For a reference to a missing row an entry is created, so
 * that every index above is valid unless it is TL_NONE; `healths` counts these repairs. NULL with
 * *e set: out of memory. */
struct timeline *timeline_new(struct err *e);
struct sink timeline_sink(struct timeline *t);
/* Sorts, joins (api <-> op by correlation, call <-> api by thread and time) and classifies. -1 with
 * *e set. May be called again. */
int timeline_finish(struct timeline *t, struct err *e);
void timeline_free(struct timeline *t);

/* Index of the thread with this row id, or TL_NONE. Loader, overhead and sample
 * rows contain such ids. */
uint32_t timeline_thread_index(const struct timeline *t, int64_t id);
/* Index of the thread's first API call that starts at `ns` or later; one past its last
 * call if there is none. */
uint32_t timeline_api_from(const struct timeline *t, const struct thread *th, int64_t ns);
/* True for the name of a range of an optimizer's step: PyTorch's own ("Optimizer.step#SGD.step"),
 * or that of gpuprof's hook. */
bool timeline_names_update(const char *name);
/* When the optimizer in such a range launches its first own work, after a closure that it may run;
 * the range's end if it launches none. */
int64_t timeline_update_start(const struct timeline *t, const struct range *r);
uint32_t timeline_process_index(const struct timeline *t, int64_t id);
uint32_t timeline_device_index(const struct timeline *t, int64_t id);
uint32_t timeline_stack_index(const struct timeline *t, int64_t id); /* TL_NONE: absent */
/* Value of the meta row `key`: that of process 0, otherwise of any process; NULL if absent. */
const char *timeline_meta(const struct timeline *t, const char *key);
/* The line of the program at the end of such a value, after " at ", such as
 * "train.py:6"; NULL: none. */
const char *timeline_meta_place(const struct timeline *t, const char *key);
/* Reads a row of the hook about a group of ranks: returns the program's name for it, and sets
 * *ranks to its size and *apart to the distance between rank numbers. NULL: another kind of row. */
#define TL_NO_GROUP_NAME "-"
const char *timeline_group_of_meta(const struct timeline *t, const struct row_meta *m,
                                   int64_t *ranks, int64_t *apart);
/* Index of the thread that launched op `i`, or TL_NONE if not known. */
static inline uint32_t tl_op_thread(const struct timeline *t, uint32_t i)
{
    return t->ops[i].api == TL_NONE ? TL_NONE : t->apis[t->ops[i].api].thread;
}
/* True for a migration of managed memory because a page was touched, however many pages it moves:
 * the program did not launch this copy. */
static inline bool tl_migrates(const struct op *o)
{
    return o->kind == OP_COPY && o->api == TL_NONE && o->src_kind == MEMORY_MANAGED &&
           o->dst_kind == MEMORY_MANAGED;
}
static inline uint32_t tl_op_device(const struct timeline *t, uint32_t i)
{
    return t->streams[t->ops[i].stream].device;
}
/* Decode api.line, which must not be 0: index in stacks, and enum spool_line. */
static inline uint32_t tl_line_stack(uint32_t line)
{
    return (line - 1) / SPOOL_LINES;
}
static inline enum spool_line tl_line_way(uint32_t line)
{
    return (enum spool_line)((line - 1) % SPOOL_LINES);
}
/* The same, where it does not matter whether somebody uses what a backward pass computes. */
static inline uint32_t tl_line_plain(uint32_t line)
{
    return line && tl_line_way(line) == SPOOL_LINE_UNUSED
               ? line - SPOOL_LINE_UNUSED + SPOOL_LINE_FORWARD
               : line;
}
/* The line that launched the op, or that captured its graph node; as api.line, 0 = not known. */
static inline uint32_t tl_op_line(const struct timeline *t, uint32_t op)
{
    uint32_t api = t->ops[op].api;
    return t->node_lines && t->node_lines[op] ? t->node_lines[op]
           : api == TL_NONE                   ? 0
                                              : t->apis[api].line;
}
/* The line from which a thread launches from this row on; as api.line, 0 = not known. */
uint32_t timeline_row_line(const struct timeline *t, const struct row_launch_line *r);
/* Writes "train.py:9 (Net.forward), its backward pass" to out, and returns out. */
const char *timeline_line_text(const struct timeline *t, uint32_t line, char *out, size_t size);
static inline const char *tl_text(const struct timeline *t, uint32_t id)
{
    return str_text(&t->strings, id);
}

#endif
