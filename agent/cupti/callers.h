/* Who calls what the host waits in, for programs in C and C++: at the end of a call of CUDA that
 * took SPOOL_LONG_NS or more, its thread copies the top of its stack into its ring. The collector
 * unwinds it (analyzer/unwind/unwind.h). Shorter calls cost two reads of the clock. */
#ifndef GPUPROF_AGENT_CUPTI_CALLERS_H
#define GPUPROF_AGENT_CUPTI_CALLERS_H

#include "agent/cupti/cupti.h"

/* In this program: not in Python's, and not where other code in the process knows CUPTI's
 * callbacks: they have one subscriber, and it may come by dlsym, where nobody sees it. */
bool callers_wanted(struct thread *t);
/* Asks CUPTI for the calls in which a host may wait. */
void callers_watch(CUpti_SubscriberHandle handle);
/* By the agent's thread, in each round: when code was loaded meanwhile, the subscription goes, and
 * comes back unless that code may want one. */
void callers_refresh(struct thread *t);
/* One of those calls begins or ends. */
void callers_see(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *call);

#endif
