/* The agent's one piece of state, and the way onto the record path.
 *
 * libgpuprof_agent.so lives inside a stranger's process. It never prints, never exits, never
 * installs a signal handler, never blocks a thread of the program and holds no file descriptor
 * between calls. What it cannot do it counts, or says in a health record, and goes on.
 *
 * A hook begins with thread_enter(): one load and one compare while nothing changes. It answers
 * NULL when nothing is to be recorded (passive, already inside the agent, no room), and the hook
 * then only does what the program asked for.
 */
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

/* ASLEEP is 0 on purpose: the page that holds the word is wiped by fork, so a child starts asleep
 * and makes its own spool at its first event. */
enum agent_mode { AGENT_ASLEEP, AGENT_PASSIVE, AGENT_STARTING, AGENT_RECORDING };

struct agent_page {
    _Atomic uint32_t word; /* generation << 2 | enum agent_mode */
};

/* Per-thread state that is too large for static TLS; mapped at the thread's first event. */
struct thread_block;

/* Static TLS is scarce for a library that may be dlopened: keep this small. */
struct thread {
    uint32_t word;    /* agent_page.word for which the fields below hold */
    uint32_t refused; /* agent_page.word under which this thread got no ring */
    uint32_t tid;
    bool busy;     /* inside the agent: a hook reached from here records nothing */
    bool is_agent; /* the agent's own thread: it writes its last records after a stop */
    bool in_call;  /* inside a hooked library call: those it makes itself are not recorded */
    struct spool_ring *ring;
    char *data;
    uint64_t head, tail; /* own count, and the collector's as last seen */
    uint64_t pending;    /* head after the record being written */
    int64_t waits_ns; /* when it entered the call of CUDA that it is in (agent/cupti/callers.c) */
    uint32_t waits;   /* how many such calls it is in, one inside the other */
    uint32_t watch;   /* the subscription under which these hold */
    struct thread_block *block;
};

struct agent {
    struct agent_page *page;
    uint32_t generation; /* counts the spools of this process and of those it was forked from */
    int pid;             /* of the process that made the spool */
    const char *dir;     /* $GPUPROF_DIR, NULL = record nothing */
    struct spool_header *spool;
    char path[4096]; /* of the spool: reopened to grow it, never held open */
};

extern struct agent agent;
extern __thread struct thread agent_thread AGENT_TLS;

/* The rare way in: first event of a process, of a thread, or after a fork. record: one is lost when
 * the thread gets no ring. */
struct thread *agent_thread_begin(struct thread *t, bool record);

/* record: what is to be done writes one. What begins a range writes none: its end does. */
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

/* True while this process (not one it was forked from) has a spool and records. */
static inline bool agent_recording(void)
{
    return (atomic_load_explicit(&agent.page->word, memory_order_acquire) & 3) == AGENT_RECORDING;
}

/* True when no hook would record anything, now or later in this process. */
static inline bool agent_passive(void)
{
    return (atomic_load_explicit(&agent.page->word, memory_order_relaxed) & 3) == AGENT_PASSIVE;
}

static inline void agent_count(enum spool_counter c, uint64_t n)
{
    atomic_fetch_add_explicit(&agent.spool->counter[c], n, memory_order_relaxed);
}

void agent_stop(void);       /* no new records from now on; what was recorded stays */
void agent_stop_asked(void); /* by the collector: an instrument's thread flushes first */

void exec_load(void); /* in the agent's constructor: exec.c */

/* Asked by the agent's own thread: main has left, and no thread of the program is there any more. */
bool agent_alone(void);

/* Flushes and seals. Called at the end of the process by each of the ways out; waits for each
 * instrument no longer than timeout_ms. Safe where only async-signal-safe functions are. */
void agent_finish(int timeout_ms, bool forced);

/* A variable of the environment without calling getenv, which programs such as bash replace. */
const char *agent_env(const char *name);

#endif
