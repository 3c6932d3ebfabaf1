/* CUPTI's side of the agent: activity buffers inside the spool, and the agent's own thread.
 *
 * Rules kept here (each learnt from a tool that broke): never cuptiFinalize; never free or reuse a
 * buffer that CUPTI has not returned; no CUPTI call in a buffer callback; no CUPTI call at all in a
 * forked child; a forced flush only once, at the end. */
#ifndef GPUPROF_AGENT_CUPTI_CUPTI_H
#define GPUPROF_AGENT_CUPTI_CUPTI_H

#include "agent/core/spool.h"
#include "agent/core/vendor.h"

struct cupti {
    struct vendor_cupti api;
    uint32_t version;
    _Atomic uint32_t generation; /* agent.generation for which CUPTI runs; else it does not */
    _Atomic uint32_t arena;      /* buffers that have disk and pages: those below this index */
    _Atomic bool kinds_on;       /* ours, in CUPTI */
    _Atomic bool runs_on;        /* it should be off, and this version must not be turned off */
    _Atomic bool waiting;        /* for a tool that holds CUPTI; else it is ours */
    bool thread;                 /* the agent's thread was started */
};

extern struct cupti cupti;

/* API versions with behaviour of their own (cuptiGetVersion). */
enum {
    CUPTI_API_12_9 = 27,       /* from here on a request may answer NULL */
    CUPTI_API_13_0_0 = 130000, /* disabling kernels at run time can deadlock */
    CUPTI_API_13_0_1 = 130001, /* and crash later */
};

/* True in the process that started CUPTI, while it runs. */
static inline bool cupti_running(void)
{
    return agent_recording() &&
           atomic_load_explicit(&cupti.generation, memory_order_relaxed) == agent.generation;
}

/* True while CUPTI calls our callbacks, though nothing may be recorded any more. */
static inline bool cupti_registered(void)
{
    return atomic_load_explicit(&cupti.generation, memory_order_relaxed) == agent.generation &&
           agent.generation != 0 && !cupti.waiting;
}

void cupti_start(struct thread *t);     /* once, from InitializeInjection */
void cupti_try_again(struct thread *t); /* while waiting: has the tool let go? */
bool cupti_held(void);                  /* by a tool that we cannot see */
void cupti_register(void);              /* callbacks and kinds; again after another client */
bool cupti_kind_used(uint32_t kind);    /* one that we have on */
bool cupti_stop_kinds(void);            /* false: this CUPTI must be left as it is */
void cupti_switch(bool on);             /* the kinds, where the window closes and opens */
void cupti_forget(void); /* a new process by fork: it uses no CUPTI, whatever its parent did */
/* Flushes within timeout_ms; forced also delivers what still runs. False: not done in time. */
bool cupti_finish(int timeout_ms, bool forced);

/* ---- buffers (cupti_buffers.c) ---- */

void CUPTIAPI cupti_buffer_request(uint8_t **buffer, size_t *size, size_t *max_records);
void CUPTIAPI cupti_buffer_complete(CUcontext context, uint32_t stream, uint8_t *buffer,
                                    size_t size, size_t valid);
/* Adds buffers until so many are free or there are as many as may be. -1: no room on disk. */
int cupti_buffers_prepare(unsigned spare);
/* Most of them wait for the collector. */
bool cupti_buffers_scarce(void);

void cupti_buffers_keep(const uint8_t *records, size_t bytes); /* a copy of another's buffer */
uint64_t cupti_buffers_asked(void);                            /* how many, so far */
void cupti_buffers_gather_begin(void);
bool cupti_buffers_gather(uint32_t i, size_t valid); /* a complete one; false: it stays as it is */
bool cupti_buffers_gathered(void);                   /* hands over what was; false: nothing */
bool cupti_buffers_pending(uint64_t up_to); /* CUPTI holds one of those, with something in it */

/* ---- our own subscription: cudaProfilerStart and Stop, long calls (cupti_range.c) ---- */

void cupti_range_watch(struct thread *t); /* where there is something to watch */
void cupti_range_release(void);           /* somebody else wants to subscribe */
bool cupti_range_held(void);

/* ---- another client in the program (cupti_peer.c) ---- */

/* What it called (preload_cupti.c). peer_enables: true for the first kind of a session. */
void peer_registers(CUpti_BuffersCallbackRequestFunc request,
                    CUpti_BuffersCallbackCompleteFunc complete);
bool peer_enables(uint32_t kind);
void peer_disables(uint32_t kind);
void peer_finalizes(void);
void peer_has_clock(CUpti_TimestampCallbackFunc clock);
CUpti_TimestampCallbackFunc peer_clock(void);
bool peer_subscribed(void);
size_t peer_take_dropped(void);

/* What follows from it. The first two: false when the buffer is not the client's. */
bool peer_request(uint8_t **buffer, size_t *size, size_t *max_records);
bool peer_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
bool peer_present(void); /* in a session */
bool peer_wants(uint32_t kind);
void peer_dropped(size_t n);
bool peer_ended(void); /* a session has, since last asked */
uint32_t peer_sessions(void);
bool peer_holds(void); /* a flush of ours would give it its buffers back before it asks */

/* ---- its buffers while CUPTI has them (peer_out.c) ---- */

void peer_forget(void); /* in a new process */
void peer_goes_out(uint8_t *buffer, size_t size);
/* Before the client gets it: nobody reads it any more. True: it was copied already. */
bool peer_comes_back(const uint8_t *buffer);
bool peer_is_out(void);       /* CUPTI has one */
bool peer_pending(void);      /* some of them hold records that are not copied */
void peer_keep_pending(void); /* copies those */

/* ---- the agent's thread (cupti_flush.c) ---- */

int cupti_flush_start(void);
/* Silences of CUPTI (silence.c), by that thread: at its start, once a second, at its end. */
void silence_begin(void);
void silence_watch(struct thread *t, bool records, int64_t now_ns);
void silence_end(struct thread *t, bool kept); /* kept: CUPTI gave not all buffers back */
void cupti_flush_wake(void);
bool cupti_attend(void); /* the same if it runs in this process; false: it does not */
/* Flushes for 100 ms at most until CUPTI has given back the buffers asked for before `up_to`: a
 * forced flush takes records of what still runs without their times. Any thread. False: it kept
 * some. */
bool cupti_flush_late(uint64_t up_to);

/* ---- finished buffers and names (cupti_publish.c) ---- */

struct cupti_progress {
    unsigned buffers; /* made readable */
    bool records;     /* some were new */
};
void cupti_publish_begin(void);
/* By the agent's thread. new_round: all names are read again. */
struct cupti_progress cupti_publish(struct thread *t, bool new_round);
void cupti_step_over(struct thread *t); /* by the program's thread: names ahead of a kill */
void cupti_replaced(void);              /* ahead of exec: waits until the names are read */

/* ---- names in records (cupti_names.c) ---- */

int cupti_names_open(void);
/* Interns what the records in [from, bytes) of a buffer point to and the API functions they name.
 * Returns where it stopped: the first record of kind 0 or of unknown size, or, in a buffer that is
 * not complete, one that CUPTI is still writing. */
uint64_t cupti_names_walk(struct thread *t, const char *buffer, uint64_t from, uint64_t bytes,
                          bool complete);
void cupti_names_round(void); /* names are read again once per round: modules come and go */
/* Launches and kernels seen so far. */
struct cupti_seen {
    uint64_t launches, kernels;
};
struct cupti_seen cupti_names_seen(void);

#endif
