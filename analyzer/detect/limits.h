/* Names of the thresholds in the search for steps. limits.def has their values, units and
 * sources. */
#ifndef GPUPROF_DETECT_LIMITS_H
#define GPUPROF_DETECT_LIMITS_H

#include "base/limit.h"

#include "analyzer/detect/limits.def"

#endif
