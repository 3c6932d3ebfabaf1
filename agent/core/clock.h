/* Host clocks, and anchors that relate them to CUPTI's clock. Taking an anchor costs about 1 us:
 * only the agent's own thread does it, and whoever makes or seals a spool, once. */
#ifndef GPUPROF_AGENT_CORE_CLOCK_H
#define GPUPROF_AGENT_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t clock_now_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

/* Reads CUPTI's clock; returns 0 if it cannot. */
typedef uint64_t (*clock_cupti_fn)(void);
/* NULL while CUPTI does not run. */
void clock_use_cupti(clock_cupti_fn read);
void clock_anchor(void); /* appends an anchor to the spool: the best of several */
/* Finds out whether the real-time clock was set; if so, appends an anchor for before and one for
 * after. The agent's thread calls this before it hands records over. */
void clock_watch(void);

#endif
