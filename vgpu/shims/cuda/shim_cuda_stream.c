/* Streams and events by the driver: the runtime's, under other names. */
#include "shims/cuda/shim_cuda.h"

#include <stdlib.h>

enum { STREAM_CREATE_NS = 8000, EVENT_CREATE_NS = 2000 };

CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
    OPEN(api, cuStreamCreate);
    api.host_ns = STREAM_CREATE_NS;
    CLOSE(api, vg_stream_create((struct vg_stream **)out, flags, 0));
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    OPEN(api, cuStreamCreateWithPriority);
    api.host_ns = STREAM_CREATE_NS;
    CLOSE(api, vg_stream_create((struct vg_stream **)out, flags, priority));
}

CUresult cuStreamDestroy(CUstream stream)
{
    OPEN_ON(api, cuStreamDestroy_v2, stream, s);
    CLOSE(api, vg_stream_destroy(s));
}

CUresult cuStreamSynchronize(CUstream stream)
{
    OPEN_ON(api, cuStreamSynchronize, stream, s);
    CLOSE(api, vg_stream_sync(s));
}

CUresult cuStreamQuery(CUstream stream)
{
    OPEN_ON(api, cuStreamQuery, stream, s);
    CLOSE(api, vg_stream_query(s));
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    (void)flags;
    OPEN_ON(api, cuStreamWaitEvent, stream, s);
    int bad = vg_event_check((struct vg_event *)event);
    CLOSE(api, bad ? bad : vg_stream_wait(s, (struct vg_event *)event));
}

struct callback {
    CUstreamCallback call;
    CUstream stream;
    void *user;
};

static void run_callback(void *arg)
{
    struct callback c = *(struct callback *)arg;
    free(arg);
    c.call(c.stream, CUDA_SUCCESS, c.user);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback call, void *user, unsigned flags)
{
    OPEN_ON(api, cuStreamAddCallback, stream, s);
    if (!call || flags)
        CLOSE(api, CUDA_ERROR_INVALID_VALUE);
    if (s->capture)
        CLOSE(api, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    struct callback *c = malloc(sizeof *c);
    if (!c)
        CLOSE(api, CUDA_ERROR_OUT_OF_MEMORY);
    *c = (struct callback){call, stream, user};
    int bad = vg_host_function(s, run_callback, c);
    if (bad)
        free(c);
    CLOSE(api, bad);
}

CUresult cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    OPEN_ON(api, cuStreamGetFlags, stream, s);
    *flags = s->flags;
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
    OPEN_ON(api, cuStreamGetPriority, stream, s);
    *priority = s->priority;
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
    OPEN_ON(api, cuStreamGetId, stream, s);
    *id = s->id;
    CLOSE(api, CUDA_SUCCESS);
}

#undef cuStreamGetCtx /* its newer form knows of green contexts, which are not modelled */
CUresult cuStreamGetCtx(CUstream stream, CUcontext *out);
CUresult cuStreamGetCtx(CUstream stream, CUcontext *out)
{
    OPEN_ON(api, cuStreamGetCtx, stream, s);
    *out = (CUcontext)(void *)&vg_core.device[s->device];
    CLOSE(api, CUDA_SUCCESS);
}

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    OPEN(api, cuEventCreate);
    api.host_ns = EVENT_CREATE_NS;
    CLOSE(api, vg_event_create((struct vg_event **)out, flags));
}

CUresult cuEventDestroy(CUevent event)
{
    OPEN(api, cuEventDestroy_v2);
    int bad = vg_event_check((struct vg_event *)event);
    CLOSE(api, bad ? bad : vg_event_destroy((struct vg_event *)event));
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    OPEN_ON(api, cuEventRecord, stream, s);
    int bad = vg_event_check((struct vg_event *)event);
    CLOSE(api, bad ? bad : vg_event_record((struct vg_event *)event, s));
}

CUresult cuEventQuery(CUevent event)
{
    OPEN(api, cuEventQuery);
    int bad = vg_event_check((struct vg_event *)event);
    CLOSE(api, bad ? bad : vg_event_query((struct vg_event *)event));
}

CUresult cuEventSynchronize(CUevent event)
{
    OPEN(api, cuEventSynchronize);
    int bad = vg_event_check((struct vg_event *)event);
    CLOSE(api, bad ? bad : vg_event_sync((struct vg_event *)event));
}

CUresult cuEventElapsedTime(float *ms, CUevent first, CUevent last)
{
    OPEN(api, cuEventElapsedTime_v2);
    struct vg_event *a = (struct vg_event *)first, *b = (struct vg_event *)last;
    if (vg_event_check(a) || vg_event_check(b) || !a->recorded || !b->recorded ||
        (a->flags & CU_EVENT_DISABLE_TIMING) || (b->flags & CU_EVENT_DISABLE_TIMING))
        CLOSE(api, CUDA_ERROR_INVALID_HANDLE);
    if (vg_event_query(a) || vg_event_query(b))
        CLOSE(api, CUDA_ERROR_NOT_READY);
    *ms = (float)((double)(b->time_ns - a->time_ns) / 1e6);
    CLOSE(api, CUDA_SUCCESS);
}
