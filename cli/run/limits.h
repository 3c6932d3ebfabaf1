/* From when on a run is recorded lightly: limits.def has the names, values and sources. */
#ifndef GPUPROF_CLI_RUN_LIMITS_H
#define GPUPROF_CLI_RUN_LIMITS_H

#include "base/limit.h"

#include "cli/run/limits.def"

#endif
