/* One spool file in the collector: mapped, checked, and decoded into the rows of one process.
 *
 *   spool_map.c     mapping and checking; strings; everything read from the file is bounded
 *   spool_guard.c   a file that is truncated while it is mapped
 *   spool_clock.c   CUPTI's clock -> profile time, by the anchors
 *   spool_ring.c    ring records -> rows
 *   spool_buffers.c CUPTI's buffers: which to read, walking their records, freeing them
 *   spool_cupti.c   CUPTI activity records -> rows (their layouts: spool_records.h)
 *   spool_stack.c   stacks behind long calls -> ranges that name the caller's line
 *   spool_host.c    CPU time of the target's threads -> rows
 *   spool_keep.c    which rows are kept
 *   spool_window.c  windows recorded in full, by steps or by time
 *   spool_asked.c   windows on request
 *   spool_control.c what the agents are told to record
 *   spool_steps.c   steps outside of windows, summed up
 *   spool_save.c    state that outlives a killed collector, besides rows and records
 *   spool_ends.c    threads, streams, devices, losses, the process itself -> rows
 *
 * The file is written by another process that may be broken or hostile: no offset, length
 * or id in it is trusted. */
#ifndef GPUPROF_COLLECTOR_SPOOL_SPOOL_H
#define GPUPROF_COLLECTOR_SPOOL_SPOOL_H

#include "analyzer/collector/spool/sources.h"
#include "analyzer/profile/rows.h"
#include "base/keymap.h"
#include "base/vec.h"
#include "wire/spool_format.h"

#include <stdbool.h>

/* Limits the size of the profile and the spools together. */
struct spool_limit {
    int64_t (*bytes)(void *self); /* estimates the profile's final size; NULL: no limit */
    void *self;
    int64_t max_bytes, spool_bytes;
    bool reached;     /* rows with a time are no longer kept */
    bool disk;        /* ... because the disk is full */
    int64_t from_ns;  /* from then on GPU work or calls are missing; INT64_MAX: none are */
    int64_t left_out; /* number of rows not kept */
};

/* Agents are told of a window this long before it begins: they look ten times a second, and CUPTI
 * then needs a moment to start. */
#define SPOOL_EARLY_NS INT64_C(200000000)

/* Windows by time, chosen by the collector. Without any, the whole run is recorded. */
struct spool_times {
    int64_t every_ns, window_ns, until_ns; /* every_ns 0: one window; until_ns INT64_MAX: to the
                                              end */
    struct VEC(struct row_recorded) at;    /* past windows, the present one, and the next one */
    bool asked;                            /* windows on request: only the newest one is kept */
    bool told;                             /* the agents were told to record */
    bool based;    /* the window has begun: asked_from of each process is set */
    int64_t steps; /* length in steps; 0 = by time */
};

/* Gives rows their ids and passes them to the sink. After the sink has failed, rows
 * are only counted as lost. */
struct spool_out {
    struct sink *sink;
    int64_t ids[ROW_KINDS];
    int64_t rows, lost;
    bool failed;
    struct err *e; /* gets the sink's first error */
    struct spool_limit limit;
    struct spool_times times;
    struct spool *from; /* the process whose rows are put now; NULL: rows of no process */
    struct sources sources;
    int64_t newest_ns; /* time of the newest row, for rows that have none */
    int64_t unsafe_ns; /* earliest time among the rows since the last commit; INT64_MAX: no rows */
};

struct spool_thread {
    uint32_t tid;
    uint32_t name;  /* sink string id */
    uint32_t named; /* spool string id of the name; 0: the name comes from comm */
    char comm[16];
    int64_t id;     /* id of its row */
    int64_t cpu_ns; /* at its last host sample */
    bool sampled;
};

struct spool_stream {
    uint32_t device, context, stream;
    int64_t id, flags, priority;
    bool known; /* a STREAM record stated flags and priority */
};

struct spool_device {
    struct row_device row;
    bool described;      /* a DEVICE record described it */
    char uuid[48];       /* as NVML writes it */
    uint64_t name;       /* pointer in the record */
    bool asked;          /* NVML was asked for it */
    void *gauges_device; /* NVML's handle; NULL: NVML does not know it */
};

struct spool_context {
    uint32_t context, device, null_stream;
};

/* A time in which CUPTI reported nothing. sure: it did so although the GPU was used, or because
 * another client held CUPTI. stepped: the program's steps went on meanwhile. */
struct spool_silence {
    int64_t start_ns, end_ns; /* the last one may be open: end INT64_MAX */
    bool sure, stepped;
};

/* A time in which the real-time clock was set, in profile time: stamps in
 * it cannot be converted. */
struct spool_clock_gap {
    int64_t start_ns, end_ns;
};

/* The progress of the process, looked at once a second. Times are CLOCK_MONOTONIC. */
enum { SPOOL_PACES = 16 };
struct spool_pace {
    int64_t steps, changed_ns;      /* steps begun; when that number last changed, 0 = never */
    int64_t length_ns[SPOOL_PACES]; /* lengths of recent steps, as exact as a
                                       look per second allows */
    uint32_t lengths;               /* number of lengths noted so far */
    int64_t cpu_ns, looked_ns;
    int64_t busy_ns;    /* when it last used a core or waited for the disk */
    int64_t stopped_ns; /* when it was last seen stopped by a signal or debugger */
};

enum { SPOOL_CBIDS = 2048, SPOOL_SILENCES = 4096 };

/* A mapping whose file may be truncated. */
struct spool_guard {
    void *map;
    uintptr_t start;
    size_t size;
    struct spool_guard *next;
    bool cut; /* the file was truncated: the missing pages read as zeros */
};
void spool_guard_begin(struct spool_guard *g, void *map, size_t size);
void spool_guard_end(struct spool_guard *g);

/* Recent calls, for waits without own times. */
enum {
    SPOOL_CALLS_SEEN = 64,
    SPOOL_SAME_IDS = 16, /* after so many calls in a row with the same correlation id,
                            CUPTI does not number calls */
};
struct spool_call_seen {
    int64_t correlation, start_ns, end_ns;
};

/* What was lost of a process, by the agent or by the collector. */
struct spool_losses {
    int64_t counter[SPOOL_COUNTERS]; /* counted by the agent */
    int64_t unnamed;                 /* kernels named by their address */
    int64_t off_clock;               /* records left out because the clock was set */
    int64_t untimed, in_flight, unknown_kinds, cut_buffers, bad_records;
    int64_t unasked; /* untimed records that belong to no window */
};

struct spool {
    char *path;
    struct spool_guard guard;
    uint8_t *map;
    size_t size;
    struct spool_header *h;    /* shared with the target: use only its atomic words and strides */
    struct spool_header fixed; /* a copy, checked at opening: sizes, offsets, identity */
    int64_t start_ns;          /* CLOCK_MONOTONIC at profile time 0 */

    int64_t process; /* id of its row */
    struct row_process row;
    uint32_t command, host; /* spool string ids */
    struct VEC(struct spool_thread) threads;
    struct VEC(struct spool_stream) streams;
    struct VEC(struct spool_device) devices;
    struct VEC(struct spool_context) contexts;
    struct VEC(struct spool_anchor) anchors;
    struct VEC(size_t) segments; /* indices of the first anchors after the clock was set */
    uint32_t anchors_seen;
    size_t segments_lost; /* number of old segments dropped in a long run */
    struct VEC(struct spool_clock_gap) clock_gaps;
    int64_t now_ns; /* CLOCK_MONOTONIC when the anchors were last read */
    size_t last_thread, last_stream;
    int64_t next_sample_ns; /* CLOCK_MONOTONIC of the next host sample */
    int64_t closely_ns;     /* CLOCK_MONOTONIC: the process is sampled closely until then */
    unsigned seen;          /* reasons for close sampling so far, as bits */
    enum { SPOOL_WAITS_UNKNOWN, SPOOL_WAITS_KEPT, SPOOL_WAITS_NOT_KEPT } disk_waits;

    uint32_t *strings;             /* by spool string id: sink id + 1; 0 = not looked up */
    bool chose_virtual;            /* it was started on the virtual GPU */
    uint32_t virtual_name;         /* sink string id of the virtual GPU's name */
    uint32_t cbid[2][SPOOL_CBIDS]; /* names of API functions: spool string ids by layer (0
                                      runtime, 1 driver) and number */
    uint64_t *name_keys;           /* hash table: pointer -> sink string id */
    uint32_t *name_values;
    uint32_t name_mask, names_read;

    uint64_t *read; /* by ring: how far it is read, if that is not freed yet; else 0 */
    uint8_t *taken; /* by buffer: whether it is read but not freed, or set aside */
    bool tight;     /* little of the disk is left: read one buffer at a time */
    bool saves;     /* nothing of the disk is left: set buffers aside instead of freeing them */
    uint32_t aside; /* number of buffers set aside, whose space a commit may need */
    size_t held_bytes, held_of_ring; /* bytes read but not freed: in total; the most in one ring */
    uint32_t were_ready;             /* number of ready buffers at the last look */
    bool changed;                    /* something changed since its state was last saved */
    int64_t newest_ns;               /* latest end of a record, profile time */

    uint64_t epoch; /* upper half of unwrapped correlation ids */
    uint32_t last_correlation;

    struct VEC(struct row_recorded) windows; /* its own windows; the last may be open: end
                                                INT64_MAX */
    uint32_t windows_seen;
    struct VEC(struct spool_silence) silences;
    int64_t last_call_ns;    /* last call of a GPU library, profile time */
    int64_t last_record_ns;  /* latest end of a record from CUPTI */
    bool cupti_told;         /* CUPTI reported at least one record */
    int64_t late_ns;         /* another tool held CUPTI until then; 0 = none did */
    int64_t cut_correlation; /* correlation of the first call after a window; 0 = not known */
    int64_t windows_read_ns; /* when the windows were last read, profile time */
    struct spool *leader;    /* the process that counts steps and whose windows
                                also hold for this one */
    struct VEC(struct row_step_block) blocks;
    int64_t block_steps, steps, last_step_ns, last_step_end_ns;
    struct spool_pace pace;
    int64_t asked_from; /* steps begun when the requested window began */

    struct spool_call_seen calls_seen[SPOOL_CALLS_SEEN];
    size_t next_call;
    uint32_t newest_id, same_ids;           /* of runtime calls: newest correlation id, and
                                               how many in a row have it */
    struct VEC(struct row_sync) waits_held; /* waits without times whose calls have not come yet */

    struct keymap lines; /* (file, function, line, caller) -> id in table `stack` */
    uint32_t stretch;    /* the open stretch of lines; 0 = none */
    int64_t stretch_ns;  /* time of its first record */
    uint32_t stretches_ended;

    struct spool_callers *callers; /* NULL: no stack came so far */

    struct spool_losses lost, lost_before; /* lost_before: when the requested window began */
    int64_t unnamed_devices;
    int64_t unplaced; /* untimed records since the last timed one, in any buffer */
    int64_t near_ns;  /* time of that timed record, profile time; -1 = none yet */
    bool unfinished;  /* the buffer being read was not handed over by CUPTI */
    bool has_ranges, has_calls, has_loader, has_events;
    bool done, gone; /* done: read to its end; gone: its file was removed as well */
};

/* 0 with *s filled. SPOOL_NOT_READY: the target has not finished creating it. SPOOL_LATER: this
 * process lacks memory or descriptors now. -1 with *e set: it is no spool. */
enum { SPOOL_NOT_READY = 1, SPOOL_LATER };
int spool_open(struct spool *s, const char *path, struct err *e);
void spool_unmap(struct spool *s); /* call it when all is read; counts and lists stay */
void spool_close(struct spool *s);
bool spool_has_process(const struct spool *s); /* its pid still belongs to the process that wrote
                                                  it */
bool spool_alive(const struct spool *s);       /* ... and that still writes */
/* Sink string id of that source line; 0: not known. */
uint32_t spool_source(struct spool_out *out, const char *file, int64_t line);
/* converts to a sink string id */
uint32_t spool_string(struct spool *s, struct spool_out *out, uint32_t id);
/* Copies a string as printable ASCII, cut to fit; "" = there is none. */
void spool_copy_string(const struct spool *s, uint32_t id, char *out, size_t n);
void spool_read_names(struct spool *s, struct spool_out *out);
/* Sink string id of the name at this pointer in the target. If the agent did not copy the name:
 * kernel@ADDRESS, and ++*unknown. */
uint32_t spool_name(struct spool *s, struct spool_out *out, uint64_t pointer, int64_t *unknown);
int64_t spool_thread_id(struct spool *s, struct spool_out *out, uint32_t tid);
/* puts the row if it is to be kept */
void spool_put(struct spool_out *out, enum row_kind kind, const void *row);
uint32_t spool_intern(struct spool_out *out, const char *text);

void spool_read_anchors(struct spool *s);
int64_t spool_cupti_time(const struct spool *s, int64_t cupti_ns); /* converts to profile ns */
/* Converts a span of CUPTI's clock. False: the clock was set meanwhile, so its
 * times cannot be known. */
bool spool_cupti_span(const struct spool *s, int64_t start, int64_t end, int64_t *start_ns,
                      int64_t *end_ns);
/* Add and subtract times; damaged values wrap around instead of overflowing. */
static inline int64_t spool_minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}
static inline int64_t spool_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
/* Converts CLOCK_MONOTONIC to profile ns. */
static inline int64_t spool_time(const struct spool *s, int64_t monotonic_ns)
{
    return spool_minus(monotonic_ns, s->start_ns);
}

void spool_sample_host(struct spool *s, struct spool_out *out); /* samples only if it is time to */
/* True if the process is to be sampled closely: for some seconds after it started, or began to use
 * a GPU or to count steps. A short run consists only of these seconds. */
bool spool_samples_often(struct spool *s, int64_t now_ns);
void spool_drain_rings(struct spool *s, struct spool_out *out);
/* Decodes one record of `stride` bytes; the first four are its kind. */
void spool_put_record(struct spool *s, struct spool_out *out, const uint8_t *at, uint32_t stride);
/* Reads buffers in state READY; with `adopt` (the process is dead) also OWNED and COMPLETE ones. If
 * s->tight, reads one only, unless it adopts. False: there was none. */
bool spool_drain_buffers(struct spool *s, struct spool_out *out, bool adopt);
/* Frees what was read; it stays in the spool until its rows are safe. */
void spool_give_back(struct spool *s);
/* For a full disk. spool_has_spare: is a free buffer set aside? If none is, it first sets some
 * aside. spool_give_up frees the disk space of one of them; false: there is none, or the file
 * system cannot do that. */
bool spool_has_spare(struct spool *s);
bool spool_give_up(struct spool *s);
void spool_give_back_rings(struct spool *s);
/* The state of a process besides its rows and its spool, as bytes, from which a later collector
 * continues. spool_load: after spool_open; -1: the bytes are from another version, or damaged.
 * spool_save: -1: out of memory. */
struct spool_bytes VEC(uint8_t);
int spool_save(struct spool *s, struct spool_bytes *to);
int spool_load(struct spool *s, struct spool_out *out, const void *bytes, size_t n);
/* a command line; converts to a sink string id */
uint32_t spool_command(struct spool *s, struct spool_out *out, uint32_t id);
/* Windows: spool_read_windows reads those by steps, which the agent decides; spool_times_* plan
 * those by time. thin: each increment doubles the distance between windows. */
void spool_read_windows(struct spool *s);
bool spool_whole(const struct spool *s); /* all of it is recorded, as far as is known */
/* It is between windows, whose end only its steps decide. now_ns is the profile's time. */
bool spool_rests(const struct spool *s, int64_t now_ns);
void spool_times_begin(struct spool_times *t, int64_t delay_ns, int64_t duration_ns,
                       int64_t every_ns, int64_t window_ns);
void spool_times_advance(struct spool_times *t, int64_t now_ns, uint32_t thin);
/* is any window open between these times? */
bool spool_times_open(const struct spool_times *t, int64_t from_ns, int64_t to_ns);
void spool_times_add(struct spool_times *t, int64_t from_ns, int64_t length_ns);
int64_t spool_tail_ns(int64_t length_ns); /* how long GPU work after such a window belongs to it */
/* Windows on request. steps 0: the window lasts length_ns. Times are profile times. */
void spool_ask(struct spool_times *t, int64_t now_ns, int64_t steps, int64_t length_ns);
/* ends the open one; discards it if it has not begun */
void spool_ask_end(struct spool_times *t, int64_t now_ns);
struct row_recorded *spool_asked(const struct spool_times *t); /* the newest one; NULL: none */
int64_t spool_steps_begun(const struct spool *s);              /* 0 = it marks none, or has ended */
bool spool_any_marks(struct spool *const *spools, size_t n);
void spool_ask_advance(struct spool_times *t, struct spool *const *spools, size_t n,
                       int64_t now_ns);
/* True if the process itself decides when windows begin and end. */
bool spool_leads(const struct spool *s);
/* Tells the agents what to record from now on. */
void spool_direct(struct spool **spools, size_t n, struct spool_out *out, int64_t now_ns);
/* True if host work, or GPU work, at this time is in a recorded window. */
bool spool_in_window(const struct spool_out *out, int64_t ns, bool gpu);
/* puts the process' windows, at its end */
void spool_put_recorded(struct spool *s, struct spool_out *out);
/* spool_add_stack: adds a stack record; its size was checked against its head. spool_put_caller:
 * when the call's own record comes, puts a range with the call's line. */
void spool_add_stack(struct spool *s, struct spool_out *out, const void *record, size_t size);
void spool_put_caller(struct spool *s, struct spool_out *out, const struct row_api *call);
/* reports calls whose line is missing */
void spool_put_callers_end(struct spool *s, struct spool_out *out);
void spool_free_callers(struct spool *s);
/* Puts a wait. One without times gets those of its call, which may come later. */
void spool_put_wait(struct spool *s, struct spool_out *out, struct row_sync *row, bool timed);
void spool_note_caller(struct spool *s, struct spool_out *out, const struct row_api *call);
/* returns id; notes whether ids repeat */
uint32_t spool_note_call_id(struct spool *s, uint32_t id, int64_t layer);
void spool_add_silence(struct spool *s, const struct spool_rec_silent *r);
void spool_note_call(struct spool *s, int64_t start_ns); /* a library call that works on the GPU */
void spool_add_step(struct spool *s, const struct spool_rec_range *r);
void spool_add_line(struct spool *s, struct spool_out *out, const struct spool_rec_line *r);
void spool_add_piece(struct spool *s, struct spool_out *out, const struct spool_rec_piece *r);
/* Id of a device's row. Makes one for a device that is used, but that no record describes, because
 * the process was killed early. -1: not known. */
int64_t spool_device_id(struct spool *s, struct spool_out *out, uint32_t ordinal);
void spool_put_stretch_end(struct spool *s, struct spool_out *out);
void spool_put_steps(struct spool *s, struct spool_out *out);
/* Puts rows known only at the end: process, threads, streams, devices, health. */
void spool_put_ends(struct spool *s, struct spool_out *out);
/* Reads the agent's counters. */
void spool_read_counters(struct spool *s);
/* Counts the untimed records that wait for a time: as lost if near_ns lies in a window,
 * otherwise as not requested. */
void spool_place_untimed(struct spool *s, const struct spool_out *out);
/* spool_place.c. Converts a span to profile time. False, and counted: the clock was being set. */
bool spool_place(struct spool *s, const struct spool_out *out, int64_t start, int64_t end,
                 int64_t *start_ns, int64_t *end_ns);
/* For GPU work. Also false if CUPTI gave no times (0, 0), or if the work was cut off: while it ran
 * or, in a buffer that CUPTI held when the process was killed, before it began. */
bool spool_place_work(struct spool *s, const struct spool_out *out, int64_t start, int64_t end,
                      int64_t *start_ns, int64_t *end_ns);
/* For host work. Notes its end as CUPTI's last record: unlike GPU work, it cannot end
 * long after the last call. */
bool spool_place_call(struct spool *s, const struct spool_out *out, int64_t start, int64_t end,
                      int64_t *start_ns, int64_t *end_ns);
/* Puts a warning that something is missing. Does nothing if value is 0. */
void spool_put_loss(struct spool *s, struct spool_out *out, const char *code, const char *text,
                    int64_t value);

#endif
