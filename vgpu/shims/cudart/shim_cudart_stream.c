/* The runtime's streams, events, capture and synchronisation: the rows that it shares with the
 * driver, and the calls that only the runtime has. */
#include "shims/cudart/shim_cudart.h"

typedef enum cudaStreamCaptureMode call_mode;
typedef enum cudaStreamCaptureStatus call_status;
typedef cudaGraphEdgeData call_edge;
typedef cudaStreamCallback_t call_callback;
typedef unsigned long long call_id;
#include "shims/calls/stream.h"

ROW(cudaStreamCreate, v3020, (cudaStream_t * out), new_stream(&api, out, 0, 0))
ROW(cudaStreamCreateWithFlags, v5000, (cudaStream_t * out, unsigned flags),
    new_stream(&api, out, flags, 0))

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    OPEN(api, cudaDeviceGetStreamPriorityRange_v5050);
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    CLOSE(api, cudaSuccess);
}

TWIN_ON(cudaStreamGetDevice, v12080, _ptsz, v12080, (cudaStream_t stream, int *device), stream,
        (*device = s->device, VG_OK))
TWIN_ON(cudaStreamSetAttribute, v11000, _ptsz, v11000,
        (cudaStream_t stream, cudaStreamAttrID attr UNUSED,
         const cudaStreamAttrValue *value UNUSED),
        stream, VG_OK)

static int get_attribute(const struct vg_stream *s, cudaStreamAttrID attr,
                         cudaStreamAttrValue *value)
{
    memset(value, 0, sizeof *value);
    if (attr == cudaStreamAttributePriority)
        value->priority = s->priority;
    return VG_OK;
}
TWIN_ON(cudaStreamGetAttribute, v11000, _ptsz, v11000,
        (cudaStream_t stream, cudaStreamAttrID attr, cudaStreamAttrValue *value), stream,
        get_attribute(s, attr, value))

ROW(cudaEventCreate, v3020, (cudaEvent_t * out), new_event(&api, out, 0))
ROW(cudaEventCreateWithFlags, v3020, (cudaEvent_t * out, unsigned flags),
    new_event(&api, out, flags))

TWIN_ON(cudaEventRecordWithFlags, v11010, _ptsz, v11010,
        (cudaEvent_t event, cudaStream_t stream, unsigned flags UNUSED), stream, record(s, event))

ROW(cudaDeviceSynchronize, v3020, (void), vg_device_sync())
