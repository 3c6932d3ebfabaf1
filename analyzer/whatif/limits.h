/* Names of the engine's thresholds, for its checks and the width of its intervals. limits.def has
 * their values, units and sources. */
#ifndef GPUPROF_WHATIF_LIMITS_H
#define GPUPROF_WHATIF_LIMITS_H

#include "base/limit.h"

#include "analyzer/whatif/limits.def"

#endif
