/* One spool file as the collector sees it: mapped, checked, decoded into rows of one process.
 *
 *   spool_map.c     mapping and checking; strings; everything read from the file is bounded
 *   spool_guard.c   a file that is cut short while it is mapped
 *   spool_clock.c   CUPTI's clock -> profile time, by the anchors
 *   spool_ring.c    ring records -> rows
 *   spool_buffers.c CUPTI's buffers: which to read, walking their records, giving them back
 *   spool_cupti.c   CUPTI activity records -> rows (their layouts: spool_records.h)
 *   spool_stack.c   stacks behind long calls -> ranges that name the caller's line
 *   spool_host.c    CPU time of the target's threads -> rows
 *   spool_keep.c    which rows are kept
 *   spool_window.c  windows recorded in full, by steps or by time
 *   spool_asked.c   windows that somebody asks for
 *   spool_control.c what the agents are told to record
 *   spool_steps.c   steps outside of them, summed up
 *   spool_save.c    what outlives a collector that is killed, besides rows and records
 *   spool_ends.c    threads, streams, devices, losses, the process itself -> rows
 *
 * The file is written by another process that may be broken or hostile: no offset, length or id in
 * it is trusted.
 */
#ifndef GPUPROF_COLLECTOR_SPOOL_SPOOL_H
#define GPUPROF_COLLECTOR_SPOOL_SPOOL_H

#include "analyzer/collector/spool/sources.h"
#include "analyzer/profile/rows.h"
#include "base/keymap.h"
#include "base/vec.h"
#include "wire/spool_format.h"

#include <stdbool.h>

/* The largest that the profile and the spools may become together. */
struct spool_limit {
    int64_t (*bytes)(void *self); /* how large the profile will be; NULL: no limit */
    void *self;
    int64_t max_bytes, spool_bytes;
    bool reached;     /* nothing with a time is kept any more */
    bool disk;        /* ... because the disk is full */
    int64_t from_ns;  /* since then GPU work or calls are missing; INT64_MAX: none was */
    int64_t left_out; /* rows */
};

/* Agents are told so long before a window: they look ten times a second, and then CUPTI needs a
 * moment to be turned on. */
#define SPOOL_EARLY_NS INT64_C(200000000)

/* Windows of the run by time, chosen by the collector. None: all of it. */
struct spool_times {
    int64_t every_ns, window_ns, until_ns; /* every 0: once; until INT64_MAX: to the end */
    struct VEC(struct row_recorded) at;    /* past, present, and the next one */
    bool asked;    /* there is a window when somebody asks for one, and only the newest is kept */
    bool told;     /* the agents are to record, so that it can begin */
    bool based;    /* it has begun: the processes' steps until then are known */
    int64_t steps; /* it lasts so many steps; 0 = as long as it was made */
};

/* Counts ids and passes rows to the sink; after the sink has failed, rows are counted as lost. */
struct spool_out {
    struct sink *sink;
    int64_t ids[ROW_KINDS];
    int64_t rows, lost;
    bool failed;
    struct err *e; /* first failure of the sink */
    struct spool_limit limit;
    struct spool_times times;
    struct spool *from; /* whose rows are put now; NULL: nobody's */
    struct sources sources;
    int64_t newest_ns; /* for rows without a time: of the newest that has one */
    int64_t unsafe_ns; /* of the rows since the last commit: the earliest; INT64_MAX: none */
};

struct spool_thread {
    uint32_t tid;
    uint32_t name;  /* sink string id */
    uint32_t named; /* spool string id that it comes from; 0: from comm */
    char comm[16];
    int64_t id;     /* row id */
    int64_t cpu_ns; /* at its last host sample */
    bool sampled;
};

struct spool_stream {
    uint32_t device, context, stream;
    int64_t id, flags, priority;
    bool known; /* a STREAM record told flags and priority */
};

struct spool_device {
    struct row_device row;
    bool described;      /* a DEVICE record was seen */
    char uuid[48];       /* as NVML writes it */
    uint64_t name;       /* as the record pointed to it */
    bool asked;          /* whether NVML knows it */
    void *gauges_device; /* NVML's, NULL: it does not */
};

struct spool_context {
    uint32_t context, device, null_stream;
};

/* CUPTI told nothing; sure: although the GPU was worked on, or another client held it; stepped: the
 * program's steps went on. */
struct spool_silence {
    int64_t start_ns, end_ns; /* the last may be open: end INT64_MAX */
    bool sure, stepped;
};

/* In it the clock was set, profile time: which side a stamp belongs to is not known. */
struct spool_clock_gap {
    int64_t start_ns, end_ns;
};

/* How the process goes on, as looked at once a second. CLOCK_MONOTONIC. */
enum { SPOOL_PACES = 16 };
struct spool_pace {
    int64_t steps, changed_ns;      /* begun; when that was last seen to change, 0 = never */
    int64_t length_ns[SPOOL_PACES]; /* of recent steps, as far as a look a second tells */
    uint32_t lengths;               /* ever */
    int64_t cpu_ns, looked_ns;
    int64_t busy_ns;    /* when it last used a core, or waited for the disk */
    int64_t stopped_ns; /* when it was last seen stopped */
};

enum { SPOOL_CBIDS = 2048, SPOOL_SILENCES = 4096 };

/* A mapping whose file may be cut short. */
struct spool_guard {
    void *map;
    uintptr_t start;
    size_t size;
    struct spool_guard *next;
    bool cut; /* it was: what is gone reads as zeros */
};
void spool_guard_begin(struct spool_guard *g, void *map, size_t size);
void spool_guard_end(struct spool_guard *g);

/* Calls of late, for waits without times of their own. */
enum {
    SPOOL_CALLS_SEEN = 64,
    SPOOL_SAME_IDS = 16, /* so many calls in a row with one correlation id: CUPTI numbers none */
};
struct spool_call_seen {
    int64_t correlation, start_ns, end_ns;
};

/* What a process has lost so far, or the collector of it. */
struct spool_losses {
    int64_t counter[SPOOL_COUNTERS]; /* by the agent */
    int64_t unnamed;                 /* called by their address */
    int64_t off_clock;               /* records left out because the clock was set */
    int64_t untimed, in_flight, unknown_kinds, cut_buffers, bad_records;
    int64_t unasked; /* untimed ones that belong to no window */
};

struct spool {
    char *path;
    struct spool_guard guard;
    uint8_t *map;
    size_t size;
    struct spool_header *h;    /* shared with the target: live words and strides only */
    struct spool_header fixed; /* as checked at opening: sizes, offsets, identity */
    int64_t start_ns;          /* CLOCK_MONOTONIC of profile time 0 */

    int64_t process; /* row id */
    struct row_process row;
    uint32_t command, host; /* spool string ids */
    struct VEC(struct spool_thread) threads;
    struct VEC(struct spool_stream) streams;
    struct VEC(struct spool_device) devices;
    struct VEC(struct spool_context) contexts;
    struct VEC(struct spool_anchor) anchors;
    struct VEC(size_t) segments; /* indices of anchors before which the clock was set */
    uint32_t anchors_seen;
    size_t segments_lost; /* forgotten, of a long run */
    struct VEC(struct spool_clock_gap) clock_gaps;
    int64_t now_ns; /* CLOCK_MONOTONIC when the anchors were read */
    size_t last_thread, last_stream;
    int64_t next_sample_ns; /* CLOCK_MONOTONIC; of the host */
    int64_t closely_ns;     /* CLOCK_MONOTONIC: sampled closely until then */
    unsigned seen;          /* what made it so: bits of its own */
    enum { SPOOL_WAITS_UNKNOWN, SPOOL_WAITS_KEPT, SPOOL_WAITS_NOT_KEPT } disk_waits;

    uint32_t *strings;             /* spool string id -> sink id + 1; 0 = not looked up */
    bool chose_virtual;            /* it was started on the virtual GPU */
    uint32_t virtual_name;         /* sink string id of the virtual GPU's announcement */
    uint32_t cbid[2][SPOOL_CBIDS]; /* spool string ids by layer (0 runtime, 1 driver), number */
    uint64_t *name_keys;           /* open addressing: pointer -> sink string id */
    uint32_t *name_values;
    uint32_t name_mask, names_read;

    uint64_t *read; /* by ring: up to where it is read, while that is not given back; else 0 */
    uint8_t *taken; /* by buffer: 1 = it is read, and not given back */
    size_t held_bytes, held_of_ring; /* read and not given back: all; most of one ring */
    uint32_t were_ready;             /* buffers, when it was last looked */
    bool changed;                    /* since it was last saved */
    int64_t newest_ns;               /* latest end of a record, profile time */

    uint64_t epoch; /* of 32-bit correlation ids, in the upper half */
    uint32_t last_correlation;

    struct VEC(struct row_recorded) windows; /* its own; the last may be open: end INT64_MAX */
    uint32_t windows_seen;
    struct VEC(struct spool_silence) silences;
    int64_t last_call_ns;    /* of a library, profile time */
    int64_t last_record_ns;  /* the end of the latest that CUPTI told of */
    bool cupti_told;         /* ... and there is one */
    int64_t late_ns;         /* CUPTI was another tool's until then; 0 = it was not */
    int64_t cut_correlation; /* of the first call behind a window; 0 = not known */
    int64_t windows_read_ns; /* profile time */
    struct spool *leader;    /* whose windows hold for it: the process that counts steps */
    struct VEC(struct row_step_block) blocks;
    int64_t block_steps, steps, last_step_ns, last_step_end_ns;
    struct spool_pace pace;
    int64_t asked_from; /* steps when the window that was asked for began */

    struct spool_call_seen calls_seen[SPOOL_CALLS_SEEN];
    size_t next_call;
    uint32_t newest_id, same_ids;           /* of the runtime's calls; how many in a row have it */
    struct VEC(struct row_sync) waits_held; /* until their calls come */

    struct keymap lines; /* of launches: file, function, line -> row of `stack` */
    uint32_t stretch;    /* of lines, that has no end yet; 0 = none */
    int64_t stretch_ns;  /* its first record */
    uint32_t stretches_ended;

    struct spool_callers *callers; /* NULL: no stack came so far */

    struct spool_losses lost, lost_before; /* before: the window that was asked for */
    int64_t unnamed_devices;
    int64_t unplaced; /* untimed records that came since the last timed one, of any buffer */
    int64_t near_ns;  /* when that was, profile time; -1 = none came so far */
    bool unfinished;  /* the buffer that is read is one that CUPTI has not handed over */
    bool has_ranges, has_calls, has_loader, has_events;
    bool done, gone; /* read to its end; and its file is removed */
};

/* 0 with *s filled; not ready yet; no room for it in this process now; -1: no spool (*e says why).
 */
enum { SPOOL_NOT_READY = 1, SPOOL_LATER };
int spool_open(struct spool *s, const char *path, struct err *e);
void spool_unmap(struct spool *s); /* when nothing is read any more; counts and lists stay */
void spool_close(struct spool *s);
bool spool_has_process(const struct spool *s); /* its pid is still the process that wrote it */
bool spool_alive(const struct spool *s);       /* and goes on writing */
/* The text of that line of the program, 0: it is not known. */
uint32_t spool_source(struct spool_out *out, const char *file, int64_t line);
uint32_t spool_string(struct spool *s, struct spool_out *out, uint32_t id); /* -> sink string id */
/* Plain characters of a string, cut to fit; "" = there is none. */
void spool_copy_string(const struct spool *s, uint32_t id, char *out, size_t n);
void spool_read_names(struct spool *s, struct spool_out *out);
/* What a record points to; counted, and called by its address, when the agent did not copy it. */
uint32_t spool_name(struct spool *s, struct spool_out *out, uint64_t pointer, int64_t *unknown);
int64_t spool_thread_id(struct spool *s, struct spool_out *out, uint32_t tid);
void spool_put(struct spool_out *out, enum row_kind kind, const void *row); /* if it is kept */
uint32_t spool_intern(struct spool_out *out, const char *text);

void spool_read_anchors(struct spool *s);
int64_t spool_cupti_time(const struct spool *s, int64_t cupti_ns); /* -> profile ns */
/* False: the clock was set meanwhile, so that nobody knows when it was, or how long. */
bool spool_cupti_span(const struct spool *s, int64_t start, int64_t end, int64_t *start_ns,
                      int64_t *end_ns);
/* Sums and differences of times; damaged ones wrap around instead of being undefined. */
static inline int64_t spool_minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}
static inline int64_t spool_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
/* CLOCK_MONOTONIC -> profile ns. */
static inline int64_t spool_time(const struct spool *s, int64_t monotonic_ns)
{
    return spool_minus(monotonic_ns, s->start_ns);
}

void spool_sample_host(struct spool *s, struct spool_out *out); /* if it is time for one */
/* A process that is new, or has just begun to use a GPU or to count steps, is sampled closely for a
 * while: a short run has no more than that. */
bool spool_closely(struct spool *s, int64_t now_ns);
void spool_drain_rings(struct spool *s, struct spool_out *out);
/* One record of `stride` bytes, the first four of them its kind. */
void spool_put_record(struct spool *s, struct spool_out *out, const uint8_t *at, uint32_t stride);
/* Buffers that are READY; with `adopt` (the process is dead) also OWNED and COMPLETE ones. */
void spool_drain_buffers(struct spool *s, struct spool_out *out, bool adopt);
/* What was read stays in the spool until it is given back: until its rows are safe. */
void spool_give_back(struct spool *s);
void spool_give_back_rings(struct spool *s);
/* All that is known of a process besides its rows and its spool, as bytes: a later process goes on
 * from there. Behind spool_open; -1: these bytes are none of this version. */
struct spool_bytes VEC(uint8_t);
int spool_save(struct spool *s, struct spool_bytes *to);
int spool_load(struct spool *s, struct spool_out *out, const void *bytes, size_t n);
uint32_t spool_command(struct spool *s, struct spool_out *out, uint32_t id); /* -> sink string id */
/* Windows by steps, as the agent tells; by time, as planned. */
void spool_read_windows(struct spool *s);
void spool_times_begin(struct spool_times *t, int64_t delay_ns, int64_t duration_ns,
                       int64_t every_ns, int64_t window_ns);
void spool_times_advance(struct spool_times *t, int64_t now_ns, uint32_t thin);
bool spool_times_open(const struct spool_times *t, int64_t from_ns, int64_t to_ns); /* in between */
void spool_times_add(struct spool_times *t, int64_t from_ns, int64_t length_ns);
int64_t spool_tail_ns(int64_t length_ns); /* how long the GPU works on behind such a window */
/* Windows on request. `steps` 0: as long as length_ns. Times are the profile's. */
void spool_ask(struct spool_times *t, int64_t now_ns, int64_t steps, int64_t length_ns);
void spool_ask_end(struct spool_times *t, int64_t now_ns);     /* the open one; if it has begun */
struct row_recorded *spool_asked(const struct spool_times *t); /* the newest; NULL: there is none */
int64_t spool_steps_begun(const struct spool *s);              /* 0 = it marks none, or has ended */
bool spool_any_marks(struct spool *const *spools, size_t n);
void spool_ask_advance(struct spool_times *t, struct spool *const *spools, size_t n,
                       int64_t now_ns);
/* Does the process decide by itself what is recorded? */
bool spool_leads(const struct spool *s);
/* Tells the agents what to record from now on. */
void spool_direct(struct spool **spools, size_t n, struct spool_out *out, int64_t now_ns);
/* Does what the host (or the GPU) did at this time belong to what is recorded? */
bool spool_in_window(const struct spool_out *out, int64_t ns, bool gpu);
void spool_put_recorded(struct spool *s, struct spool_out *out); /* at its end */
/* A stack record, at least as long as its head says; then the rows of the call that it is of, also
 * where several processes or threads call. */
void spool_add_stack(struct spool *s, struct spool_out *out, const void *record, size_t size);
void spool_put_caller(struct spool *s, struct spool_out *out, const struct row_api *call);
void spool_put_callers_end(struct spool *s, struct spool_out *out); /* what is missing of them */
void spool_free_callers(struct spool *s);
/* A wait; one that is not timed gets the times of its call, which may come later. */
void spool_put_wait(struct spool *s, struct spool_out *out, struct row_sync *row, bool timed);
void spool_note_caller(struct spool *s, struct spool_out *out, const struct row_api *call);
uint32_t spool_watched_id(struct spool *s, uint32_t id, int64_t layer); /* id, looked at */
void spool_add_silence(struct spool *s, const struct spool_rec_silent *r);
void spool_note_call(struct spool *s, int64_t start_ns); /* of a library that works on the GPU */
void spool_add_step(struct spool *s, const struct spool_rec_range *r);
void spool_add_line(struct spool *s, struct spool_out *out, const struct spool_rec_line *r);
void spool_put_stretch_end(struct spool *s, struct spool_out *out);
void spool_put_steps(struct spool *s, struct spool_out *out);
/* Rows known only at the end: process, threads, streams, devices, health. */
void spool_put_ends(struct spool *s, struct spool_out *out);
/* All counters of the agent's, as they are now. */
void spool_read_counters(struct spool *s);
/* Untimed records that wait to be placed: they count as lost where a window was open at near_ns. */
void spool_place_untimed(struct spool *s, const struct spool_out *out);
/* spool_place.c. Profile times of a span; damaged ones wrap around instead of being undefined.
 * False: its clock was being set (counted). */
bool spool_place(struct spool *s, const struct spool_out *out, int64_t start, int64_t end,
                 int64_t *start_ns, int64_t *end_ns);
/* Of GPU work; false when CUPTI could not time it (0, 0), or it was cut off: while
 * it ran, or, in a buffer that CUPTI still had when the process was killed, before it began. */
bool spool_place_work(struct spool *s, const struct spool_out *out, int64_t start, int64_t end,
                      int64_t *start_ns, int64_t *end_ns);
/* Of host work. The GPU's may end long after what was called last. */
bool spool_place_call(struct spool *s, const struct spool_out *out, int64_t start, int64_t end,
                      int64_t *start_ns, int64_t *end_ns);
/* A warning about what is missing; nothing for 0. */
void spool_put_loss(struct spool *s, struct spool_out *out, const char *code, const char *text,
                    int64_t value);

#endif
