/* cudaProfilerStart and cudaProfilerStop in the program open and close the window, where it was
 * asked for. CUPTI tells a subscriber, and there can be one alone: ours makes way for any other. */
#include "agent/core/window.h"
#include "agent/cupti/cupti.h"

static _Atomic(CUpti_SubscriberHandle) ours;

/* The runtime's functions call the driver's. At the end of Start the kinds are on: the program
 * asked for what comes next. */
static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data)
{
    (void)user;
    const CUpti_CallbackData *call = data;
    bool start = id == (domain == CUPTI_CB_DOMAIN_RUNTIME_API
                            ? CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000
                            : CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
    if (!call || !cupti_running() || (call->callbackSite == CUPTI_API_EXIT) != start)
        return;
    if (start)
        cupti_switch(true);
    window_profiler(start);
}

void cupti_range_watch(void)
{
    static const CUpti_CallbackId runtime[] = {CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000,
                                               CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000};
    static const CUpti_CallbackId driver[] = {CUPTI_DRIVER_TRACE_CBID_cuProfilerStart,
                                              CUPTI_DRIVER_TRACE_CBID_cuProfilerStop};
    CUpti_SubscriberHandle handle = NULL;
    if (!window_by_profiler() || !cupti.api.Subscribe || !cupti.api.EnableCallback ||
        cupti.api.Subscribe(&handle, on_call, NULL) != CUPTI_SUCCESS)
        return;
    for (int i = 0; i < 2; i++) {
        cupti.api.EnableCallback(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API, runtime[i]);
        cupti.api.EnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, driver[i]);
    }
    atomic_store(&ours, handle);
}

void cupti_range_release(void)
{
    CUpti_SubscriberHandle handle = atomic_exchange(&ours, NULL);
    if (handle && cupti.api.Unsubscribe && cupti_running()) /* not in a forked child */
        cupti.api.Unsubscribe(handle);
}

bool cupti_range_held(void)
{
    return atomic_load(&ours) != NULL;
}
