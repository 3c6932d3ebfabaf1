/* Names of the replay's thresholds. limits.def has their values, units and sources. */
#ifndef GPUPROF_REPLAY_LIMITS_H
#define GPUPROF_REPLAY_LIMITS_H

#include "base/limit.h"

#include "analyzer/replay/limits.def"

#endif
