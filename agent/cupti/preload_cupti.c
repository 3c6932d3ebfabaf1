/* Wraps the functions of CUPTI that another client in the program calls; the preloaded agent's come
 * first. While the agent uses CUPTI, it answers calls that would take CUPTI away from it
 * (cupti_peer.c). All other calls go through to CUPTI. */
#include <errno.h>
#include <string.h>

#include "agent/core/cancel.h"
#include "agent/cupti/cupti.h"
#include "agent/cupti/second.h"
#include "agent/libs/preload.h"

#define REAL(FN)                                                                                   \
    ({                                                                                             \
        static struct hook hook_ = {.name = #FN, .library = HOOK_CUPTI};                           \
        (__typeof__(FN) *)hook_real(&hook_);                                                       \
    })
#define PASS(FN, ...)                                                                              \
    ({                                                                                             \
        __typeof__(FN) *real_ = REAL(FN);                                                          \
        real_ ? real_(__VA_ARGS__) : CUPTI_ERROR_NOT_INITIALIZED;                                  \
    })

/* A function that gpuprof itself calls: it is the second interface's if that is in use. */
#define VIA(NAME, ...)                                                                             \
    (second_used() ? cupti.api.NAME(__VA_ARGS__) : PASS(cupti##NAME, __VA_ARGS__))

static _Atomic(CUpti_SubscriberHandle) subscriber;

bool peer_subscribed(void)
{
    return atomic_load(&subscriber) != NULL;
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(
    CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
    if (!request || !complete)
        return PASS(cuptiActivityRegisterCallbacks, request, complete);
    CUptiResult rc = cupti_registered() ? CUPTI_SUCCESS
                                        : PASS(cuptiActivityRegisterCallbacks, request, complete);
    if (rc == CUPTI_SUCCESS)
        peer_registers(request, complete);
    return rc;
}

/* Called in the program's thread, which must not be cancelled here. */
static CUptiResult flush_all(void)
{
    CUptiResult rc = CUPTI_SUCCESS;
    int saved = errno, state = cancel_disable();
    if (!cupti_flush_late(UINT64_MAX))
        rc = cupti.api.ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    cancel_restore(state);
    errno = saved;
    return rc;
}

static void before_enable(CUpti_ActivityKind kind)
{
    bool first = peer_enables((uint32_t)kind);
    if (first && cupti_running())
        flush_all(); /* otherwise the client's first records would go into our buffers */
}

static CUptiResult after_enable(CUpti_ActivityKind kind, CUptiResult rc)
{
    if (rc != CUPTI_SUCCESS)
        peer_disables((uint32_t)kind);
    return rc;
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
    before_enable(kind);
    return after_enable(kind, VIA(ActivityEnable, kind));
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
    before_enable(kind);
    return after_enable(kind, VIA(ActivityEnableAndDump, kind));
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableContext(CUcontext context,
                                                             CUpti_ActivityKind kind)
{
    before_enable(kind);
    return after_enable(kind, second_used() ? cupti.api.ActivityEnable(kind)
                                            : PASS(cuptiActivityEnableContext, context, kind));
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
    CUptiResult rc = cupti_kind_used((uint32_t)kind) ? CUPTI_SUCCESS : VIA(ActivityDisable, kind);
    peer_disables((uint32_t)kind);
    return rc;
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityDisableContext(CUcontext context,
                                                              CUpti_ActivityKind kind)
{
    CUptiResult rc = cupti_kind_used((uint32_t)kind) ? CUPTI_SUCCESS
                     : second_used()                 ? cupti.api.ActivityDisable(kind)
                                     : PASS(cuptiActivityDisableContext, context, kind);
    peer_disables((uint32_t)kind);
    return rc;
}

/* Reading resets the count, and the agent's thread reads it all the time: so its drops are
 * added. */
AGENT_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context,
                                                                    uint32_t stream,
                                                                    size_t *dropped)
{
    CUptiResult rc = VIA(ActivityGetNumDroppedRecords, context, stream, dropped);
    if (rc != CUPTI_SUCCESS || !dropped || !cupti_running())
        return rc;
    agent_count(SPOOL_CUPTI_DROPPED, *dropped);
    *dropped += peer_take_dropped();
    return rc;
}

/* CUPTI has one clock for the whole process, and gpuprof needs it unchanged. */
AGENT_EXPORT CUptiResult CUPTIAPI
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
    if (!cupti_registered())
        return PASS(cuptiActivityRegisterTimestampCallback, clock);
    peer_has_clock(clock);
    return CUPTI_SUCCESS;
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp)
{
    CUpti_TimestampCallbackFunc clock = peer_clock();
    if (!clock || !timestamp)
        return VIA(GetTimestamp, timestamp);
    *timestamp = clock();
    return CUPTI_SUCCESS;
}

/* gpuprof's own subscription ends as soon as another client wants to subscribe, unless there is room for both. */
AGENT_EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *handle,
                                                 CUpti_CallbackFunc callback, void *user)
{
    if (!second_used())
        cupti_range_release();
    CUptiResult rc = VIA(Subscribe, handle, callback, user);
    if (rc == CUPTI_SUCCESS && handle)
        atomic_store(&subscriber, *handle);
    return rc;
}

/* A client that wants CUPTI for itself alone would keep gpuprof out, or gpuprof it: it shares CUPTI, where this version can
 * be shared. */
static CUptiResult subscribe_shared(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                                    void *user, const CUpti_SubscriberParams *params)
{
    struct second_params shared = {.bytes = sizeof shared};
    if (params && params->structSize)
        memcpy(&shared, params,
               params->structSize < sizeof shared ? params->structSize : sizeof shared);
    shared.bytes = sizeof shared;
    shared.several = 1;
    return PASS(cuptiSubscribe_v2, handle, callback, user,
                (CUpti_SubscriberParams *)(void *)&shared);
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *handle,
                                                    CUpti_CallbackFunc callback, void *user,
                                                    CUpti_SubscriberParams *params)
{
    uint32_t version = 0;
    bool before = !cupti_registered() && PASS(cuptiGetVersion, &version) == CUPTI_SUCCESS &&
                  second_wanted(version);
    if ((second_used() || before) &&
        subscribe_shared(handle, callback, user, params) == CUPTI_SUCCESS)
        return CUPTI_SUCCESS;
    if (!second_used())
        cupti_range_release();
    CUptiResult rc = PASS(cuptiSubscribe_v2, handle, callback, user, params);
    if (rc == CUPTI_SUCCESS && handle)
        atomic_store(&subscriber, *handle);
    return rc;
}

AGENT_EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    CUptiResult rc = PASS(cuptiUnsubscribe, handle);
    if (rc == CUPTI_SUCCESS && atomic_load(&subscriber) == handle)
        atomic_store(&subscriber, NULL);
    return rc;
}

/* The real function would end CUPTI for gpuprof as well. Instead, the client's subscription ends
 * and it gets its buffers back; CUPTI goes on. */
AGENT_EXPORT CUptiResult CUPTIAPI cuptiFinalize(void)
{
    if (!cupti_registered())
        return PASS(cuptiFinalize);
    CUpti_SubscriberHandle handle = atomic_exchange(&subscriber, NULL);
    if (handle)
        PASS(cuptiUnsubscribe, handle);
    peer_finalizes();
    return flush_all();
}
