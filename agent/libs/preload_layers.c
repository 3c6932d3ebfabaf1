/* cuDNN's other layers: normalisation, pooling, softmax, activation, bias, layout conversion. */
#include "agent/libs/preload_cudnn.h"

typedef cudnnTensorDescriptor_t tensor_t;

/* ---- normalisation ---- */

CUDNN_HOOK(cudnnBatchNormalizationForwardTraining,
           (cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
            const tensor_t xd, const void *x, const tensor_t yd, void *y, const tensor_t bnd,
            const void *scale, const void *bias, double factor, void *mean, void *variance,
            double epsilon, void *save_mean, void *save_inv),
           (handle, mode, alpha, beta, xd, x, yd, y, bnd, scale, bias, factor, mean, variance,
            epsilon, save_mean, save_inv),
           cudnn_fill_tensor(rec, SPOOL_CALL_NORM, xd, yd))

CUDNN_HOOK(cudnnBatchNormalizationForwardTrainingEx,
           (cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
            const void *alpha, const void *beta, const tensor_t xd, const void *x,
            const tensor_t zd, const void *z, const tensor_t yd, void *y, const tensor_t bnd,
            const void *scale, const void *bias, double factor, void *mean, void *variance,
            double epsilon, void *save_mean, void *save_inv, cudnnActivationDescriptor_t activation,
            void *space, size_t bytes, void *reserve, size_t reserve_bytes),
           (handle, mode, ops, alpha, beta, xd, x, zd, z, yd, y, bnd, scale, bias, factor, mean,
            variance, epsilon, save_mean, save_inv, activation, space, bytes, reserve,
            reserve_bytes),
           cudnn_fill_tensor(rec, SPOOL_CALL_NORM, xd, yd);
           rec->algo = (int)ops)

CUDNN_HOOK(cudnnBatchNormalizationForwardInference,
           (cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
            const tensor_t xd, const void *x, const tensor_t yd, void *y, const tensor_t bnd,
            const void *scale, const void *bias, const void *mean, const void *variance,
            double epsilon),
           (handle, mode, alpha, beta, xd, x, yd, y, bnd, scale, bias, mean, variance, epsilon),
           cudnn_fill_tensor(rec, SPOOL_CALL_NORM, xd, yd))

CUDNN_HOOK(cudnnBatchNormalizationBackward,
           (cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha_data,
            const void *beta_data, const void *alpha_param, const void *beta_param,
            const tensor_t xd, const void *x, const tensor_t dyd, const void *dy,
            const tensor_t dxd, void *dx, const tensor_t bnd, const void *scale, void *dscale,
            void *dbias, double epsilon, const void *mean, const void *inv),
           (handle, mode, alpha_data, beta_data, alpha_param, beta_param, xd, x, dyd, dy, dxd, dx,
            bnd, scale, dscale, dbias, epsilon, mean, inv),
           cudnn_fill_tensor(rec, SPOOL_CALL_NORM, xd, dxd))

CUDNN_HOOK(cudnnBatchNormalizationBackwardEx,
           (cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
            const void *alpha_data, const void *beta_data, const void *alpha_param,
            const void *beta_param, const tensor_t xd, const void *x, const tensor_t yd,
            const void *y, const tensor_t dyd, const void *dy, const tensor_t dzd, void *dz,
            const tensor_t dxd, void *dx, const tensor_t bnd, const void *scale, const void *bias,
            void *dscale, void *dbias, double epsilon, const void *mean, const void *inv,
            cudnnActivationDescriptor_t activation, void *space, size_t bytes, void *reserve,
            size_t reserve_bytes),
           (handle, mode, ops, alpha_data, beta_data, alpha_param, beta_param, xd, x, yd, y, dyd,
            dy, dzd, dz, dxd, dx, bnd, scale, bias, dscale, dbias, epsilon, mean, inv, activation,
            space, bytes, reserve, reserve_bytes),
           cudnn_fill_tensor(rec, SPOOL_CALL_NORM, xd, dxd);
           rec->algo = (int)ops)

/* ---- pooling, softmax, activation ---- */

#define FORWARD(FN, FAMILY, TYPE)                                                                  \
    CUDNN_HOOK(FN,                                                                                 \
               (cudnnHandle_t handle, TYPE what, const void *alpha, const tensor_t xd,             \
                const void *x, const void *beta, const tensor_t yd, void *y),                      \
               (handle, what, alpha, xd, x, beta, yd, y), cudnn_fill_tensor(rec, FAMILY, xd, yd))

#define BACKWARD(FN, FAMILY, TYPE)                                                                 \
    CUDNN_HOOK(FN,                                                                                 \
               (cudnnHandle_t handle, TYPE what, const void *alpha, const tensor_t yd,             \
                const void *y, const tensor_t dyd, const void *dy, const tensor_t xd,              \
                const void *x, const void *beta, const tensor_t dxd, void *dx),                    \
               (handle, what, alpha, yd, y, dyd, dy, xd, x, beta, dxd, dx),                        \
               cudnn_fill_tensor(rec, FAMILY, xd, dxd))

FORWARD(cudnnPoolingForward, SPOOL_CALL_POOL, const cudnnPoolingDescriptor_t)
BACKWARD(cudnnPoolingBackward, SPOOL_CALL_POOL, const cudnnPoolingDescriptor_t)
FORWARD(cudnnActivationForward, SPOOL_CALL_ACTIVATION, cudnnActivationDescriptor_t)
BACKWARD(cudnnActivationBackward, SPOOL_CALL_ACTIVATION, cudnnActivationDescriptor_t)

CUDNN_HOOK(cudnnSoftmaxForward,
           (cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode,
            const void *alpha, const tensor_t xd, const void *x, const void *beta,
            const tensor_t yd, void *y),
           (handle, algo, mode, alpha, xd, x, beta, yd, y),
           cudnn_fill_tensor(rec, SPOOL_CALL_SOFTMAX, xd, yd))

CUDNN_HOOK(cudnnSoftmaxBackward,
           (cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode,
            const void *alpha, const tensor_t yd, const void *y, const tensor_t dyd, const void *dy,
            const void *beta, const tensor_t dxd, void *dx),
           (handle, algo, mode, alpha, yd, y, dyd, dy, beta, dxd, dx),
           cudnn_fill_tensor(rec, SPOOL_CALL_SOFTMAX, yd, dxd))

/* ---- tensors ---- */

CUDNN_HOOK(cudnnAddTensor,
           (cudnnHandle_t handle, const void *alpha, const tensor_t ad, const void *A,
            const void *beta, const tensor_t cd, void *C),
           (handle, alpha, ad, A, beta, cd, C), cudnn_fill_tensor(rec, SPOOL_CALL_BIAS, cd, cd))

CUDNN_HOOK(cudnnOpTensor,
           (cudnnHandle_t handle, const cudnnOpTensorDescriptor_t op, const void *alpha1,
            const tensor_t ad, const void *A, const void *alpha2, const tensor_t bd, const void *B,
            const void *beta, const tensor_t cd, void *C),
           (handle, op, alpha1, ad, A, alpha2, bd, B, beta, cd, C),
           cudnn_fill_tensor(rec, SPOOL_CALL_OTHER, ad, cd))

CUDNN_HOOK(cudnnTransformTensor,
           (cudnnHandle_t handle, const void *alpha, const tensor_t xd, const void *x,
            const void *beta, const tensor_t yd, void *y),
           (handle, alpha, xd, x, beta, yd, y), cudnn_fill_tensor(rec, SPOOL_CALL_OTHER, xd, yd))
