/* Names of the thresholds of ranking, predictions and verdict. limits.def has their values, units
 * and sources. */
#ifndef GPUPROF_ADVICE_LIMITS_H
#define GPUPROF_ADVICE_LIMITS_H

#include "base/limit.h"

#include "analyzer/advice/limits.def"

#endif
