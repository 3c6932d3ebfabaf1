/* Keeps pthread_cancel from acting inside the agent. A cancelled thread ends at the next
 * cancellation point that it reaches (open, read, nanosleep ...). A call that marks a range has
 * none without the agent, so the agent must not add one: code that may reach one stands between
 * these two functions. The path that writes an ordinary record reaches none. This is about deferred
 * cancellation, the default: a thread that chose the asynchronous kind may be cancelled
 * anywhere. */
#ifndef GPUPROF_AGENT_CORE_CANCEL_H
#define GPUPROF_AGENT_CORE_CANCEL_H

#include <pthread.h>

/* Returns the state to pass to cancel_restore. */
static inline int cancel_disable(void)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state;
}

static inline void cancel_restore(int state)
{
    pthread_setcancelstate(state, &state);
}

#endif
