/* Where the facts decide: names, values and sources in limits.def. */
#ifndef GPUPROF_FACTS_LIMITS_H
#define GPUPROF_FACTS_LIMITS_H

#include "base/limit.h"

#include "analyzer/facts/limits.def"

#endif
