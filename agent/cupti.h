/* CUPTI's side of the agent: activity buffers inside the spool, and the agent's own thread. */
#ifndef GPUPROF_CUPTI_H
#define GPUPROF_CUPTI_H

#include <stdbool.h>

/* After a fork: the child uses no CUPTI, whatever its parent did. */
void cupti_forget(void);
/* Flushes within timeout_ms; forced also delivers what still runs. False: not done in time. */
bool cupti_finish(int timeout_ms, bool forced);

#endif
