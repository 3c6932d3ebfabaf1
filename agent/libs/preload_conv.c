/* cuDNN's convolutions and their autotuning (the Find and Get...Algorithm functions). */
#include "agent/libs/preload_cudnn.h"

typedef cudnnTensorDescriptor_t tensor_t;
typedef cudnnFilterDescriptor_t filter_t;
typedef cudnnConvolutionDescriptor_t conv_t;

CUDNN_HOOK(cudnnConvolutionForward,
           (cudnnHandle_t handle, const void *alpha, const tensor_t xd, const void *x,
            const filter_t wd, const void *w, const conv_t conv, cudnnConvolutionFwdAlgo_t algo,
            void *space, size_t bytes, const void *beta, const tensor_t yd, void *y),
           (handle, alpha, xd, x, wd, w, conv, algo, space, bytes, beta, yd, y),
           cudnn_fill_conv(rec, SPOOL_CALL_CONV_FWD, xd, wd, yd, conv, (int)algo, bytes))

CUDNN_HOOK(cudnnConvolutionBiasActivationForward,
           (cudnnHandle_t handle, const void *alpha1, const tensor_t xd, const void *x,
            const filter_t wd, const void *w, const conv_t conv, cudnnConvolutionFwdAlgo_t algo,
            void *space, size_t bytes, const void *alpha2, const tensor_t zd, const void *z,
            const tensor_t bd, const void *bias, const cudnnActivationDescriptor_t activation,
            const tensor_t yd, void *y),
           (handle, alpha1, xd, x, wd, w, conv, algo, space, bytes, alpha2, zd, z, bd, bias,
            activation, yd, y),
           cudnn_fill_conv(rec, SPOOL_CALL_CONV_FWD, xd, wd, yd, conv, (int)algo, bytes))

CUDNN_HOOK(cudnnConvolutionBackwardData,
           (cudnnHandle_t handle, const void *alpha, const filter_t wd, const void *w,
            const tensor_t dyd, const void *dy, const conv_t conv,
            cudnnConvolutionBwdDataAlgo_t algo, void *space, size_t bytes, const void *beta,
            const tensor_t dxd, void *dx),
           (handle, alpha, wd, w, dyd, dy, conv, algo, space, bytes, beta, dxd, dx),
           cudnn_fill_conv(rec, SPOOL_CALL_CONV_DGRAD, dxd, wd, dyd, conv, (int)algo, bytes))

CUDNN_HOOK(cudnnConvolutionBackwardFilter,
           (cudnnHandle_t handle, const void *alpha, const tensor_t xd, const void *x,
            const tensor_t dyd, const void *dy, const conv_t conv,
            cudnnConvolutionBwdFilterAlgo_t algo, void *space, size_t bytes, const void *beta,
            const filter_t dwd, void *dw),
           (handle, alpha, xd, x, dyd, dy, conv, algo, space, bytes, beta, dwd, dw),
           cudnn_fill_conv(rec, SPOOL_CALL_CONV_WGRAD, xd, dwd, dyd, conv, (int)algo, bytes))

CUDNN_HOOK(cudnnConvolutionBackwardBias,
           (cudnnHandle_t handle, const void *alpha, const tensor_t dyd, const void *dy,
            const void *beta, const tensor_t dbd, void *db),
           (handle, alpha, dyd, dy, beta, dbd, db),
           cudnn_fill_tensor(rec, SPOOL_CALL_BIAS, dyd, dbd))

/* ---- autotuning: algo is the best one found ---- */

#define CHOSEN ((int)(status == CUDNN_STATUS_SUCCESS && *got > 0 ? (int)perf[0].algo : -1))

#define FIND_FWD(FN, FAMILY)                                                                       \
    CUDNN_HOOK(FN,                                                                                 \
               (cudnnHandle_t handle, const tensor_t xd, const filter_t wd, const conv_t conv,     \
                const tensor_t yd, const int want, int *got, cudnnConvolutionFwdAlgoPerf_t *perf), \
               (handle, xd, wd, conv, yd, want, got, perf),                                        \
               cudnn_fill_conv(rec, FAMILY, xd, wd, yd, conv, CHOSEN, 0))
#define FIND_DGRAD(FN, FAMILY)                                                                     \
    CUDNN_HOOK(FN,                                                                                 \
               (cudnnHandle_t handle, const filter_t wd, const tensor_t dyd, const conv_t conv,    \
                const tensor_t dxd, const int want, int *got,                                      \
                cudnnConvolutionBwdDataAlgoPerf_t *perf),                                          \
               (handle, wd, dyd, conv, dxd, want, got, perf),                                      \
               cudnn_fill_conv(rec, FAMILY, dxd, wd, dyd, conv, CHOSEN, 0))
#define FIND_WGRAD(FN, FAMILY)                                                                     \
    CUDNN_HOOK(FN,                                                                                 \
               (cudnnHandle_t handle, const tensor_t xd, const tensor_t dyd, const conv_t conv,    \
                const filter_t dwd, const int want, int *got,                                      \
                cudnnConvolutionBwdFilterAlgoPerf_t *perf),                                        \
               (handle, xd, dyd, conv, dwd, want, got, perf),                                      \
               cudnn_fill_conv(rec, FAMILY, xd, dwd, dyd, conv, CHOSEN, 0))

/* Functions that ask a heuristic do not count as autotuning. */
FIND_FWD(cudnnGetConvolutionForwardAlgorithm_v7, SPOOL_CALL_OTHER)
FIND_FWD(cudnnFindConvolutionForwardAlgorithm, SPOOL_CALL_FIND)
FIND_DGRAD(cudnnGetConvolutionBackwardDataAlgorithm_v7, SPOOL_CALL_OTHER)
FIND_DGRAD(cudnnFindConvolutionBackwardDataAlgorithm, SPOOL_CALL_FIND)
FIND_WGRAD(cudnnGetConvolutionBackwardFilterAlgorithm_v7, SPOOL_CALL_OTHER)
FIND_WGRAD(cudnnFindConvolutionBackwardFilterAlgorithm, SPOOL_CALL_FIND)

CUDNN_HOOK(cudnnFindConvolutionForwardAlgorithmEx,
           (cudnnHandle_t handle, const tensor_t xd, const void *x, const filter_t wd,
            const void *w, const conv_t conv, const tensor_t yd, void *y, const int want, int *got,
            cudnnConvolutionFwdAlgoPerf_t *perf, void *space, size_t bytes),
           (handle, xd, x, wd, w, conv, yd, y, want, got, perf, space, bytes),
           cudnn_fill_conv(rec, SPOOL_CALL_FIND, xd, wd, yd, conv, CHOSEN, bytes))

CUDNN_HOOK(cudnnFindConvolutionBackwardDataAlgorithmEx,
           (cudnnHandle_t handle, const filter_t wd, const void *w, const tensor_t dyd,
            const void *dy, const conv_t conv, const tensor_t dxd, void *dx, const int want,
            int *got, cudnnConvolutionBwdDataAlgoPerf_t *perf, void *space, size_t bytes),
           (handle, wd, w, dyd, dy, conv, dxd, dx, want, got, perf, space, bytes),
           cudnn_fill_conv(rec, SPOOL_CALL_FIND, dxd, wd, dyd, conv, CHOSEN, bytes))

CUDNN_HOOK(cudnnFindConvolutionBackwardFilterAlgorithmEx,
           (cudnnHandle_t handle, const tensor_t xd, const void *x, const tensor_t dyd,
            const void *dy, const conv_t conv, const filter_t dwd, void *dw, const int want,
            int *got, cudnnConvolutionBwdFilterAlgoPerf_t *perf, void *space, size_t bytes),
           (handle, xd, x, dyd, dy, conv, dwd, dw, want, got, perf, space, bytes),
           cudnn_fill_conv(rec, SPOOL_CALL_FIND, xd, dwd, dyd, conv, CHOSEN, bytes))
