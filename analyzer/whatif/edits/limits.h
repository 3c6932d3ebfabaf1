/* Names of what the edits assume about a changed program. limits.def has the values, units and
 * sources. */
#ifndef GPUPROF_WHATIF_EDITS_LIMITS_H
#define GPUPROF_WHATIF_EDITS_LIMITS_H

#include "base/limit.h"

#include "analyzer/whatif/edits/limits.def"

#endif
