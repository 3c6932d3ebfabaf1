/* cuDNN: tensors, activation, pooling, softmax, normalisation, as far as the sources here use it; interfaces/README.md. */
#ifndef INTERFACES_CUDNN_OPS_H
#define INTERFACES_CUDNN_OPS_H

#include <cudnn_graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnPoolingStruct *cudnnPoolingDescriptor_t;
typedef struct cudnnFilterStruct *cudnnFilterDescriptor_t;
typedef struct cudnnActivationStruct *cudnnActivationDescriptor_t;
typedef struct cudnnSpatialTransformerStruct *cudnnSpatialTransformerDescriptor_t;
typedef struct cudnnOpTensorStruct *cudnnOpTensorDescriptor_t;
typedef struct cudnnCTCLossStruct *cudnnCTCLossDescriptor_t;
typedef struct cudnnTensorTransformStruct *cudnnTensorTransformDescriptor_t;

typedef enum { CUDNN_NON_DETERMINISTIC = 0, CUDNN_DETERMINISTIC = 1 } cudnnDeterminism_t;
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *);
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t, cudnnTensorFormat_t,
                                         cudnnDataType_t, int, int, int, int);
cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t, cudnnDataType_t, int, int, int,
                                           int, int, int, int, int);
cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t, cudnnDataType_t *, int *,
                                         int *, int *, int *, int *, int *, int *, int *);
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t, cudnnDataType_t, int, const int[],
                                         const int[]);
cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t, cudnnTensorFormat_t,
                                           cudnnDataType_t, int, const int[]);
cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t, int, cudnnDataType_t *,
                                         int *, int[], int[]);
cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t, size_t *);
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t);
cudnnStatus_t cudnnInitTransformDest(const cudnnTensorTransformDescriptor_t,
                                     const cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
                                     size_t *);
cudnnStatus_t cudnnTransformTensor(cudnnHandle_t, const void *, const cudnnTensorDescriptor_t,
                                   const void *, const void *, const cudnnTensorDescriptor_t,
                                   void *);
cudnnStatus_t cudnnAddTensor(cudnnHandle_t, const void *, const cudnnTensorDescriptor_t,
                             const void *, const void *, const cudnnTensorDescriptor_t, void *);

typedef enum { CUDNN_OP_TENSOR_MUL = 1 } cudnnOpTensorOp_t;
cudnnStatus_t cudnnCreateOpTensorDescriptor(cudnnOpTensorDescriptor_t *);
cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t, cudnnOpTensorOp_t,
                                         cudnnDataType_t, cudnnNanPropagation_t);
cudnnStatus_t cudnnGetOpTensorDescriptor(const cudnnOpTensorDescriptor_t, cudnnOpTensorOp_t *,
                                         cudnnDataType_t *, cudnnNanPropagation_t *);
cudnnStatus_t cudnnDestroyOpTensorDescriptor(cudnnOpTensorDescriptor_t);
cudnnStatus_t cudnnOpTensor(cudnnHandle_t, const cudnnOpTensorDescriptor_t, const void *,
                            const cudnnTensorDescriptor_t, const void *, const void *,
                            const cudnnTensorDescriptor_t, const void *, const void *,
                            const cudnnTensorDescriptor_t, void *);
cudnnStatus_t cudnnSetTensor(cudnnHandle_t, const cudnnTensorDescriptor_t, void *, const void *);
cudnnStatus_t cudnnScaleTensor(cudnnHandle_t, const cudnnTensorDescriptor_t, void *, const void *);
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *);
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t, cudnnDataType_t,
                                         cudnnTensorFormat_t, int, int, int, int);
cudnnStatus_t cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t, cudnnDataType_t *,
                                         cudnnTensorFormat_t *, int *, int *, int *, int *);
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t, cudnnDataType_t,
                                         cudnnTensorFormat_t, int, const int[]);
cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t, int, cudnnDataType_t *,
                                         cudnnTensorFormat_t *, int *, int[]);
cudnnStatus_t cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t, size_t *);
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t);

typedef enum { CUDNN_SOFTMAX_FAST = 0 } cudnnSoftmaxAlgorithm_t;

typedef enum { CUDNN_SOFTMAX_MODE_INSTANCE = 0 } cudnnSoftmaxMode_t;
cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t,
                                  const void *, const cudnnTensorDescriptor_t, const void *,
                                  const void *, const cudnnTensorDescriptor_t, void *);

typedef enum {
    CUDNN_POOLING_MAX = 0,
    CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = 2,
    CUDNN_POOLING_MAX_DETERMINISTIC = 3
} cudnnPoolingMode_t;
cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t *);
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t, cudnnPoolingMode_t,
                                          cudnnNanPropagation_t, int, int, int, int, int, int);
cudnnStatus_t cudnnGetPooling2dDescriptor(const cudnnPoolingDescriptor_t, cudnnPoolingMode_t *,
                                          cudnnNanPropagation_t *, int *, int *, int *, int *,
                                          int *, int *);
cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t, const cudnnPoolingMode_t,
                                          const cudnnNanPropagation_t, int, const int[],
                                          const int[], const int[]);
cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t,
                                                const cudnnTensorDescriptor_t, int, int[]);
cudnnStatus_t cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t,
                                                const cudnnTensorDescriptor_t, int *, int *, int *,
                                                int *);
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t);
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t, const cudnnPoolingDescriptor_t, const void *,
                                  const cudnnTensorDescriptor_t, const void *, const void *,
                                  const cudnnTensorDescriptor_t, void *);
cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t *);
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t, cudnnActivationMode_t,
                                           cudnnNanPropagation_t, double);
cudnnStatus_t cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t,
                                           cudnnActivationMode_t *, cudnnNanPropagation_t *,
                                           double *);
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t);
cudnnStatus_t cudnnActivationForward(cudnnHandle_t, cudnnActivationDescriptor_t, const void *,
                                     const cudnnTensorDescriptor_t, const void *, const void *,
                                     const cudnnTensorDescriptor_t, void *);

typedef enum {
    CUDNN_BATCHNORM_PER_ACTIVATION = 0,
    CUDNN_BATCHNORM_SPATIAL = 1,
    CUDNN_BATCHNORM_SPATIAL_PERSISTENT = 2
} cudnnBatchNormMode_t;
cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                            cudnnBatchNormMode_t);

typedef enum {
    CUDNN_BATCHNORM_OPS_BN = 0,
    CUDNN_BATCHNORM_OPS_BN_ACTIVATION = 1,
    CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION = 2
} cudnnBatchNormOps_t;
cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t, cudnnBatchNormMode_t, const void *, const void *, const cudnnTensorDescriptor_t,
    const void *, const cudnnTensorDescriptor_t, void *, const cudnnTensorDescriptor_t,
    const void *, const void *, const void *, const void *, double);

typedef enum { CUDNN_NORM_PER_ACTIVATION = 0 } cudnnNormMode_t;
cudnnStatus_t cudnnDeriveNormTensorDescriptor(cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
                                              const cudnnTensorDescriptor_t, cudnnNormMode_t, int);

typedef enum { CUDNN_SAMPLER_BILINEAR = 0 } cudnnSamplerType_t;
cudnnStatus_t cudnnCreateSpatialTransformerDescriptor(cudnnSpatialTransformerDescriptor_t *);
cudnnStatus_t cudnnSetSpatialTransformerNdDescriptor(cudnnSpatialTransformerDescriptor_t,
                                                     cudnnSamplerType_t, cudnnDataType_t, const int,
                                                     const int[]);
cudnnStatus_t cudnnDestroySpatialTransformerDescriptor(cudnnSpatialTransformerDescriptor_t);
cudnnStatus_t cudnnSpatialTfGridGeneratorForward(cudnnHandle_t,
                                                 const cudnnSpatialTransformerDescriptor_t,
                                                 const void *, void *);
cudnnStatus_t cudnnSpatialTfSamplerForward(cudnnHandle_t, cudnnSpatialTransformerDescriptor_t,
                                           const void *, const cudnnTensorDescriptor_t,
                                           const void *, const void *, const void *,
                                           cudnnTensorDescriptor_t, void *);
typedef struct cudnnDropoutStruct *cudnnDropoutDescriptor_t;
cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t *);
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t);
cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t, size_t *);
cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t, size_t *);
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t, cudnnHandle_t, float, void *,
                                        size_t, unsigned long long);
cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t, cudnnHandle_t, float, void *,
                                            size_t, unsigned long long);
cudnnStatus_t cudnnDropoutForward(cudnnHandle_t, const cudnnDropoutDescriptor_t,
                                  const cudnnTensorDescriptor_t, const void *,
                                  const cudnnTensorDescriptor_t, void *, void *, size_t);

typedef enum {
    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM = 0,
    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM = 1
} cudnnConvolutionFwdAlgo_t;

typedef enum { CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 = 0 } cudnnConvolutionBwdFilterAlgo_t;

typedef enum { CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 = 1 } cudnnConvolutionBwdDataAlgo_t;

typedef enum { CUDNN_CTC_LOSS_ALGO_DETERMINISTIC = 0 } cudnnCTCLossAlgo_t;
cudnnStatus_t cudnnOpsVersionCheck(void);
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t,
                                   const void *, const cudnnTensorDescriptor_t, const void *,
                                   const cudnnTensorDescriptor_t, const void *, const void *,
                                   const cudnnTensorDescriptor_t, void *);
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t, const cudnnPoolingDescriptor_t, const void *,
                                   const cudnnTensorDescriptor_t, const void *,
                                   const cudnnTensorDescriptor_t, const void *,
                                   const cudnnTensorDescriptor_t, const void *, const void *,
                                   const cudnnTensorDescriptor_t, void *);
cudnnStatus_t cudnnActivationBackward(cudnnHandle_t, cudnnActivationDescriptor_t, const void *,
                                      const cudnnTensorDescriptor_t, const void *,
                                      const cudnnTensorDescriptor_t, const void *,
                                      const cudnnTensorDescriptor_t, const void *, const void *,
                                      const cudnnTensorDescriptor_t, void *);
cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t *);
cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t,
    size_t *);
cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnActivationDescriptor_t,
    const cudnnTensorDescriptor_t, size_t *);
cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t, cudnnBatchNormMode_t, const void *, const void *, const cudnnTensorDescriptor_t,
    const void *, const cudnnTensorDescriptor_t, void *, const cudnnTensorDescriptor_t,
    const void *, const void *, double, void *, void *, double, void *, void *);
cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void *, const void *,
    const cudnnTensorDescriptor_t, const void *, const cudnnTensorDescriptor_t, const void *,
    const cudnnTensorDescriptor_t, void *, const cudnnTensorDescriptor_t, const void *,
    const void *, double, void *, void *, double, void *, void *, cudnnActivationDescriptor_t,
    void *, size_t, void *, size_t);
cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t, cudnnBatchNormMode_t, const void *,
                                              const void *, const void *, const void *,
                                              const cudnnTensorDescriptor_t, const void *,
                                              const cudnnTensorDescriptor_t, const void *,
                                              const cudnnTensorDescriptor_t, void *,
                                              const cudnnTensorDescriptor_t, const void *, void *,
                                              void *, double, const void *, const void *);
cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void *, const void *,
    const void *, const void *, const cudnnTensorDescriptor_t, const void *,
    const cudnnTensorDescriptor_t, const void *, const cudnnTensorDescriptor_t, const void *,
    const cudnnTensorDescriptor_t, void *, const cudnnTensorDescriptor_t, void *,
    const cudnnTensorDescriptor_t, const void *, const void *, void *, void *, double, const void *,
    const void *, cudnnActivationDescriptor_t, void *, size_t, void *, size_t);
cudnnStatus_t cudnnSpatialTfGridGeneratorBackward(cudnnHandle_t,
                                                  const cudnnSpatialTransformerDescriptor_t,
                                                  const void *, void *);
cudnnStatus_t cudnnSpatialTfSamplerBackward(cudnnHandle_t, cudnnSpatialTransformerDescriptor_t,
                                            const void *, const cudnnTensorDescriptor_t,
                                            const void *, const void *,
                                            const cudnnTensorDescriptor_t, void *, const void *,
                                            const cudnnTensorDescriptor_t, const void *,
                                            const void *, const void *, void *);
cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t, const cudnnDropoutDescriptor_t,
                                   const cudnnTensorDescriptor_t, const void *,
                                   const cudnnTensorDescriptor_t, void *, void *, size_t);

#ifdef __cplusplus
}
#endif

#endif
