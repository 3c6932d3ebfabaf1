/* The thresholds of the facts: limits.def has their names, values and sources. */
#ifndef GPUPROF_FACTS_LIMITS_H
#define GPUPROF_FACTS_LIMITS_H

#include "base/limit.h"

#include "analyzer/facts/limits.def"

#endif
