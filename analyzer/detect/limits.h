/* Where the search for steps decides: names, values and sources in limits.def. */
#ifndef GPUPROF_DETECT_LIMITS_H
#define GPUPROF_DETECT_LIMITS_H

#include "base/limit.h"

#include "analyzer/detect/limits.def"

#endif
