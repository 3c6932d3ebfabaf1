/* Which tool holds CUPTI: asked of CUPTI where it can say (13.0 and newer), else guessed from the
 * libraries and variables that tools leave in a process. */
#ifndef GPUPROF_AGENT_CUPTI_HOLDER_H
#define GPUPROF_AGENT_CUPTI_HOLDER_H

#include <stddef.h>

#include "agent/core/vendor.h"

/* Never empty: "Nsight Systems", "Another profiler or debugger (/opt/x/libtool.so)". */
void holder_name(const struct vendor_cupti *api, char *name, size_t size);

#endif
