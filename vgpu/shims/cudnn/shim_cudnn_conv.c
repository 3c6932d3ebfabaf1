/* cuDNN's convolutions: their descriptors, the check of a whole problem, and the calls that run a
 * plan. */
#include "shims/cudnn/shim_cudnn.h"

#include <stdlib.h>
#include <string.h>

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *out)
{
    NEED(out);
    struct cudnnConvolutionStruct *c = calloc(1, sizeof *c);
    if (!c)
        return CUDNN_STATUS_ALLOC_FAILED;
    c->groups = 1;
    *out = c;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t c)
{
    free(c);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t c, int nd,
                                              const int pad[], const int stride[],
                                              const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute)
{
    NEED(c && pad && stride && dilation && nd >= 1 && nd <= 3);
    for (int i = 0; i < nd; i++)
        NEED(pad[i] >= 0 && stride[i] > 0 && dilation[i] > 0);
    c->nd = nd;
    memcpy(c->pad, pad, sizeof(int) * (size_t)nd);
    memcpy(c->stride, stride, sizeof(int) * (size_t)nd);
    memcpy(c->dilation, dilation, sizeof(int) * (size_t)nd);
    c->mode = mode;
    c->compute = compute;
    c->set = true;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t c, int pad_h, int pad_w,
                                              int u, int v, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute)
{
    int pad[2] = {pad_h, pad_w}, stride[2] = {u, v}, dilation[2] = {dilation_h, dilation_w};
    return cudnnSetConvolutionNdDescriptor(c, 2, pad, stride, dilation, mode, compute);
}

cudnnStatus_t cudnnGetConvolution2dDescriptor(const cudnnConvolutionDescriptor_t c, int *pad_h,
                                              int *pad_w, int *u, int *v, int *dilation_h,
                                              int *dilation_w, cudnnConvolutionMode_t *mode,
                                              cudnnDataType_t *compute)
{
    NEED(c && c->set && c->nd == 2 && pad_h && pad_w && u && v && dilation_h && dilation_w);
    NEED(mode && compute);
    *pad_h = c->pad[0];
    *pad_w = c->pad[1];
    *u = c->stride[0];
    *v = c->stride[1];
    *dilation_h = c->dilation[0];
    *dilation_w = c->dilation[1];
    *mode = c->mode;
    *compute = c->compute;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t c, int requested,
                                              int *nd, int pad[], int stride[], int dilation[],
                                              cudnnConvolutionMode_t *mode,
                                              cudnnDataType_t *compute)
{
    NEED(c && c->set && nd && pad && stride && dilation && mode && compute);
    *nd = c->nd;
    for (int i = 0; i < c->nd && i < requested; i++) {
        pad[i] = c->pad[i];
        stride[i] = c->stride[i];
        dilation[i] = c->dilation[i];
    }
    *mode = c->mode;
    *compute = c->compute;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t c, cudnnMathType_t math)
{
    NEED(c && math >= CUDNN_DEFAULT_MATH && math <= CUDNN_FMA_MATH);
    c->math = math;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t c, cudnnMathType_t *math)
{
    NEED(c && math);
    *math = c->math;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t c, int groups)
{
    NEED(c && groups > 0);
    c->groups = groups;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionGroupCount(cudnnConvolutionDescriptor_t c, int *groups)
{
    NEED(c && groups);
    *groups = c->groups;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionReorderType(cudnnConvolutionDescriptor_t c,
                                             cudnnReorderType_t reorder)
{
    NEED(c);
    c->reorder = reorder;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionReorderType(cudnnConvolutionDescriptor_t c,
                                             cudnnReorderType_t *reorder)
{
    NEED(c && reorder);
    *reorder = c->reorder;
    return CUDNN_STATUS_SUCCESS;
}

int convolved_size(int in, int pad, int window, int stride, int dilation)
{
    int reach = (window - 1) * dilation + 1;
    return in + 2 * pad < reach ? 0 : (in + 2 * pad - reach) / stride + 1;
}

cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t c,
                                                    const cudnnTensorDescriptor_t x,
                                                    const cudnnFilterDescriptor_t w, int nd,
                                                    int dim[])
{
    NEED(c && c->set && x && x->set && w && w->set && dim);
    NEED(x->nd == nd && w->nd == nd && c->nd == nd - 2);
    NEED(x->dim[1] == w->dim[1] * c->groups);
    dim[0] = x->dim[0];
    dim[1] = w->dim[0];
    for (int i = 2; i < nd; i++) {
        dim[i] = convolved_size(x->dim[i], c->pad[i - 2], w->dim[i], c->stride[i - 2],
                                c->dilation[i - 2]);
        NEED(dim[i] > 0);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t c,
                                                    const cudnnTensorDescriptor_t x,
                                                    const cudnnFilterDescriptor_t f, int *n, int *k,
                                                    int *h, int *w)
{
    int dim[4];
    NEED(n && k && h && w);
    cudnnStatus_t status = cudnnGetConvolutionNdForwardOutputDim(c, x, f, 4, dim);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    *n = dim[0];
    *k = dim[1];
    *h = dim[2];
    *w = dim[3];
    return CUDNN_STATUS_SUCCESS;
}

/* Chooses the type in which the multiplications are done, and whether tensor cores do them. */
void conv_choose_arithmetic(const struct vg_profile *p, struct conv_problem *c)
{
    bool half = c->data == CUDNN_DATA_HALF || c->data == CUDNN_DATA_BFLOAT16;
    const char *override = getenv("NVIDIA_TF32_OVERRIDE");
    c->conv.type = cudnn_dtype(c->data);
    c->tensor = false;
    if (c->math == CUDNN_FMA_MATH)
        return;
    if (half) /* before Ampere, DEFAULT_MATH does not use tensor cores */
        c->tensor =
            p->fp16_flops > p->fp32_flops && (p->cc_major >= 8 || c->math != CUDNN_DEFAULT_MATH);
    else if (c->data == CUDNN_DATA_FLOAT && p->tf32_flops > 0)
        c->tensor = !(override && strcmp(override, "0") == 0);
    if (c->tensor && !half)
        c->conv.type = VG_TF32;
}

/* True if the tensor has the filter's layout. A tensor with one channel has both layouts. */
static bool same_layout(cudnnTensorDescriptor_t t, cudnnFilterDescriptor_t w)
{
    enum vg_layout wanted = w->format == CUDNN_TENSOR_NHWC ? VG_NHWC : VG_NCHW;
    return t->dim[1] == 1 || tensor_layout(t) == wanted;
}

cudnnStatus_t conv_problem_make(cudnnHandle_t h, cudnnTensorDescriptor_t x,
                                cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t c,
                                cudnnTensorDescriptor_t y, struct conv_problem *out)
{
    int dim[CUDNN_DIM_MAX];
    NEED(h && x && x->set && w && w->set && c && c->set && y && y->set);
    cudnnStatus_t status = cudnnGetConvolutionNdForwardOutputDim(c, x, w, x->nd, dim);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    NEED(y->nd == x->nd && memcmp(dim, y->dim, sizeof(int) * (size_t)x->nd) == 0);
    NEED(x->type == w->type && w->dim[0] % c->groups == 0);
    const struct vg_profile *p = cudnn_profile(h);
    if (x->nd != 4 || y->type != x->type || !same_layout(x, w) || !same_layout(y, w))
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (x->type == CUDNN_DATA_BFLOAT16 && p->bf16_flops <= 0)
        return CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH;
    *out = (struct conv_problem){
        .conv = {.n = x->dim[0],
                 .c = x->dim[1],
                 .h = x->dim[2],
                 .w = x->dim[3],
                 .k = w->dim[0],
                 .r = w->dim[2],
                 .s = w->dim[3],
                 .p = y->dim[2],
                 .q = y->dim[3],
                 .stride = c->stride[0] > c->stride[1] ? c->stride[0] : c->stride[1],
                 .pad = c->pad[0] > c->pad[1] ? c->pad[0] : c->pad[1],
                 .dilation = c->dilation[0] > c->dilation[1] ? c->dilation[0] : c->dilation[1],
                 .groups = c->groups,
                 .layout = w->format == CUDNN_TENSOR_NHWC ? VG_NHWC : VG_NCHW},
        .data = x->type,
        .math = c->math,
    };
    conv_choose_arithmetic(p, out);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t conv_plan_run(cudnnHandle_t h, const struct conv_plan *plan)
{
    for (int i = 0; i < plan->kernels; i++) {
        cudnnStatus_t status = cudnn_launch(h, &plan->kernel[i]);
        if (status != CUDNN_STATUS_SUCCESS)
            return status;
    }
    return CUDNN_STATUS_SUCCESS;
}

struct convolution {
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t c;
};

/* True if the result is added to what the output holds (beta is not 0). The caller's beta has the
 * computing type: double for DOUBLE, float for all others. */
static bool adds(const struct convolution *d, const void *beta)
{
    return d->c->compute == CUDNN_DATA_DOUBLE ? *(const double *)beta != 0
                                              : *(const float *)beta != 0;
}

static cudnnStatus_t convolve(cudnnHandle_t h, const struct convolution *d, enum vg_pass pass,
                              int algo, const void *beta, const void *workspace,
                              size_t workspace_bytes)
{
    struct conv_problem problem;
    struct conv_plan plan;
    int64_t start = vg_now_ns();
    cudnnStatus_t status = conv_problem_make(h, d->x, d->w, d->c, d->y, &problem);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    problem.conv.adds = beta && adds(d, beta);
    conv_plan_make(cudnn_profile(h), &problem, pass, algo, &plan);
    if (plan.status != CUDNN_STATUS_SUCCESS)
        return plan.status;
    NEED(plan.workspace <= workspace_bytes && (plan.workspace == 0 || workspace));
    vg_library_host(start, plan.host_ns);
    return conv_plan_run(h, &plan);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t xDesc, const void *x,
                                      const cudnnFilterDescriptor_t wDesc, const void *w,
                                      const cudnnConvolutionDescriptor_t convDesc,
                                      cudnnConvolutionFwdAlgo_t algo, void *workSpace, size_t bytes,
                                      const void *beta, const cudnnTensorDescriptor_t yDesc,
                                      void *y)
{
    NEED(alpha && beta && x && w && y);
    struct convolution d = {.x = xDesc, .y = yDesc, .w = wDesc, .c = convDesc};
    return convolve(handle, &d, VG_FWD, (int)algo, beta, workSpace, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           const cudnnFilterDescriptor_t wDesc, const void *w,
                                           const cudnnTensorDescriptor_t dyDesc, const void *dy,
                                           const cudnnConvolutionDescriptor_t convDesc,
                                           cudnnConvolutionBwdDataAlgo_t algo, void *workSpace,
                                           size_t bytes, const void *beta,
                                           const cudnnTensorDescriptor_t dxDesc, void *dx)
{
    NEED(alpha && beta && w && dy && dx);
    struct convolution d = {.x = dxDesc, .y = dyDesc, .w = wDesc, .c = convDesc};
    return convolve(handle, &d, VG_DGRAD, (int)algo, beta, workSpace, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
                                             const cudnnTensorDescriptor_t xDesc, const void *x,
                                             const cudnnTensorDescriptor_t dyDesc, const void *dy,
                                             const cudnnConvolutionDescriptor_t convDesc,
                                             cudnnConvolutionBwdFilterAlgo_t algo, void *workSpace,
                                             size_t bytes, const void *beta,
                                             const cudnnFilterDescriptor_t dwDesc, void *dw)
{
    NEED(alpha && beta && x && dy && dw);
    struct convolution d = {.x = xDesc, .y = dyDesc, .w = dwDesc, .c = convDesc};
    return convolve(handle, &d, VG_WGRAD, (int)algo, beta, workSpace, bytes);
}

/* Convolution, bias and activation in one call. In NHWC the kernel applies bias and activation
 * itself; in NCHW the model launches a second pass for them. */
cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha1, const cudnnTensorDescriptor_t xDesc, const void *x,
    const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnConvolutionDescriptor_t convDesc,
    cudnnConvolutionFwdAlgo_t algo, void *workSpace, size_t bytes, const void *alpha2,
    const cudnnTensorDescriptor_t zDesc, const void *z, const cudnnTensorDescriptor_t biasDesc,
    const void *bias, const cudnnActivationDescriptor_t activation,
    const cudnnTensorDescriptor_t yDesc, void *y)
{
    NEED(handle && alpha1 && alpha2 && x && w && z && bias && y && zDesc && zDesc->set);
    NEED(biasDesc && biasDesc->set && activation && activation->set);
    NEED(yDesc && yDesc->set && biasDesc->nd >= 2 && biasDesc->dim[1] == yDesc->dim[1]);
    struct convolution d = {.x = xDesc, .y = yDesc, .w = wDesc, .c = convDesc};
    cudnnStatus_t status = convolve(handle, &d, VG_FWD, (int)algo, NULL, workSpace, bytes);
    if (status != CUDNN_STATUS_SUCCESS || tensor_layout(yDesc) == VG_NHWC)
        return status;
    const float one = 1;
    return cudnnAddTensor(handle, &one, biasDesc, bias, &one, yDesc, y);
}
