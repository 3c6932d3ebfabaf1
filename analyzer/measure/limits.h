/* Where the measures decide: names, values and sources in limits.def. */
#ifndef GPUPROF_MEASURE_LIMITS_H
#define GPUPROF_MEASURE_LIMITS_H

#include "base/limit.h"

#include "analyzer/measure/limits.def"

#endif
