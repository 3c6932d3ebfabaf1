/* What the edits assume of a changed program: names, values and sources in limits.def. */
#ifndef GPUPROF_WHATIF_EDITS_LIMITS_H
#define GPUPROF_WHATIF_EDITS_LIMITS_H

#include "base/limit.h"

#include "analyzer/whatif/edits/limits.def"

#endif
