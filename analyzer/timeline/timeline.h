/* The profile in memory: sorted arrays in one place, read-only once finished. Everything that
 * analyses or reports reads this, and nothing else of the profile.
 *
 * Order: ops and syncs by start time within the whole profile; apis, ranges, calls by (thread,
 * start).
 * Memory: about 120 bytes per GPU operation, 56 per API call.
 */
#ifndef GPUPROF_TIMELINE_TIMELINE_H
#define GPUPROF_TIMELINE_TIMELINE_H

#include "analyzer/profile/rows.h"
#include "base/str.h"
#include "wire/spool_format.h"

#include <stdbool.h>

#define TL_NONE UINT32_MAX

enum op_kind { OP_KERNEL, OP_COPY, OP_MEMSET };
/* A whole graph as one operation is what a recording has that did not look inside. */
enum graph_part { GRAPH_NONE, GRAPH_NODE, GRAPH_WHOLE };

/* What a kernel does, told by its name (model/classify.h) and by the library call around it. */
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
    FAMILY_COPY, /* device-to-device copy done by a kernel */
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
    uint8_t align;      /* elements of alignment in the name: 1, 2, 4, 8; 0 = not told */
    uint8_t half : 1;   /* its name tells of 16-bit numbers */
    uint8_t by_row : 1; /* it normalises rows: layer, group, RMS norm */
    uint8_t fused : 1;  /* a compiler made it of several operations: Triton, XLA */
};

/* One piece of work on a GPU. */
struct op {
    int64_t start_ns, end_ns;
    int64_t bytes;      /* copies and memsets; 0 for kernels */
    int64_t row;        /* id in its table */
    uint32_t name;      /* string id; demangled, shortened by timeline_finish for kernels */
    uint32_t full_name; /* string id as recorded */
    uint32_t stream;    /* index into streams */
    uint32_t api;       /* index of the launching API call, TL_NONE */
    uint32_t grid[3];   /* of a kernel; 0: not known. The product fits into int64 */
    uint32_t node;      /* in a graph: its place among the nodes */
    uint16_t block[3];
    uint8_t kind;               /* enum op_kind */
    uint8_t copy_kind;          /* enum copy_kind */
    uint8_t src_kind, dst_kind; /* enum memory_kind */
    int8_t is_async;            /* copies: 1, 0, -1 */
    uint8_t in_graph;           /* enum graph_part */
    uint8_t comm;               /* enum comm_kind; of a collective */
    uint8_t in_update;          /* 1: launched in the step of an optimizer */
    uint8_t in_zeroing;         /* 1: in its zero_grad() */
    uint8_t registers;          /* of a kernel, per thread; 0: not known */
    uint8_t shared_kib;         /* of a kernel, per block */
    struct kernel_class class;
};

/* What a collective exchanges, told by the name of its process group. The layers of a model that is
 * split among ranks wait for COMM_MODEL and COMM_PAIR; gradients can travel beside computing. */
enum comm_kind {
    COMM_GRADIENTS, /* or not known */
    COMM_MODEL,     /* tensor-, context-, expert-parallel ranks */
    COMM_PAIR       /* a send or a receive: stages of a pipeline */
};

struct api {
    int64_t start_ns, end_ns;
    int64_t row;
    uint32_t name;   /* string id */
    uint32_t thread; /* index into threads */
    uint32_t op;     /* first op that it launched, TL_NONE */
    uint32_t ops;    /* how many */
    uint32_t sync;   /* index into syncs, TL_NONE */
    uint32_t caller; /* string id: the program's line that makes it, "train.c:211 (train_step)"; 0 =
                        not recorded */
    uint8_t kind;    /* enum api_kind, told by the name */
    uint32_t line;   /* of Python, that launched it: tl_line_stack, tl_line_way; 0 = not known */
    uint8_t layer : 1;        /* 0 runtime, 1 driver; driver calls nested in runtime calls are
                                 dropped */
    uint8_t line_matched : 1; /* its step carries none: that of the same launch in others */
    uint16_t error;           /* its own error number, 0 = success */
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
    API_MODULE, /* loading and unloading code, making and ending contexts */
    API_LOOKUP  /* about a function or a device, beside launches: the agent may leave them out */
};

struct sync {
    int64_t start_ns, end_ns;
    int64_t row;
    uint32_t stream; /* index, TL_NONE = all */
    uint32_t api;    /* index, TL_NONE */
    int64_t event;   /* id within its context, -1 */
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
    uint32_t parent; /* the innermost range around it on its thread, TL_NONE */
    uint32_t shapes; /* string id: of an operator's inputs; 0 = not recorded */
};

struct call { /* library call with shapes */
    struct row_call row;
    uint32_t thread;          /* index */
    uint32_t first_api, apis; /* API calls inside it, by (thread, time) */
    uint8_t trial;            /* 1: made to time the algorithm, and nothing needs its result */
};

struct collective {
    struct row_collective row;
    uint32_t thread; /* index, TL_NONE */
    uint32_t op;     /* the kernel that did it, TL_NONE */
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
    int64_t start_ns, end_ns;         /* first and last of anything recorded */
    int64_t gpu_start_ns, gpu_end_ns; /* first start, last end of GPU work; 0, 0 without any */

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
    struct row_range *os_calls; /* of OS_DOMAIN, by start; they are not among the ranges */
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
    int64_t missing_ranks; /* of the job, where several of its ranks are here */
    struct row_meta *metas;
    size_t meta_count;
    struct row_health *healths;
    size_t health_count;
    struct row_recorded *recorded; /* by start; none of a process: all of it was recorded */
    size_t recorded_count;
    struct row_step_block *step_blocks;
    size_t step_block_count;
    struct row_gpu_sample *gpu_samples;
    size_t gpu_sample_count;
    struct row_host_sample *host_samples;
    size_t host_sample_count;
    struct row_stack *stacks; /* by id */
    size_t stack_count;
    uint32_t
        *node_lines; /* by op: as api.line, of the call that its graph's node was captured from;
                             0 = not known. NULL: of none */
    struct row_stack_sample *stack_samples; /* by start */
    size_t stack_sample_count;
    struct row_launch_line *launch_lines; /* by start */
    size_t launch_line_count;

    /* What the source can record at all: an empty table with its bit set means "none happened",
     * without it "not recorded". Bits: enum have. Importers declare them by meta "have". */
    uint32_t have;
    bool zeroing_told; /* ranges say when the optimizer's zero_grad() ran */
};

/* What data is there; rules name what they need. */
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
    HAVE_NODES = 1 << 15, /* what runs inside CUDA graphs; the analysis finds out by itself */
    HAVE_WAITS = 1 << 16, /* what the host waits in: ranges, or calls of the operating system */
    HAVE_KINDS = 17       /* how many bits there are */
};
/* Meta key "have" holds names joined by ',': kernels,copies,memory_kinds,api,sync,events,ranges,
 * calls,loader,steps,device,memsets,collectives,ranks,host,memory. */

/* Times whose magnitude is beyond this, 104 days, are not times: the row is left out and counted.
 * So are rows whose durations come to more than TL_TOTAL_MAX, 834 days, in one table: a hundred
 * times any sum of times fits into int64. */
#define TL_TIME_MAX  ((int64_t)1 << 53)
#define TL_TOTAL_MAX ((int64_t)1 << 56)
static inline bool tl_is_time(int64_t ns)
{
    return ns > -TL_TIME_MAX && ns < TL_TIME_MAX;
}

/* Rows in any order. References that lead nowhere get an entry of their own, so that every index
 * above is valid unless it is TL_NONE; what had to be repaired is counted in `healths`. */
struct timeline *timeline_new(struct err *e);
struct sink timeline_sink(struct timeline *t);
/* Sorts, joins (api <-> op by correlation, call <-> api by thread and time), classifies. */
int timeline_finish(struct timeline *t, struct err *e);
void timeline_free(struct timeline *t);

/* Index of the thread row with this id (loaders, overheads and samples carry ids), or TL_NONE. */
uint32_t timeline_thread_index(const struct timeline *t, int64_t id);
/* Index of the thread's first API call that starts at `ns` or later; one past its last if none. */
uint32_t timeline_api_from(const struct timeline *t, const struct thread *th, int64_t ns);
/* Is it the range of an optimizer's step: PyTorch's own ("Optimizer.step#SGD.step"), or that of
 * gpuprof's hook? */
bool timeline_names_update(const char *name);
/* When such a range launches the first work of its own, behind a closure that it may be given; its
 * end without any. */
int64_t timeline_update_start(const struct timeline *t, const struct range *r);
uint32_t timeline_process_index(const struct timeline *t, int64_t id);
uint32_t timeline_device_index(const struct timeline *t, int64_t id);
uint32_t timeline_stack_index(const struct timeline *t, int64_t id); /* TL_NONE */
/* Text of meta `key` (process 0 first, then any), NULL when absent. */
const char *timeline_meta(const struct timeline *t, const char *key);
/* The line of the program that such a text ends with, " at train.py:6"; NULL: with none. */
const char *timeline_meta_place(const struct timeline *t, const char *key);
/* What a row of the hook says of a group of ranks: what the program calls it, how many ranks, and
 * how far apart. NULL: the row is of something else. */
#define TL_NO_GROUP_NAME "-"
const char *timeline_told_group(const struct timeline *t, const struct row_meta *m, int64_t *ranks,
                                int64_t *apart);
/* Thread index of the call that launched op `i`, TL_NONE when that is not known. */
static inline uint32_t tl_op_thread(const struct timeline *t, uint32_t i)
{
    return t->ops[i].api == TL_NONE ? TL_NONE : t->apis[t->ops[i].api].thread;
}
/* Pages of managed memory that moved because somebody touched them, however many at a time: no work
 * that the program launched. */
static inline bool tl_migrates(const struct op *o)
{
    return o->kind == OP_COPY && o->api == TL_NONE && o->src_kind == MEMORY_MANAGED &&
           o->dst_kind == MEMORY_MANAGED;
}
static inline uint32_t tl_op_device(const struct timeline *t, uint32_t i)
{
    return t->streams[t->ops[i].stream].device;
}
/* Of api.line, where it is not 0: index in stacks, and enum spool_line. */
static inline uint32_t tl_line_stack(uint32_t line)
{
    return (line - 1) / SPOOL_LINES;
}
static inline enum spool_line tl_line_way(uint32_t line)
{
    return (enum spool_line)((line - 1) % SPOOL_LINES);
}
/* Where the work was launched, or its node captured; as api.line. */
static inline uint32_t tl_op_line(const struct timeline *t, uint32_t op)
{
    uint32_t api = t->ops[op].api;
    return t->node_lines && t->node_lines[op] ? t->node_lines[op]
           : api == TL_NONE                   ? 0
                                              : t->apis[api].line;
}
/* "train.py:9 (Net.forward), its backward pass". Returns out. */
const char *timeline_line_text(const struct timeline *t, uint32_t line, char *out, size_t size);
static inline const char *tl_text(const struct timeline *t, uint32_t id)
{
    return str_text(&t->strings, id);
}

#endif
