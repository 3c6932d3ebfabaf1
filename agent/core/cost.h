/* What the agent costs the target, measured where it runs and kept in the profile. */
#ifndef GPUPROF_AGENT_CORE_COST_H
#define GPUPROF_AGENT_CORE_COST_H

#include "agent/core/spool.h"

/* Writes META cost.range_ns and cost.call_ns. Takes about 0.1 ms, once. */
void cost_measure(struct thread *t);

#endif
