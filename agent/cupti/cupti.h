/* CUPTI's part of the agent: activity buffers inside the spool, and the agent's own thread.
 *
 * Rules that this code keeps, because other tools broke where they did not: never call
 * cuptiFinalize; never free or reuse a buffer that CUPTI has not returned; call no function of
 * CUPTI in a buffer callback, and none at all in a forked child; force a flush only once, at the
 * end. */
#ifndef GPUPROF_AGENT_CUPTI_CUPTI_H
#define GPUPROF_AGENT_CUPTI_CUPTI_H

#include "agent/core/spool.h"
#include "agent/core/vendor.h"

struct cupti {
    struct vendor_cupti api;
    uint32_t version;
    _Atomic uint32_t generation; /* value of agent.generation for which CUPTI runs */
    _Atomic uint32_t arena;      /* buffers below this index have room on disk and touched pages */
    _Atomic bool kinds_on;       /* gpuprof's kinds are enabled in CUPTI */
    _Atomic bool runs_on; /* the kinds should be off, but this version must not be turned off */
    /* They were not turned on, because they could not be turned off again, and little is to be
     * recorded. */
    _Atomic bool left_off;
    _Atomic bool waiting; /* another tool holds CUPTI, and gpuprof waits for its release */
    bool thread;          /* the agent's thread was started */
};

extern struct cupti cupti;

/* Versions of CUPTI's API that need special treatment (cuptiGetVersion). */
enum {
    CUPTI_API_12_9 = 27,       /* from here on a request for a buffer may be answered with NULL */
    CUPTI_API_13_0_0 = 130000, /* disabling the kernel kinds while work runs can deadlock */
    CUPTI_API_13_0_1 = 130001, /* and can crash some seconds later */
};

/* True if CUPTI runs and was started by this process. */
static inline bool cupti_running(void)
{
    return agent_recording() &&
           atomic_load_explicit(&cupti.generation, memory_order_relaxed) == agent.generation;
}

/* True if CUPTI calls our callbacks, even if nothing may be recorded any more. */
static inline bool cupti_registered(void)
{
    return atomic_load_explicit(&cupti.generation, memory_order_relaxed) == agent.generation &&
           agent.generation != 0 && !cupti.waiting;
}

void cupti_start(struct thread *t); /* called once, by InitializeInjection */
/* While waiting: starts CUPTI if the other tool has released it. */
void cupti_try_again(struct thread *t);
bool cupti_held(void);               /* a tool that gpuprof cannot see holds CUPTI */
void cupti_register(void);           /* sets our callbacks and kinds; again after another client */
bool cupti_kind_used(uint32_t kind); /* gpuprof has this kind enabled */
bool cupti_stop_kinds(void);         /* false: this version must stay on */
void cupti_switch(bool on);          /* turns the kinds on or off as the window opens or closes */
void cupti_forget(void);             /* after a fork: the child uses no CUPTI */
/* Flushes within timeout_ms. forced: delivers also records of work that still runs. False: there
 * was not enough time. */
bool cupti_finish(int timeout_ms, bool forced);

/* ---- buffers (cupti_buffers.c) ---- */

void CUPTIAPI cupti_buffer_request(uint8_t **buffer, size_t *size, size_t *max_records);
void CUPTIAPI cupti_buffer_complete(CUcontext context, uint32_t stream, uint8_t *buffer,
                                    size_t size, size_t valid);
/* Adds buffers until `spare` are free or the largest number is reached. -1: no room on disk. */
int cupti_buffers_prepare(unsigned spare);
/* True if most buffers wait for the collector. */
bool cupti_buffers_scarce(void);

/* Copies another client's records into buffers of ours. */
void cupti_buffers_keep(const uint8_t *records, size_t bytes);
uint64_t cupti_buffers_asked(void);   /* how many buffers CUPTI has requested so far */
uint64_t cupti_buffers_threads(void); /* in how many threads it has requested one */
void cupti_buffers_gather_begin(void);
/* Copies the records of complete buffer i into a shared one, and frees it; false: buffer i stays as
 * it is. */
bool cupti_buffers_merge(uint32_t i, size_t valid);
bool cupti_buffers_gathered(void); /* makes the shared buffer readable; false: there is none */
/* CUPTI holds a buffer with records in it that it requested up to this request. */
bool cupti_buffers_pending(uint64_t up_to);

/* ---- gpuprof's own subscription: cudaProfilerStart and Stop, long calls (cupti_range.c) ---- */

void cupti_range_watch(struct thread *t); /* subscribes, if there is something to watch */
void cupti_range_release(void);           /* another tool wants to subscribe */
bool cupti_range_held(void);

/* ---- another client in the program (cupti_peer.c) ---- */

/* What the other client called (preload_cupti.c). peer_enables returns true for the first kind of a
 * session. */
void peer_registers(CUpti_BuffersCallbackRequestFunc request,
                    CUpti_BuffersCallbackCompleteFunc complete);
bool peer_enables(uint32_t kind);
void peer_disables(uint32_t kind);
void peer_finalizes(void);
void peer_has_clock(CUpti_TimestampCallbackFunc clock);
CUpti_TimestampCallbackFunc peer_clock(void);
bool peer_subscribed(void);
size_t peer_take_dropped(void);

/* Consequences of those calls. peer_request and peer_complete return false if the buffer is not the
 * client's. */
bool peer_request(uint8_t **buffer, size_t *size, size_t *max_records);
bool peer_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
bool peer_present(void); /* the client is in a session */
bool peer_wants(uint32_t kind);
void peer_dropped(size_t n);
bool peer_ended(void); /* a session has ended since the last call */
uint32_t peer_sessions(void);
/* Should gpuprof not flush? A flush would return the client's buffers before the client asks. */
bool peer_holds(void);

/* ---- the client's buffers while CUPTI has them (peer_out.c) ---- */

void peer_forget(void); /* in a new process */
void peer_buffer_lent(uint8_t *buffer, size_t size);
/* Called before the client gets its buffer back: from then on gpuprof does not read it. True: its
 * records were already copied. */
bool peer_buffer_returned(const uint8_t *buffer);
bool peer_is_out(void);       /* CUPTI has a buffer of the client's */
bool peer_pending(void);      /* some of these buffers hold records that are not copied */
void peer_keep_pending(void); /* copies those records */

/* ---- the agent's thread (cupti_flush.c) ---- */

int cupti_flush_start(void);
/* Watches for silences of CUPTI (silence.c). The agent's thread calls these at its start, once a
 * second, and at its end. */
void silence_begin(void);
void silence_watch(struct thread *t, bool records, int64_t now_ns);
void silence_end(struct thread *t, bool kept); /* kept: CUPTI did not return all buffers */
void cupti_flush_wake(void);
/* cupti_flush_wake if CUPTI runs in this process; false: it does not run. */
bool cupti_wake_if_running(void);
/* Flushes for at most 100 ms until CUPTI has returned the buffers that it requested up to request
 * `up_to`. It does not force a flush, which would take records of running work without their times.
 * Any thread may call it. False: CUPTI kept some. */
bool cupti_flush_late(uint64_t up_to);

/* ---- finished buffers and names (cupti_publish.c) ---- */

struct cupti_progress {
    unsigned buffers; /* made readable */
    bool records;     /* some records were new */
};
void cupti_publish_begin(void);
/* The agent's thread calls this. new_round: reads all names again. */
struct cupti_progress cupti_publish(struct thread *t, bool new_round);
/* The program's thread calls this: publishes names before a kill can lose them. */
void cupti_step_over(struct thread *t);
void cupti_replaced(void); /* before exec: waits until the names are read */

/* ---- names in records (cupti_names.c) ---- */

int cupti_names_open(void);
/* Copies into the spool what the records in [from, bytes) of a buffer point to, and the names of
 * their API functions. Returns where it stopped: at the first record of kind 0 or of unknown size,
 * or, in a buffer that is not complete, at one that CUPTI still writes. */
uint64_t cupti_names_walk(struct thread *t, const char *buffer, uint64_t from, uint64_t bytes,
                          bool complete);
/* Begins a round: each name is read once per round, because the program loads and unloads
 * modules. */
void cupti_names_round(void);
/* How many launches and kernels the records have shown so far. */
struct cupti_seen {
    uint64_t launches, kernels;
};
struct cupti_seen cupti_names_seen(void);

#endif
