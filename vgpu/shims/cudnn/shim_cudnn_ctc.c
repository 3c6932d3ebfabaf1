/* cuDNN's CTC loss. The model launches one kernel, in which a block goes through the positions of
 * its sequence one after the other: forward and, if gradients are wanted, back. The time for a
 * position is a guess. */
#include "shims/cudnn/shim_cudnn.h"

#include <stdlib.h>

struct cudnnCTCLossStruct {
    bool set;
    cudnnDataType_t compute;
    int longest; /* the longest label; 0: not given */
};

cudnnStatus_t cudnnCreateCTCLossDescriptor(cudnnCTCLossDescriptor_t *out)
{
    NEED(out);
    *out = calloc(1, sizeof **out);
    return *out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

cudnnStatus_t cudnnDestroyCTCLossDescriptor(cudnnCTCLossDescriptor_t c)
{
    free(c);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t c, cudnnDataType_t compute,
                                          cudnnLossNormalizationMode_t norm,
                                          cudnnNanPropagation_t gradients)
{
    (void)norm, (void)gradients;
    NEED(c && compute == CUDNN_DATA_FLOAT);
    *c = (struct cudnnCTCLossStruct){.set = true, .compute = compute};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t c, cudnnDataType_t compute,
                                           cudnnLossNormalizationMode_t norm,
                                           cudnnCTCGradMode_t gradients, int longest)
{
    (void)norm, (void)gradients;
    NEED(c && compute == CUDNN_DATA_FLOAT && longest >= 0);
    *c = (struct cudnnCTCLossStruct){.set = true, .compute = compute, .longest = longest};
    return CUDNN_STATUS_SUCCESS;
}

/* Checks the arguments. The probabilities have three dimensions: positions, sequences, letters. */
static bool fits(cudnnCTCLossDescriptor_t c, cudnnTensorDescriptor_t probs,
                 cudnnTensorDescriptor_t gradients)
{
    return c && c->set && probs && probs->set && probs->nd == 3 &&
           (!gradients || tensor_same_shape(probs, gradients));
}

static cudnnStatus_t workspace(cudnnCTCLossDescriptor_t c, cudnnTensorDescriptor_t probs,
                               cudnnTensorDescriptor_t gradients, size_t *bytes)
{
    NEED(fits(c, probs, gradients) && bytes);
    *bytes = (size_t)(2 * tensor_bytes(probs)) + 1024;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t run(cudnnHandle_t h, cudnnCTCLossDescriptor_t c, cudnnTensorDescriptor_t probs,
                         cudnnTensorDescriptor_t gradients, const void *from, const void *costs)
{
    NEED(h && fits(c, probs, gradients) && from && costs);
    double passes = gradients ? 2 : 1;
    int64_t moving = vg_cost_memory(cudnn_profile(h), tensor_bytes(probs), passes, 1);
    int64_t going = (int64_t)(passes * cudnn_profile(h)->ctc_position_ns * probs->dim[0]);
    struct vg_kernel k = {.name =
                              "_ZN5cudnn3ctc15ctc_loss_kernelIfLi256EEEvPKT_S4_PKiS6_S6_PS2_S7_",
                          .grid = {(unsigned)probs->dim[1], 1, 1},
                          .block = {256, 1, 1},
                          .registers = 64,
                          .duration_ns = going > moving ? going : moving};
    return cudnn_launch(h, &k);
}

cudnnStatus_t cudnnGetCTCLossWorkspaceSize(cudnnHandle_t h, const cudnnTensorDescriptor_t probs,
                                           const cudnnTensorDescriptor_t gradients,
                                           const int *labels, const int *label_lengths,
                                           const int *lengths, cudnnCTCLossAlgo_t algo,
                                           cudnnCTCLossDescriptor_t c, size_t *bytes)
{
    (void)algo;
    NEED(h && labels && label_lengths && lengths);
    return workspace(c, probs, gradients, bytes);
}

cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t h, cudnnCTCLossAlgo_t algo,
                                              cudnnCTCLossDescriptor_t c,
                                              const cudnnTensorDescriptor_t probs,
                                              const cudnnTensorDescriptor_t gradients,
                                              size_t *bytes)
{
    (void)algo;
    NEED(h);
    return workspace(c, probs, gradients, bytes);
}

cudnnStatus_t cudnnCTCLoss(cudnnHandle_t h, const cudnnTensorDescriptor_t probs_desc,
                           const void *probs, const int labels[], const int label_lengths[],
                           const int lengths[], void *costs,
                           const cudnnTensorDescriptor_t gradients_desc, void *gradients,
                           cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t c, void *space,
                           size_t bytes)
{
    (void)algo, (void)space, (void)bytes;
    NEED(labels && label_lengths && lengths);
    return run(h, c, probs_desc, gradients ? gradients_desc : NULL, probs, costs);
}

cudnnStatus_t cudnnCTCLoss_v8(cudnnHandle_t h, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t c,
                              const cudnnTensorDescriptor_t probs_desc, const void *probs,
                              const int labels[], const int label_lengths[], const int lengths[],
                              void *costs, const cudnnTensorDescriptor_t gradients_desc,
                              void *gradients, size_t bytes, void *space)
{
    (void)algo, (void)space, (void)bytes;
    NEED(labels && label_lengths && lengths);
    return run(h, c, probs_desc, gradients ? gradients_desc : NULL, probs, costs);
}
