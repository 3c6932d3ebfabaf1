/* CUPTI's second activity interface (13.3 and newer): each tool is a subscriber with its own kinds and buffers. A process uses
 * one of the two interfaces; calls of the other one fail meanwhile. Tools that use the second one and ask for it cannot be seen
 * coming, and would fail beside the first; those of the first one are mostly linked, and get answers through the second
 * (preload_second.c). So gpuprof takes the second one wherever it is there and free. */
#ifndef GPUPROF_AGENT_CUPTI_SECOND_H
#define GPUPROF_AGENT_CUPTI_SECOND_H

#include <stdbool.h>

#include "agent/core/vendor.h"

/* Subscribes and registers our buffer callbacks. True: from now on the functions in `api` are the second interface's, in the
 * form of the first. False: `api` is unchanged. GPUPROF_CUPTI_INTERFACE=1 or 2 decides instead of the version. */
bool second_open(struct vendor_cupti *api, uint32_t version);
/* Leaves it: `api` is as it was before second_open. False: it was not in use. */
bool second_close(struct vendor_cupti *api);
bool second_wanted(uint32_t version); /* gpuprof would use it in this version of CUPTI */
bool second_used(void);
void second_forget(void); /* in a new process */

/* For the other clients in the program (preload_second.c). NULL: the first interface is in use. */
struct second_peer {
    CUptiResult (*push)(CUpti_ExternalCorrelationKind kind, uint64_t id);
    CUptiResult (*pop)(CUpti_ExternalCorrelationKind kind, uint64_t *last);
    CUptiResult (*get)(CUpti_ActivityAttribute attribute, size_t *size, void *value);
};
const struct second_peer *second_for_peers(void);

/* Parameters of cuptiSubscribe_v2 as newer headers have them. */
struct second_params {
    size_t bytes;
    const char *name;
    char *old_name;
    size_t old_size;
    uint8_t several, padding[7];
};

/* Attributes of a subscriber that are calls of their own in the first interface. */
enum {
    SECOND_ALLOCATION_SOURCE = 14,
    SECOND_LATENCY_STAMPS = 15,
    SECOND_ALL_WAITS = 16,
    SECOND_EVENT_STAMPS = 17,
    SECOND_LAUNCH_ATTRIBUTES = 18,
    SECOND_DEVICE_GRAPHS = 19,
    SECOND_THREAD_IDS = 21,
};
#if CUPTI_API_VERSION >= 130400
_Static_assert(sizeof(struct second_params) == sizeof(CUpti_SubscriberParams), "parameters");
_Static_assert(SECOND_ALLOCATION_SOURCE == CUPTI_ACTIVITY_ATTR_ENABLE_ALLOCATION_SOURCE_TRACKING &&
                   SECOND_LATENCY_STAMPS == CUPTI_ACTIVITY_ATTR_ENABLE_KERNEL_LATENCY_TIMESTAMPS &&
                   SECOND_DEVICE_GRAPHS == CUPTI_ACTIVITY_ATTR_ENABLE_DEVICE_GRAPH_TRACE &&
                   SECOND_THREAD_IDS == CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE,
               "attributes");
#endif

#endif
