/* gpuprof's own subscription to CUPTI's callbacks. cudaProfilerStart and cudaProfilerStop open and
 * close the window, if the user asked for that; long calls record their callers (callers.h). CUPTI
 * allows only one subscriber, so gpuprof unsubscribes as soon as another tool wants to
 * subscribe. */
#include "agent/core/window.h"
#include "agent/cupti/callers.h"
#include "agent/cupti/cupti.h"

static _Atomic(CUpti_SubscriberHandle) ours;

static bool is_range(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    return domain == CUPTI_CB_DOMAIN_RUNTIME_API
               ? id == CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000 ||
                     id == CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000
               : id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart ||
                     id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop;
}

/* The callback. The runtime's functions call the driver's. When cudaProfilerStart returns, the
 * kinds must be on, because the program wants the work after it recorded. */
static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data)
{
    (void)user;
    const CUpti_CallbackData *call = data;
    if (!call || !cupti_running())
        return;
    if (!is_range(domain, id)) {
        callers_see(domain, id, call);
        return;
    }
    bool start = id == (domain == CUPTI_CB_DOMAIN_RUNTIME_API
                            ? CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000
                            : CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
    if ((call->callbackSite == CUPTI_API_EXIT) != start)
        return;
    if (start)
        cupti_switch(true);
    window_profiler(start);
}

static void watch_ranges(CUpti_SubscriberHandle handle)
{
    static const CUpti_CallbackId runtime[] = {CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000,
                                               CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000};
    static const CUpti_CallbackId driver[] = {CUPTI_DRIVER_TRACE_CBID_cuProfilerStart,
                                              CUPTI_DRIVER_TRACE_CBID_cuProfilerStop};
    for (int i = 0; i < 2; i++) {
        cupti.api.EnableCallback(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API, runtime[i]);
        cupti.api.EnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, driver[i]);
    }
}

void cupti_range_watch(struct thread *t)
{
    CUpti_SubscriberHandle handle = NULL;
    bool callers = callers_wanted(t);
    if ((!window_by_profiler() && !callers) || !cupti.api.Subscribe || !cupti.api.EnableCallback)
        return;
    CUptiResult rc = cupti.api.Subscribe(&handle, on_call, NULL);
    if (rc != CUPTI_SUCCESS && callers)
        about_health(
            t, SPOOL_INFO, "no-stacks",
            "Another profiler in the program holds CUPTI's callbacks: gpuprof does not name "
            "the lines that wait for the GPU.",
            rc);
    if (rc != CUPTI_SUCCESS)
        return;
    if (window_by_profiler())
        watch_ranges(handle);
    if (callers)
        callers_watch(handle);
    atomic_store(&ours, handle);
}

void cupti_range_release(void)
{
    CUpti_SubscriberHandle handle = atomic_exchange(&ours, NULL);
    if (handle && cupti.api.Unsubscribe && cupti_running()) /* false in a forked child */
        cupti.api.Unsubscribe(handle);
}

bool cupti_range_held(void)
{
    return atomic_load(&ours) != NULL;
}
