/* Forward and backward of the ResNet in model.h, operation by operation.
 *
 * Gradients of activations use three buffers, each as large as the largest activation. At a block's
 * backward pass `d` holds the gradient of its output; `e` and `f` are free. On return `d` holds the
 * gradient of its input.
 */
#include "reference_workloads/conv/model.h"

#include "reference_workloads/common/nvtx.h"

static const float one = 1.0f, zero = 0.0f;

static size_t elements(const struct model *m, const struct unit *u)
{
    return (size_t)m->n * (size_t)u->k * (size_t)u->p * (size_t)u->q;
}

/* 1 when parameter gradients are added to what is there, 0 when they overwrite it */
static const float *gradient_beta(const struct model *m)
{
    return m->accumulate || m->config->zero_grad == ZERO_GRAD_MEMSET ? &one : &zero;
}

static void gradient_ready(const struct model *m, int tensor)
{
    if (m->gradient_ready && tensor >= 0)
        m->gradient_ready(m->gradient_arg, tensor);
}

static void layer_begin(const struct model *m, const struct unit *u)
{
    if (m->config->nvtx_layers)
        nvtx_push(u->name);
}

static void layer_end(const struct model *m)
{
    if (m->config->nvtx_layers)
        nvtx_pop();
}

/* ---- forward ---- */

struct shape model_output_shape(const struct model *m, const struct unit *u)
{
    return (struct shape){m->n, u->k, u->p, u->q, m->config->channels_last};
}

int model_declined(cudnnStatus_t rc)
{
    if (rc == CUDNN_STATUS_NOT_SUPPORTED)
        return 1;
    cudnnCheck(rc);
    return 0;
}

/* x (n, c, h, w) -> out (n, k, p, q) */
static void unit_forward(struct model *m, struct unit *u)
{
    layer_begin(m, u);
    model_host_overhead(m);
    cudnnCheck(cudnnConvolutionForward(
        m->cudnn, &one, u->x_desc, u->x, u->w_desc, model_weight(m, u->weight),
        u->conv[PASS_FORWARD], (cudnnConvolutionFwdAlgo_t)u->algorithm[PASS_FORWARD].id,
        m->workspace, m->workspace_bytes, &zero, u->y_desc, u->conv_out));
    if (u->bias >= 0) {
        model_host_overhead(m);
        cudnnCheck(cudnnAddTensor(m->cudnn, &one, u->bias_desc, model_weight(m, u->bias), &one,
                                  u->y_desc, u->conv_out));
    }
    model_host_overhead(m);
    norm_forward(m, u);
    if (u->relu) {
        model_host_overhead(m);
        kernel_relu_forward(m->stream, m->type, u->out, elements(m, u));
    }
    layer_end(m);
}

static void block_forward(struct model *m, struct block *b)
{
    struct unit *last = b->unit[b->units - 1];
    const void *shortcut = b->unit[0]->x;
    for (int i = 0; i < b->units; i++)
        unit_forward(m, b->unit[i]);
    if (b->shortcut) {
        unit_forward(m, b->shortcut);
        shortcut = b->shortcut->out;
    }
    model_host_overhead(m);
    if (m->config->fuse_pointwise) {
        kernel_add_relu(m->stream, m->type, last->out, shortcut, elements(m, last));
        return;
    }
    kernel_add(m->stream, m->type, last->out, shortcut, elements(m, last));
    model_host_overhead(m);
    kernel_relu_forward(m->stream, m->type, last->out, elements(m, last));
}

/* ---- pooling ---- */

static struct shape pooled_shape(const struct model *m)
{
    const struct unit *stem = &m->units[0];
    return (struct shape){m->n, stem->k, stem->p / 2, stem->q / 2, m->config->channels_last};
}

static void stem_pool_forward(struct model *m)
{
    struct shape s = pooled_shape(m);
    const void *x = m->units[0].out;
    model_host_overhead(m);
    m->own_pool = m->own_pool ||
                  model_declined(cudnnPoolingForward(m->cudnn, m->stem_pool, &one, m->stem_desc, x,
                                                     &zero, m->pooled_desc, m->pooled));
    if (m->own_pool)
        kernel_pool_max_forward(m->stream, m->type, &s, x, m->pooled);
}

static void stem_pool_backward(struct model *m, const void *dy, void *dx)
{
    struct shape s = pooled_shape(m);
    const void *x = m->units[0].out;
    model_host_overhead(m);
    if (m->own_pool || model_declined(cudnnPoolingBackward(
                           m->cudnn, m->stem_pool, &one, m->pooled_desc, m->pooled, m->pooled_desc,
                           dy, m->stem_desc, x, &zero, m->stem_desc, dx)))
        kernel_pool_max_backward(m->stream, m->type, &s, x, dy, dx);
}

static void last_pool_forward(struct model *m, const struct unit *last)
{
    struct shape s = model_output_shape(m, last);
    model_host_overhead(m);
    if (m->own_pool ||
        model_declined(cudnnPoolingForward(m->cudnn, m->last_pool, &one, m->last_desc, last->out,
                                           &zero, m->feature_desc, m->feature)))
        kernel_pool_mean_forward(m->stream, m->type, &s, last->out, m->feature);
}

static void last_pool_backward(struct model *m, const struct unit *last, const void *dy, void *dx)
{
    struct shape s = model_output_shape(m, last);
    model_host_overhead(m);
    if (m->own_pool || model_declined(cudnnPoolingBackward(
                           m->cudnn, m->last_pool, &one, m->feature_desc, m->feature,
                           m->feature_desc, dy, m->last_desc, last->out, &zero, m->last_desc, dx)))
        kernel_pool_mean_backward(m->stream, m->type, &s, dy, dx);
}

/* The classifier: logits (n, classes) = feature (n, features) x weight (classes, features)^T
 * cuBLAS counts by columns, so a row-major (a, b) is its (b, a). */

static void gemm(struct model *m, cublasOperation_t op_a, cublasOperation_t op_b, int rows,
                 int columns, int inner, const void *a, int lda, const void *b, int ldb,
                 const float *beta, void *c, enum dtype c_type, int ldc)
{
    static const cudaDataType_t types[] = {
        [DTYPE_F32] = CUDA_R_32F, [DTYPE_F16] = CUDA_R_16F, [DTYPE_BF16] = CUDA_R_16BF};
    cublasComputeType_t compute =
        m->config->precision == PRECISION_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    model_host_overhead(m);
    cublasCheck(cublasGemmEx(m->cublas, op_a, op_b, rows, columns, inner, &one, a, types[m->type],
                             lda, b, types[m->type], ldb, beta, c, types[c_type], ldc, compute,
                             CUBLAS_GEMM_DEFAULT));
}

static void classifier_forward(struct model *m, const int32_t *labels, float *losses)
{
    int classes = m->config->classes, features = m->features;
    gemm(m, CUBLAS_OP_T, CUBLAS_OP_N, classes, m->n, features, model_weight(m, m->fc_weight),
         features, m->feature, features, &zero, m->logits, DTYPE_F32, classes);
    model_host_overhead(m);
    kernel_softmax_loss(m->stream, m->type, m->logits, model_master(m, m->fc_bias), labels, losses,
                        m->dlogits, m->n, classes, m->scale);
}

/* dfeature (n, features) T */
static void classifier_backward(struct model *m, void *dfeature)
{
    int classes = m->config->classes, features = m->features;
    const float *beta = gradient_beta(m);
    model_host_overhead(m);
    kernel_bias_gradient(m->stream, m->type, m->dlogits, model_gradient(m, m->fc_bias), m->n,
                         classes, *beta != 0);
    gemm(m, CUBLAS_OP_N, CUBLAS_OP_T, features, classes, m->n, m->feature, features, m->dlogits,
         classes, beta, model_gradient(m, m->fc_weight), m->type, features);
    gemm(m, CUBLAS_OP_N, CUBLAS_OP_N, features, m->n, classes, model_weight(m, m->fc_weight),
         features, m->dlogits, classes, &zero, dfeature, m->type, features);
    gradient_ready(m, m->fc_bias);
    gradient_ready(m, m->fc_weight);
}

void model_forward(struct model *m, int which, int part)
{
    size_t image = (size_t)m->config->image, first = (size_t)part * (size_t)m->n;
    const char *staged = m->staged[which];
    const char *pixels = staged + first * image * image * 3 *
                                      (m->config->float_input ? sizeof(float) : sizeof(char));
    const char *labels = staged + m->labels_offset + first * sizeof(int32_t);
    const struct block *last = &m->blocks[m->block_count - 1];
    struct unit *stem = &m->units[0];
    model_host_overhead(m);
    kernel_ingest(m->stream, m->type, m->config->channels_last, m->config->float_input, pixels,
                  m->input, m->n, m->config->image);
    unit_forward(m, stem);
    stem_pool_forward(m);
    for (int i = 0; i < m->block_count; i++)
        block_forward(m, &m->blocks[i]);
    last_pool_forward(m, last->unit[last->units - 1]);
    classifier_forward(m, (const int32_t *)(const void *)labels,
                       (m->evaluating ? m->eval_losses : m->losses) + first);
}

void model_evaluate(struct model *m, int which)
{
    m->evaluating = 1;
    model_forward(m, which, 0);
    m->evaluating = 0;
}

/* ---- backward ---- */

/* dy -> gradients of gamma and beta, and dconv; dy is the gradient after the ReLU, if there is one
 */
static void normalised_backward(struct model *m, struct unit *u, void *dy, void *dconv)
{
    if (u->relu) {
        model_host_overhead(m);
        kernel_relu_backward(m->stream, m->type, dy, u->out, elements(m, u));
    }
    model_host_overhead(m);
    norm_backward(m, u, dy, dconv, gradient_beta(m));
    if (u->bias >= 0) {
        model_host_overhead(m);
        cudnnCheck(cudnnConvolutionBackwardBias(m->cudnn, &one, u->y_desc, dconv, gradient_beta(m),
                                                u->bias_desc, model_gradient(m, u->bias)));
    }
    gradient_ready(m, u->gamma);
    gradient_ready(m, u->beta);
    gradient_ready(m, u->bias);
}

static void filter_backward(struct model *m, struct unit *u, const void *dconv)
{
    model_host_overhead(m);
    cudnnCheck(cudnnConvolutionBackwardFilter(
        m->cudnn, &one, u->x_desc, u->x, u->y_desc, dconv, u->conv[PASS_FILTER],
        (cudnnConvolutionBwdFilterAlgo_t)u->algorithm[PASS_FILTER].id, m->workspace,
        m->workspace_bytes, gradient_beta(m), u->w_desc, model_gradient(m, u->weight)));
    gradient_ready(m, u->weight);
}

/* dx = beta dx + what dconv says */
static void data_backward(struct model *m, struct unit *u, const void *dconv, const float *beta,
                          void *dx)
{
    model_host_overhead(m);
    cudnnCheck(cudnnConvolutionBackwardData(
        m->cudnn, &one, u->w_desc, model_weight(m, u->weight), u->y_desc, dconv, u->conv[PASS_DATA],
        (cudnnConvolutionBwdDataAlgo_t)u->algorithm[PASS_DATA].id, m->workspace, m->workspace_bytes,
        beta, u->x_desc, dx));
}

static void block_backward(struct model *m, struct block *b)
{
    void *d = m->grad[0], *e = m->grad[1], *f = m->grad[2];
    struct unit *first = b->unit[0], *last = b->unit[b->units - 1];
    model_host_overhead(m);
    kernel_relu_backward(m->stream, m->type, d, last->out, elements(m, last));

    /* the main path down to the first convolution's output, leaving d as it is */
    const void *dy = d;
    for (int i = b->units - 1; i >= 0; i--) {
        struct unit *u = b->unit[i];
        layer_begin(m, u);
        normalised_backward(m, u, (void *)dy, e);
        filter_backward(m, u, e);
        if (i > 0)
            data_backward(m, u, e, &zero, f);
        layer_end(m);
        dy = f;
    }
    /* the shortcut: d becomes its share of the input's gradient */
    if (b->shortcut) {
        layer_begin(m, b->shortcut);
        normalised_backward(m, b->shortcut, d, f);
        filter_backward(m, b->shortcut, f);
        data_backward(m, b->shortcut, f, &zero, d);
        layer_end(m);
    }
    /* the main path's share is added to it */
    if (m->config->fuse_pointwise) {
        data_backward(m, first, e, &one, d);
        return;
    }
    data_backward(m, first, e, &zero, f);
    model_host_overhead(m);
    kernel_add(m->stream, m->type, d, f,
               (size_t)m->n * (size_t)first->c * (size_t)first->h * (size_t)first->w);
}

void model_backward(struct model *m)
{
    struct unit *stem = &m->units[0];
    const struct block *last = &m->blocks[m->block_count - 1];
    classifier_backward(m, m->grad[1]);
    model_host_overhead(m);
    cudnnCheck(cudnnPoolingBackward(
        m->cudnn, m->last_pool, &one, m->feature_desc, m->feature, m->feature_desc, m->grad[1],
        m->last_desc, last->unit[last->units - 1]->out, &zero, m->last_desc, m->grad[0]));
    for (int i = m->block_count - 1; i >= 0; i--)
        block_backward(m, &m->blocks[i]);
    stem_pool_backward(m, m->grad[0], m->grad[1]);
    layer_begin(m, stem);
    normalised_backward(m, stem, m->grad[1], m->grad[2]);
    filter_backward(m, stem, m->grad[2]);
    layer_end(m);
}
