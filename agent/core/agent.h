/* The agent's state, and how a hook begins to record.
 *
 * libgpuprof_agent.so lives inside a program of somebody else. It never prints, never exits, never
 * installs a signal handler, never blocks a thread of the program and holds no file descriptor
 * between calls. If it cannot do something, it counts that or writes a health record, and goes on.
 *
 * A hook begins with thread_enter(), which costs one load and one compare while the agent's mode
 * does not change. thread_enter() returns NULL if there is nothing to record (the agent is passive,
 * the thread is already inside the agent, or there is no room). The hook then only makes the call
 * that the program asked for. */
#ifndef GPUPROF_AGENT_CORE_AGENT_H
#define GPUPROF_AGENT_CORE_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/spool_format.h"

#define AGENT_EXPORT       __attribute__((visibility("default")))
#define AGENT_LIKELY(x)    __builtin_expect(!!(x), 1)
#define AGENT_UNLIKELY(x)  __builtin_expect(!!(x), 0)
#define AGENT_TLS          __attribute__((tls_model("initial-exec")))
#define AGENT_ARRAY_LEN(a) (sizeof(a) / sizeof *(a))
#define AGENT_ALIGN(n, to) (((n) + (to)-1) / (to) * (to))

/* ASLEEP is 0 because fork wipes the page that holds the word: so a child starts asleep, and makes
 * its own spool at its first event. */
enum agent_mode { AGENT_ASLEEP, AGENT_PASSIVE, AGENT_STARTING, AGENT_RECORDING };

struct agent_page {
    _Atomic uint32_t word; /* generation << 2 | enum agent_mode */
};

/* State of a thread that is too large for static TLS. It is mapped at the thread's first event. */
struct thread_block;

/* State of a thread in static TLS. A library that may be loaded by dlopen gets little of that, so
 * keep this struct small. */
struct thread {
    uint32_t word;    /* the value of agent_page.word for which the fields below hold */
    uint32_t refused; /* the value of agent_page.word under which this thread got no ring */
    uint32_t tid;
    bool busy;     /* the thread is inside the agent: hooks that it reaches there record nothing */
    bool is_agent; /* the agent's own thread, which writes its last records after a stop */
    /* in a hooked library call: calls that the library itself makes are not recorded */
    bool in_call;
    bool has_asked; /* CUPTI has asked in it for a buffer (agent/cupti/cupti_buffers.c) */
    struct spool_ring *ring;
    char *data;
    /* bytes written by this thread; bytes read by the collector, as last seen */
    uint64_t head, tail;
    uint64_t pending; /* value of head once the present record is committed */
    uint64_t look_at; /* value of head at which the thread looks again how far the collector is */
    int64_t waits_ns; /* when the thread entered its present call of CUDA (agent/cupti/callers.c) */
    uint32_t waits;   /* how deeply calls of CUDA are nested in each other now */
    uint32_t watch;   /* the subscription of CUPTI for which waits_ns and waits hold */
    struct thread_block *block;
};

struct agent {
    struct agent_page *page;
    uint32_t generation; /* number of spools made so far by this process and its forked parents */
    int pid;             /* of the process that made the spool */
    const char *dir;     /* $GPUPROF_DIR; NULL: record nothing */
    struct spool_header *spool;
    /* the spool's path: the agent opens it again to grow it, and never holds it open */
    char path[4096];
};

extern struct agent agent;
extern __thread struct thread agent_thread AGENT_TLS;

/* The slow part of thread_enter(): the first event of a process or of a thread, or the first after
 * a fork. If the thread gets no ring, it counts one lost record if `record`. NULL: nothing to
 * record. */
struct thread *agent_thread_begin(struct thread *t, bool record);

/* Enters the agent for a hook. record: the hook writes a record. A hook that begins a range passes
 * false, because the record is written when the range ends. */
static inline struct thread *thread_enter_for(bool record)
{
    struct thread *t = &agent_thread;
    uint32_t word = atomic_load_explicit(&agent.page->word, memory_order_relaxed);
    if (AGENT_UNLIKELY((word & 3) == AGENT_PASSIVE || t->busy))
        return NULL;
    if (AGENT_UNLIKELY(t->word != word || word == AGENT_ASLEEP))
        return agent_thread_begin(t, record);
    t->busy = true;
    return t;
}

static inline struct thread *thread_enter(void)
{
    return thread_enter_for(true);
}

static inline void thread_leave(struct thread *t)
{
    t->busy = false;
}

/* True if this process itself (not one that it was forked from) has a spool and records. */
static inline bool agent_recording(void)
{
    return (atomic_load_explicit(&agent.page->word, memory_order_acquire) & 3) == AGENT_RECORDING;
}

/* True if no hook records anything, now or later in this process. */
static inline bool agent_passive(void)
{
    return (atomic_load_explicit(&agent.page->word, memory_order_relaxed) & 3) == AGENT_PASSIVE;
}

static inline void agent_count(enum spool_counter c, uint64_t n)
{
    atomic_fetch_add_explicit(&agent.spool->counter[c], n, memory_order_relaxed);
}

void agent_stop(void); /* write no new records from now on; those in the spool stay */
/* the collector asks for a stop: an instrument's thread flushes first, if there is one */
void agent_stop_asked(void);

void exec_load(void); /* called by the agent's constructor (exec.c) */
/* False: another copy of the agent comes before this one (two installations, one inside the other).
 * That one records; this one stays passive (inject.c). */
bool agent_is_first(void);

/* True if main has ended by pthread_exit and no thread of the program is left. The agent's own
 * thread asks. */
bool agent_alone(void);

/* Flushes the instruments and seals the spool. Each way out of the process calls it; it waits no
 * longer than timeout_ms for each instrument. forced: see instrument.h (finish). May be called
 * where only async-signal-safe functions are allowed. */
void agent_finish(int timeout_ms, bool forced);

/* Value of an environment variable, or NULL. It does not call getenv, which programs such as bash
 * replace. */
const char *agent_env(const char *name);

#endif
