/* Reads shapes, types and layouts from cuDNN's legacy descriptors. */
#include "agent/libs/preload_cudnn.h"

enum { DIMS = 8 };

/* Positions in spool_rec_call.dim for a convolution. */
enum { N, C, H, W, K, R, S, STRIDE, PAD, DILATION, GROUPS };

struct tensor {
    cudnnDataType_t type;
    int rank, dim[DIMS], stride[DIMS];
};

uint8_t cudnn_dtype(int type)
{
    switch (type) {
    case CUDNN_DATA_FLOAT:
        return SPOOL_DT_F32;
    case CUDNN_DATA_DOUBLE:
        return SPOOL_DT_F64;
    case CUDNN_DATA_HALF:
        return SPOOL_DT_F16;
    case CUDNN_DATA_BFLOAT16:
        return SPOOL_DT_BF16;
    case CUDNN_DATA_FP8_E4M3:
        return SPOOL_DT_F8E4M3;
    case CUDNN_DATA_FP8_E5M2:
        return SPOOL_DT_F8E5M2;
    case CUDNN_DATA_INT8:
        return SPOOL_DT_I8;
    case CUDNN_DATA_INT32:
        return SPOOL_DT_I32;
    default:
        return SPOOL_DT_OTHER;
    }
}

static bool tensor_get(cudnnTensorDescriptor_t desc, struct tensor *t)
{
    __typeof__(cudnnGetTensor4dDescriptor) *get4 = GETTER(HOOK_CUDNN, cudnnGetTensor4dDescriptor);
    __typeof__(cudnnGetTensorNdDescriptor) *getn = GETTER(HOOK_CUDNN, cudnnGetTensorNdDescriptor);
    int *d = t->dim, *s = t->stride;
    t->rank = 4;
    if (!desc)
        return false;
    if (get4 && get4(desc, &t->type, d, d + 1, d + 2, d + 3, s, s + 1, s + 2, s + 3) ==
                    CUDNN_STATUS_SUCCESS)
        return true;
    return getn && getn(desc, DIMS, &t->type, &t->rank, d, s) == CUDNN_STATUS_SUCCESS &&
           t->rank >= 1 && t->rank <= DIMS;
}

static uint8_t layout_of(const struct tensor *t)
{
    if (t->rank < 3)
        return SPOOL_LAYOUT_UNKNOWN;
    return cudnn_layout(t->dim[1], t->stride[1], t->stride[t->rank - 1]);
}

/* Writes n c h w. Of five dimensions, the last two become h and w. */
static void put_nchw(struct spool_rec_call *r, const struct tensor *t)
{
    r->dim[N] = t->dim[0];
    r->dim[C] = t->rank > 1 ? t->dim[1] : 0;
    r->dim[H] = t->rank > 3 ? t->dim[t->rank - 2] : 0;
    r->dim[W] = t->rank > 2 ? t->dim[t->rank - 1] : 0;
}

static void put_tensors(struct spool_rec_call *r, cudnnTensorDescriptor_t x,
                        cudnnTensorDescriptor_t y)
{
    struct tensor in, out;
    if (tensor_get(x, &in)) {
        r->in_type = cudnn_dtype(in.type);
        r->in_layout = layout_of(&in);
        put_nchw(r, &in);
    }
    if (tensor_get(y, &out))
        r->out_type = cudnn_dtype(out.type);
}

void cudnn_fill_tensor(struct spool_rec_call *r, enum spool_call_family family,
                       cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y)
{
    const void *const of[SHAPE_OF] = {x, NULL, y, NULL};
    r->family = (uint8_t)family;
    if (cudnn_recall(r, of))
        return;
    uint32_t at = cudnn_changes();
    put_tensors(r, x, y);
    cudnn_keep(r, of, at);
}

static void put_filter(struct spool_rec_call *r, cudnnFilterDescriptor_t w)
{
    __typeof__(cudnnGetFilterNdDescriptor) *get = GETTER(HOOK_CUDNN, cudnnGetFilterNdDescriptor);
    __typeof__(cudnnGetFilter4dDescriptor) *get4 = GETTER(HOOK_CUDNN, cudnnGetFilter4dDescriptor);
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int rank = 4, dim[DIMS];
    if (!w)
        return;
    if ((!get4 ||
         get4(w, &type, &format, dim, dim + 1, dim + 2, dim + 3) != CUDNN_STATUS_SUCCESS) &&
        (!get || get(w, DIMS, &type, &format, &rank, dim) != CUDNN_STATUS_SUCCESS))
        return;
    if (rank < 4 || rank > DIMS)
        return;
    r->weight_type = cudnn_dtype(type);
    r->weight_layout = format == CUDNN_TENSOR_NHWC   ? SPOOL_LAYOUT_NHWC
                       : format == CUDNN_TENSOR_NCHW ? SPOOL_LAYOUT_NCHW
                                                     : SPOOL_LAYOUT_UNKNOWN;
    r->dim[K] = dim[0];
    r->dim[R] = dim[rank - 2];
    r->dim[S] = dim[rank - 1];
}

static void put_conv(struct spool_rec_call *r, cudnnConvolutionDescriptor_t conv)
{
    __typeof__(cudnnGetConvolution2dDescriptor) *get =
        GETTER(HOOK_CUDNN, cudnnGetConvolution2dDescriptor);
    __typeof__(cudnnGetConvolutionGroupCount) *groups =
        GETTER(HOOK_CUDNN, cudnnGetConvolutionGroupCount);
    __typeof__(cudnnGetConvolutionMathType) *math = GETTER(HOOK_CUDNN, cudnnGetConvolutionMathType);
    int pad_w, stride_w, dilation_w, pad, stride, dilation;
    cudnnConvolutionMode_t mode;
    cudnnDataType_t type;
    cudnnMathType_t m;
    if (!conv)
        return;
    if (get && get(conv, &pad, &pad_w, &stride, &stride_w, &dilation, &dilation_w, &mode, &type) ==
                   CUDNN_STATUS_SUCCESS) {
        r->dim[PAD] = pad;
        r->dim[STRIDE] = stride;
        r->dim[DILATION] = dilation;
        r->compute_type = cudnn_dtype(type);
    }
    if (groups)
        groups(conv, &r->dim[GROUPS]);
    if (math && math(conv, &m) == CUDNN_STATUS_SUCCESS && (int)m <= CUDNN_FMA_MATH)
        r->math = (uint8_t)m; /* both enums have the same numbers */
}

_Static_assert((int)CUDNN_DEFAULT_MATH == SPOOL_MATH_DEFAULT &&
                   (int)CUDNN_TENSOR_OP_MATH == SPOOL_MATH_TENSOR_OP &&
                   (int)CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION == SPOOL_MATH_ALLOW_CONVERSION &&
                   (int)CUDNN_FMA_MATH == SPOOL_MATH_FMA,
               "math modes are stored as cuDNN numbers them");

void cudnn_fill_conv(struct spool_rec_call *r, enum spool_call_family family,
                     cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                     cudnnTensorDescriptor_t y, cudnnConvolutionDescriptor_t conv, int algo,
                     size_t workspace)
{
    const void *const of[SHAPE_OF] = {x, w, y, conv};
    r->family = (uint8_t)family;
    r->algo = algo;
    r->bytes = (int64_t)workspace;
    if (cudnn_recall(r, of))
        return;
    uint32_t at = cudnn_changes();
    put_tensors(r, x, y);
    put_filter(r, w);
    put_conv(r, conv);
    cudnn_keep(r, of, at);
}
