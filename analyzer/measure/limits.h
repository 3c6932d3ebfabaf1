/* Names of the measures' thresholds. limits.def has their values, units and sources. */
#ifndef GPUPROF_MEASURE_LIMITS_H
#define GPUPROF_MEASURE_LIMITS_H

#include "base/limit.h"

#include "analyzer/measure/limits.def"

#endif
