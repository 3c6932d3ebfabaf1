/* The timeline while it is being filled. Private to timeline/. */
#ifndef GPUPROF_TIMELINE_BUILD_H
#define GPUPROF_TIMELINE_BUILD_H

#include "analyzer/profile/tables.h"
#include "analyzer/timeline/idmap.h"
#include "analyzer/timeline/timeline.h"
#include "base/vec.h"

/* What an op, a call or a sync refers to before the indices are known. */
struct refs {
    int64_t process, owner; /* owner: thread or stream, by id */
    int64_t correlation;
};

struct repairs {        /* rows that were not as they should be */
    int64_t reversed;   /* end before start */
    int64_t absurd;     /* times out of range: dropped */
    int64_t dangling;   /* a reference to nothing */
    int64_t duplicates; /* a second row with the same id: dropped */
    int64_t numbers;    /* beyond what can be: taken as not known */
};

struct build {
    struct timeline t; /* first: a timeline pointer is a build pointer */
    bool finished;
    struct VEC(struct op) ops;
    struct VEC(struct refs) op_refs;
    struct VEC(struct api) apis;
    struct VEC(struct refs) api_refs;
    struct VEC(struct sync) syncs;
    struct VEC(struct refs) sync_refs;
    struct VEC(struct event_record) events;
    struct VEC(struct refs) event_refs;
    struct VEC(struct range) ranges;
    struct VEC(struct refs) range_refs;
    struct VEC(struct call) calls;
    struct VEC(struct row_loader) loaders;
    struct VEC(struct row_range) os_calls, callers;
    struct VEC(struct collective) collectives;
    struct VEC(struct row_overhead) overheads;
    struct VEC(struct stream) streams;
    struct VEC(struct thread) threads;
    struct VEC(struct row_device) devices;
    struct VEC(struct row_process) processes;
    struct VEC(struct row_meta) metas;
    struct VEC(struct row_health) healths;
    struct VEC(struct row_recorded) recorded;
    struct VEC(struct row_step_block) step_blocks;
    struct VEC(struct row_gpu_sample) gpu_samples;
    struct VEC(struct row_host_sample) host_samples;
    struct VEC(struct row_stack) stacks;
    struct VEC(struct row_stack_sample) stack_samples;
    struct VEC(struct row_launch_line) launch_lines;
    struct idmap process_map, thread_map, stream_map, device_map;
    struct repairs repairs;
    uint8_t bound[ROW_KINDS][TABLE_MAX_COLUMNS]; /* what may be in a column, timeline_clean.c */
    int64_t total[ROW_KINDS][TABLE_MAX_COLUMNS]; /* of it, so far */
    int64_t total_ns[ROW_KINDS], total_bytes[ROW_KINDS]; /* of the rows, so far */
};

/* timeline_lines.c. -1: out of memory. */
int build_launch_lines(struct build *b);

struct capture { /* of a CUDA graph */
    int64_t from_ns, to_ns;
    uint32_t process, first, calls; /* its slice of the calls */
    uint64_t kinds;                 /* a hash of what they make, in their order */
    bool taken;                     /* some graph is of it */
};
struct captured { /* a call that makes a node, in the order of the capture */
    uint32_t capture, api;
    int64_t start_ns;
};
struct captures {
    struct VEC(struct capture) at;
    struct VEC(struct captured) calls;
};
/* timeline_captures.c. -1: out of memory. Which calls make nodes; and, when these have lines, the
 * lines of the nodes' work. */
int captures_find(struct captures *c, const struct timeline *t);
bool captures_hold(const struct captures *c, const struct timeline *t, const struct api *a);
int captures_line(struct captures *c, struct timeline *t);
void captures_release(struct captures *c);
/* timeline_comm.c. What a collective of this name in a process group of this name exchanges. */
enum comm_kind comm_kind_of(const char *group, const char *collective);
/* timeline_clean.c. Makes the table of bounds; called once. */
void build_bounds(struct build *b);
/* Adds a number that is not negative to a total, unless that came to more than `most`. */
bool clean_total(int64_t v, int64_t most, int64_t *total);
/* Memory that a block of the kernel shares: KiB, rounded up; as many as fit. */
uint8_t clean_shared(const struct row_kernel *k);
/* Bounds all numbers of a row that is kept whole. false: leave it out. */
bool clean_row(struct build *b, enum row_kind kind, void *row);

/* Index of the entry with this id; makes one when there is none. TL_NONE: out of memory. */
uint32_t build_process(struct build *b, int64_t id);
uint32_t build_thread(struct build *b, int64_t id, int64_t process);
uint32_t build_device(struct build *b, int64_t id, int64_t process);
uint32_t build_stream(struct build *b, int64_t id, int64_t process);

/* Rows as they come, timeline_rows.c. -1: out of memory. */
int put_kernel(struct build *b, const void *row);
int put_copy(struct build *b, const void *row);
int put_memset(struct build *b, const void *row);
int put_api(struct build *b, const void *row);
int put_sync(struct build *b, const void *row);
int put_event(struct build *b, const void *row);
int put_range(struct build *b, const void *row);
/* Ranges of OS_DOMAIN are kept apart (timeline_clean.c). */
bool is_os_call(const struct build *b, const struct row_range *r);
int put_os_call(struct build *b, const struct row_range *r, int64_t end_ns);
/* Those of CALLER_DOMAIN become a member of their call (timeline_callers.c). */
bool is_caller(const struct build *b, const struct row_range *r);
int put_caller(struct build *b, const struct row_range *r, int64_t end_ns);
int build_callers(struct build *b); /* when the calls are in their places. -1: out of memory */
int put_call(struct build *b, const void *row);
int put_process(struct build *b, const void *row);
int put_thread(struct build *b, const void *row);
int put_device(struct build *b, const void *row);
int put_stream(struct build *b, const void *row);
int put_loader(struct build *b, const void *row);
int put_overhead(struct build *b, const void *row);
int put_collective(struct build *b, const void *row);
int put_recorded(struct build *b, const void *row);
int put_step_block(struct build *b, const void *row);

int build_sort(struct build *b, struct err *e); /* resolve references, sort, timeline_sort.c */
int build_join(struct build *b, struct err *e); /* correlations, timeline_join.c */
int build_name(struct build *b, struct err *e); /* names and classes, timeline_join.c */
enum api_kind api_kind_of(const char *name);    /* api_kind.c */

/* timeline_comm.c: the kernels of collectives whose source does not say, and what they exchange.
 * -1: out of memory */
void build_join_collectives(struct build *b);
int build_mark_collectives(struct build *b);
void build_name_groups(struct build *b);

/* timeline_update.c: fills in_update and in_zeroing, when the calls are in their places. -1: out of memory */
int build_updates(struct timeline *t);
/* timeline_trials.c: fills call.trial */
void build_trials(struct timeline *t);
/* timeline_conv.c: the products that convolutions compute become convolutions; then, too. */
int build_convolutions(struct timeline *t);
/* timeline_finish.c: a warning of the recording's health. -1: out of memory. */
int build_health(struct build *b, const char *code, const char *text, int64_t value);
/* timeline_ranks.c: fills t.missing_ranks and warns of them. -1: out of memory. */
int build_missing_ranks(struct build *b);

/* The nearest that fits; of eight bits 0 where it does not. */
static inline uint32_t clamp32(int64_t v)
{
    return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static inline uint16_t clamp16(int64_t v)
{
    return v < 0 ? 0 : v > UINT16_MAX ? UINT16_MAX : (uint16_t)v;
}

static inline uint8_t clamp8(int64_t v)
{
    return v < 0 || v > UINT8_MAX ? 0 : (uint8_t)v;
}

#endif
