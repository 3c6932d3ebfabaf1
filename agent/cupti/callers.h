/* For programs in C and C++: which code makes the CUDA calls in which the host waits. At the end of
 * a call that took SPOOL_LONG_NS or more, its thread copies the top of its stack into its ring, and
 * the collector unwinds it (analyzer/unwind/unwind.h). A shorter call costs two reads of the
 * clock. */
#ifndef GPUPROF_AGENT_CUPTI_CALLERS_H
#define GPUPROF_AGENT_CUPTI_CALLERS_H

#include "agent/cupti/cupti.h"

/* Should this program's calls be watched? Not in Python, and not if other code in the process may
 * use CUPTI's callbacks: CUPTI has room for one subscriber, and a tool that finds cuptiSubscribe by
 * dlsym cannot be seen coming. */
bool callers_wanted(struct thread *t);
/* Enables CUPTI's callbacks for the calls in which the host may wait. */
void callers_watch(CUpti_SubscriberHandle handle);
/* The agent's thread calls this in each round. If the program has loaded code meanwhile, gpuprof
 * gives up its subscription, and takes it back unless that code may want one. */
void callers_refresh(struct thread *t);
/* One of the watched calls begins or ends. */
void callers_see(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *call);

#endif
