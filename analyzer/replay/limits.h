/* Where the replay decides what waits for what: names, values and sources in limits.def. */
#ifndef GPUPROF_REPLAY_LIMITS_H
#define GPUPROF_REPLAY_LIMITS_H

#include "base/limit.h"

#include "analyzer/replay/limits.def"

#endif
