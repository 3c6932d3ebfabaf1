/* The calls of the second activity interface. Their names are labels, because the vendor's headers declare them with types
 * of their own, from 13.2 on. */
#include "shims/cupti/shim_cupti_client.h"

#include <string.h>

/* A function of the library under the vendor's name. */
#define CALL(symbol, fn, ...)                                                                      \
    CUptiResult fn(__VA_ARGS__) __asm__(#symbol);                                                  \
    CUptiResult fn(__VA_ARGS__)
#define SECOND(s)                                                                                  \
    do {                                                                                           \
        CUptiResult rc_ = cupti_second(s);                                                         \
        if (rc_ != CUPTI_SUCCESS)                                                                  \
            return rc_;                                                                            \
    } while (0)

CALL(cuptiActivityRegisterCallbacks_v2, second_register, CUpti_SubscriberHandle s,
     second_request request, second_complete complete)
{
    SECOND(s);
    if (!request || !complete)
        return CUPTI_ERROR_INVALID_PARAMETER;
    buffers_start();
    buffers_lock();
    s->request2 = request;
    s->complete2 = complete;
    buffers_unlock();
    return CUPTI_SUCCESS;
}

/* The calls that the client does not want. */
static CUptiResult filter(CUpti_SubscriberHandle s, uint32_t kind,
                          const struct second_config *config)
{
    if ((kind != CUPTI_ACTIVITY_KIND_RUNTIME && kind != CUPTI_ACTIVITY_KIND_DRIVER) || !config ||
        cupti_layout()->api_version < 130400 || config->bytes < sizeof *config || !config->options)
        return CUPTI_SUCCESS;
    const struct second_cbids *list = ((const struct second_options *)config->options)->cbids;
    bool driver = kind == CUPTI_ACTIVITY_KIND_DRIVER;
    if (!list)
        return CUPTI_SUCCESS;
    if (list->n && !list->ids)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (list->allow)
        memset((void *)s->calls_off[driver], 1, CBIDS);
    for (size_t i = 0; i < list->n; i++)
        client_filter(s, driver, list->ids[i], list->allow != 0);
    return CUPTI_SUCCESS;
}

static CUptiResult enable(CUpti_SubscriberHandle s, uint32_t kind,
                          const struct second_config *config, bool dump)
{
    SECOND(s);
    /* Nodes and whole graphs cannot be traced at once, and the model's first subscriber never asks for whole ones. */
    if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && cupti_several() == 1)
        return CUPTI_ERROR_NOT_COMPATIBLE;
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && vg_option("no_second_kernels", 0) != 0)
        return CUPTI_ERROR_NOT_COMPATIBLE;
    CUptiResult rc = CUPTI_SUCCESS;
    if (s->own_records)
        rc = config ? client_choose(s, kind, &config->selection) : CUPTI_ERROR_INVALID_PARAMETER;
    if (rc == CUPTI_SUCCESS)
        rc = client_enable(s, kind, dump);
    return rc == CUPTI_SUCCESS ? filter(s, kind, config) : rc;
}

CALL(cuptiActivityEnable_v2, second_enable, CUpti_SubscriberHandle s, CUpti_ActivityKind kind,
     const struct second_config *config)
{
    return enable(s, (uint32_t)kind, config, false);
}

CALL(cuptiActivityEnableAndDump_v2, second_enable_and_dump, CUpti_SubscriberHandle s,
     CUpti_ActivityKind kind, const struct second_config *config)
{
    return enable(s, (uint32_t)kind, config, true);
}

CALL(cuptiActivityDisable_v2, second_disable, CUpti_SubscriberHandle s, CUpti_ActivityKind kind)
{
    SECOND(s);
    return client_disable(s, (uint32_t)kind);
}

CALL(cuptiActivityEnableRuntimeApi_v2, second_runtime, CUpti_SubscriberHandle s,
     CUpti_CallbackId cbid, uint8_t on)
{
    SECOND(s);
    if (s->own_records && cupti_layout()->api_version < 130400)
        return CUPTI_ERROR_NOT_COMPATIBLE;
    return client_filter(s, false, cbid, on != 0);
}

CALL(cuptiActivityEnableDriverApi_v2, second_driver, CUpti_SubscriberHandle s,
     CUpti_CallbackId cbid, uint8_t on)
{
    SECOND(s);
    if (s->own_records && cupti_layout()->api_version < 130400)
        return CUPTI_ERROR_NOT_COMPATIBLE;
    return client_filter(s, true, cbid, on != 0);
}

CALL(cuptiActivityGetNextRecord_v2, second_next, CUpti_SubscriberHandle s, uint8_t *buffer,
     size_t valid, CUpti_Activity **record)
{
    SECOND(s);
    return client_next(s, buffer, valid, record);
}

CALL(cuptiActivityGetNumDroppedRecords_v2, second_dropped, CUpti_SubscriberHandle s,
     CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    SECOND(s);
    if (!dropped)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *dropped = buffers_dropped(s);
    return CUPTI_SUCCESS;
}

CALL(cuptiGetTimestamp_v2, second_timestamp, CUpti_SubscriberHandle s, uint64_t *stamp)
{
    SECOND(s);
    if (!stamp)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *stamp = cupti_stamp(vg_now_ns());
    return CUPTI_SUCCESS;
}

CALL(cuptiActivityPushExternalCorrelationId_v2, second_push, CUpti_SubscriberHandle s,
     CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    SECOND(s);
    return client_push(s, kind, id);
}

CALL(cuptiActivityPopExternalCorrelationId_v2, second_pop, CUpti_SubscriberHandle s,
     CUpti_ExternalCorrelationKind kind, uint64_t *last)
{
    SECOND(s);
    return client_pop(s, kind, last);
}

/* ---- attributes ---- */

static bool any_kind(const struct CUpti_Subscriber_st *s)
{
    for (uint32_t k = 0; k < KINDS; k++)
        if (s->enabled[k])
            return true;
    return false;
}

static CUptiResult set_byte(CUpti_SubscriberHandle s, int attr, uint8_t v)
{
    switch (attr) {
    case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
        s->zeroed = v != 0;
        return CUPTI_SUCCESS;
    case SECOND_ATTR_OWN_RECORDS:
        if (any_kind(s) && s->own_records != (v != 0))
            return CUPTI_ERROR_INVALID_OPERATION;
        s->own_records = v != 0;
        return CUPTI_SUCCESS;
    case SECOND_ATTR_SEVERAL:
    case SECOND_ATTR_HARDWARE_EVENTS:
        return CUPTI_ERROR_NOT_SUPPORTED;
    default:
        return CUPTI_SUCCESS;
    }
}

static size_t bytes_of(int attr)
{
    bool byte = attr == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER ||
                attr == CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED ||
                attr == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER ||
                (attr >= SECOND_ATTR_OWN_RECORDS && attr <= SECOND_ATTR_WHOLE_GRAPHS);
    return byte ? 1 : attr == SECOND_ATTR_THREAD_IDS ? sizeof(uint32_t) : sizeof(size_t);
}

CALL(cuptiActivitySetAttribute_v2, second_set, CUpti_SubscriberHandle s,
     CUpti_ActivityAttribute attr, const size_t *size, const void *value)
{
    int which = (int)attr;
    uint32_t ids = 0;
    SECOND(s);
    if (!size || !value || which < 0 || which > SECOND_ATTR_CLOCK)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (*size < bytes_of(which))
        return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    if (which == SECOND_ATTR_CLOCK)
        return CUPTI_ERROR_NOT_SUPPORTED; /* not modelled */
    if (which != SECOND_ATTR_THREAD_IDS)
        return bytes_of(which) == 1 ? set_byte(s, which, *(const uint8_t *)value) : CUPTI_SUCCESS;
    memcpy(&ids, value, sizeof ids);
    s->system_threads = ids == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
    return CUPTI_SUCCESS;
}

/* `s` may be NULL for what concerns all subscribers. */
CALL(cuptiActivityGetAttribute_v2, second_get, CUpti_SubscriberHandle s,
     CUpti_ActivityAttribute attr, size_t *size, void *value)
{
    int which = (int)attr;
    uint8_t v;
    if (which != SECOND_ATTR_SEVERAL)
        SECOND(s);
    if (!size || !value)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (*size < 1)
        return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    switch (which) {
    case SECOND_ATTR_SEVERAL:
        v = cupti_several();
        break;
    case SECOND_ATTR_OWN_RECORDS:
        v = s->own_records;
        break;
    case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
        v = s->zeroed;
        break;
    case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
        v = buffers_are_per_thread();
        break;
    default:
        return CUPTI_ERROR_NOT_SUPPORTED; /* not modelled */
    }
    memcpy(value, &v, 1);
    *size = 1;
    return CUPTI_SUCCESS;
}
