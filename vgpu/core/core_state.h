/* The core as the runtime, driver and CUPTI shims see it. Libraries (cuBLAS, cuDNN) use only
 * core.h. One mutex guards the whole timeline; no thread holds it while it waits or calls out. */
#ifndef VGPU_CORE_STATE_H
#define VGPU_CORE_STATE_H

#include "core/core_record.h"
#include "vgpu_options.h"

#include <pthread.h>

enum {
    VG_MAX_DEVICES = VGPU_MOST_DEVICES,
    VG_LANES = 16,
    VG_STREAM_MAGIC = 0x76677374,
    VG_EVENT_MAGIC = 0x76676576,
    VG_GRAPH_MAGIC = 0x76676772,
    VG_EXEC_MAGIC = 0x76676578,
};

/* The cudaError_t numbers that the core returns; it does not include CUDA's headers. */
enum {
    VG_OK = 0,
    VG_INVALID_VALUE = 1,
    VG_NO_MEMORY = 2,
    VG_INIT_ERROR = 3,
    VG_INVALID_DIRECTION = 21,
    VG_NO_DEVICE = 100,
    VG_INVALID_HANDLE = 400,
    VG_NOT_READY = 600,
    VG_REGISTERED = 712,
    VG_NOT_REGISTERED = 713,
    VG_CAPTURE_UNSUPPORTED = 900,
    VG_CAPTURE_INVALIDATED = 901,
    VG_CAPTURE_UNMATCHED = 903,
    VG_CAPTURE_UNJOINED = 904,
    VG_CAPTURE_ISOLATION = 905,
    VG_CAPTURE_IMPLICIT = 906,
    VG_GRAPH_UPDATE_FAILURE = 910,
};

/* ---- device state ---- */

enum vg_engine { VG_ENGINE_NONE, VG_ENGINE_COMPUTE, VG_ENGINE_H2D, VG_ENGINE_D2H, VG_ENGINES };

struct vg_graph;

struct vg_stream {
    uint32_t magic, id;
    int device;
    unsigned flags; /* 1: non-blocking */
    int priority;
    bool legacy, destroyed;
    int64_t tail_ns;   /* end of the last operation */
    int64_t ready_ns;  /* the next operation starts no earlier, because of events */
    bool tail_is_work; /* the last operation ran on the device: the next one follows after a gap */
    int64_t *slots;    /* ring of end times: the hardware queue */
    uint32_t depth, head;
    uint64_t host_queued, host_done; /* host functions: sequence numbers */
    struct vg_graph *capture;
    int capture_mode;
    struct vg_node **frontier; /* nodes on which the next captured one depends */
    size_t frontier_n;
    /* Operations that wait for a barrier, in order (core_barrier.c). */
    struct vg_held *held, **held_end;
    uint32_t held_n;
    _Atomic uint32_t emitting;
    struct vg_stream **lanes;  /* for graphs that are launched in rows (core_graph_held.c) */
    struct vg_stream *lane_of; /* the launching stream; NULL: this is not a lane */
    struct vg_stream *next;    /* of the same device */
    struct vg_stream
        *gone; /* next destroyed stream; `next` stays valid for a thread that walks the list */
};

struct vg_event {
    uint32_t magic, id;
    unsigned flags; /* 1: blocking sync, 2: no timing */
    int device;
    bool recorded;
    int64_t time_ns;
    struct vg_moment *moment; /* behind a barrier: its time is not known yet; else NULL */
    uint32_t stream_id;
    uint32_t recording;            /* correlation id of the call that recorded it last */
    struct vg_stream *host_stream; /* host functions that it waits for, at its recording */
    uint64_t host_upto;
    /* The capture in which it was recorded, which a wait for it joins; 0: none. */
    uint32_t capture_id;
    struct vg_node **deps;
    size_t deps_n;
};

/* A time in which a collective's kernel holds some multiprocessors, so that computing is slower. */
struct vg_crowd {
    int64_t start_ns, end_ns; /* INT64_MAX: the collective still waits */
    double slower;            /* added share of time */
};

struct vg_device {
    int index;
    struct vg_crowd crowd[32]; /* the latest ones, as a ring */
    unsigned crowd_n, crowd_open;
    struct vg_profile profile;
    uint32_t context_id;
    _Atomic bool context_made; /* the primary context: something has used it */
    unsigned sync_flags;
    int64_t engine_free_ns[VG_ENGINES];
    int64_t blocking_tail_ns; /* latest end in all streams that synchronise with the legacy one */
    int64_t work_tail_ns;     /* latest end of all work */
    int64_t busy_ns;          /* of the compute engine, in sum */
    struct vg_stream *streams;
    struct vg_stream *legacy;
    uint32_t next_stream_id;
    char *base;            /* the address range that stands for the device's memory */
    size_t capacity, used; /* bytes of memory */
    size_t span;           /* bytes of addresses from base, of which `used` are given out */
    size_t backed;         /* up to here, driver blocks hold small allocations */
    struct vg_block *blocks;
    _Atomic uint64_t *copied_to; /* a bit per page (core_data.c) */
    uint64_t peers;              /* bit i: access to device i is enabled */
};

extern struct vg_core {
    pthread_mutex_t lock;
    int device_count;
    struct vg_device device[VG_MAX_DEVICES];
    double scale, noise_sigma;
    bool own_work; /* the model's own work in a call becomes a record */
    size_t copy_limit;
    bool launch_blocking;                             /* CUDA_LAUNCH_BLOCKING=1 */
    double throttle, throttle_from_s, throttle_for_s; /* share of the clock, and when, in s */
    _Atomic uint32_t next_correlation;
    _Atomic uint32_t next_id; /* of contexts, events, graphs */
} vg_core;

/* Contexts as the driver sees them: one per device. A thread has one once it has used a device. */
void vg_context_make(int device); /* the primary one, unless it exists */
void vg_context_use(int device);
void vg_context_told(void); /* reports the context to the listener */
bool vg_unnumbered(void);   /* all calls get the same correlation id */
bool vg_context_bound(void);
void vg_context_unbind(void);

/* ---- timeline (core_stream.c); functions named _locked need the lock ---- */

struct vg_work {
    enum vg_engine engine;
    int64_t earliest_ns; /* the call's start and the latency: it starts no earlier */
    int64_t duration_ns; /* after noise and scale */
    int64_t gap_ns;      /* after the previous operation of the stream */
    bool is_mark;        /* an event */
    /* Too small to fill the device: it neither waits for the engine nor holds it. */
    bool shares_engine;
    const struct vg_copy *copy; /* a copy whose bytes move when it is placed; or NULL */
};
struct vg_span {
    int64_t start_ns, end_ns;
};
/* Places the operation, emits its record and returns true. Behind a barrier, keeps it for later and
 * returns false. Takes the core's lock. */
bool vg_submit(struct vg_stream *s, const struct vg_work *w, struct vg_record *r);
int64_t vg_scaled(double duration_ns, double floor_ns); /* with noise and scale */
/* Its start if it were placed now. */
int64_t vg_start_locked(const struct vg_stream *s, const struct vg_work *w);
struct vg_span vg_place_locked(struct vg_stream *s, const struct vg_work *w);
/* Moves the end of the operation placed last. */
void vg_extend_locked(struct vg_stream *s, int64_t end_ns);
/* Blocks while the stream's queue is full. Called, and returns, with the lock held. */
void vg_queue_locked(struct vg_stream *s);

int vg_stream_resolve(struct vg_stream *handle, bool per_thread, struct vg_stream **out);
int vg_stream_create(struct vg_stream **out, unsigned flags, int priority);
int vg_stream_destroy(struct vg_stream *s);
struct vg_stream *vg_stream_lane(struct vg_stream *s, size_t lane); /* NULL: no memory */
int64_t vg_stream_tail(struct vg_stream *s); /* the end that a synchronisation waits for */
int vg_stream_sync(struct vg_stream *s);
int vg_stream_query(struct vg_stream *s);
int vg_stream_wait(struct vg_stream *s, struct vg_event *e);
int vg_device_sync(void);
/* The stream after s in the device's list (NULL: the first). Other threads may make and destroy
 * streams meanwhile. */
struct vg_stream *vg_stream_after(const struct vg_device *d, const struct vg_stream *s);
int64_t vg_device_tail(int device);
void vg_wait_for(int64_t when_ns, bool blocking);

int vg_event_create(struct vg_event **out, unsigned flags);
int vg_event_check(const struct vg_event *e);
int vg_event_destroy(struct vg_event *e);
int vg_event_record(struct vg_event *e, struct vg_stream *s);
int vg_event_query(struct vg_event *e);
int vg_event_sync(struct vg_event *e);

/* ---- behind barriers (core_barrier.c) ---- */
struct vg_moment { /* the time of an event behind a barrier */
    int refs;
    bool known;
    int64_t time_ns;
};
/* Keep an operation of a stream for later. False: the stream holds nothing, so it can be placed.
 * The lock must be held. */
bool vg_hold_work_locked(struct vg_stream *s, const struct vg_work *w, const struct vg_record *r);
bool vg_hold_event_locked(struct vg_stream *s, const struct vg_work *w, const struct vg_record *r,
                          struct vg_event *e);
bool vg_hold_wait_locked(struct vg_stream *s, struct vg_event *e);
/* The same whether or not the stream holds anything: for graphs. One reference to a mark's moment
 * is the caller's. A graph's record lasts from `begin` to this point of the row. */
void vg_held_work_locked(struct vg_stream *s, const struct vg_work *w, const struct vg_record *r);
void vg_held_barrier_locked(struct vg_stream *s, const struct vg_work *w, const struct vg_record *r,
                            const struct vg_barrier *barrier);
struct vg_moment *vg_held_mark_locked(struct vg_stream *s, const struct vg_work *w);
void vg_held_after_locked(struct vg_stream *s, struct vg_moment *m);
void vg_held_graph_locked(struct vg_stream *s, const struct vg_record *r, struct vg_moment *begin);
void vg_moment_unref_locked(struct vg_moment *m);
/* True if the event's time is known; then drops its moment. */
bool vg_event_settled_locked(struct vg_event *e);
void vg_event_forget_locked(struct vg_event *e);
void vg_event_settle(struct vg_event *e); /* waits until its time is known */
void vg_settle(struct vg_stream *s);      /* waits until the stream holds nothing */
/* Waits for held operations that precede this stream's next one by the legacy stream's rules. */
void vg_settle_legacy(struct vg_stream *s);

/* ---- work (core_work.c, core_copy.c, core_host.c) ---- */
struct vg_work vg_kernel_work(const struct vg_profile *p, const struct vg_kernel *k);
/* Computing is slower beside a collective: vg_crowd_locked notes a collective, vg_crowded_locked
 * returns how long work takes beside it. */
struct vg_crowd *vg_crowd_locked(struct vg_device *d, const struct vg_kernel *k, int64_t start_ns);
int64_t vg_crowded_locked(const struct vg_device *d, int64_t start_ns, int64_t duration_ns);
struct vg_record vg_record_on(const struct vg_stream *s, enum vg_record_kind kind);
int vg_launch(struct vg_stream *s, const struct vg_kernel *k, double host_ns);
/* Rows of `width` bytes, `pitch` apart; elements of 1, 2 or 4 bytes get the value. A box has
 * `slice_rows` rows in each slice, and its slices begin `slice_pitch` bytes apart; slice_rows = 0: all
 * rows are in one slice. */
struct vg_set {
    void *ptr;
    unsigned value, element;
    size_t width, rows, pitch, slice_rows, slice_pitch;
};
int vg_memset(struct vg_stream *s, void *ptr, int value, size_t bytes, bool async);
int vg_memset_rows(struct vg_stream *s, const struct vg_set *set, bool async);
double vg_set_ns(const struct vg_profile *p, const struct vg_set *set);
/* kind: cudaMemcpyKind (4: by the pointers). Copies with a pitch give their total bytes. */
struct vg_copy {
    void *dst;
    const void *src;
    size_t bytes;
    int kind;
    bool async;
    size_t rows, row_bytes, dst_pitch, src_pitch; /* rows 0: one block */
    size_t slices, dst_slice, src_slice;          /* number of rows in each; 0: one slice */
};
int vg_copy(struct vg_stream *s, const struct vg_copy *c);
int vg_host_at(struct vg_stream *s, int64_t when_ns, void (*fn)(void *), void *arg);
int vg_host_function(struct vg_stream *s, void (*fn)(void *), void *arg);
/* A thread of the virtual GPU calls host functions when the timeline reaches them. */
void vg_host_drain(struct vg_stream *s, uint64_t upto);
bool vg_host_done(struct vg_stream *s, uint64_t upto);

/* ---- data (core_data.c) ---- */
int vg_data_open(struct vg_device *d);
void vg_copy_rows(const struct vg_copy *c); /* moves all bytes */
/* Moves the bytes if it is worth it. */
void vg_copy_bytes(const struct vg_copy *c, bool host_waits);
void vg_set_bytes(const struct vg_set *set);
/* How many of these bytes lie in whole pages of any kernel; *at moves to the first of them. */
size_t vg_whole_pages(char **at, size_t bytes);

/* ---- memory (core_memory.c) ---- */
struct vg_pointer {
    enum vg_memory_kind kind;
    int device; /* of device memory; otherwise -1 */
    size_t size;
    char *base;
};
int vg_memory_open(struct vg_device *d);
int vg_malloc(int device, void **out, size_t bytes);
int vg_free(void *ptr);
/* Host time for an allocation that was made, or for one that is about to be freed. */
int64_t vg_malloc_host_ns(const void *ptr);
int64_t vg_free_host_ns(const void *ptr);
/* While memory is held it keeps its address when it is freed, and may be freed again. */
void vg_hold_memory(void *ptr, bool hold);
size_t vg_block_bytes(const void *ptr); /* size of the allocation that starts there; 0: none does */
int vg_malloc_host(void **out, size_t bytes);
int vg_malloc_managed(void **out, size_t bytes);
int vg_free_host(void *ptr);
int vg_host_register(void *ptr, size_t bytes);
int vg_host_unregister(void *ptr);
struct vg_pointer vg_pointer(const void *p);
struct vg_pointer vg_allocation(const void *p); /* the same for the block that contains p */
void vg_memory_info(int device, size_t *free_bytes, size_t *total);
/* Between these calls the addresses count as the device's memory. */
int vg_range_map(char *base, size_t bytes, int device);
bool vg_range_unmap(char *base);

/* ---- gauges (core_gauges.c) ---- */
struct vg_gauges { /* of a device, over all processes that publish theirs */
    int64_t used, busy_ns, started_ns;
};
bool vg_gauges_watch(void);  /* true: this process only reads, since it made the shared memory */
int vg_gauges_devices(void); /* the largest number that a process published; 0: none yet */
void vg_gauges_open(int devices);
void vg_gauges_forget(void);                   /* in a forked child */
void vg_gauges_put(const struct vg_device *d); /* lock held */
struct vg_gauges vg_gauges_read(const struct vg_device *d);
/* Share of the full clock at a moment, for a process that began at begun_ns; and for this one
 * now. */
double vg_clock_share(int64_t when_ns, int64_t begun_ns);
double vg_clock_now(void);

#endif
