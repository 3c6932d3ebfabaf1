/* The driver's streams, events and capture: the rows that it shares with the runtime, and the calls
 * that only the driver has. */
#include "shims/cuda/shim_cuda.h"

typedef CUstreamCaptureMode call_mode;
typedef CUstreamCaptureStatus call_status;
typedef CUgraphEdgeData call_edge;
typedef CUstreamCallback call_callback;
typedef cuuint64_t call_id;
#include "shims/calls/stream.h"

ROW(cuStreamCreate, , (CUstream * out, unsigned flags), new_stream(&api, out, flags, 0))

#undef cuStreamGetCtx /* its newer form returns green contexts, which are not modelled */
CUresult cuStreamGetCtx(CUstream stream, CUcontext *out);
ROW_ON(cuStreamGetCtx, , (CUstream stream, CUcontext *out), stream,
       (*out = (CUcontext)(void *)&vg_core.device[s->device], CUDA_SUCCESS))
ROW(cuEventCreate, , (CUevent * out, unsigned flags), new_event(&api, out, flags))
