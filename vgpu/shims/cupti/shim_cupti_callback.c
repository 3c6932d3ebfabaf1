/* The callback interface, external correlation ids, names of calls and results,
 * and the ids of contexts, devices and streams. */
#include "core/core_graph.h"
#include "shims/cupti/shim_cupti_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16, EXTERNAL_KINDS = 8 };

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
static _Thread_local struct externals externals[CLIENTS];
static _Thread_local uint64_t correlation_data[CLIENTS][DEPTH];
static _Thread_local int nested;

static bool is_subscriber(CUpti_SubscriberHandle s)
{
    for (int i = 0; i < CLIENTS; i++)
        if (s == &cupti_clients[i])
            return s->call != NULL;
    return false;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle s,
                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (!is_subscriber(s) || (unsigned)domain >= DOMAINS || cbid >= CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    s->on[domain][cbid] = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle s,
                              CUpti_CallbackDomain domain)
{
    if (!is_subscriber(s) || (unsigned)domain >= DOMAINS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    memset((void *)s->on[domain], enable != 0, CBIDS);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle s)
{
    if (!is_subscriber(s))
        return CUPTI_ERROR_INVALID_PARAMETER;
    memset((void *)s->on, enable != 0, sizeof s->on);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle s,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (!enable || !is_subscriber(s) || (unsigned)domain >= DOMAINS || cbid >= CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *enable = s->on[domain][cbid];
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

static void tell(struct vg_api *api, CUpti_ApiCallbackSite site, int level)
{
    CUpti_CallbackDomain domain =
        api->driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    const struct vg_device *d = &vg_core.device[vg_current_device()];
    for (int i = 0; i < CLIENTS && api->cbid < CBIDS; i++) {
        struct CUpti_Subscriber_st *c = &cupti_clients[i];
        CUpti_CallbackFunc call = c->call;
        if (!call || !c->on[domain][api->cbid])
            continue;
        CUpti_CallbackData info = {.callbackSite = site,
                                   .functionName =
                                       (api->driver ? driver_names : runtime_names)[api->cbid],
                                   .functionReturnValue = &api->result,
                                   .symbolName = api->symbol,
                                   .context = (CUcontext)d,
                                   .contextUid = d->context_id,
                                   .correlationData = &correlation_data[i][level],
                                   .correlationId = api->correlation};
        call(c->user, domain, api->cbid, &info);
    }
}

static void emit_external(struct CUpti_Subscriber_st *c, const struct vg_api *api)
{
    const struct externals *e = &externals[c - cupti_clients];
    for (int k = 0; k < EXTERNAL_KINDS; k++) {
        int depth = e->depth[k];
        if (depth == 0)
            continue;
        CUpti_ActivityExternalCorrelation a;
        memset(&a, 0, sizeof a);
        a.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
        a.externalKind = (CUpti_ExternalCorrelationKind)k;
        a.externalId = e->id[k][depth - 1];
        a.correlationId = api->correlation;
        buffer_append_to(c, &a, sizeof a);
    }
}

void callbacks_enter(struct vg_api *api)
{
    int level = nested < DEPTH ? nested : DEPTH - 1;
    nested++;
    for (int i = 0; i < CLIENTS; i++)
        correlation_data[i][level] = 0;
    tell(api, CUPTI_API_ENTER, level);
    for (int i = 0; i < CLIENTS; i++)
        if (client_kind_on(&cupti_clients[i], CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
            emit_external(&cupti_clients[i], api);
}

void callbacks_exit(struct vg_api *api)
{
    if (nested > 0)
        nested--;
    tell(api, CUPTI_API_EXIT, nested < DEPTH ? nested : DEPTH - 1);
}

CUptiResult client_push(const struct CUpti_Subscriber_st *c, CUpti_ExternalCorrelationKind kind,
                        uint64_t id)
{
    struct externals *e = &externals[c - cupti_clients];
    if ((unsigned)kind >= EXTERNAL_KINDS || e->depth[kind] == DEPTH)
        return CUPTI_ERROR_INVALID_PARAMETER;
    e->id[kind][e->depth[kind]++] = id;
    return CUPTI_SUCCESS;
}

CUptiResult client_pop(const struct CUpti_Subscriber_st *c, CUpti_ExternalCorrelationKind kind,
                       uint64_t *last)
{
    struct externals *e = &externals[c - cupti_clients];
    if ((unsigned)kind >= EXTERNAL_KINDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (e->depth[kind] == 0)
        return CUPTI_ERROR_QUEUE_EMPTY;
    uint64_t id = e->id[kind][--e->depth[kind]];
    if (last)
        *last = id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    CUptiResult rc = cupti_first();
    return rc == CUPTI_SUCCESS ? client_push(&cupti_clients[0], kind, id) : rc;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  uint64_t *last)
{
    CUptiResult rc = cupti_first();
    return rc == CUPTI_SUCCESS ? client_pop(&cupti_clients[0], kind, last) : rc;
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
    {CUPTI_ERROR_NOT_COMPATIBLE, "CUPTI_ERROR_NOT_COMPATIBLE",
     "The other activity interface is in use."},
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
