/* Where the engine doubts itself, and how wide its intervals are: names, values and sources in
 * limits.def. */
#ifndef GPUPROF_WHATIF_LIMITS_H
#define GPUPROF_WHATIF_LIMITS_H

#include "base/limit.h"

#include "analyzer/whatif/limits.def"

#endif
