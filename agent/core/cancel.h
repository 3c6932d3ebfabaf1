/* pthread_cancel acts on a thread of the program in the first cancellation point that it reaches
 * (open, read, nanosleep ...). Without the agent there is none in a call that marks a range, so the
 * agent must not bring one along: whatever may reach one stands between these two. On the record
 * path nothing does. Deferred cancellation, the default, is meant: a thread that asked for the
 * asynchronous kind may be cancelled anywhere. */
#ifndef GPUPROF_AGENT_CORE_CANCEL_H
#define GPUPROF_AGENT_CORE_CANCEL_H

#include <pthread.h>

/* Returns what cancel_restore wants. */
static inline int cancel_put_off(void)
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
