/* cuDNN's pooling: descriptors, output sizes and both directions. A kernel takes as long as moving
 * its bytes at the profile's bandwidth share for pooling. */
#include "shims/cudnn/shim_cudnn.h"

#include <stdlib.h>
#include <string.h>

static const struct typed_name pool_max_fw = {
    "_ZN5cudnn20pooling_fw_4d_kernelIffNS_15maxpooling_funcIffL21cudnnNanPropagation_"
    "t0EEEL18cudnnPoolingMode_t0ELb0EEEv17cudnnTensorStructPKT_S5_PS6_18cudnnPoolingStructT0_SB_"
    "iNS_15reduced_divisorESC_",
    "_ZN5cudnn20pooling_fw_4d_kernelI6__halffNS_15maxpooling_funcIfS1_L21cudnnNanPropagation_"
    "t0EEEL18cudnnPoolingMode_t0ELb0EEEv17cudnnTensorStructPKT_S6_PS7_18cudnnPoolingStructT0_SC_"
    "iNS_15reduced_divisorESD_",
    "_ZN5cudnn20pooling_fw_4d_kernelI13__nv_bfloat16fNS_15maxpooling_funcIfS1_"
    "L21cudnnNanPropagation_t0EEEL18cudnnPoolingMode_t0ELb0EEEv17cudnnTensorStructPKT_S6_PS7_"
    "18cudnnPoolingStructT0_SC_iNS_15reduced_divisorESD_"};
static const struct typed_name pool_avg_fw = {
    "_ZN5cudnn20pooling_fw_4d_kernelIffNS_16averpooling_funcIfLb1EEEL18cudnnPoolingMode_"
    "t2ELb0EEEv17cudnnTensorStructPKT_S4_PS5_18cudnnPoolingStructT0_SA_iNS_15reduced_divisorESB_",
    "_ZN5cudnn20pooling_fw_4d_kernelI6__halffNS_16averpooling_funcIfLb1EEEL18cudnnPoolingMode_"
    "t2ELb0EEEv17cudnnTensorStructPKT_S5_PS6_18cudnnPoolingStructT0_SB_iNS_15reduced_divisorESC_",
    "_ZN5cudnn20pooling_fw_4d_kernelI13__nv_bfloat16fNS_16averpooling_"
    "funcIfLb0EEEL18cudnnPoolingMode_t2ELb0EEEv17cudnnTensorStructPKT_S5_PS6_"
    "18cudnnPoolingStructT0_SB_iNS_15reduced_divisorESC_"};
static const struct typed_name pool_max_bw = {
    "_ZN5cudnn21pooling_bw_kernel_maxIffNS_15maxpooling_funcIffL21cudnnNanPropagation_"
    "t0EEELb0EEEv17cudnnTensorStructPKT_S4_S7_S4_S7_S4_PS5_18cudnnPoolingStructT0_SA_iNS_15reduced_"
    "divisorESB_",
    "_ZN5cudnn21pooling_bw_kernel_maxI6__halffNS_15maxpooling_funcIfS1_L21cudnnNanPropagation_"
    "t0EEELb0EEEv17cudnnTensorStructPKT_S5_S8_S5_S8_S5_PS6_18cudnnPoolingStructT0_SB_iNS_15reduced_"
    "divisorESC_",
    "_ZN5cudnn21pooling_bw_kernel_maxI13__nv_bfloat16fNS_15maxpooling_funcIfS1_"
    "L21cudnnNanPropagation_t0EEELb0EEEv17cudnnTensorStructPKT_S5_S8_S5_S8_S5_PS6_"
    "18cudnnPoolingStructT0_SB_iNS_15reduced_divisorESC_"};
static const struct typed_name pool_avg_bw = {
    "_ZN5cudnn21pooling_bw_kernel_avgIffNS_16averpooling_"
    "funcIfLb1EEELi2ELb0EEEv17cudnnTensorStructPKT_S3_PS4_18cudnnPoolingStructT0_S9_iNS_15reduced_"
    "divisorESA_",
    "_ZN5cudnn21pooling_bw_kernel_avgI6__halffNS_16averpooling_"
    "funcIfLb1EEELi2ELb0EEEv17cudnnTensorStructPKT_S4_PS5_18cudnnPoolingStructT0_SA_iNS_15reduced_"
    "divisorESB_",
    "_ZN5cudnn21pooling_bw_kernel_avgI13__nv_bfloat16fNS_16averpooling_"
    "funcIfLb1EEELi2ELb0EEEv17cudnnTensorStructPKT_S4_PS5_18cudnnPoolingStructT0_SA_iNS_15reduced_"
    "divisorESB_"};
static const struct typed_name pool_max_fw_nhwc = {
    "_ZN5cudnn26pooling_fw_kernel_max_nhwcIffLi0EL21cudnnNanPropagation_t0ELb0EEEvNS_"
    "13PoolingParamsEPT_PKS3_T0_S7_i",
    "_ZN5cudnn26pooling_fw_kernel_max_nhwcI6__halffLi0EL21cudnnNanPropagation_t0ELb0EEEvNS_"
    "13PoolingParamsEPT_PKS4_T0_S8_i",
    "_ZN5cudnn26pooling_fw_kernel_max_nhwcI13__nv_bfloat16fLi0EL21cudnnNanPropagation_t0ELb0EEEvNS_"
    "13PoolingParamsEPT_PKS4_T0_S8_i"};
static const struct typed_name pool_max_bw_nhwc = {
    "_ZN5cudnn26pooling_bw_max_nhwc_kernelIffLi0EL21cudnnNanPropagation_"
    "t0EEEv17cudnnTensorStructPKT_S2_S5_S2_S5_S2_PS3_18cudnnPoolingStructT0_S8_iiiiNS_15reduced_"
    "divisorES9_S9_S9_S9_S9_S9_",
    "_ZN5cudnn26pooling_bw_max_nhwc_kernelI6__halffLi0EL21cudnnNanPropagation_"
    "t0EEEv17cudnnTensorStructPKT_S3_S6_S3_S6_S3_PS4_18cudnnPoolingStructT0_S9_iiiiNS_15reduced_"
    "divisorESA_SA_SA_SA_SA_SA_",
    "_ZN5cudnn26pooling_bw_max_nhwc_kernelI13__nv_bfloat16fLi0EL21cudnnNanPropagation_"
    "t0EEEv17cudnnTensorStructPKT_S3_S6_S3_S6_S3_PS4_18cudnnPoolingStructT0_S9_iiiiNS_15reduced_"
    "divisorESA_SA_SA_SA_SA_SA_"};
static const struct typed_name pool_avg_bw_nhwc = {
    "_ZN5cudnn26pooling_bw_avg_nhwc_kernelIffLi0ELi0EEEv17cudnnTensorStructPKT_S1_PS2_"
    "18cudnnPoolingStructT0_S7_iNS_15reduced_divisorES8_S8_",
    "_ZN5cudnn26pooling_bw_avg_nhwc_kernelI6__halffLi0ELi0EEEv17cudnnTensorStructPKT_S2_PS3_"
    "18cudnnPoolingStructT0_S8_iNS_15reduced_divisorES9_S9_",
    "_ZN5cudnn26pooling_bw_avg_nhwc_kernelI13__nv_bfloat16fLi0ELi0EEEv17cudnnTensorStructPKT_S2_"
    "PS3_18cudnnPoolingStructT0_S8_iNS_15reduced_divisorES9_S9_"};

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t *out)
{
    NEED(out);
    *out = calloc(1, sizeof **out);
    return *out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t p)
{
    free(p);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t p, const cudnnPoolingMode_t mode,
                                          const cudnnNanPropagation_t nan, int nd,
                                          const int window[], const int pad[], const int stride[])
{
    NEED(p && window && pad && stride && nd >= 1 && nd <= CUDNN_DIM_MAX - 2);
    for (int i = 0; i < nd; i++)
        NEED(window[i] > 0 && pad[i] >= 0 && pad[i] < window[i] && stride[i] > 0);
    p->mode = mode;
    p->nan = nan;
    p->nd = nd;
    memcpy(p->window, window, sizeof(int) * (size_t)nd);
    memcpy(p->pad, pad, sizeof(int) * (size_t)nd);
    memcpy(p->stride, stride, sizeof(int) * (size_t)nd);
    p->set = true;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t p, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int windowHeight,
                                          int windowWidth, int verticalPadding,
                                          int horizontalPadding, int verticalStride,
                                          int horizontalStride)
{
    int window[2] = {windowHeight, windowWidth}, pad[2] = {verticalPadding, horizontalPadding};
    int stride[2] = {verticalStride, horizontalStride};
    return cudnnSetPoolingNdDescriptor(p, mode, nan, 2, window, pad, stride);
}

cudnnStatus_t cudnnGetPooling2dDescriptor(const cudnnPoolingDescriptor_t p,
                                          cudnnPoolingMode_t *mode, cudnnNanPropagation_t *nan,
                                          int *windowHeight, int *windowWidth, int *verticalPadding,
                                          int *horizontalPadding, int *verticalStride,
                                          int *horizontalStride)
{
    NEED(p && p->set && p->nd == 2 && mode && nan && windowHeight && windowWidth);
    NEED(verticalPadding && horizontalPadding && verticalStride && horizontalStride);
    *mode = p->mode;
    *nan = p->nan;
    *windowHeight = p->window[0];
    *windowWidth = p->window[1];
    *verticalPadding = p->pad[0];
    *horizontalPadding = p->pad[1];
    *verticalStride = p->stride[0];
    *horizontalStride = p->stride[1];
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t p,
                                                const cudnnTensorDescriptor_t x, int nd, int dim[])
{
    NEED(p && p->set && x && x->set && dim && x->nd == nd && p->nd == nd - 2);
    dim[0] = x->dim[0];
    dim[1] = x->dim[1];
    for (int i = 2; i < nd; i++) {
        dim[i] = convolved_size(x->dim[i], p->pad[i - 2], p->window[i - 2], p->stride[i - 2], 1);
        NEED(dim[i] > 0);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t p,
                                                const cudnnTensorDescriptor_t x, int *n, int *c,
                                                int *h, int *w)
{
    int dim[4];
    NEED(n && c && h && w);
    cudnnStatus_t status = cudnnGetPoolingNdForwardOutputDim(p, x, 4, dim);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    *n = dim[0];
    *c = dim[1];
    *h = dim[2];
    *w = dim[3];
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check(cudnnPoolingDescriptor_t p, cudnnTensorDescriptor_t x,
                           cudnnTensorDescriptor_t y)
{
    int dim[CUDNN_DIM_MAX];
    NEED(x && x->set && y && y->set && x->type == y->type && x->nd == y->nd);
    cudnnStatus_t status = cudnnGetPoolingNdForwardOutputDim(p, x, x->nd, dim);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    NEED(memcmp(dim, y->dim, sizeof(int) * (size_t)x->nd) == 0);
    return CUDNN_STATUS_SUCCESS;
}

static bool is_max(cudnnPoolingDescriptor_t p)
{
    return p->mode == CUDNN_POOLING_MAX || p->mode == CUDNN_POOLING_MAX_DETERMINISTIC;
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                  const void *alpha, const cudnnTensorDescriptor_t xDesc,
                                  const void *x, const void *beta,
                                  const cudnnTensorDescriptor_t yDesc, void *y)
{
    NEED(handle && alpha && beta && x && y);
    cudnnStatus_t status = check(pooling, xDesc, yDesc);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    const struct typed_name *name = &pool_avg_fw;
    if (is_max(pooling))
        name = tensor_layout(xDesc) == VG_NHWC ? &pool_max_fw_nhwc : &pool_max_fw;
    const struct vg_profile *p = cudnn_profile(handle);
    double bytes = tensor_bytes(xDesc) + tensor_bytes(yDesc);
    return cudnn_launch_flat(handle, typed_name(name, xDesc->type), tensor_elements(yDesc), 256,
                             vg_cost_norm(p, bytes, 1, p->pool_eff));
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                   const void *alpha, const cudnnTensorDescriptor_t yDesc,
                                   const void *y, const cudnnTensorDescriptor_t dyDesc,
                                   const void *dy, const cudnnTensorDescriptor_t xDesc,
                                   const void *x, const void *beta,
                                   const cudnnTensorDescriptor_t dxDesc, void *dx)
{
    NEED(handle && alpha && beta && y && dy && x && dx);
    NEED(dyDesc && dyDesc->set && dxDesc && dxDesc->set);
    cudnnStatus_t status = check(pooling, xDesc, yDesc);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    NEED(tensor_same_shape(xDesc, dxDesc) && tensor_same_shape(yDesc, dyDesc));
    bool nhwc = tensor_layout(xDesc) == VG_NHWC, max = is_max(pooling);
    const struct typed_name *name = max    ? nhwc ? &pool_max_bw_nhwc : &pool_max_bw
                                    : nhwc ? &pool_avg_bw_nhwc
                                           : &pool_avg_bw;
    const struct vg_profile *p = cudnn_profile(handle);
    /* The backward pass of an average does not read x and y. */
    double bytes = tensor_bytes(xDesc) + tensor_bytes(yDesc);
    int64_t ns = vg_cost_norm(p, bytes, max ? 2 : 1, p->pool_eff);
    double clocks = (double)tensor_elements(xDesc) * p->pool_bwd_clocks / p->sm_count;
    /* Finds again which element was the maximum. */
    int64_t searching = max ? (int64_t)(clocks / p->clock_mhz * 1e3) : 0;
    return cudnn_launch_flat(handle, typed_name(name, xDesc->type), tensor_elements(xDesc), 256,
                             searching > ns ? searching : ns);
}
