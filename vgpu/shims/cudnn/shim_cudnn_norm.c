/* cuDNN's batch normalisation.
 *
 * The Ex calls: in NHWC, persistent mode runs one fused kernel for each direction, with ReLU and
 * addition on request. NCHW reads the tensor three times forward and reads or writes it five times
 * backward, at the share of the bandwidth that public traces show. NHWC without persistent mode
 * runs the general kernel, which is assumed to take half as long again.
 *
 * The plain calls treat an NHWC tensor channel by channel with the kernel for NCHW, so that every
 * element costs a whole sector of memory. */
#include "shims/cudnn/shim_cudnn.h"

#include <math.h>

static const struct typed_name fw_nchw = {
    "_ZN5cudnn25bn_fw_tr_1C11_kernel_NCHWIffiLi512ELb1ELi1ELb1EEEv17cudnnTensorStructPKT_S1_PS2_"
    "PKT0_S8_S6_S6_PS6_S9_S9_S9_S6_S6_",
    "_ZN5cudnn25bn_fw_tr_1C11_kernel_NCHWI6__halffiLi512ELb1ELi1ELb1EEEv17cudnnTensorStructPKT_S2_"
    "PS3_PKT0_S9_S7_S7_PS7_SA_SA_SA_S7_S7_",
    "_ZN5cudnn25bn_fw_tr_1C11_kernel_NCHWI13__nv_"
    "bfloat16fiLi512ELb1ELi1ELb1EEEv17cudnnTensorStructPKT_S2_PS3_PKT0_S9_S7_S7_PS7_SA_SA_SA_S7_"
    "S7_"};
static const struct typed_name fw_single = {
    "_ZN5cudnn24bn_fw_tr_1C11_singlereadIfLi512ELb1ELi1ELi2ELi0EEEvNS_18bn_fw_tr_1C11_argsIT_EE",
    "_ZN5cudnn24bn_fw_tr_1C11_singlereadI6__halfLi512ELb1ELi1ELi2ELi0EEEvNS_18bn_fw_tr_1C11_argsIT_"
    "EE",
    "_ZN5cudnn24bn_fw_tr_1C11_singlereadI13__nv_bfloat16Li512ELb1ELi1ELi2ELi0EEEvNS_18bn_fw_tr_"
    "1C11_argsIT_EE"};
static const struct typed_name fw_nhwc = {
    "_ZN5cudnn31batchnorm_fwtr_nhwc_semiPersistIfffLi512ELi4ELi2ELi1ELi1ELi0ELb0ELb0ELb0ELi1EEEvNS_"
    "22NhwcBatchNormFwdParamsIT_T0_EE",
    "_ZN5cudnn31batchnorm_fwtr_nhwc_semiPersistI6__halffS1_"
    "Li512ELi4ELi5ELi1ELi1ELi0ELb0ELb0ELb0ELi1EEEvNS_22NhwcBatchNormFwdParamsIT_T0_EE",
    "_ZN5cudnn31batchnorm_fwtr_nhwc_semiPersistI13__nv_bfloat16fS1_"
    "Li512ELi4ELi5ELi1ELi1ELi0ELb0ELb0ELb0ELi1EEEvNS_22NhwcBatchNormFwdParamsIT_T0_EE"};
static const struct typed_name bw_nchw = {
    "_ZN5cudnn21bn_bw_1C11_kernel_newIff6float2Li512ELb1ELi1EEEvT0_S2_S2_S2_17cudnnTensorStructPKT_"
    "S3_S6_S3_PS4_PKS2_PS2_SA_S9_S9_S2_",
    "_ZN5cudnn21bn_bw_1C11_kernel_newI6__halff6float2Li512ELb1ELi1EEEvT0_S3_S3_S3_"
    "17cudnnTensorStructPKT_S4_S7_S4_PS5_PKS3_PS3_SB_SA_SA_S3_",
    "_ZN5cudnn21bn_bw_1C11_kernel_newI13__nv_bfloat16f6float2Li512ELb1ELi1EEEvT0_S3_S3_S3_"
    "17cudnnTensorStructPKT_S4_S7_S4_PS5_PKS3_PS3_SB_SA_SA_S3_"};
static const struct typed_name bw_single = {
    "_ZN5cudnn21bn_bw_1C11_singlereadIfLi512ELb1ELi1ELi2ELi0EEEvNS_15bn_bw_1C11_argsIT_EE",
    "_ZN5cudnn21bn_bw_1C11_singlereadI6__halfLi512ELb1ELi1ELi2ELi0EEEvNS_15bn_bw_1C11_argsIT_EE",
    "_ZN5cudnn21bn_bw_1C11_singlereadI13__nv_bfloat16Li512ELb1ELi1ELi2ELi0EEEvNS_15bn_bw_1C11_"
    "argsIT_EE"};
static const struct typed_name bw_nhwc = {
    "_ZN5cudnn31batchnorm_bwtr_nhwc_semiPersistIfffLi512ELi4ELi3ELi1ELi1ELi0ELb0ELi1EEEvNS_"
    "22NhwcBatchNormBwdParamsIT_T0_EE",
    "_ZN5cudnn31batchnorm_bwtr_nhwc_semiPersistI6__halffS1_Li512ELi4ELi3ELi1ELi1ELi0ELb0ELi1EEEvNS_"
    "22NhwcBatchNormBwdParamsIT_T0_EE",
    "_ZN5cudnn31batchnorm_bwtr_nhwc_semiPersistI13__nv_bfloat16fS1_"
    "Li512ELi4ELi3ELi1ELi1ELi0ELb0ELi1EEEvNS_22NhwcBatchNormBwdParamsIT_T0_EE"};
static const struct typed_name bw_relu = {
    "_ZN5cudnn36batchnorm_relu_bwtr_nhwc_semiPersistIfffLi512ELi4ELi3ELi1ELi1ELi0ELb0ELi1EEEvNS_"
    "22NhwcBatchNormBwdParamsIT_T0_EE",
    "_ZN5cudnn36batchnorm_relu_bwtr_nhwc_semiPersistI6__halffS1_"
    "Li512ELi4ELi3ELi1ELi1ELi0ELb0ELi1EEEvNS_22NhwcBatchNormBwdParamsIT_T0_EE",
    "_ZN5cudnn36batchnorm_relu_bwtr_nhwc_semiPersistI13__nv_bfloat16fS1_"
    "Li512ELi4ELi3ELi1ELi1ELi0ELb0ELi1EEEvNS_22NhwcBatchNormBwdParamsIT_T0_EE"};
static const struct typed_name bw_add_relu = {
    "_ZN5cudnn40batchnorm_add_relu_bwtr_nhwc_"
    "semiPersistIfffLi512ELi4ELi3ELi1ELi1ELi0ELb0ELi1EEEvNS_22NhwcBatchNormBwdParamsIT_T0_EE",
    "_ZN5cudnn40batchnorm_add_relu_bwtr_nhwc_semiPersistI6__halffS1_"
    "Li512ELi4ELi3ELi1ELi1ELi0ELb0ELi1EEEvNS_22NhwcBatchNormBwdParamsIT_T0_EE",
    "_ZN5cudnn40batchnorm_add_relu_bwtr_nhwc_semiPersistI13__nv_bfloat16fS1_"
    "Li512ELi4ELi3ELi1ELi1ELi0ELb0ELi1EEEvNS_22NhwcBatchNormBwdParamsIT_T0_EE"};
static const struct typed_name inf_nchw = {
    "_ZN5cudnn26bn_fw_inf_1C11_kernel_NCHWIffLb1ELi1EEEvT0_S1_17cudnnTensorStructPKT_S2_PS3_S2_"
    "PKS1_S8_S8_S8_S1_",
    "_ZN5cudnn26bn_fw_inf_1C11_kernel_NCHWI6__halffLb1ELi1EEEvT0_S2_17cudnnTensorStructPKT_S3_PS4_"
    "S3_PKS2_S9_S9_S9_S2_",
    "_ZN5cudnn26bn_fw_inf_1C11_kernel_NCHWI13__nv_bfloat16fLb1ELi1EEEvT0_S2_17cudnnTensorStructPKT_"
    "S3_PS4_S3_PKS2_S9_S9_S9_S2_"};
static const struct typed_name inf_nhwc = {
    "_ZN5cudnn26bn_fw_inf_1C11_kernel_NHWCIffLb1ELb0EEEvT0_S1_17cudnnTensorStructPKT_S2_PS3_S2_"
    "PKS1_S8_S8_S8_S1_ii",
    "_ZN5cudnn26bn_fw_inf_1C11_kernel_NHWCI6__halffLb1ELb0EEEvT0_S2_17cudnnTensorStructPKT_S3_PS4_"
    "S3_PKS2_S9_S9_S9_S2_ii",
    "_ZN5cudnn26bn_fw_inf_1C11_kernel_NHWCI13__nv_bfloat16fLb1ELb0EEEvT0_S2_17cudnnTensorStructPKT_"
    "S3_PS4_S3_PKS2_S9_S9_S9_S2_ii"};

static bool per_channel(cudnnTensorDescriptor_t p, cudnnTensorDescriptor_t x)
{
    return p && p->set && p->nd == x->nd && p->dim[1] == x->dim[1] &&
           (p->type == CUDNN_DATA_FLOAT || p->type == CUDNN_DATA_DOUBLE) &&
           tensor_elements(p) == p->dim[1];
}

static cudnnStatus_t check_mode(cudnnBatchNormMode_t mode, cudnnTensorDescriptor_t x)
{
    NEED(x && x->set);
    if (mode == CUDNN_BATCHNORM_PER_ACTIVATION || (x->nd != 4 && x->nd != 5))
        return CUDNN_STATUS_NOT_SUPPORTED;
    return CUDNN_STATUS_SUCCESS;
}

static bool persistent(cudnnBatchNormMode_t mode)
{
    return mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT;
}

static bool half_precision(cudnnTensorDescriptor_t x)
{
    return x->type == CUDNN_DATA_HALF || x->type == CUDNN_DATA_BFLOAT16;
}

/* The fused forms (ReLU, addition) exist only for NHWC in half precision and persistent mode. */
static cudnnStatus_t check_ops(cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
                               cudnnTensorDescriptor_t x)
{
    cudnnStatus_t status = check_mode(mode, x);
    if (status != CUDNN_STATUS_SUCCESS || ops == CUDNN_BATCHNORM_OPS_BN)
        return status;
    return half_precision(x) && tensor_layout(x) == VG_NHWC &&
                   mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT && x->dim[1] % 4 == 0
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t launch(cudnnHandle_t h, cudnnTensorDescriptor_t x,
                            const struct typed_name *name, int64_t ns)
{
    struct vg_kernel k = {.name = typed_name(name, x->type),
                          .grid = {(unsigned)x->dim[1], 1, 1},
                          .block = {512, 1, 1},
                          .registers = 64,
                          .smem_dynamic = 4096,
                          .duration_ns = ns};
    return cudnn_launch(h, &k);
}

static cudnnStatus_t normalise(cudnnHandle_t h, cudnnTensorDescriptor_t x,
                               const struct typed_name *name, double bytes, double passes,
                               double eff)
{
    const struct vg_profile *p = cudnn_profile(h);
    int64_t ns = vg_cost_norm(p, bytes, passes, eff);
    if (tensor_layout(x) == VG_NHWC)
        ns += (int64_t)p->bn_nhwc_fixed_ns;
    return launch(h, x, name, ns);
}

/* The plain calls in NHWC. Measured: the time depends on the number of elements, not on their type,
 * and takes 1.4 times as long without persistent mode. */
static cudnnStatus_t normalise_strided(cudnnHandle_t h, cudnnBatchNormMode_t mode,
                                       cudnnTensorDescriptor_t x, const struct typed_name *name,
                                       double passes)
{
    const struct vg_profile *p = cudnn_profile(h);
    double eff = persistent(mode) ? p->bn_strided_eff : p->bn_strided_eff / 1.4;
    return normalise(h, x, name, 4.0 * (double)tensor_elements(x), passes, eff);
}

/* The share of the memory bandwidth that a call reaches. In NCHW each block works on one channel,
 * so with few channels most of the device is idle: on an H200 layers with 64 and with 256 channels
 * reach shares of 1 to 3. */
static double share_of(const struct vg_profile *p, cudnnTensorDescriptor_t x, double nchw,
                       double nhwc, cudnnBatchNormMode_t mode)
{
    if (tensor_layout(x) != VG_NHWC) {
        double channels = (double)x->dim[1];
        double idle = channels < p->bn_channels ? pow(channels / p->bn_channels, 0.8) : 1;
        return nchw * idle;
    }
    return half_precision(x) && !persistent(mode) ? nhwc / 1.5 : nhwc;
}

static cudnnStatus_t run(cudnnHandle_t h, cudnnBatchNormMode_t mode, cudnnTensorDescriptor_t x,
                         const struct typed_name *name, double passes, bool backward)
{
    const struct vg_profile *p = cudnn_profile(h);
    double channels = (double)x->dim[1], each = (double)tensor_elements(x) / channels;
    if (half_precision(x) && tensor_layout(x) != VG_NHWC && p->bn_half_fwd_clocks > 0)
        return launch(h, x, name, vg_cost_norm_half_nchw(p, channels, each, backward));
    return normalise(h, x, name, tensor_bytes(x), passes,
                     backward ? share_of(p, x, p->bn_bwd_eff, p->bn_nhwc_bwd_eff, mode)
                              : share_of(p, x, p->bn_fwd_eff, p->bn_nhwc_fwd_eff, mode));
}

static cudnnStatus_t run_forward(cudnnHandle_t h, cudnnBatchNormMode_t mode, bool plain,
                                 cudnnBatchNormOps_t ops, cudnnTensorDescriptor_t x)
{
    const struct typed_name *name = &fw_nchw;
    if (plain && tensor_layout(x) == VG_NHWC)
        return normalise_strided(h, mode, x, &fw_single, 3);
    if (tensor_layout(x) == VG_NHWC)
        name = &fw_nhwc;
    else if (persistent(mode))
        name = &fw_single;
    return run(h, mode, x, name, ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION ? 4 : 3, false);
}

static cudnnStatus_t run_backward(cudnnHandle_t h, cudnnBatchNormMode_t mode, bool plain,
                                  cudnnBatchNormOps_t ops, cudnnTensorDescriptor_t x)
{
    const struct typed_name *name = &bw_nchw;
    double passes = 5;
    if (plain && tensor_layout(x) == VG_NHWC)
        return normalise_strided(h, mode, x, &bw_single, passes);
    if (ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION) {
        name = &bw_add_relu;
        passes = 6;
    } else if (ops == CUDNN_BATCHNORM_OPS_BN_ACTIVATION) {
        name = &bw_relu;
    } else if (tensor_layout(x) == VG_NHWC) {
        name = &bw_nhwc;
    } else if (persistent(mode)) {
        name = &bw_single;
    }
    return run(h, mode, x, name, passes, true);
}

cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived,
                                            const cudnnTensorDescriptor_t x,
                                            cudnnBatchNormMode_t mode)
{
    NEED(derived);
    cudnnStatus_t status = check_mode(mode, x);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    int dim[CUDNN_DIM_MAX] = {1, x->dim[1]};
    for (int i = 2; i < x->nd; i++)
        dim[i] = 1;
    return cudnnSetTensorNdDescriptorEx(
        derived, CUDNN_TENSOR_NCHW,
        x->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT, x->nd, dim);
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t yDesc,
    void *y, const cudnnTensorDescriptor_t params, const void *scale, const void *bias,
    const void *mean, const void *variance, double epsilon)
{
    cudnnStatus_t status = check_mode(mode, xDesc);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    NEED(handle && alpha && beta && x && y && scale && bias && mean && variance && epsilon >= 0);
    NEED(yDesc && yDesc->set && tensor_same_shape(xDesc, yDesc) && per_channel(params, xDesc));
    bool nhwc = tensor_layout(xDesc) == VG_NHWC;
    return normalise(handle, xDesc, nhwc ? &inf_nhwc : &inf_nchw, tensor_bytes(xDesc), 2,
                     cudnn_profile(handle)->pointwise_eff);
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t yDesc,
    void *y, const cudnnTensorDescriptor_t params, const void *scale, const void *bias,
    double average, void *runningMean, void *runningVariance, double epsilon, void *saveMean,
    void *saveInvVariance)
{
    (void)average;
    cudnnStatus_t status = check_mode(mode, xDesc);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    NEED(handle && alpha && beta && x && y && scale && bias && epsilon >= 0);
    NEED(!runningMean == !runningVariance && !saveMean == !saveInvVariance);
    NEED(yDesc && yDesc->set && tensor_same_shape(xDesc, yDesc) && per_channel(params, xDesc));
    return run_forward(handle, mode, true, CUDNN_BATCHNORM_OPS_BN, xDesc);
}

cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alphaData, const void *betaData,
    const void *alphaParam, const void *betaParam, const cudnnTensorDescriptor_t xDesc,
    const void *x, const cudnnTensorDescriptor_t dyDesc, const void *dy,
    const cudnnTensorDescriptor_t dxDesc, void *dx, const cudnnTensorDescriptor_t params,
    const void *scale, void *dScale, void *dBias, double epsilon, const void *savedMean,
    const void *savedInvVariance)
{
    cudnnStatus_t status = check_mode(mode, xDesc);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    NEED(handle && alphaData && betaData && alphaParam && betaParam && x && dy && dx && scale);
    NEED(dScale && dBias && epsilon >= 0 && !savedMean == !savedInvVariance);
    NEED(dyDesc && dyDesc->set && dxDesc && dxDesc->set && tensor_same_shape(xDesc, dyDesc) &&
         tensor_same_shape(xDesc, dxDesc) && per_channel(params, xDesc));
    return run_backward(handle, mode, true, CUDNN_BATCHNORM_OPS_BN, xDesc);
}

/* Bytes of workspace for the partial sums of the persistent kernels. */
static size_t sums_bytes(cudnnTensorDescriptor_t x)
{
    return tensor_layout(x) == VG_NHWC ? 4096 + 2 * sizeof(float) * 80 * (size_t)x->dim[1] : 0;
}

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t z,
    const cudnnTensorDescriptor_t y, const cudnnTensorDescriptor_t params,
    const cudnnActivationDescriptor_t activation, size_t *size)
{
    (void)z;
    (void)y;
    (void)params;
    (void)activation;
    NEED(handle && size);
    cudnnStatus_t status = check_ops(mode, ops, x);
    if (status == CUDNN_STATUS_SUCCESS)
        *size = sums_bytes(x);
    return status;
}

cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
    const cudnnTensorDescriptor_t dy, const cudnnTensorDescriptor_t dz,
    const cudnnTensorDescriptor_t dx, const cudnnTensorDescriptor_t params,
    const cudnnActivationDescriptor_t activation, size_t *size)
{
    (void)dy;
    (void)dx;
    return cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(handle, mode, ops, x, dz, y,
                                                                    params, activation, size);
}

/* The fused forms store one bit per element: whether the activation was positive. */
cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t x, size_t *size)
{
    (void)activation;
    NEED(handle && size);
    cudnnStatus_t status = check_ops(mode, ops, x);
    if (status == CUDNN_STATUS_SUCCESS)
        *size = ops == CUDNN_BATCHNORM_OPS_BN ? 0 : (size_t)(tensor_elements(x) + 7) / 8;
    return status;
}

struct extra {
    cudnnActivationDescriptor_t activation;
    const void *workspace, *reserve;
    size_t workspace_bytes, reserve_bytes;
};

static cudnnStatus_t check_extra(cudnnHandle_t h, cudnnBatchNormMode_t mode,
                                 cudnnBatchNormOps_t ops, cudnnTensorDescriptor_t x,
                                 const struct extra *e)
{
    size_t reserve = 0;
    cudnnStatus_t status = cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
        h, mode, ops, e->activation, x, &reserve);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    NEED(e->workspace_bytes >= sums_bytes(x) && (sums_bytes(x) == 0 || e->workspace));
    NEED(e->reserve_bytes >= reserve && (reserve == 0 || e->reserve));
    NEED(ops == CUDNN_BATCHNORM_OPS_BN ||
         (e->activation && e->activation->set && e->activation->mode == CUDNN_ACTIVATION_RELU));
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha,
    const void *beta, const cudnnTensorDescriptor_t xDesc, const void *x,
    const cudnnTensorDescriptor_t zDesc, const void *z, const cudnnTensorDescriptor_t yDesc,
    void *y, const cudnnTensorDescriptor_t params, const void *scale, const void *bias,
    double average, void *runningMean, void *runningVariance, double epsilon, void *saveMean,
    void *saveInvVariance, cudnnActivationDescriptor_t activation, void *workspace,
    size_t workspaceBytes, void *reserve, size_t reserveBytes)
{
    (void)average;
    (void)runningMean;
    (void)runningVariance;
    NEED(handle);
    struct extra e = {activation, workspace, reserve, workspaceBytes, reserveBytes};
    cudnnStatus_t status = check_extra(handle, mode, ops, xDesc, &e);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    NEED(alpha && beta && x && y && scale && bias && epsilon >= 0 && saveMean && saveInvVariance);
    NEED(yDesc && yDesc->set && tensor_same_shape(xDesc, yDesc) && per_channel(params, xDesc));
    NEED(ops != CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION || (zDesc && zDesc->set && z));
    return run_forward(handle, mode, false, ops, xDesc);
}

cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alphaData,
    const void *betaData, const void *alphaParam, const void *betaParam,
    const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t yDesc,
    const void *y, const cudnnTensorDescriptor_t dyDesc, const void *dy,
    const cudnnTensorDescriptor_t dzDesc, void *dz, const cudnnTensorDescriptor_t dxDesc, void *dx,
    const cudnnTensorDescriptor_t params, const void *scale, const void *bias, void *dScale,
    void *dBias, double epsilon, const void *savedMean, const void *savedInvVariance,
    cudnnActivationDescriptor_t activation, void *workspace, size_t workspaceBytes, void *reserve,
    size_t reserveBytes)
{
    (void)savedMean;
    (void)savedInvVariance;
    NEED(handle);
    struct extra e = {activation, workspace, reserve, workspaceBytes, reserveBytes};
    cudnnStatus_t status = check_extra(handle, mode, ops, xDesc, &e);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    NEED(alphaData && betaData && alphaParam && betaParam && x && dy && dx && scale && dScale);
    NEED(dBias && epsilon >= 0 && dyDesc && dyDesc->set && tensor_same_shape(xDesc, dyDesc));
    NEED(dxDesc && dxDesc->set && tensor_same_shape(xDesc, dxDesc) && per_channel(params, xDesc));
    NEED(ops == CUDNN_BATCHNORM_OPS_BN || (yDesc && yDesc->set && y && bias));
    NEED(ops != CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION || (dzDesc && dzDesc->set && dz));
    return run_backward(handle, mode, false, ops, xDesc);
}
