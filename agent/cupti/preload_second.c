/* Functions of CUPTI's first activity interface for clients in the program that are linked against them, while gpuprof uses
 * the second one (second.h): the real ones would refuse. They concern gpuprof's subscriber then, as the first interface's
 * concern everybody. preload_cupti.c has the functions that gpuprof answers in both cases. */
#include "agent/cupti/cupti.h"
#include "agent/cupti/second.h"
#include "agent/libs/preload.h"

/* The real function, unless the second interface is in use: then THEN. */
#define EITHER(FN, THEN, ...)                                                                      \
    ({                                                                                             \
        static struct hook hook_ = {.name = #FN, .library = HOOK_CUPTI};                           \
        __typeof__(FN) *real_ = second_used() ? NULL : (__typeof__(FN) *)hook_real(&hook_);        \
        second_used() ? (THEN) : real_ ? real_(__VA_ARGS__) : CUPTI_ERROR_NOT_INITIALIZED;         \
    })

static CUptiResult turn(int attribute, uint8_t on)
{
    size_t size = sizeof on;
    return cupti.api.ActivitySetAttribute((CUpti_ActivityAttribute)attribute, &size, &on);
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                                             CUpti_Activity **record)
{
    return EITHER(cuptiActivityGetNextRecord,
                  cupti.api.ActivityGetNextRecord(buffer, valid, record), buffer, valid, record);
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute,
                                                            size_t *size, void *value)
{
    return EITHER(cuptiActivitySetAttribute, cupti.api.ActivitySetAttribute(attribute, size, value),
                  attribute, size, value);
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute,
                                                            size_t *size, void *value)
{
    return EITHER(cuptiActivityGetAttribute, second_for_peers()->get(attribute, size, value),
                  attribute, size, value);
}

AGENT_EXPORT CUptiResult CUPTIAPI
cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    return EITHER(cuptiActivityPushExternalCorrelationId, second_for_peers()->push(kind, id), kind,
                  id);
}

AGENT_EXPORT CUptiResult CUPTIAPI
cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *last)
{
    return EITHER(cuptiActivityPopExternalCorrelationId, second_for_peers()->pop(kind, last), kind,
                  last);
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t on)
{
    return EITHER(cuptiActivityEnableRuntimeApi, cupti.api.ActivityEnableRuntimeApi(id, on), id,
                  on);
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t on)
{
    return EITHER(cuptiActivityEnableDriverApi, cupti.api.ActivityEnableDriverApi(id, on), id, on);
}

/* Our buffers need the kernel's numbers of threads, as PyTorch's do. */
AGENT_EXPORT CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    return EITHER(cuptiSetThreadIdType, CUPTI_SUCCESS, type);
}

/* The agent's thread flushes all the time. */
AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t ms)
{
    return EITHER(cuptiActivityFlushPeriod, CUPTI_SUCCESS, ms);
}

#define SWITCH(FN, ATTRIBUTE)                                                                      \
    AGENT_EXPORT CUptiResult CUPTIAPI FN(uint8_t on)                                               \
    {                                                                                              \
        return EITHER(FN, turn(ATTRIBUTE, on), on);                                                \
    }

SWITCH(cuptiActivityEnableAllocationSource, SECOND_ALLOCATION_SOURCE)
SWITCH(cuptiActivityEnableLatencyTimestamps, SECOND_LATENCY_STAMPS)
SWITCH(cuptiActivityEnableAllSyncRecords, SECOND_ALL_WAITS)
SWITCH(cuptiActivityEnableCudaEventDeviceTimestamps, SECOND_EVENT_STAMPS)
SWITCH(cuptiActivityEnableLaunchAttributes, SECOND_LAUNCH_ATTRIBUTES)
SWITCH(cuptiActivityEnableDeviceGraph, SECOND_DEVICE_GRAPHS)
