/* Batch normalisation: by cuDNN, or by the trainer's own kernels where cuDNN declines.
 *
 * NHWC goes through cuDNN's extended calls, which take a workspace and a reserve (what
 * the forward pass leaves for the backward pass): its fast kernels for that layout run in these
 * alone. The plain calls read the tensor channel by channel, a few percent as fast.
 */
#include "reference_workloads/conv/model.h"

static const float one = 1.0f, zero = 0.0f;
static const double epsilon = 1e-5, running_share = 0.1;

/* ---- memory of the extended calls ---- */

/* One unit's reserve, and the workspace if it is the largest; 0 where cuDNN declines. */
static int unit_sizes(struct model *m, struct unit *u)
{
    const cudnnBatchNormOps_t ops = CUDNN_BATCHNORM_OPS_BN;
    size_t forward, backward;
    if (model_declined(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
            m->cudnn, m->norm_mode, ops, u->y_desc, NULL, u->y_desc, u->norm_desc, NULL,
            &forward)) ||
        model_declined(cudnnGetBatchNormalizationBackwardExWorkspaceSize(
            m->cudnn, m->norm_mode, ops, u->y_desc, NULL, u->y_desc, NULL, u->y_desc, u->norm_desc,
            NULL, &backward)) ||
        model_declined(cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
            m->cudnn, m->norm_mode, ops, NULL, u->y_desc, &u->reserve_bytes)))
        return 0;
    if (forward > m->norm_workspace_bytes)
        m->norm_workspace_bytes = forward;
    if (backward > m->norm_workspace_bytes)
        m->norm_workspace_bytes = backward;
    return 1;
}

void norm_sizes(struct model *m)
{
    m->norm_extended = !m->own_norm && m->norm_mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT;
    for (int i = 0; i < m->unit_count && m->norm_extended; i++)
        m->norm_extended = unit_sizes(m, &m->units[i]);
}

/* ---- forward ---- */

static struct norm_values norm_values(const struct model *m, const struct unit *u)
{
    return (struct norm_values){
        model_master(m, u->gamma), model_master(m, u->beta), u->saved_mean,  u->saved_inverse,
        u->running_mean,           u->running_variance,      (float)epsilon, (float)running_share};
}

static int extended_forward(struct model *m, struct unit *u)
{
    return !model_declined(cudnnBatchNormalizationForwardTrainingEx(
        m->cudnn, m->norm_mode, CUDNN_BATCHNORM_OPS_BN, &one, &zero, u->y_desc, u->conv_out, NULL,
        NULL, u->y_desc, u->out, u->norm_desc, model_master(m, u->gamma), model_master(m, u->beta),
        running_share, u->running_mean, u->running_variance, epsilon, u->saved_mean,
        u->saved_inverse, NULL, m->norm_workspace, m->norm_workspace_bytes, u->reserve,
        u->reserve_bytes));
}

static int plain_forward(struct model *m, struct unit *u)
{
    return !model_declined(cudnnBatchNormalizationForwardTraining(
        m->cudnn, m->norm_mode, &one, &zero, u->y_desc, u->conv_out, u->y_desc, u->out,
        u->norm_desc, model_master(m, u->gamma), model_master(m, u->beta), running_share,
        u->running_mean, u->running_variance, epsilon, u->saved_mean, u->saved_inverse));
}

/* The first of cuDNN's ways, fastest first, that it does not decline; 0: none. What it declines
 * once is not tried again. */
static int cudnn_forward(struct model *m, struct unit *u)
{
    if (m->norm_extended && extended_forward(m, u))
        return 1;
    m->norm_extended = 0;
    if (plain_forward(m, u))
        return 1;
    m->norm_mode = CUDNN_BATCHNORM_SPATIAL;
    return plain_forward(m, u);
}

static void inference(struct model *m, struct unit *u)
{
    struct norm_values v = norm_values(m, u);
    struct shape s = model_output_shape(m, u);
    if (m->own_norm ||
        model_declined(cudnnBatchNormalizationForwardInference(
            m->cudnn, m->norm_mode, &one, &zero, u->y_desc, u->conv_out, u->y_desc, u->out,
            u->norm_desc, v.gamma, v.beta, v.running_mean, v.running_variance, epsilon)))
        kernel_norm_inference(m->stream, m->type, &s, &v, u->conv_out, u->out);
}

void norm_forward(struct model *m, struct unit *u)
{
    if (m->evaluating && !m->config->eval_training) {
        inference(m, u);
        return;
    }
    if (!m->own_norm)
        m->own_norm = !cudnn_forward(m, u);
    if (m->own_norm) {
        struct norm_values v = norm_values(m, u);
        struct shape s = model_output_shape(m, u);
        kernel_norm_forward(m->stream, m->type, &s, &v, u->conv_out, u->out, m->norm_sums);
    }
}

/* ---- backward ---- */

static cudnnStatus_t cudnn_backward(struct model *m, struct unit *u, const void *dy, void *dconv,
                                    const float *beta)
{
    float *dgamma = model_gradient(m, u->gamma), *dbeta = model_gradient(m, u->beta);
    if (!m->norm_extended)
        return cudnnBatchNormalizationBackward(
            m->cudnn, m->norm_mode, &one, &zero, &one, beta, u->y_desc, u->conv_out, u->y_desc, dy,
            u->y_desc, dconv, u->norm_desc, model_master(m, u->gamma), dgamma, dbeta, epsilon,
            u->saved_mean, u->saved_inverse);
    return cudnnBatchNormalizationBackwardEx(
        m->cudnn, m->norm_mode, CUDNN_BATCHNORM_OPS_BN, &one, &zero, &one, beta, u->y_desc,
        u->conv_out, NULL, NULL, u->y_desc, dy, NULL, NULL, u->y_desc, dconv, u->norm_desc,
        model_master(m, u->gamma), NULL, dgamma, dbeta, epsilon, u->saved_mean, u->saved_inverse,
        NULL, m->norm_workspace, m->norm_workspace_bytes, u->reserve, u->reserve_bytes);
}

void norm_backward(struct model *m, struct unit *u, const void *dy, void *dconv, const float *beta)
{
    if (!m->own_norm && !model_declined(cudnn_backward(m, u, dy, dconv, beta)))
        return;
    struct norm_values v = norm_values(m, u);
    struct shape s = model_output_shape(m, u);
    kernel_norm_backward(m->stream, m->type, &s, &v, u->conv_out, dy, dconv, m->norm_sums,
                         model_gradient(m, u->gamma), model_gradient(m, u->beta), *beta != 0);
}
