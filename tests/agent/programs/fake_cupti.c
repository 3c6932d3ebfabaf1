/* A libcupti that does nothing. tests/agent/places.sh copies it under the names and into the
 * folders that toolkits, wheels and environments use, to see which copy the agent loads. */
#include <stddef.h>
#include <time.h>

#include <cupti.h>

CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = 24;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    return request && complete ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    (void)kind;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    (void)kind;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, CUpti_Activity **record)
{
    (void)buffer, (void)bytes, (void)record;
    return CUPTI_ERROR_INVALID_KIND;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    *timestamp = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    (void)result;
    *text = "none";
    return CUPTI_SUCCESS;
}
