/* Streams, events and capture by the driver: what it shares with the runtime, and what it has
 * alone. */
#include "shims/cuda/shim_cuda.h"

typedef CUstreamCaptureMode call_mode;
typedef CUstreamCaptureStatus call_status;
typedef CUgraphEdgeData call_edge;
typedef CUstreamCallback call_callback;
typedef cuuint64_t call_id;
#include "shims/calls/stream.h"

CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
    OPEN(api, cuStreamCreate);
    CLOSE(api, new_stream(&api, out, flags, 0));
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
    CLOSE(api, new_event(&api, out, flags));
}
