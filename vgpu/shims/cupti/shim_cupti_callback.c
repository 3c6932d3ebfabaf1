/* The callback interface (one subscriber), external correlation ids, names of calls and results,
 * and the ids of contexts, devices and streams. */
#include "core/core_graph.h"
#include "shims/cupti/shim_cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CBIDS = 1024, DOMAINS = 8, DEPTH = 16, EXTERNAL_KINDS = 8 };

struct CUpti_Subscriber_st {
    _Atomic(CUpti_CallbackFunc) call;
    _Atomic(void *) user;
};
static struct CUpti_Subscriber_st subscriber;

bool cupti_subscribed(void)
{
    return subscriber.call != NULL;
}
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint8_t on[DOMAINS][CBIDS];

/* Names of calls by their callback id, generated from the vendor's headers at build time. */
static const char *const runtime_names[CBIDS] = {
#include "runtime_cbid_names.inc"
};
static const char *const driver_names[CBIDS] = {
#include "driver_cbid_names.inc"
};

struct externals {
    uint64_t id[EXTERNAL_KINDS][DEPTH];
    int depth[EXTERNAL_KINDS];
};
static _Thread_local struct externals externals;
static _Thread_local uint64_t correlation_data[DEPTH];
static _Thread_local int nested;

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc call, void *user)
{
    if (!out || !call)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (vg_start() != VG_OK)
        return CUPTI_ERROR_UNKNOWN;
    pthread_mutex_lock(&lock);
    bool busy = subscriber.call || cupti_faults()->busy_subscriber;
    if (!busy) {
        subscriber.user = user;
        subscriber.call = call;
        *out = &subscriber;
    }
    pthread_mutex_unlock(&lock);
    if (!busy)
        cupti_listen();
    return busy ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}

/* cuptiSubscribe with a version struct. If another tool has subscribed, it also returns that tool's
 * name. */
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *out, CUpti_CallbackFunc call, void *user,
                              CUpti_SubscriberParams *p)
{
    if (cupti_layout()->api_version < 130000) /* exists since 13.0 */
        return CUPTI_ERROR_NOT_SUPPORTED;
    if (p && p->structSize == 0)
        return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult rc = cuptiSubscribe(out, call, user);
    if (rc == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && p && p->oldSubscriberName &&
        p->oldSubscriberSize > 0)
        snprintf(p->oldSubscriberName, p->oldSubscriberSize, "CUPTI for another tool");
    return rc;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle s)
{
    if (s != &subscriber)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    subscriber.call = NULL;
    memset((void *)on, 0, sizeof on);
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

void callbacks_end(void)
{
    if (subscriber.call)
        cuptiUnsubscribe(&subscriber);
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle s,
                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (s != &subscriber || (unsigned)domain >= DOMAINS || cbid >= CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    on[domain][cbid] = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle s,
                              CUpti_CallbackDomain domain)
{
    if (s != &subscriber || (unsigned)domain >= DOMAINS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    memset((void *)on[domain], enable != 0, CBIDS);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle s)
{
    if (s != &subscriber)
        return CUPTI_ERROR_INVALID_PARAMETER;
    memset((void *)on, enable != 0, sizeof on);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle s,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (!enable || s != &subscriber || (unsigned)domain >= DOMAINS || cbid >= CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *enable = on[domain][cbid];
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    const char *const *names = domain == CUPTI_CB_DOMAIN_RUNTIME_API  ? runtime_names
                               : domain == CUPTI_CB_DOMAIN_DRIVER_API ? driver_names
                                                                      : NULL;
    if (!name || !names || cbid >= CBIDS || !names[cbid])
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = names[cbid];
    return CUPTI_SUCCESS;
}

static void tell(struct vg_api *api, CUpti_ApiCallbackSite site, uint64_t *data)
{
    CUpti_CallbackFunc call = subscriber.call;
    CUpti_CallbackDomain domain =
        api->driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    if (!call || api->cbid >= CBIDS || !on[domain][api->cbid])
        return;
    const struct vg_device *d = &vg_core.device[vg_current_device()];
    CUpti_CallbackData info = {.callbackSite = site,
                               .functionName =
                                   (api->driver ? driver_names : runtime_names)[api->cbid],
                               .functionReturnValue = &api->result,
                               .symbolName = api->symbol,
                               .context = (CUcontext)d,
                               .contextUid = d->context_id,
                               .correlationData = data,
                               .correlationId = api->correlation};
    call(subscriber.user, domain, api->cbid, &info);
}

static void emit_external(const struct vg_api *api)
{
    for (int k = 0; k < EXTERNAL_KINDS; k++) {
        int depth = externals.depth[k];
        if (depth == 0)
            continue;
        CUpti_ActivityExternalCorrelation a;
        memset(&a, 0, sizeof a);
        a.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
        a.externalKind = (CUpti_ExternalCorrelationKind)k;
        a.externalId = externals.id[k][depth - 1];
        a.correlationId = api->correlation;
        buffer_append(&a, sizeof a, NULL);
    }
}

void callbacks_enter(struct vg_api *api)
{
    int level = nested < DEPTH ? nested : DEPTH - 1;
    nested++;
    correlation_data[level] = 0;
    tell(api, CUPTI_API_ENTER, &correlation_data[level]);
    if (cupti_kind_on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
        emit_external(api);
}

void callbacks_exit(struct vg_api *api)
{
    if (nested > 0)
        nested--;
    tell(api, CUPTI_API_EXIT, &correlation_data[nested < DEPTH ? nested : DEPTH - 1]);
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    if ((unsigned)kind >= EXTERNAL_KINDS || externals.depth[kind] == DEPTH)
        return CUPTI_ERROR_INVALID_PARAMETER;
    externals.id[kind][externals.depth[kind]++] = id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  uint64_t *last)
{
    if ((unsigned)kind >= EXTERNAL_KINDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (externals.depth[kind] == 0)
        return CUPTI_ERROR_QUEUE_EMPTY;
    uint64_t id = externals.id[kind][--externals.depth[kind]];
    if (last)
        *last = id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
    if (!version)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *version = cupti_layout()->api_version;
    return CUPTI_SUCCESS;
}

static const struct {
    CUptiResult result;
    const char *name, *text;
} results[] = {
    {CUPTI_SUCCESS, "CUPTI_SUCCESS", "No error."},
    {CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER", "An invalid parameter."},
    {CUPTI_ERROR_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION", "An invalid operation."},
    {CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT",
     "The parameter is too small."},
    {CUPTI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED", "No more records."},
    {CUPTI_ERROR_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED", "CUPTI is not initialized."},
    {CUPTI_ERROR_QUEUE_EMPTY, "CUPTI_ERROR_QUEUE_EMPTY", "The stack is empty."},
    {CUPTI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND", "An invalid activity kind."},
    {CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED", "Not supported here."},
    {CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED, "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED",
     "The event and metric interfaces are gone."},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
     "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "Another tool has subscribed."},
    {CUPTI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN", "An unknown error."},
};

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    if (!text)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *text = "CUPTI_ERROR_<unknown>";
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].result == result)
            *text = results[i].name;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
    if (!text)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *text = "An error of unknown number.";
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].result == result)
            *text = results[i].text;
    return CUPTI_SUCCESS;
}

/* The handles of the virtual GPU point to its own structs. */
CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
    if (!context || !id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *id = ((const struct vg_device *)(void *)context)->context_id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
    if (!id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *id = context ? (uint32_t)((const struct vg_device *)(void *)context)->index
                  : (uint32_t)vg_current_device();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
    struct vg_stream *s;
    (void)context;
    if (!id || vg_stream_resolve((struct vg_stream *)(void *)stream, per_thread, &s) != VG_OK)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *id = s->id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
    if (!graph || !id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *id = ((const struct vg_graph *)(void *)graph)->id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
    if (!exec || !id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *id = ((const struct vg_exec *)(void *)exec)->id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    if (!node || !id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *id = ((const struct vg_node *)(void *)node)->id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceSupported(CUdevice device, int *supported)
{
    if (!supported)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *supported = device >= 0 && device < vg_device_count();
    return CUPTI_SUCCESS;
}

/* The agent has its own NVTX handler, so CUPTI's does nothing here. */
int cuptiNvtxInitialize(void *table);
int cuptiNvtxInitialize(void *table)
{
    (void)table;
    return 1;
}

int cuptiNvtxInitialize2(void *table);
int cuptiNvtxInitialize2(void *table)
{
    (void)table;
    return 1;
}
