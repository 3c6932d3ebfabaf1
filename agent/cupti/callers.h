/* Who calls what the host waits in, for programs in C and C++: at the end of a call of CUDA that
 * took SPOOL_LONG_NS or more, its thread copies the top of its stack into its ring. The collector
 * unwinds it (analyzer/collector/unwind.h). Shorter calls cost two reads of the clock. */
#ifndef GPUPROF_AGENT_CUPTI_CALLERS_H
#define GPUPROF_AGENT_CUPTI_CALLERS_H

#include "agent/cupti/cupti.h"

bool callers_wanted(void); /* in this program */
/* Asks CUPTI for the calls in which a host may wait. */
void callers_watch(CUpti_SubscriberHandle handle);
/* By the agent's thread, now and then: code that was loaded meanwhile. */
void callers_refresh(void);
/* One of those calls begins or ends. */
void callers_see(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *call);

#endif
