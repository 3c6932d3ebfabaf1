/* Calls that put work on a GPU: the launching thread notes its line (agent/lines/lines.h). These
 * wrappers write no CALL record, because CUPTI reports the call. In steps without lines they cost a
 * load and a jump. Library calls that are recorded with their shapes note the line themselves. */
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "agent/lines/lines.h"
#include "agent/libs/preload.h"

#define NOTED(LIBRARY, RET, FAILED, FN, PARAMS, ARGS)                                              \
    AGENT_EXPORT RET FN PARAMS;                                                                    \
    RET FN PARAMS                                                                                  \
    {                                                                                              \
        static struct hook_by_caller by = {.hook = {.name = #FN, .library = LIBRARY}};             \
        __typeof__(FN) *real = (__typeof__(FN) *)hook_real_for(&by, __builtin_return_address(0));  \
        if (!real)                                                                                 \
            return FAILED;                                                                         \
        lines_see();                                                                               \
        return real ARGS;                                                                          \
    }
#define LAUNCH(FN, PARAMS, ARGS)                                                                   \
    NOTED(HOOK_CUDART, cudaError_t, cudaErrorInitializationError, FN, PARAMS, ARGS)
#define RECURRENT(FN, PARAMS, ARGS)                                                                \
    NOTED(HOOK_CUDNN, cudnnStatus_t, CUDNN_STATUS_NOT_INITIALIZED, FN, PARAMS, ARGS)

/* nvcc 13 and later turn <<<>>> into this call; no header declares it for programs. */
LAUNCH(__cudaLaunchKernel,
       (const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream),
       (kernel, grid, block, args, shared, stream))
LAUNCH(cudaLaunchKernel,
       (const void *function, dim3 grid, dim3 block, void **args, size_t shared,
        cudaStream_t stream),
       (function, grid, block, args, shared, stream))
LAUNCH(cudaLaunchKernelExC, (const cudaLaunchConfig_t *config, const void *function, void **args),
       (config, function, args))
LAUNCH(cudaLaunchCooperativeKernel,
       (const void *function, dim3 grid, dim3 block, void **args, size_t shared,
        cudaStream_t stream),
       (function, grid, block, args, shared, stream))
LAUNCH(cudaMemcpy, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind),
       (to, from, bytes, kind))
LAUNCH(cudaMemcpyAsync,
       (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
       (to, from, bytes, kind, stream))
LAUNCH(cudaMemset, (void *to, int value, size_t bytes), (to, value, bytes))
LAUNCH(cudaMemsetAsync, (void *to, int value, size_t bytes, cudaStream_t stream),
       (to, value, bytes, stream))
LAUNCH(cudaGraphLaunch, (cudaGraphExec_t graph, cudaStream_t stream), (graph, stream))

RECURRENT(cudnnRNNForward,
          (cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t mode,
           const int32_t lengths[], cudnnRNNDataDescriptor_t x_of, const void *x,
           cudnnRNNDataDescriptor_t y_of, void *y, cudnnTensorDescriptor_t h_of, const void *hx,
           void *hy, cudnnTensorDescriptor_t c_of, const void *cx, void *cy, size_t weight_bytes,
           const void *weights, size_t work_bytes, void *work, size_t reserve_bytes, void *reserve),
          (handle, rnn, mode, lengths, x_of, x, y_of, y, h_of, hx, hy, c_of, cx, cy, weight_bytes,
           weights, work_bytes, work, reserve_bytes, reserve))
