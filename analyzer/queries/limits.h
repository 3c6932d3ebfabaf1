/* The thresholds of the queries: limits.def has their names, values and sources. */
#ifndef GPUPROF_QUERIES_LIMITS_H
#define GPUPROF_QUERIES_LIMITS_H

#include "base/limit.h"

#include "analyzer/queries/limits.def"

#endif
