/* Where rules decide, and what they assume of a change: names, values and sources in limits.def. */
#ifndef GPUPROF_RULES_LIMITS_H
#define GPUPROF_RULES_LIMITS_H

#include "base/limit.h"

#include "analyzer/advice/rules/limits.def"

#endif
