/* Where ranking, predictions and the verdict decide: names, values and sources in limits.def. */
#ifndef GPUPROF_ADVICE_LIMITS_H
#define GPUPROF_ADVICE_LIMITS_H

#include "base/limit.h"

#include "analyzer/advice/limits.def"

#endif
