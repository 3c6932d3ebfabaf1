/* Host clocks, and anchors that relate them to CUPTI's. An anchor costs about 1 us: it is taken by
 * the agent's own thread, or once when a spool is made and sealed. */
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

/* Reads CUPTI's clock; 0 = cannot. NULL while CUPTI does not run. */
typedef uint64_t (*clock_cupti_fn)(void);
void clock_use_cupti(clock_cupti_fn read);
void clock_anchor(void); /* best of several brackets, appended to the spool's anchors */
/* By the agent's thread, before it hands records over: two anchors around a step of the clock. */
void clock_watch(void);

#endif
