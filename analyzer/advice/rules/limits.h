/* Names of the rules' thresholds and of what rules assume about a change. limits.def has the
 * values, units and sources. */
#ifndef GPUPROF_RULES_LIMITS_H
#define GPUPROF_RULES_LIMITS_H

#include "base/limit.h"

#include "analyzer/advice/rules/limits.def"

#endif
