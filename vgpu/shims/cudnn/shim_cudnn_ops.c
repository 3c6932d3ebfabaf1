/* cuDNN's passes over whole tensors: activation, addition, bias gradient, softmax, set, scale,
 * transform, dropout. Each launches one kernel that takes as long as moving its bytes. */
#include "shims/cudnn/shim_cudnn.h"

#include <stdlib.h>

static const struct typed_name activation_fw = {
    "_Z24op_generic_tensor_kernelILi2EfffLi256EL16cudnnGenericOp_t8EL21cudnnNanPropagation_"
    "t0ELi1EEv17cudnnTensorStructPT2_S2_PKT0_S2_S7_T1_S8_S8_"
    "21cudnnActivationStruct19reducedDivisorArrayi",
    "_Z24op_generic_tensor_kernelILi2E6__halffS0_Li256EL16cudnnGenericOp_t8EL21cudnnNanPropagation_"
    "t0ELi1EEv17cudnnTensorStructPT2_S3_PKT0_S3_S8_T1_S9_S9_"
    "21cudnnActivationStruct19reducedDivisorArrayi",
    "_Z24op_generic_tensor_kernelILi2E13__nv_bfloat16fS0_Li256EL16cudnnGenericOp_"
    "t8EL21cudnnNanPropagation_t0ELi1EEv17cudnnTensorStructPT2_S3_PKT0_S3_S8_T1_S9_S9_"
    "21cudnnActivationStruct19reducedDivisorArrayi"};
static const struct typed_name activation_bw = {
    "_Z24op_generic_tensor_kernelILi2EfffLi256EL16cudnnGenericOp_t14EL21cudnnNanPropagation_"
    "t0ELi2EEv17cudnnTensorStructPT2_S2_PKT0_S2_S7_T1_S8_S8_"
    "21cudnnActivationStruct19reducedDivisorArrayi",
    "_Z24op_generic_tensor_kernelILi2E6__halffS0_Li256EL16cudnnGenericOp_"
    "t14EL21cudnnNanPropagation_t0ELi2EEv17cudnnTensorStructPT2_S3_PKT0_S3_S8_T1_S9_S9_"
    "21cudnnActivationStruct19reducedDivisorArrayi",
    "_Z24op_generic_tensor_kernelILi2E13__nv_bfloat16fS0_Li256EL16cudnnGenericOp_"
    "t14EL21cudnnNanPropagation_t0ELi2EEv17cudnnTensorStructPT2_S3_PKT0_S3_S8_T1_S9_S9_"
    "21cudnnActivationStruct19reducedDivisorArrayi"};
static const struct typed_name add = {
    "_Z24op_generic_tensor_kernelILi2EfffLi256EL16cudnnGenericOp_t0EL21cudnnNanPropagation_"
    "t0ELi0EEv17cudnnTensorStructPT2_S2_PKT0_S2_S7_T1_S8_S8_"
    "21cudnnActivationStruct19reducedDivisorArrayi",
    "_Z24op_generic_tensor_kernelILi2E6__halffS0_Li256EL16cudnnGenericOp_t0EL21cudnnNanPropagation_"
    "t0ELi0EEv17cudnnTensorStructPT2_S3_PKT0_S3_S8_T1_S9_S9_"
    "21cudnnActivationStruct19reducedDivisorArrayi",
    "_Z24op_generic_tensor_kernelILi2E13__nv_bfloat16fS0_Li256EL16cudnnGenericOp_"
    "t0EL21cudnnNanPropagation_t0ELi0EEv17cudnnTensorStructPT2_S3_PKT0_S3_S8_T1_S9_S9_"
    "21cudnnActivationStruct19reducedDivisorArrayi"};
static const struct typed_name mul = {
    "_Z24op_generic_tensor_kernelILi2EfffLi256EL16cudnnGenericOp_t1EL21cudnnNanPropagation_"
    "t0ELi0EEv17cudnnTensorStructPT2_S2_PKT0_S2_S7_T1_S8_S8_"
    "21cudnnActivationStruct19reducedDivisorArrayi",
    "_Z24op_generic_tensor_kernelILi2E6__halffS0_Li256EL16cudnnGenericOp_t1EL21cudnnNanPropagation_"
    "t0ELi0EEv17cudnnTensorStructPT2_S3_PKT0_S3_S8_T1_S9_S9_"
    "21cudnnActivationStruct19reducedDivisorArrayi",
    "_Z24op_generic_tensor_kernelILi2E13__nv_bfloat16fS0_Li256EL16cudnnGenericOp_"
    "t1EL21cudnnNanPropagation_t0ELi0EEv17cudnnTensorStructPT2_S3_PKT0_S3_S8_T1_S9_S9_"
    "21cudnnActivationStruct19reducedDivisorArrayi"};
static const struct typed_name bias_bw = {
    "_Z14calc_bias_diffILi2EffLi128ELi1EEv17cudnnTensorStructPKT0_S0_PS1_T1_S5_i",
    "_Z14calc_bias_diffILi2E6__halffLi128ELi1EEv17cudnnTensorStructPKT0_S1_PS2_T1_S6_i", NULL};
static const struct typed_name softmax_fw = {
    "_ZN5cudnn3ops17softmax_fw_kernelILi2EffLi256ELi1ELi0ELi0EEEv17cudnnTensorStructPKT0_S2_PS3_"
    "iT1_S7_ii",
    "_ZN5cudnn3ops17softmax_fw_kernelILi2E6__halffLi256ELi1ELi0ELi0EEEv17cudnnTensorStructPKT0_S3_"
    "PS4_iT1_S8_ii",
    "_ZN5cudnn3ops17softmax_fw_kernelILi2E13__nv_"
    "bfloat16fLi256ELi1ELi0ELi0EEEv17cudnnTensorStructPKT0_S3_PS4_iT1_S8_ii"};
static const struct typed_name softmax_bw = {
    "_ZN5cudnn17softmax_bw_kernelILi2EffLi256ELi1ELi0ELi1EEEv17cudnnTensorStructPKT0_S1_S4_S1_PS2_"
    "iT1_S6_ii",
    "_ZN5cudnn17softmax_bw_kernelILi2E6__halffLi256ELi1ELi0ELi1EEEv17cudnnTensorStructPKT0_S2_S5_"
    "S2_PS3_iT1_S7_ii",
    "_ZN5cudnn17softmax_bw_kernelILi2E13__nv_bfloat16fLi256ELi1ELi0ELi1EEEv17cudnnTensorStructPKT0_"
    "S2_S5_S2_PS3_iT1_S7_ii"};
static const struct typed_name set_tensor = {
    "_ZN5cudnn19engines_precompiled18setTensor4d_kernelIffLi16ELi16EEEv19cudnnTensor4dStructPT_T0_",
    "_ZN5cudnn19engines_precompiled18setTensor4d_kernelI6__"
    "halffLi16ELi16EEEv19cudnnTensor4dStructPT_T0_",
    "_ZN5cudnn19engines_precompiled18setTensor4d_kernelI13__nv_"
    "bfloat16fLi16ELi16EEEv19cudnnTensor4dStructPT_T0_"};
static const struct typed_name scale_tensor = {
    "_ZN5cudnn19engines_precompiled24scalePackedTensor_kernelIffEEvlPT_T0_",
    "_ZN5cudnn19engines_precompiled24scalePackedTensor_kernelI6__halffEEvlPT_T0_",
    "_ZN5cudnn19engines_precompiled24scalePackedTensor_kernelI13__nv_bfloat16fEEvlPT_T0_"};
static const struct typed_name convert = {
    "_ZN5cudnn19engines_precompiled20convertTensor_kernelIf13__nv_bfloat16fL21cudnnKernelDataType_"
    "t0EEEvT1_PKT_S4_PT0_m",
    "_ZN5cudnn19engines_precompiled20convertTensor_kernelI6__half13__nv_"
    "bfloat16fL21cudnnKernelDataType_t0EEEvT1_PKT_S5_PT0_m",
    "_ZN5cudnn19engines_precompiled20convertTensor_kernelI13__nv_bfloat166__"
    "halffL21cudnnKernelDataType_t0EEEvT1_PKT_S5_PT0_m"};
static const struct typed_name dropout_fw = {
    "_ZN5cudnn10dropout_fpIffLi1ELi1ELi1EEEvPKT_17cudnnTensorStructPS1_S4_fP17curandStateXORWOWPji",
    "_ZN5cudnn10dropout_fpI6__halffLi1ELi1ELi1EEEvPKT_17cudnnTensorStructPS2_S5_"
    "fP17curandStateXORWOWPji",
    NULL};
static const struct typed_name dropout_bw = {
    "_ZN5cudnn10dropout_bpIffLi1ELi1ELi1EEEvPKT_17cudnnTensorStructPS1_S4_fPji",
    "_ZN5cudnn10dropout_bpI6__halffLi1ELi1ELi1EEEvPKT_17cudnnTensorStructPS2_S5_fPji", NULL};

/* Launches one kernel that moves the tensor's bytes `passes` times. A block of 256 threads handles
 * 1024 elements. */
static cudnnStatus_t pass(cudnnHandle_t h, const struct typed_name *name, cudnnTensorDescriptor_t t,
                          double passes)
{
    const struct vg_profile *p = cudnn_profile(h);
    return cudnn_launch_flat(h, typed_name(name, t->type), tensor_elements(t), 1024,
                             vg_cost_memory(p, tensor_bytes(t), passes, p->pointwise_eff));
}

#define CREATE_AND_DESTROY(Name)                                                                   \
    cudnnStatus_t cudnnCreate##Name##Descriptor(cudnn##Name##Descriptor_t *out)                    \
    {                                                                                              \
        NEED(out);                                                                                 \
        *out = calloc(1, sizeof **out);                                                            \
        return *out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;                            \
    }                                                                                              \
    cudnnStatus_t cudnnDestroy##Name##Descriptor(cudnn##Name##Descriptor_t d)                      \
    {                                                                                              \
        free(d);                                                                                   \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }

CREATE_AND_DESTROY(Activation)
CREATE_AND_DESTROY(OpTensor)
CREATE_AND_DESTROY(Dropout)

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t a,
                                           cudnnActivationMode_t mode, cudnnNanPropagation_t nan,
                                           double coef)
{
    NEED(a);
    a->mode = mode;
    a->nan = nan;
    a->coef = coef;
    a->set = true;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t a,
                                           cudnnActivationMode_t *mode, cudnnNanPropagation_t *nan,
                                           double *coef)
{
    NEED(a && a->set && mode && nan && coef);
    *mode = a->mode;
    *nan = a->nan;
    *coef = a->coef;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation,
                                     const void *alpha, const cudnnTensorDescriptor_t xDesc,
                                     const void *x, const void *beta,
                                     const cudnnTensorDescriptor_t yDesc, void *y)
{
    NEED(handle && activation && activation->set && alpha && beta && x && y);
    NEED(xDesc && xDesc->set && yDesc && yDesc->set && tensor_same_shape(xDesc, yDesc));
    return pass(handle, &activation_fw, xDesc, 2);
}

cudnnStatus_t cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation,
                                      const void *alpha, const cudnnTensorDescriptor_t yDesc,
                                      const void *y, const cudnnTensorDescriptor_t dyDesc,
                                      const void *dy, const cudnnTensorDescriptor_t xDesc,
                                      const void *x, const void *beta,
                                      const cudnnTensorDescriptor_t dxDesc, void *dx)
{
    NEED(handle && activation && activation->set && alpha && beta && y && dy && x && dx);
    NEED(yDesc && yDesc->set && dyDesc && dyDesc->set && xDesc && xDesc->set);
    NEED(dxDesc && dxDesc->set && tensor_same_shape(yDesc, dyDesc));
    NEED(tensor_same_shape(xDesc, dxDesc) && tensor_same_shape(xDesc, yDesc));
    return pass(handle, &activation_bw, xDesc, activation->mode == CUDNN_ACTIVATION_RELU ? 3 : 4);
}

/* True if `a` can be added to `c`: each dimension of `a` is 1 or that of `c`. */
static bool broadcasts(cudnnTensorDescriptor_t a, cudnnTensorDescriptor_t c)
{
    bool fits = a && a->set && c && c->set && a->nd == c->nd;
    for (int i = 0; fits && i < a->nd; i++)
        fits = a->dim[i] == c->dim[i] || a->dim[i] == 1;
    return fits;
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void *alpha,
                             const cudnnTensorDescriptor_t aDesc, const void *A, const void *beta,
                             const cudnnTensorDescriptor_t cDesc, void *C)
{
    NEED(handle && alpha && beta && A && C && broadcasts(aDesc, cDesc));
    bool whole = tensor_elements(aDesc) == tensor_elements(cDesc);
    return pass(handle, &add, cDesc, whole ? 3 : 2);
}

cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t d, cudnnOpTensorOp_t op,
                                         cudnnDataType_t compute, cudnnNanPropagation_t nan)
{
    NEED(d);
    *d = (struct cudnnOpTensorStruct){.set = true, .op = op, .compute = compute, .nan = nan};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetOpTensorDescriptor(const cudnnOpTensorDescriptor_t d, cudnnOpTensorOp_t *op,
                                         cudnnDataType_t *compute, cudnnNanPropagation_t *nan)
{
    NEED(d && d->set && op && compute && nan);
    *op = d->op;
    *compute = d->compute;
    *nan = d->nan;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle, const cudnnOpTensorDescriptor_t op,
                            const void *alpha1, const cudnnTensorDescriptor_t aDesc, const void *A,
                            const void *alpha2, const cudnnTensorDescriptor_t bDesc, const void *B,
                            const void *beta, const cudnnTensorDescriptor_t cDesc, void *C)
{
    NEED(handle && op && op->set && alpha1 && alpha2 && beta && A && B && C);
    NEED(broadcasts(aDesc, cDesc) && broadcasts(bDesc, cDesc));
    bool whole = tensor_elements(bDesc) == tensor_elements(cDesc);
    return pass(handle, op->op == CUDNN_OP_TENSOR_MUL ? &mul : &add, cDesc, whole ? 3 : 2);
}

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void *alpha,
                                           const cudnnTensorDescriptor_t dyDesc, const void *dy,
                                           const void *beta, const cudnnTensorDescriptor_t dbDesc,
                                           void *db)
{
    NEED(handle && alpha && beta && dy && db && dyDesc && dyDesc->set && dbDesc && dbDesc->set);
    NEED(dbDesc->nd == dyDesc->nd && dbDesc->dim[1] == dyDesc->dim[1] &&
         tensor_elements(dbDesc) == dbDesc->dim[1]);
    return pass(handle, &bias_bw, dyDesc, 1);
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo,
                                  cudnnSoftmaxMode_t mode, const void *alpha,
                                  const cudnnTensorDescriptor_t xDesc, const void *x,
                                  const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)
{
    (void)algo;
    (void)mode;
    NEED(handle && alpha && beta && x && y && xDesc && xDesc->set && yDesc && yDesc->set);
    NEED(tensor_same_shape(xDesc, yDesc));
    return pass(handle, &softmax_fw, xDesc, 3);
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo,
                                   cudnnSoftmaxMode_t mode, const void *alpha,
                                   const cudnnTensorDescriptor_t yDesc, const void *y,
                                   const cudnnTensorDescriptor_t dyDesc, const void *dy,
                                   const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx)
{
    (void)algo;
    (void)mode;
    NEED(handle && alpha && beta && y && dy && dx && yDesc && yDesc->set && dyDesc && dyDesc->set);
    NEED(dxDesc && dxDesc->set && tensor_same_shape(yDesc, dyDesc));
    NEED(tensor_same_shape(yDesc, dxDesc));
    return pass(handle, &softmax_bw, yDesc, 4);
}

cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t yDesc, void *y,
                             const void *value)
{
    NEED(handle && yDesc && yDesc->set && y && value);
    return pass(handle, &set_tensor, yDesc, 1);
}

cudnnStatus_t cudnnScaleTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t yDesc, void *y,
                               const void *alpha)
{
    NEED(handle && yDesc && yDesc->set && y && alpha);
    return pass(handle, &scale_tensor, yDesc, 2);
}

/* Converts a tensor to another layout, or to another type or strides. */
cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void *alpha,
                                   const cudnnTensorDescriptor_t xDesc, const void *x,
                                   const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)
{
    NEED(handle && alpha && beta && x && y && xDesc && xDesc->set && yDesc && yDesc->set);
    NEED(tensor_elements(xDesc) == tensor_elements(yDesc));
    enum vg_layout from = tensor_layout(xDesc), to = tensor_layout(yDesc);
    if (from == to)
        return pass(handle, &convert, xDesc, 2);
    enum vg_dtype type = cudnn_dtype(xDesc->type);
    return cudnn_launch_flat(handle, to == VG_NHWC ? vg_name_to_nhwc(type) : vg_name_to_nchw(type),
                             tensor_elements(xDesc), 1024,
                             vg_cost_layout(cudnn_profile(handle), tensor_bytes(xDesc),
                                            cudnn_dtype(xDesc->type), false));
}

cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t *size)
{
    NEED(handle && size);
    /* 24 bytes for the random generator of each thread. */
    *size = (size_t)cudnn_profile(handle)->sm_count * 2048 * 24;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t x, size_t *size)
{
    NEED(x && x->set && size);
    *size = (size_t)(tensor_elements(x) + 7) / 8;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t handle,
                                        float rate, void *states, size_t bytes,
                                        unsigned long long seed)
{
    size_t need = 0;
    NEED(d && rate >= 0 && rate <= 1 &&
         cudnnDropoutGetStatesSize(handle, &need) == CUDNN_STATUS_SUCCESS);
    NEED(!states || bytes >= need);
    *d = (struct cudnnDropoutStruct){.set = true, .rate = rate, .states = states, .seed = seed};
    return CUDNN_STATUS_SUCCESS;
}

/* The random states exist already in the caller's memory; the shim does not initialise states
 * anyway. */
cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t handle,
                                            float rate, void *states, size_t bytes,
                                            unsigned long long seed)
{
    return cudnnSetDropoutDescriptor(d, handle, rate, states, bytes, seed);
}

cudnnStatus_t cudnnDropoutForward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t d,
                                  const cudnnTensorDescriptor_t xDesc, const void *x,
                                  const cudnnTensorDescriptor_t yDesc, void *y, void *reserve,
                                  size_t bytes)
{
    size_t need = 0;
    NEED(handle && d && d->set && x && y && reserve && yDesc && yDesc->set);
    NEED(cudnnDropoutGetReserveSpaceSize(xDesc, &need) == CUDNN_STATUS_SUCCESS && bytes >= need);
    return pass(handle, &dropout_fw, xDesc, 2);
}

cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t d,
                                   const cudnnTensorDescriptor_t dyDesc, const void *dy,
                                   const cudnnTensorDescriptor_t dxDesc, void *dx, void *reserve,
                                   size_t bytes)
{
    size_t need = 0;
    NEED(handle && d && d->set && dy && dx && reserve && dxDesc && dxDesc->set);
    NEED(cudnnDropoutGetReserveSpaceSize(dyDesc, &need) == CUDNN_STATUS_SUCCESS && bytes >= need);
    return pass(handle, &dropout_bw, dyDesc, 2);
}
