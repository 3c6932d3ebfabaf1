/* Where questions to the facts have a limit: names, values and sources in limits.def. */
#ifndef GPUPROF_QUERIES_LIMITS_H
#define GPUPROF_QUERIES_LIMITS_H

#include "base/limit.h"

#include "analyzer/queries/limits.def"

#endif
