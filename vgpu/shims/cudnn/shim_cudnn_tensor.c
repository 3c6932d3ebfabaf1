/* cuDNN's tensor and filter descriptors: dimensions, strides and what follows from them. */
#include "shims/cudnn/shim_cudnn.h"

#include <stdlib.h>
#include <string.h>

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *out)
{
    NEED(out);
    *out = calloc(1, sizeof **out);
    return *out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t t)
{
    free(t);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set_tensor(cudnnTensorDescriptor_t t, cudnnDataType_t type, int nd,
                                const int dim[], const int stride[])
{
    NEED(t && nd >= 1 && nd <= CUDNN_DIM_MAX);
    for (int i = 0; i < nd; i++)
        NEED(dim[i] > 0 && stride[i] > 0);
    t->type = type;
    t->nd = nd;
    memcpy(t->dim, dim, sizeof(int) * (size_t)nd);
    memcpy(t->stride, stride, sizeof(int) * (size_t)nd);
    t->set = true;
    return CUDNN_STATUS_SUCCESS;
}

/* Computes the strides of a tensor without gaps, with the channels last for NHWC. */
static void packed(cudnnTensorFormat_t format, int nd, const int dim[], int stride[])
{
    if (format == CUDNN_TENSOR_NHWC) {
        int s = dim[1];
        stride[1] = 1;
        for (int i = nd - 1; i >= 2; i--) {
            stride[i] = s;
            s *= dim[i];
        }
        stride[0] = s;
        return;
    }
    stride[nd - 1] = 1;
    for (int i = nd - 2; i >= 0; i--)
        stride[i] = stride[i + 1] * dim[i + 1];
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t t, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w)
{
    int dim[4] = {n, c, h, w}, stride[4];
    NEED(t && n > 0 && c > 0 && h > 0 && w > 0);
    packed(format, 4, dim, stride);
    return set_tensor(t, type, 4, dim, stride);
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t t, cudnnDataType_t type, int n,
                                           int c, int h, int w, int ns, int cs, int hs, int ws)
{
    int dim[4] = {n, c, h, w}, stride[4] = {ns, cs, hs, ws};
    return set_tensor(t, type, 4, dim, stride);
}

cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t t, cudnnDataType_t *type,
                                         int *n, int *c, int *h, int *w, int *ns, int *cs, int *hs,
                                         int *ws)
{
    NEED(t && t->set && t->nd == 4);
    int *dim[4] = {n, c, h, w}, *stride[4] = {ns, cs, hs, ws};
    for (int i = 0; i < 4; i++) {
        NEED(dim[i] && stride[i]);
        *dim[i] = t->dim[i];
        *stride[i] = t->stride[i];
    }
    NEED(type);
    *type = t->type;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t t, cudnnDataType_t type, int nd,
                                         const int dim[], const int stride[])
{
    NEED(dim && stride);
    return set_tensor(t, type, nd, dim, stride);
}

cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t t, cudnnTensorFormat_t format,
                                           cudnnDataType_t type, int nd, const int dim[])
{
    int stride[CUDNN_DIM_MAX];
    NEED(t && dim && nd >= 3 && nd <= CUDNN_DIM_MAX);
    packed(format, nd, dim, stride);
    return set_tensor(t, type, nd, dim, stride);
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t t, int requested,
                                         cudnnDataType_t *type, int *nd, int dim[], int stride[])
{
    NEED(t && t->set && type && nd);
    *type = t->type;
    *nd = t->nd;
    for (int i = 0; i < t->nd && i < requested; i++) {
        dim[i] = t->dim[i];
        stride[i] = t->stride[i];
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t t, size_t *size)
{
    NEED(t && t->set && size);
    size_t last = 0;
    for (int i = 0; i < t->nd; i++)
        last += (size_t)(t->dim[i] - 1) * (size_t)t->stride[i];
    *size = (last + 1) * cudnn_type_bytes(t->type);
    return CUDNN_STATUS_SUCCESS;
}

int64_t tensor_elements(cudnnTensorDescriptor_t t)
{
    int64_t n = 1;
    for (int i = 0; i < t->nd; i++)
        n *= t->dim[i];
    return n;
}

double tensor_bytes(cudnnTensorDescriptor_t t)
{
    return (double)tensor_elements(t) * (double)cudnn_type_bytes(t->type);
}

enum vg_layout tensor_layout(cudnnTensorDescriptor_t t)
{
    bool last = t->nd >= 3 && t->stride[1] == 1 && t->stride[t->nd - 1] == t->dim[1];
    /* One channel fits both layouts and needs no conversion; it counts as NCHW. */
    return last && t->dim[1] > 1 ? VG_NHWC : VG_NCHW;
}

bool tensor_same_shape(cudnnTensorDescriptor_t a, cudnnTensorDescriptor_t b)
{
    return a->nd == b->nd && a->type == b->type &&
           memcmp(a->dim, b->dim, sizeof(int) * (size_t)a->nd) == 0;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *out)
{
    NEED(out);
    *out = calloc(1, sizeof **out);
    return *out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t f)
{
    free(f);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t f, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int nd, const int dim[])
{
    NEED(f && dim && nd >= 3 && nd <= CUDNN_DIM_MAX);
    for (int i = 0; i < nd; i++)
        NEED(dim[i] > 0);
    f->type = type;
    f->format = format;
    f->nd = nd;
    memcpy(f->dim, dim, sizeof(int) * (size_t)nd);
    f->set = true;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t f, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w)
{
    int dim[4] = {k, c, h, w};
    return cudnnSetFilterNdDescriptor(f, type, format, 4, dim);
}

cudnnStatus_t cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t f, cudnnDataType_t *type,
                                         cudnnTensorFormat_t *format, int *k, int *c, int *h,
                                         int *w)
{
    NEED(f && f->set && f->nd == 4 && type && format && k && c && h && w);
    *type = f->type;
    *format = f->format;
    *k = f->dim[0];
    *c = f->dim[1];
    *h = f->dim[2];
    *w = f->dim[3];
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t f, int requested,
                                         cudnnDataType_t *type, cudnnTensorFormat_t *format,
                                         int *nd, int dim[])
{
    NEED(f && f->set && type && format && nd && dim);
    *type = f->type;
    *format = f->format;
    *nd = f->nd;
    for (int i = 0; i < f->nd && i < requested; i++)
        dim[i] = f->dim[i];
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t f, size_t *size)
{
    NEED(f && f->set && size);
    *size = cudnn_type_bytes(f->type);
    for (int i = 0; i < f->nd; i++)
        *size *= (size_t)f->dim[i];
    return CUDNN_STATUS_SUCCESS;
}
