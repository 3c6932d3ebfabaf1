/* cuDNN: recurrent networks, as far as the sources here use it; interfaces/README.md. */
#ifndef INTERFACES_CUDNN_ADV_H
#define INTERFACES_CUDNN_ADV_H

#include <cudnn_ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { CUDNN_RNN_ALGO_STANDARD = 0 } cudnnRNNAlgo_t;

typedef enum { CUDNN_FWD_MODE_TRAINING = 1 } cudnnForwardMode_t;

typedef enum { CUDNN_LSTM = 2, CUDNN_GRU = 3 } cudnnRNNMode_t;

typedef enum { CUDNN_RNN_NO_BIAS = 0, CUDNN_RNN_DOUBLE_BIAS = 2 } cudnnRNNBiasMode_t;

typedef enum { CUDNN_UNIDIRECTIONAL = 0, CUDNN_BIDIRECTIONAL = 1 } cudnnDirectionMode_t;

typedef enum { CUDNN_LINEAR_INPUT = 0 } cudnnRNNInputMode_t;

typedef enum { CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED = 0 } cudnnRNNDataLayout_t;
typedef struct cudnnRNNStruct *cudnnRNNDescriptor_t;
typedef struct cudnnRNNDataStruct *cudnnRNNDataDescriptor_t;
cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t *);
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t);
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t, cudnnRNNAlgo_t, cudnnRNNMode_t,
                                       cudnnRNNBiasMode_t, cudnnDirectionMode_t,
                                       cudnnRNNInputMode_t, cudnnDataType_t, cudnnDataType_t,
                                       cudnnMathType_t, int32_t, int32_t, int32_t, int32_t,
                                       cudnnDropoutDescriptor_t, uint32_t);
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t,
                                        cudnnRNNDataDescriptor_t, size_t *, size_t *);
cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t, size_t *);
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t, int32_t, size_t,
                                      const void *, int32_t, cudnnTensorDescriptor_t, void **,
                                      cudnnTensorDescriptor_t, void **);
cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t *);
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t);
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t, cudnnDataType_t,
                                        cudnnRNNDataLayout_t, int, int, int, const int[], void *);
cudnnStatus_t cudnnRNNForward(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t,
                              const int32_t[], cudnnRNNDataDescriptor_t, const void *,
                              cudnnRNNDataDescriptor_t, void *, cudnnTensorDescriptor_t,
                              const void *, void *, cudnnTensorDescriptor_t, const void *, void *,
                              size_t, const void *, size_t, void *, size_t, void *);

typedef enum { CUDNN_WGRAD_MODE_ADD = 0 } cudnnWgradMode_t;
cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t, cudnnRNNDescriptor_t, const int32_t[],
                                      cudnnRNNDataDescriptor_t, const void *, const void *,
                                      cudnnRNNDataDescriptor_t, void *, cudnnTensorDescriptor_t,
                                      const void *, const void *, void *, cudnnTensorDescriptor_t,
                                      const void *, const void *, void *, size_t, const void *,
                                      size_t, void *, size_t, void *);
cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnWgradMode_t,
                                         const int32_t[], cudnnRNNDataDescriptor_t, const void *,
                                         cudnnTensorDescriptor_t, const void *,
                                         cudnnRNNDataDescriptor_t, const void *, size_t, void *,
                                         size_t, void *, size_t, void *);

typedef enum { CUDNN_LOSS_NORMALIZATION_SOFTMAX = 1 } cudnnLossNormalizationMode_t;
cudnnStatus_t cudnnCreateCTCLossDescriptor(cudnnCTCLossDescriptor_t *);
cudnnStatus_t cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t, cudnnDataType_t,
                                          cudnnLossNormalizationMode_t, cudnnNanPropagation_t);
cudnnStatus_t cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t, cudnnDataType_t,
                                           cudnnLossNormalizationMode_t, cudnnCTCGradMode_t, int);
cudnnStatus_t cudnnDestroyCTCLossDescriptor(cudnnCTCLossDescriptor_t);
cudnnStatus_t cudnnCTCLoss(cudnnHandle_t, const cudnnTensorDescriptor_t, const void *, const int[],
                           const int[], const int[], void *, const cudnnTensorDescriptor_t, void *,
                           cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t, void *, size_t);
cudnnStatus_t cudnnCTCLoss_v8(cudnnHandle_t, cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t,
                              const cudnnTensorDescriptor_t, const void *, const int[], const int[],
                              const int[], void *, const cudnnTensorDescriptor_t, void *, size_t,
                              void *);
cudnnStatus_t cudnnGetCTCLossWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                           const cudnnTensorDescriptor_t, const int *, const int *,
                                           const int *, cudnnCTCLossAlgo_t,
                                           cudnnCTCLossDescriptor_t, size_t *);
cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t, cudnnCTCLossAlgo_t,
                                              cudnnCTCLossDescriptor_t,
                                              const cudnnTensorDescriptor_t,
                                              const cudnnTensorDescriptor_t, size_t *);

#ifdef __cplusplus
}
#endif

#endif
