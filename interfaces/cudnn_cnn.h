/* cuDNN: convolutions, as far as the sources here use it; interfaces/README.md. */
#ifndef INTERFACES_CUDNN_CNN_H
#define INTERFACES_CUDNN_CNN_H

#include <cudnn_ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cudnnConvolutionStruct *cudnnConvolutionDescriptor_t;

typedef struct cudnnConvolutionFwdAlgoPerfStruct {
    cudnnConvolutionFwdAlgo_t algo;
    cudnnStatus_t status;
    float time;
    size_t memory;
    cudnnDeterminism_t determinism;
    cudnnMathType_t mathType;
    int reserved[3];
} cudnnConvolutionFwdAlgoPerf_t;
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *);
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t);
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t);
cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t *);
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t, int);
cudnnStatus_t cudnnGetConvolutionGroupCount(cudnnConvolutionDescriptor_t, int *);
cudnnStatus_t cudnnSetConvolutionReorderType(cudnnConvolutionDescriptor_t, cudnnReorderType_t);
cudnnStatus_t cudnnGetConvolutionReorderType(cudnnConvolutionDescriptor_t, cudnnReorderType_t *);
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t, int, int, int, int, int,
                                              int, cudnnConvolutionMode_t, cudnnDataType_t);
cudnnStatus_t cudnnGetConvolution2dDescriptor(const cudnnConvolutionDescriptor_t, int *, int *,
                                              int *, int *, int *, int *, cudnnConvolutionMode_t *,
                                              cudnnDataType_t *);
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t, int, const int[],
                                              const int[], const int[], cudnnConvolutionMode_t,
                                              cudnnDataType_t);
cudnnStatus_t cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t, int, int *, int[],
                                              int[], int[], cudnnConvolutionMode_t *,
                                              cudnnDataType_t *);
cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t,
                                                    const cudnnTensorDescriptor_t,
                                                    const cudnnFilterDescriptor_t, int *, int *,
                                                    int *, int *);
cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t,
                                                    const cudnnTensorDescriptor_t,
                                                    const cudnnFilterDescriptor_t, int, int[]);
cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t, int *);
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                     const cudnnFilterDescriptor_t,
                                                     const cudnnConvolutionDescriptor_t,
                                                     const cudnnTensorDescriptor_t, const int,
                                                     int *, cudnnConvolutionFwdAlgoPerf_t *);
cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                   const cudnnFilterDescriptor_t,
                                                   const cudnnConvolutionDescriptor_t,
                                                   const cudnnTensorDescriptor_t, const int, int *,
                                                   cudnnConvolutionFwdAlgoPerf_t *);
cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const void *, const cudnnFilterDescriptor_t,
    const void *, const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, void *,
    const int, int *, cudnnConvolutionFwdAlgoPerf_t *, void *, size_t);
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                      const cudnnFilterDescriptor_t,
                                                      const cudnnConvolutionDescriptor_t,
                                                      const cudnnTensorDescriptor_t,
                                                      cudnnConvolutionFwdAlgo_t, size_t *);
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void *, const cudnnTensorDescriptor_t,
                                      const void *, const cudnnFilterDescriptor_t, const void *,
                                      const cudnnConvolutionDescriptor_t, cudnnConvolutionFwdAlgo_t,
                                      void *, size_t, const void *, const cudnnTensorDescriptor_t,
                                      void *);
cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t, const void *, const cudnnTensorDescriptor_t, const void *,
    const cudnnFilterDescriptor_t, const void *, const cudnnConvolutionDescriptor_t,
    cudnnConvolutionFwdAlgo_t, void *, size_t, const void *, const cudnnTensorDescriptor_t,
    const void *, const cudnnTensorDescriptor_t, const void *, const cudnnActivationDescriptor_t,
    const cudnnTensorDescriptor_t, void *);

typedef struct cudnnConvolutionBwdDataAlgoPerfStruct {
    cudnnConvolutionBwdDataAlgo_t algo;
    cudnnStatus_t status;
    float time;
    size_t memory;
    cudnnDeterminism_t determinism;
    cudnnMathType_t mathType;
    int reserved[3];
} cudnnConvolutionBwdDataAlgoPerf_t;
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithmMaxCount(cudnnHandle_t, int *);
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(cudnnHandle_t,
                                                        const cudnnFilterDescriptor_t,
                                                        const cudnnTensorDescriptor_t,
                                                        const cudnnConvolutionDescriptor_t,
                                                        const cudnnTensorDescriptor_t, const int,
                                                        int *, cudnnConvolutionBwdDataAlgoPerf_t *);
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t, const cudnnFilterDescriptor_t, const void *, const cudnnTensorDescriptor_t,
    const void *, const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, void *,
    const int, int *, cudnnConvolutionBwdDataAlgoPerf_t *, void *, size_t);
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, const cudnnFilterDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, const int, int *,
    cudnnConvolutionBwdDataAlgoPerf_t *);
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t,
                                                           const cudnnFilterDescriptor_t,
                                                           const cudnnTensorDescriptor_t,
                                                           const cudnnConvolutionDescriptor_t,
                                                           const cudnnTensorDescriptor_t,
                                                           cudnnConvolutionBwdDataAlgo_t, size_t *);
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t, const void *,
                                           const cudnnFilterDescriptor_t, const void *,
                                           const cudnnTensorDescriptor_t, const void *,
                                           const cudnnConvolutionDescriptor_t,
                                           cudnnConvolutionBwdDataAlgo_t, void *, size_t,
                                           const void *, const cudnnTensorDescriptor_t, void *);
cudnnStatus_t cudnnGetFoldedConvBackwardDataDescriptors(
    const cudnnHandle_t, const cudnnFilterDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorFormat_t,
    cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, cudnnTensorTransformDescriptor_t, cudnnTensorTransformDescriptor_t,
    cudnnTensorTransformDescriptor_t, cudnnTensorTransformDescriptor_t);
cudnnStatus_t cudnnCnnVersionCheck(void);

typedef struct cudnnConvolutionBwdFilterAlgoPerfStruct {
    cudnnConvolutionBwdFilterAlgo_t algo;
    cudnnStatus_t status;
    float time;
    size_t memory;
    cudnnDeterminism_t determinism;
    cudnnMathType_t mathType;
    int reserved[3];
} cudnnConvolutionBwdFilterAlgoPerf_t;
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(cudnnHandle_t, int *);
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t, const int, int *,
    cudnnConvolutionBwdFilterAlgoPerf_t *);
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const void *, const cudnnTensorDescriptor_t,
    const void *, const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t, void *,
    const int, int *, cudnnConvolutionBwdFilterAlgoPerf_t *, void *, size_t);
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t, const int, int *,
    cudnnConvolutionBwdFilterAlgoPerf_t *);
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t,
    cudnnConvolutionBwdFilterAlgo_t, size_t *);
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t, const void *,
                                             const cudnnTensorDescriptor_t, const void *,
                                             const cudnnTensorDescriptor_t, const void *,
                                             const cudnnConvolutionDescriptor_t,
                                             cudnnConvolutionBwdFilterAlgo_t, void *, size_t,
                                             const void *, const cudnnFilterDescriptor_t, void *);
cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t, const void *,
                                           const cudnnTensorDescriptor_t, const void *,
                                           const void *, const cudnnTensorDescriptor_t, void *);

#ifdef __cplusplus
}
#endif

#endif
