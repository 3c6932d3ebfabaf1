/* What the agent costs the target, measured in the target's process and kept in the profile. */
#ifndef GPUPROF_AGENT_CORE_COST_H
#define GPUPROF_AGENT_CORE_COST_H

#include "agent/core/spool.h"

/* Writes the META records cost.range_ns and cost.call_ns. Takes about 0.1 ms, once in a process. */
void cost_measure(struct thread *t);

#endif
