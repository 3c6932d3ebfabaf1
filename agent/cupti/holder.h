/* Finds out which tool holds CUPTI. CUPTI 13.0 and newer tells it; otherwise gpuprof guesses from
 * the libraries and variables that tools leave in a process. */
#ifndef GPUPROF_AGENT_CUPTI_HOLDER_H
#define GPUPROF_AGENT_CUPTI_HOLDER_H

#include <stddef.h>

#include "agent/core/vendor.h"

/* `name` is never empty: "Nsight Systems", "Another profiler or debugger (/opt/x/libtool.so)". */
void holder_name(const struct vendor_cupti *api, char *name, size_t size);

/* For subscriptions that want no callbacks. */
void CUPTIAPI cupti_never_called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data);

#endif
