/* Streams, events, synchronisation, stream capture. */
#include "shims/cudart/shim_cudart.h"

enum { STREAM_CREATE_NS = 8000, EVENT_CREATE_NS = 2000 };

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    OPEN(api, cudaStreamCreate_v3020);
    api.host_ns = STREAM_CREATE_NS;
    CLOSE(api, vg_stream_create((struct vg_stream **)out, 0, 0));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    OPEN(api, cudaStreamCreateWithFlags_v5000);
    api.host_ns = STREAM_CREATE_NS;
    CLOSE(api, vg_stream_create((struct vg_stream **)out, flags, 0));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority)
{
    OPEN(api, cudaStreamCreateWithPriority_v5050);
    api.host_ns = STREAM_CREATE_NS;
    CLOSE(api, vg_stream_create((struct vg_stream **)out, flags, priority));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    OPEN(api, cudaDeviceGetStreamPriorityRange_v5050);
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, (struct place){false, CBID(cudaStreamDestroy_v5050)}, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    CLOSE(api, vg_stream_destroy(s));
}

static cudaError_t cudaStreamSynchronize_at(struct place at, cudaStream_t stream)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    CLOSE(api, vg_stream_sync(s));
}
TWIN(cudaStreamSynchronize, v3020, _ptsz, v7000, (cudaStream_t stream), stream)

static cudaError_t cudaStreamQuery_at(struct place at, cudaStream_t stream)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    CLOSE(api, vg_stream_query(s));
}
TWIN(cudaStreamQuery, v3020, _ptsz, v7000, (cudaStream_t stream), stream)

static cudaError_t cudaStreamWaitEvent_at(struct place at, cudaStream_t stream, cudaEvent_t event)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    bad = vg_event_check((struct vg_event *)event);
    CLOSE(api, bad ? bad : vg_stream_wait(s, (struct vg_event *)event));
}
TWIN(cudaStreamWaitEvent, v3020, _ptsz, v7000,
     (cudaStream_t stream, cudaEvent_t event, unsigned flags), stream, ((void)flags, event))

static cudaError_t cudaStreamGetFlags_at(struct place at, cudaStream_t stream, unsigned *flags)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    *flags = s->flags;
    CLOSE(api, cudaSuccess);
}
TWIN(cudaStreamGetFlags, v5050, _ptsz, v7000, (cudaStream_t stream, unsigned *flags), stream, flags)

static cudaError_t cudaStreamGetPriority_at(struct place at, cudaStream_t stream, int *priority)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    *priority = s->priority;
    CLOSE(api, cudaSuccess);
}
TWIN(cudaStreamGetPriority, v5050, _ptsz, v7000, (cudaStream_t stream, int *priority), stream,
     priority)

static cudaError_t cudaStreamGetId_at(struct place at, cudaStream_t stream, unsigned long long *id)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    *id = s->id;
    CLOSE(api, cudaSuccess);
}
TWIN(cudaStreamGetId, v12000, _ptsz, v12000, (cudaStream_t stream, unsigned long long *id), stream,
     id)

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    OPEN(api, cudaEventCreate_v3020);
    api.host_ns = EVENT_CREATE_NS;
    CLOSE(api, vg_event_create((struct vg_event **)out, 0));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    OPEN(api, cudaEventCreateWithFlags_v3020);
    api.host_ns = EVENT_CREATE_NS;
    CLOSE(api, vg_event_create((struct vg_event **)out, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    OPEN(api, cudaEventDestroy_v3020);
    int bad = vg_event_check((struct vg_event *)event);
    CLOSE(api, bad ? bad : vg_event_destroy((struct vg_event *)event));
}

static cudaError_t record_on(struct place at, cudaEvent_t event, cudaStream_t stream)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    bad = vg_event_check((struct vg_event *)event);
    CLOSE(api, bad ? bad : vg_event_record((struct vg_event *)event, s));
}

static cudaError_t cudaEventRecord_at(struct place at, cudaEvent_t event, cudaStream_t stream)
{
    return record_on(at, event, stream);
}
TWIN(cudaEventRecord, v3020, _ptsz, v7000, (cudaEvent_t event, cudaStream_t stream), event, stream)

static cudaError_t cudaEventRecordWithFlags_at(struct place at, cudaEvent_t event,
                                               cudaStream_t stream)
{
    return record_on(at, event, stream);
}
TWIN(cudaEventRecordWithFlags, v11010, _ptsz, v11010,
     (cudaEvent_t event, cudaStream_t stream, unsigned flags), event, ((void)flags, stream))

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    OPEN(api, cudaEventQuery_v3020);
    int bad = vg_event_check((struct vg_event *)event);
    CLOSE(api, bad ? bad : vg_event_query((struct vg_event *)event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    OPEN(api, cudaEventSynchronize_v3020);
    int bad = vg_event_check((struct vg_event *)event);
    CLOSE(api, bad ? bad : vg_event_sync((struct vg_event *)event));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t first, cudaEvent_t last)
{
    OPEN(api, cudaEventElapsedTime_v3020);
    struct vg_event *a = (struct vg_event *)first, *b = (struct vg_event *)last;
    if (vg_event_check(a) || vg_event_check(b) || !a->recorded || !b->recorded || (a->flags & 2) ||
        (b->flags & 2))
        CLOSE(api, cudaErrorInvalidResourceHandle);
    if (vg_event_query(a) || vg_event_query(b))
        CLOSE(api, cudaErrorNotReady);
    *ms = (float)((double)(b->time_ns - a->time_ns) / 1e6);
    CLOSE(api, cudaSuccess);
}

static cudaError_t cudaStreamBeginCapture_at(struct place at, cudaStream_t stream,
                                             enum cudaStreamCaptureMode mode)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    CLOSE(api, vg_capture_begin(s, (int)mode, NULL, NULL, 0));
}
TWIN(cudaStreamBeginCapture, v10000, _ptsz, v10000,
     (cudaStream_t stream, enum cudaStreamCaptureMode mode), stream, mode)

static cudaError_t cudaStreamEndCapture_at(struct place at, cudaStream_t stream, cudaGraph_t *graph)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    CLOSE(api, vg_capture_end(s, (struct vg_graph **)graph));
}
TWIN(cudaStreamEndCapture, v10000, _ptsz, v10000, (cudaStream_t stream, cudaGraph_t *graph), stream,
     graph)

static enum cudaStreamCaptureStatus status_of(const struct vg_stream *s)
{
    if (!s->capture)
        return cudaStreamCaptureStatusNone;
    return s->capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

static cudaError_t cudaStreamIsCapturing_at(struct place at, cudaStream_t stream,
                                            enum cudaStreamCaptureStatus *status)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    *status = status_of(s);
    CLOSE(api, cudaSuccess);
}
TWIN(cudaStreamIsCapturing, v10000, _ptsz, v10000,
     (cudaStream_t stream, enum cudaStreamCaptureStatus *status), stream, status)

static cudaError_t cudaStreamGetCaptureInfo_at(struct place at, cudaStream_t stream,
                                               enum cudaStreamCaptureStatus *status,
                                               unsigned long long *id, cudaGraph_t *graph,
                                               const cudaGraphNode_t **deps, size_t *count)
{
    struct vg_api api;
    struct vg_stream *s;
    int bad = open_on(&api, at, stream, &s);
    if (bad)
        return (cudaError_t)bad;
    *status = status_of(s);
    if (id)
        *id = s->capture ? s->capture->id : 0;
    if (graph)
        *graph = (cudaGraph_t)s->capture;
    if (deps)
        *deps = (const cudaGraphNode_t *)s->frontier;
    if (count)
        *count = s->frontier_n;
    CLOSE(api, cudaSuccess);
}
TWIN(cudaStreamGetCaptureInfo, v12030, _ptsz, v12030,
     (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
      cudaGraph_t *graph, const cudaGraphNode_t **deps, const cudaGraphEdgeData **edges,
      size_t *count),
     stream, status, id, graph, deps, (edges ? (void)(*edges = NULL) : (void)0, count))

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    OPEN(api, cudaThreadExchangeStreamCaptureMode_v10010);
    *mode = (enum cudaStreamCaptureMode)vg_capture_thread_mode((int)*mode);
    CLOSE(api, cudaSuccess);
}

cudaError_t cudaDeviceSynchronize(void)
{
    OPEN(api, cudaDeviceSynchronize_v3020);
    CLOSE(api, vg_device_sync());
}
