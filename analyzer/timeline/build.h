/* A timeline while rows are added. Private to timeline/. */
#ifndef GPUPROF_TIMELINE_BUILD_H
#define GPUPROF_TIMELINE_BUILD_H

#include "analyzer/profile/tables.h"
#include "analyzer/timeline/idmap.h"
#include "analyzer/timeline/timeline.h"
#include "base/vec.h"

/* The references of an op, a call or a sync, before its indices are known. */
struct refs {
    int64_t process, owner; /* owner: id of the thread or stream */
    int64_t correlation;
};

struct repairs {        /* counts of rows that had to be repaired or left out */
    int64_t reversed;   /* the end was before the start: the end was set to the start */
    int64_t absurd;     /* times out of range: the row was left out */
    int64_t dangling;   /* references to rows that do not exist */
    int64_t duplicates; /* a second row with the same id: left out */
    int64_t numbers;    /* numbers out of range: taken as not known */
};

struct build {
    struct timeline t; /* must be first: a timeline pointer is cast to a build pointer */
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
    struct VEC(struct row_allocation) allocations;
    struct idmap process_map, thread_map, stream_map, device_map;
    struct repairs repairs;
    uint8_t bound[ROW_KINDS][TABLE_MAX_COLUMNS]; /* enum bound of each column, see
                                                    timeline_clean.c */
    int64_t total[ROW_KINDS][TABLE_MAX_COLUMNS]; /* sum of each bounded column so far */
    /* sums of the durations and bytes of rows so far */
    int64_t total_ns[ROW_KINDS], total_bytes[ROW_KINDS];
};

/* timeline_lines.c: fills api.line and timeline.node_lines. -1: out of memory. */
int build_launch_lines(struct build *b);

struct capture { /* one capture of a CUDA graph */
    int64_t from_ns, to_ns;
    uint32_t process, first, calls; /* its slice of captures.calls */
    uint64_t kinds; /* hash over the kinds of nodes that these calls make, in order */
    bool taken;     /* the nodes of a graph were already assigned to it */
};
struct captured { /* a call that makes a node; sorted by capture and time */
    uint32_t capture, api;
    int64_t start_ns;
};
struct captures {
    struct VEC(struct capture) at;
    struct VEC(struct captured) calls;
};
/* timeline_captures.c. captures_find finds captures and the calls that make their nodes;
 * captures_hold: is this call one of them? captures_line, once these calls have lines, gives the
 * lines to the nodes' operations. -1: out of memory. */
int captures_find(struct captures *c, const struct timeline *t);
bool captures_hold(const struct captures *c, const struct timeline *t, const struct api *a);
int captures_line(struct captures *c, struct timeline *t);
void captures_release(struct captures *c);
/* timeline_clean.c: fills b->bound; called once. */
void build_bounds(struct build *b);
/* Adds v, which must not be negative, to *total unless the sum would exceed
 * `most`. False: not added. */
bool clean_total(int64_t v, int64_t most, int64_t *total);
/* The name's id, or that of the empty name if no such string was recorded. */
static inline uint32_t clean_name(const struct build *b, uint32_t id)
{
    return id < b->t.strings.n ? id : 0;
}
/* Shared memory of the kernel per block in KiB, rounded up, at most UINT8_MAX. */
uint8_t clean_shared(const struct row_kernel *k);
/* Checks all numbers of a row that is kept whole, and replaces impossible ones.
 * False: leave the row out. */
bool clean_row(struct build *b, enum row_kind kind, void *row);

/* timeline_places.c. Index of the entry with this id, which is added if there is none. TL_NONE: out of
 * memory. */
uint32_t build_process(struct build *b, int64_t id);
uint32_t build_thread(struct build *b, int64_t id, int64_t process);
uint32_t build_device(struct build *b, int64_t id, int64_t process);
uint32_t build_stream(struct build *b, int64_t id, int64_t process);

/* Add one row; timeline_rows.c, timeline_places.c. -1: out of memory. */
int put_kernel(struct build *b, const void *row);
int put_copy(struct build *b, const void *row);
int put_memset(struct build *b, const void *row);
int put_api(struct build *b, const void *row);
int put_sync(struct build *b, const void *row);
int put_event(struct build *b, const void *row);
int put_range(struct build *b, const void *row);
/* timeline_clean.c: rows of the domain OS_DOMAIN are not kept among the ranges. */
bool is_os_call(const struct build *b, const struct row_range *r);
int put_os_call(struct build *b, const struct row_range *r, int64_t end_ns);
/* timeline_callers.c: rows of the domain CALLER_DOMAIN become api.caller. */
bool is_caller(const struct build *b, const struct row_range *r);
int put_caller(struct build *b, const struct row_range *r, int64_t end_ns);
int build_callers(struct build *b); /* call it when the calls are sorted. -1: out of memory */
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

int build_sort(struct build *b, struct err *e); /* timeline_sort.c: resolves references, sorts */
int build_join(struct build *b, struct err *e); /* timeline_join.c: joins rows by correlation */
int build_name(struct build *b, struct err *e); /* timeline_join.c: names and classes */
enum api_kind api_kind_of(const char *name);    /* api_kind.c */

/* timeline_comm.c. build_join_collectives finds the kernels of collectives if the source does not
 * give them; build_mark_collectives marks what they exchange (-1: out of memory); build_name_groups
 * fills in names of groups. */
void build_join_collectives(struct build *b);
int build_mark_collectives(struct build *b);
void build_name_groups(struct build *b);

/* timeline_update.c: fills in_update and in_zeroing; call it when the calls are
 * sorted. -1: out of memory. */
int build_updates(struct timeline *t);
/* timeline_trials.c: fills call.trial. */
void build_trials(struct timeline *t);
/* timeline_conv.c: matrix products that compute a convolution get FAMILY_CONV. Call it when the
 * calls are sorted. -1: out of memory. */
int build_convolutions(struct timeline *t);
/* timeline_finish.c: adds a warning to the health rows. -1: out of memory. */
int build_health(struct build *b, const char *code, const char *text, int64_t value);
/* timeline_ranks.c: fills t.missing_ranks and adds a warning. -1: out of memory. */
int build_missing_ranks(struct build *b);

/* The nearest value that fits into 32 or 16 bits; clamp8 returns 0 for a
 * value that does not fit. */
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
