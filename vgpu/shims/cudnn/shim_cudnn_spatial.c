/* cuDNN's spatial transformer: the grid of an affine map, and bilinear samples at its points. Each
 * call launches one kernel that takes as long as moving its bytes. */
#include "shims/cudnn/shim_cudnn.h"

#include <stdlib.h>

struct cudnnSpatialTransformerStruct {
    bool set;
    cudnnDataType_t type;
    int dim[4]; /* of the output: images, channels, height, width */
};

cudnnStatus_t cudnnCreateSpatialTransformerDescriptor(cudnnSpatialTransformerDescriptor_t *out)
{
    NEED(out);
    *out = calloc(1, sizeof **out);
    return *out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

cudnnStatus_t cudnnDestroySpatialTransformerDescriptor(cudnnSpatialTransformerDescriptor_t s)
{
    free(s);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetSpatialTransformerNdDescriptor(cudnnSpatialTransformerDescriptor_t s,
                                                     cudnnSamplerType_t sampler,
                                                     cudnnDataType_t type, int dims,
                                                     const int dim[])
{
    NEED(s && dim && sampler == CUDNN_SAMPLER_BILINEAR);
    if (dims != 4)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *s = (struct cudnnSpatialTransformerStruct){.set = true, .type = type};
    for (int i = 0; i < 4; i++) {
        NEED(dim[i] > 0);
        s->dim[i] = dim[i];
    }
    return CUDNN_STATUS_SUCCESS;
}

static int64_t points(cudnnSpatialTransformerDescriptor_t s)
{
    return (int64_t)s->dim[0] * s->dim[2] * s->dim[3];
}

static cudnnStatus_t pass(cudnnHandle_t h, const char *name, int64_t elements, double bytes)
{
    const struct vg_profile *p = cudnn_profile(h);
    return cudnn_launch_flat(h, name, elements, 256, vg_cost_memory(p, bytes, 1, p->pointwise_eff));
}

/* Each point of the grid has two coordinates. */
static cudnnStatus_t generate(cudnnHandle_t h, const char *name,
                              cudnnSpatialTransformerDescriptor_t s, const void *a, const void *b)
{
    NEED(h && s && s->set && a && b);
    return pass(h, name, points(s), 2.0 * (double)points(s) * (double)cudnn_type_bytes(s->type));
}

cudnnStatus_t cudnnSpatialTfGridGeneratorForward(cudnnHandle_t h,
                                                 const cudnnSpatialTransformerDescriptor_t s,
                                                 const void *theta, void *grid)
{
    return generate(h, "_ZN5cudnn25spatial_tf_grid_generatorIfEEvPKT_PS1_iiiff", s, theta, grid);
}

cudnnStatus_t cudnnSpatialTfGridGeneratorBackward(cudnnHandle_t h,
                                                  const cudnnSpatialTransformerDescriptor_t s,
                                                  const void *dgrid, void *dtheta)
{
    return generate(h, "_ZN5cudnn28spatial_tf_grid_generator_bpIfEEvPKT_PS1_iiiff", s, dgrid,
                    dtheta);
}

cudnnStatus_t cudnnSpatialTfSamplerForward(cudnnHandle_t h, cudnnSpatialTransformerDescriptor_t s,
                                           const void *alpha, const cudnnTensorDescriptor_t x_desc,
                                           const void *x, const void *grid, const void *beta,
                                           cudnnTensorDescriptor_t y_desc, void *y)
{
    NEED(h && s && s->set && alpha && beta && x_desc && x_desc->set && y_desc && y_desc->set);
    NEED(x && y && grid);
    return pass(h, "_ZN5cudnn15spatial_samplerIfEEvPKT_S3_PS1_17cudnnTensorStructS5_",
                tensor_elements(y_desc), tensor_bytes(x_desc) + tensor_bytes(y_desc));
}

cudnnStatus_t cudnnSpatialTfSamplerBackward(cudnnHandle_t h, cudnnSpatialTransformerDescriptor_t s,
                                            const void *alpha, const cudnnTensorDescriptor_t x_desc,
                                            const void *x, const void *beta,
                                            const cudnnTensorDescriptor_t dx_desc, void *dx,
                                            const void *alpha_grid,
                                            const cudnnTensorDescriptor_t dy_desc, const void *dy,
                                            const void *grid, const void *beta_grid, void *dgrid)
{
    NEED(h && s && s->set && alpha && beta && alpha_grid && beta_grid);
    NEED(x_desc && x_desc->set && dx_desc && dx_desc->set && dy_desc && dy_desc->set);
    NEED(x && dx && dy && grid && dgrid);
    double bytes = tensor_bytes(x_desc) + 2 * tensor_bytes(dx_desc) + tensor_bytes(dy_desc);
    return pass(h, "_ZN5cudnn18spatial_sampler_bpIfEEvPKT_S3_S3_PS1_S4_17cudnnTensorStructS5_",
                tensor_elements(dy_desc), bytes);
}
