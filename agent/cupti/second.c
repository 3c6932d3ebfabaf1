/* Puts functions of the second interface in the place of the first one's: the rest of the agent, and clients of the first
 * interface in the program, go on as before. */
#include "agent/cupti/second.h"

#include <string.h>

#include "agent/core/agent.h"
#include "agent/core/resolve.h"
#include "agent/cupti/cupti.h"
#include "agent/cupti/holder.h"

enum {
    LEAST = 130301, /* 13.3 without an update can crash with several subscribers */
    LEAST_ASKED = 130300,
};

typedef CUpti_SubscriberHandle Subscriber;
typedef void(CUPTIAPI *Request)(uint8_t **buffer, size_t *size, size_t *most, void *info);
typedef void(CUPTIAPI *Complete)(uint8_t *buffer, size_t size, size_t valid, void *info);

/* name, and what follows the handle. A configuration is NULL: records have all fields. */
#define FUNCTIONS(X)                                                                               \
    X(ActivityRegisterCallbacks_v2, Request, Complete)                                             \
    X(ActivityEnable_v2, CUpti_ActivityKind, const void *)                                         \
    X(ActivityEnableAndDump_v2, CUpti_ActivityKind, const void *)                                  \
    X(ActivityDisable_v2, CUpti_ActivityKind, const void *)                                        \
    X(ActivityEnableRuntimeApi_v2, CUpti_CallbackId, uint8_t)                                      \
    X(ActivityEnableDriverApi_v2, CUpti_CallbackId, uint8_t)                                       \
    X(ActivityGetNextRecord_v2, uint8_t *, size_t, CUpti_Activity **)                              \
    X(ActivityGetNumDroppedRecords_v2, CUcontext, uint32_t, size_t *)                              \
    X(ActivitySetAttribute_v2, CUpti_ActivityAttribute, size_t *, void *)                          \
    X(ActivityGetAttribute_v2, CUpti_ActivityAttribute, size_t *, void *)                          \
    X(ActivityPushExternalCorrelationId_v2, CUpti_ExternalCorrelationKind, uint64_t)               \
    X(ActivityPopExternalCorrelationId_v2, CUpti_ExternalCorrelationKind, uint64_t *)              \
    X(GetTimestamp_v2, uint64_t *)

static struct {
#define X(name, ...) CUptiResult(CUPTIAPI *name)(Subscriber, __VA_ARGS__);
    FUNCTIONS(X)
#undef X
    CUptiResult(CUPTIAPI *subscribe)(Subscriber *, CUpti_CallbackFunc, void *,
                                     CUpti_SubscriberParams *);
    Subscriber me, guard;
    struct vendor_cupti first; /* as it was before */
} s;
static _Atomic bool used;

bool second_used(void)
{
    return atomic_load_explicit(&used, memory_order_acquire);
}

void second_forget(void)
{
    atomic_store(&used, false);
}

/* ---- buffers ---- */

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *most, void *info)
{
    (void)info;
    cupti_buffer_request(buffer, size, most);
}

static void CUPTIAPI complete(uint8_t *buffer, size_t size, size_t valid, void *info)
{
    (void)info;
    cupti_buffer_complete(NULL, 0, buffer, size, valid);
}

/* ---- the functions of the first interface ---- */

static CUptiResult CUPTIAPI register_callbacks(CUpti_BuffersCallbackRequestFunc a,
                                               CUpti_BuffersCallbackCompleteFunc b)
{
    (void)a;
    (void)b;
    return CUPTI_SUCCESS; /* ours are registered, and nobody else can replace them */
}

static CUptiResult CUPTIAPI enable(CUpti_ActivityKind kind)
{
    return s.ActivityEnable_v2(s.me, kind, NULL);
}

static CUptiResult CUPTIAPI enable_and_dump(CUpti_ActivityKind kind)
{
    return s.ActivityEnableAndDump_v2(s.me, kind, NULL);
}

static CUptiResult CUPTIAPI disable(CUpti_ActivityKind kind)
{
    return s.ActivityDisable_v2(s.me, kind, NULL);
}

static CUptiResult CUPTIAPI enable_runtime(CUpti_CallbackId id, uint8_t on)
{
    return s.ActivityEnableRuntimeApi_v2(s.me, id, on);
}

static CUptiResult CUPTIAPI enable_driver(CUpti_CallbackId id, uint8_t on)
{
    return s.ActivityEnableDriverApi_v2(s.me, id, on);
}

static CUptiResult CUPTIAPI next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    return s.ActivityGetNextRecord_v2(s.me, buffer, valid, record);
}

static CUptiResult CUPTIAPI dropped(CUcontext context, uint32_t stream, size_t *n)
{
    return s.ActivityGetNumDroppedRecords_v2(s.me, context, stream, n);
}

static CUptiResult CUPTIAPI set(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
    return s.ActivitySetAttribute_v2(s.me, attribute, size, value);
}

static CUptiResult CUPTIAPI timestamp(uint64_t *ns)
{
    return s.GetTimestamp_v2(s.me, ns);
}

static CUptiResult CUPTIAPI thread_ids(CUpti_ActivityThreadIdType type)
{
    size_t size = sizeof type;
    return s.ActivitySetAttribute_v2(s.me, (CUpti_ActivityAttribute)SECOND_THREAD_IDS, &size,
                                     &type);
}

static CUptiResult join(Subscriber *handle, CUpti_CallbackFunc callback, void *user,
                        const char *name)
{
    struct second_params p = {.bytes = sizeof p, .name = name, .several = 1};
    return s.subscribe(handle, callback, user, (CUpti_SubscriberParams *)(void *)&p);
}

static CUptiResult CUPTIAPI subscribe(Subscriber *handle, CUpti_CallbackFunc callback, void *user)
{
    return join(handle, callback, user, "callbacks beside gpuprof");
}

/* ---- what only other clients use ---- */

static CUptiResult push(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    return s.ActivityPushExternalCorrelationId_v2(s.me, kind, id);
}

static CUptiResult pop(CUpti_ExternalCorrelationKind kind, uint64_t *last)
{
    return s.ActivityPopExternalCorrelationId_v2(s.me, kind, last);
}

static CUptiResult get(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
    return s.ActivityGetAttribute_v2(s.me, attribute, size, value);
}

const struct second_peer *second_for_peers(void)
{
    static const struct second_peer functions = {push, pop, get};
    return second_used() ? &functions : NULL;
}

/* ---- choosing ---- */

bool second_wanted(uint32_t version)
{
    const char *asked = agent_env("GPUPROF_CUPTI_INTERFACE");
    if (asked && strcmp(asked, "1") == 0)
        return false;
    return version >= (asked && strcmp(asked, "2") == 0 ? LEAST_ASKED : LEAST);
}

static bool resolve(const struct vendor_cupti *api)
{
    bool all = api->Subscribe_v2 && api->Unsubscribe;
#define X(name, ...)                                                                               \
    s.name = (CUptiResult(CUPTIAPI *)(Subscriber, __VA_ARGS__))resolve_symbol(api->library,        \
                                                                              "cupti" #name);      \
    all &= s.name != NULL;
    FUNCTIONS(X)
#undef X
    s.subscribe = api->Subscribe_v2;
    return all;
}

bool second_open(struct vendor_cupti *api, uint32_t version)
{
    if (!second_wanted(version) || !resolve(api) ||
        join(&s.me, cupti_never_called, NULL, "gpuprof") != CUPTI_SUCCESS)
        return false;
    if (s.ActivityRegisterCallbacks_v2(s.me, request, complete) != CUPTI_SUCCESS) {
        api->Unsubscribe(s.me); /* another client uses the first interface */
        return false;
    }
    /* cuptiFinalize of a tool that has left already would end CUPTI for a single subscriber. */
    if (join(&s.guard, cupti_never_called, NULL, "gpuprof, against cuptiFinalize") != CUPTI_SUCCESS)
        s.guard = NULL;
    s.first = *api;
    api->ActivityRegisterCallbacks = register_callbacks;
    api->ActivityEnable = enable;
    api->ActivityEnableAndDump = enable_and_dump;
    api->ActivityDisable = disable;
    api->ActivityEnableRuntimeApi = enable_runtime;
    api->ActivityEnableDriverApi = enable_driver;
    api->ActivityGetNextRecord = next_record;
    api->ActivityGetNumDroppedRecords = dropped;
    api->ActivitySetAttribute = set;
    api->GetTimestamp = timestamp;
    api->SetThreadIdType = thread_ids;
    api->Subscribe = subscribe;
    atomic_store_explicit(&used, true, memory_order_release);
    return true;
}

bool second_close(struct vendor_cupti *api)
{
    if (!second_used())
        return false;
    atomic_store(&used, false);
    *api = s.first;
    if (s.guard)
        api->Unsubscribe(s.guard);
    api->Unsubscribe(s.me);
    return true;
}
