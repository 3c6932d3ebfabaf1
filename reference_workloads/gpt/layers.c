/* Forward and backward of the GPT in model.h, operation by operation.
 *
 * `d` holds the gradient of the residual stream; every layer adds to it through its two
 * normalisations. What a layer adds to the stream has, for the same reason, the gradient `d`.
 */
#include "reference_workloads/gpt/model.h"

#include "reference_workloads/common/nvtx.h"
#include "reference_workloads/gpt/data.h"

#include <math.h>

#define OP(call)                                                                                   \
    do {                                                                                           \
        model_host_overhead(m);                                                                    \
        call;                                                                                      \
    } while (0)

static size_t values(const struct model *m)
{
    return (size_t)m->tokens * (size_t)m->config->width;
}

static const int32_t *staged(const struct model *m, int which, enum data_part part)
{
    return m->staged[which] + data_offset(m->tokens, part);
}

/* ---- a matrix of weights (out, in) ---- */

struct linear {
    int weight, bias; /* tensors; bias -1: none */
    int in, out;
};

/* y (N, out) = x (N, in) w^T + bias */
static void linear_forward(struct model *m, const struct linear *l, const void *x, void *y)
{
    int fused = l->bias >= 0 && m->config->fuse_pointwise;
    const struct product_shape s = {1,      0, l->out, m->tokens, l->in, l->in, l->in,
                                    l->out, 1, fused,  0,         0,     0};
    model_product(m, &s,
                  &(struct product_operands){model_weight(m, l->weight), x, y,
                                             fused ? model_weight(m, l->bias) : NULL, 1.0f});
    if (l->bias >= 0 && !fused)
        OP(kernel_add_bias(m->stream, m->type, y, model_weight(m, l->bias),
                           (size_t)m->tokens * (size_t)l->out, l->out));
}

/* dy (N, out) -> dw, dbias, and dx (N, in) */
static void linear_backward(struct model *m, const struct linear *l, const void *x, const void *dy,
                            void *dx)
{
    const struct product_shape weight = {0,     1, l->in, l->out, m->tokens, l->in, l->out,
                                         l->in, 1, 0,     0,      0,         0};
    const struct product_shape data = {0,     0, l->in, m->tokens, l->out, l->in, l->out,
                                       l->in, 1, 0,     0,         0,      0};
    if (l->bias >= 0)
        OP(kernel_bias_sum(m->stream, m->type, dy, m->partial, model_gradient(m, l->bias),
                           m->tokens, l->out));
    model_product(m, &weight,
                  &(struct product_operands){x, dy, model_gradient(m, l->weight), NULL, 1.0f});
    model_product(m, &data,
                  &(struct product_operands){model_weight(m, l->weight), dy, dx, NULL, 1.0f});
}

static struct linear qkv_of(const struct model *m, int i)
{
    int width = m->config->width;
    return (struct linear){m->layers[i].qkv_w, m->layers[i].qkv_b, width, 3 * width};
}

static struct linear attention_of(const struct model *m, int i)
{
    int width = m->config->width;
    return (struct linear){m->layers[i].attention_w, m->layers[i].attention_b, width, width};
}

static struct linear up_of(const struct model *m, int i)
{
    int width = m->config->width;
    return (struct linear){m->layers[i].up_w, m->layers[i].up_b, width, 4 * width};
}

static struct linear down_of(const struct model *m, int i)
{
    int width = m->config->width;
    return (struct linear){m->layers[i].down_w, m->layers[i].down_b, 4 * width, width};
}

static struct linear head_of(const struct model *m)
{
    return (struct linear){m->head, -1, m->config->width, m->stride};
}

/* ---- normalisation ---- */

static struct norm_rows norm_of(const struct model *m, int gamma, int beta, float *mean,
                                float *inverse)
{
    return (struct norm_rows){
        model_weight(m, gamma), model_weight(m, beta), mean, inverse, m->tokens, m->config->width};
}

/* sum = x + branch (branch NULL: x is the sum), y = norm(sum) */
static void norm_forward(struct model *m, const struct norm_rows *n, const void *x,
                         const void *branch, void *sum, void *y)
{
    if (branch && m->config->fuse_pointwise) {
        OP(kernel_add_layer_norm(m->stream, m->type, n, x, branch, sum, y));
        return;
    }
    if (branch)
        OP(kernel_residual_add(m->stream, m->type, x, branch, sum, values(m)));
    OP(kernel_layer_norm(m->stream, m->type, n, branch ? sum : x, y));
}

/* d += the gradient dnormal through the normalisation of x */
static void norm_backward(struct model *m, const struct norm_rows *n, const void *x, int gamma,
                          int beta, int accumulate)
{
    OP(kernel_layer_norm_parameters(m->stream, m->type, n, x, m->dnormal, m->partial,
                                    model_gradient(m, gamma), model_gradient(m, beta)));
    if (m->config->fuse_pointwise || !accumulate) {
        OP(kernel_layer_norm_backward(m->stream, m->type, n, x, m->dnormal, m->d, accumulate));
        return;
    }
    OP(kernel_layer_norm_backward(m->stream, m->type, n, x, m->dnormal, m->branch, 0));
    OP(kernel_residual_add(m->stream, m->type, m->d, m->branch, m->d, values(m)));
}

/* ---- attention ---- */

struct part { /* queries, keys, values, or gradients of them: (batch * heads, context, size) */
    void *at[3];
};

static struct part parts_of(const struct model *m, void *heads)
{
    size_t bytes = values(m) * model_type_bytes(m);
    return (struct part){{heads, (char *)heads + bytes, (char *)heads + 2 * bytes}};
}

static struct heads shape_of_heads(const struct model *m, int parts)
{
    const struct config *c = m->config;
    return (struct heads){c->batch, c->context, parts, c->heads, c->width / c->heads};
}

static float attention_scale(const struct model *m)
{
    return 1.0f / sqrtf((float)(m->config->width / m->config->heads));
}

/* out (context, context) = scale x y^T for every head; x, y (context, size) */
static void heads_outer(struct model *m, const void *x, const void *y, void *out, float scale)
{
    const struct config *c = m->config;
    int n = c->context, size = c->width / c->heads;
    long long small = (long long)n * size, large = (long long)n * n;
    const struct product_shape s = {1, 0,     n,     n,    size, size, size, n, c->batch * c->heads,
                                    0, small, small, large};
    model_product(m, &s, &(struct product_operands){y, x, out, NULL, scale});
}

/* out (context, size) = scale op(p) x for every head; p (context, context), x (context, size) */
static void heads_inner(struct model *m, int transposed, const void *p, const void *x, void *out,
                        float scale)
{
    const struct config *c = m->config;
    int n = c->context, size = c->width / c->heads;
    long long small = (long long)n * size, large = (long long)n * n;
    const struct product_shape s = {0,    transposed,          size, n,     n,     size, n,
                                    size, c->batch * c->heads, 0,    small, large, small};
    model_product(m, &s, &(struct product_operands){x, p, out, NULL, scale});
}

static void attention_forward(struct model *m, struct activations *a)
{
    const struct heads three = shape_of_heads(m, 3), one = shape_of_heads(m, 1);
    struct part in = parts_of(m, a->heads);
    int rows = m->tokens * m->config->heads;
    OP(kernel_split_heads(m->stream, m->type, &three, m->qkv, a->heads));
    heads_outer(m, in.at[0], in.at[1], a->probability, attention_scale(m));
    OP(kernel_causal_softmax(m->stream, m->type, a->probability, rows, m->config->context));
    heads_inner(m, 0, a->probability, in.at[2], m->dattended, 1.0f);
    OP(kernel_merge_heads(m->stream, m->type, &one, m->dattended, a->attended));
}

/* dnormal holds the gradient of `attended`; qkv becomes that of what attention_forward took */
static void attention_backward(struct model *m, struct activations *a)
{
    const struct heads three = shape_of_heads(m, 3), one = shape_of_heads(m, 1);
    struct part in = parts_of(m, a->heads), out = parts_of(m, m->dheads);
    int rows = m->tokens * m->config->heads;
    float scale = attention_scale(m);
    OP(kernel_split_heads(m->stream, m->type, &one, m->dnormal, m->dattended));
    heads_outer(m, m->dattended, in.at[2], m->dprobability, 1.0f);
    heads_inner(m, 1, a->probability, m->dattended, out.at[2], 1.0f);
    OP(kernel_causal_softmax_backward(m->stream, m->type, a->probability, m->dprobability, rows,
                                      m->config->context));
    heads_inner(m, 0, m->dprobability, in.at[1], out.at[0], scale);
    heads_inner(m, 1, m->dprobability, in.at[0], out.at[1], scale);
    OP(kernel_merge_heads(m->stream, m->type, &three, m->dheads, m->qkv));
}

/* ---- MLP ---- */

static void gelu_forward(struct model *m, const void *x, void *y)
{
    size_t n = 4 * values(m);
    if (m->config->fuse_pointwise) {
        OP(kernel_gelu(m->stream, m->type, x, y, n));
        return;
    }
    OP(kernel_gelu_cube(m->stream, m->type, x, m->spare, n));
    OP(kernel_gelu_mix(m->stream, m->type, x, m->spare, n));
    OP(kernel_gelu_tanh(m->stream, m->type, m->spare, n));
    OP(kernel_gelu_gate(m->stream, m->type, x, m->spare, y, n));
}

/* As clone() and contiguous() do where nothing needs them. */
static void clone_up(struct model *m, const void *up)
{
    for (int i = 0; i < m->config->clones; i++)
        OP(cudaCheck(cudaMemcpyAsync(m->dup, up, 4 * values(m) * model_type_bytes(m),
                                     cudaMemcpyDeviceToDevice, m->stream)));
}

static void gelu_backward(struct model *m, const void *x, void *dy)
{
    size_t n = 4 * values(m);
    if (m->config->fuse_pointwise) {
        OP(kernel_gelu_backward(m->stream, m->type, x, dy, n));
        return;
    }
    OP(kernel_gelu_cube(m->stream, m->type, x, m->spare, n));
    OP(kernel_gelu_mix(m->stream, m->type, x, m->spare, n));
    OP(kernel_gelu_tanh(m->stream, m->type, m->spare, n));
    OP(kernel_gelu_slope(m->stream, m->type, x, m->spare, n));
    OP(kernel_gelu_times(m->stream, m->type, m->spare, dy, n));
}

/* ---- layers ---- */

/* A framework without an arena: what the MLP keeps comes and goes with every step. */
static void allocate(struct model *m, struct activations *a)
{
    if (!m->config->alloc_per_step)
        return;
    OP(cudaCheck(cudaMalloc(&a->up, m->layer_bytes)));
    OP(cudaCheck(cudaMalloc(&a->gelu, m->layer_bytes)));
}

static void release(struct model *m, struct activations *a)
{
    if (!m->config->alloc_per_step)
        return;
    OP(cudaCheck(cudaFree(a->up)));
    OP(cudaCheck(cudaFree(a->gelu)));
}

/* The layer's input is `input` alone (x NULL), or becomes x + branch. Leaves in `branch` what is to
 * be added behind the layer. */
static void layer_forward(struct model *m, int i, const void *x)
{
    struct activations *a = &m->at[i];
    const struct layer *l = &m->layers[i];
    const struct linear qkv = qkv_of(m, i), out = attention_of(m, i), up = up_of(m, i);
    const struct linear down = down_of(m, i);
    const struct norm_rows first = norm_of(m, l->norm1_g, l->norm1_b, a->mean1, a->inverse1);
    const struct norm_rows second = norm_of(m, l->norm2_g, l->norm2_b, a->mean2, a->inverse2);
    norm_forward(m, &first, x ? x : a->input, x ? m->branch : NULL, a->input, a->normal1);
    linear_forward(m, &qkv, a->normal1, m->qkv);
    attention_forward(m, a);
    linear_forward(m, &out, a->attended, m->branch);
    norm_forward(m, &second, a->input, m->branch, a->middle, a->normal2);
    allocate(m, a);
    linear_forward(m, &up, a->normal2, a->up);
    gelu_forward(m, a->up, a->gelu);
    clone_up(m, a->up);
    linear_forward(m, &down, a->gelu, m->branch);
}

static void layer_backward(struct model *m, int i)
{
    struct activations *a = &m->at[i];
    const struct layer *l = &m->layers[i];
    const struct linear qkv = qkv_of(m, i), out = attention_of(m, i), up = up_of(m, i);
    const struct linear down = down_of(m, i);
    const struct norm_rows first = norm_of(m, l->norm1_g, l->norm1_b, a->mean1, a->inverse1);
    const struct norm_rows second = norm_of(m, l->norm2_g, l->norm2_b, a->mean2, a->inverse2);
    linear_backward(m, &down, a->gelu, m->d, m->dup);
    gelu_backward(m, a->up, m->dup);
    linear_backward(m, &up, a->normal2, m->dup, m->dnormal);
    release(m, a);
    norm_backward(m, &second, a->middle, l->norm2_g, l->norm2_b, 1);
    linear_backward(m, &out, a->attended, m->d, m->dnormal);
    attention_backward(m, a);
    linear_backward(m, &qkv, a->normal1, m->qkv, m->dnormal);
    norm_backward(m, &first, a->input, l->norm1_g, l->norm1_b, 1);
}

static void recompute(struct model *m, int i)
{
    nvtx_push("recompute");
    layer_forward(m, i, NULL);
    nvtx_pop();
}

void model_forward(struct model *m, int which)
{
    const struct config *c = m->config;
    const struct linear head = head_of(m);
    const struct norm_rows last = norm_of(m, m->norm_g, m->norm_b, m->end.mean1, m->end.inverse1);
    OP(kernel_embed(m->stream, m->type, staged(m, which, DATA_TOKENS), model_weight(m, m->wte),
                    model_weight(m, m->wpe), m->at[0].input, m->tokens, c->context, c->width));
    for (int i = 0; i < c->layers; i++) {
        layer_forward(m, i, i ? m->at[i - 1].middle : NULL);
        if (c->checkpoint && c->alloc_per_step)
            release(m, &m->at[i]);
    }
    norm_forward(m, &last, m->at[c->layers - 1].middle, m->branch, m->end.input, m->end.normal1);
    linear_forward(m, &head, m->end.normal1, m->logits);
    const struct loss_rows loss = {
        staged(m, which, DATA_TARGETS), m->losses, m->partial, m->tokens, c->vocab, m->stride};
    OP(kernel_token_loss(m->stream, m->type, &loss, m->logits, m->scale));
}

void model_backward(struct model *m, int which)
{
    const struct config *c = m->config;
    const struct linear head = head_of(m);
    const struct norm_rows last = norm_of(m, m->norm_g, m->norm_b, m->end.mean1, m->end.inverse1);
    const struct token_groups groups = {staged(m, which, DATA_TOKENS), staged(m, which, DATA_ORDER),
                                        staged(m, which, DATA_STARTS),
                                        staged(m, which, DATA_COUNT)};
    linear_backward(m, &head, m->end.normal1, m->logits, m->dnormal);
    norm_backward(m, &last, m->end.input, m->norm_g, m->norm_b, 0);
    for (int i = c->layers - 1; i >= 0; i--) {
        if (c->checkpoint)
            recompute(m, i);
        layer_backward(m, i);
    }
    OP(cudaCheck(cudaMemsetAsync(model_gradient(m, m->wte), 0,
                                 m->tensors[m->wte].count * model_type_bytes(m), m->stream)));
    OP(kernel_embed_backward(m->stream, m->type, &groups, m->d, model_gradient(m, m->wte),
                             m->tokens, c->width));
    OP(kernel_place_backward(m->stream, m->type, m->d, model_gradient(m, m->wpe), c->batch,
                             c->context, c->width));
}
