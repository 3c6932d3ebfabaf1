/* CUPTI in a program without gpuprof: between cudaProfilerStart and cudaProfilerStop it records the
 * kinds listed in $CUPTI_ALONE ("10,5,4") and discards the records. What the program's steps then
 * take longer is CUPTI's own cost. CUDA loads this library by $CUDA_INJECTION64_PATH. */
#include "vgpu/tests/calibrate/cupti_pool.h"

static void turn(bool on)
{
    const char *p = getenv("CUPTI_ALONE");
    for (char *end = NULL; p && *p; p = *end ? end + 1 : end) {
        CUpti_ActivityKind kind = (CUpti_ActivityKind)strtol(p, &end, 10);
        if (on)
            cuptiActivityEnable(kind);
        else
            cuptiActivityDisable(kind);
    }
}

static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data)
{
    const CUpti_CallbackData *call = data;
    (void)user, (void)domain;
    bool start = id == CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000;
    if ((call->callbackSite == CUPTI_API_EXIT) == start)
        turn(start);
}

int InitializeInjection(void);
__attribute__((visibility("default"))) int InitializeInjection(void)
{
    static const CUpti_CallbackId range[] = {CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000,
                                             CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000};
    CUpti_SubscriberHandle handle;
    cuptiActivityRegisterCallbacks(pool_give, pool_take);
    if (cuptiSubscribe(&handle, on_call, NULL) != CUPTI_SUCCESS)
        return 0;
    for (int i = 0; i < 2; i++)
        cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API, range[i]);
    return 1;
}
