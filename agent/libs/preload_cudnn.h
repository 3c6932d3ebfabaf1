/* Shapes, types and layouts of cuDNN's legacy descriptors, which cuDNN's own functions tell. */
#ifndef GPUPROF_AGENT_LIBS_PRELOAD_CUDNN_H
#define GPUPROF_AGENT_LIBS_PRELOAD_CUDNN_H

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* programs still call them */
#include <cudnn.h>

#include "agent/libs/preload.h"

uint8_t cudnn_dtype(int type); /* type: cudnnDataType_t */
/* Layout of a tensor with three or more dimensions, by the strides of its channels and of its last
 * dimension. */
static inline uint8_t cudnn_layout(int64_t channels, int64_t channel_stride, int64_t last_stride)
{
    if (channel_stride == 1 && channels > 1)
        return SPOOL_LAYOUT_NHWC;
    return last_stride == 1 ? SPOOL_LAYOUT_NCHW : SPOOL_LAYOUT_UNKNOWN;
}

/* Fills the record with what is kept for these descriptors. False: nothing is; ask cuDNN. Then read
 * cudnn_changes() before asking, and keep the answers with that value. */
bool cudnn_recall(struct spool_rec_call *r, const void *const of[SHAPE_OF]);
uint32_t cudnn_changes(void);
void cudnn_keep(const struct spool_rec_call *r, const void *const of[SHAPE_OF], uint32_t at);

/* Fills the record of a convolution. x and w: the descriptors of its input or gradient and of its
 * weights; NULL: unknown. */
void cudnn_fill_conv(struct spool_rec_call *r, enum spool_call_family family,
                     cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                     cudnnTensorDescriptor_t y, cudnnConvolutionDescriptor_t conv, int algo,
                     size_t workspace);
/* Fills the record of any layer that works on one tensor. */
void cudnn_fill_tensor(struct spool_rec_call *r, enum spool_call_family family,
                       cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y);

#define CUDNN_HOOK(FN, PARAMS, ARGS, ...)                                                          \
    HOOK(HOOK_CUDNN, cudnnStatus_t, CUDNN_STATUS_NOT_INITIALIZED, FN, PARAMS, ARGS, __VA_ARGS__)

#endif
