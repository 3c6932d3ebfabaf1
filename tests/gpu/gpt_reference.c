/* train_gpt's forward pass in plain C and double precision (gpt_reference.h). */
#include "tests/gpu/gpt_reference.h"

#include "reference_workloads/gpt/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct run {
    const struct model *m;
    const double *w;
    int rows, width, context, heads, size;
};

static const double *tensor(const struct run *r, int index)
{
    return r->w + r->m->tensors[index].offset;
}

static double *room(const struct run *r, int width)
{
    return check_alloc((size_t)r->rows * (size_t)width * sizeof(double));
}

/* y (rows, out) = x (rows, in) weight (out, in)^T + bias */
static double *linear(const struct run *r, const double *x, int weight, int bias, int in, int out)
{
    double *y = room(r, out);
    const double *w = tensor(r, weight), *b = bias >= 0 ? tensor(r, bias) : NULL;
    for (int i = 0; i < r->rows; i++) {
        for (int o = 0; o < out; o++) {
            double sum = b ? b[o] : 0;
            for (int k = 0; k < in; k++)
                sum +=
                    x[(size_t)i * (size_t)in + (size_t)k] * w[(size_t)o * (size_t)in + (size_t)k];
            y[(size_t)i * (size_t)out + (size_t)o] = sum;
        }
    }
    return y;
}

static double *normalise(const struct run *r, const double *x, int gamma, int beta)
{
    double *y = room(r, r->width);
    const double *g = tensor(r, gamma), *b = tensor(r, beta);
    for (int i = 0; i < r->rows; i++) {
        const double *in = x + (size_t)i * (size_t)r->width;
        double *out = y + (size_t)i * (size_t)r->width, mean = 0, variance = 0;
        for (int k = 0; k < r->width; k++)
            mean += in[k] / r->width;
        for (int k = 0; k < r->width; k++)
            variance += (in[k] - mean) * (in[k] - mean) / r->width;
        for (int k = 0; k < r->width; k++)
            out[k] = (in[k] - mean) / sqrt(variance + 1e-5) * g[k] + b[k];
    }
    return y;
}

/* The place `at` of one head: weighs the values of the places up to its own. qkv (rows, 3 width) */
static void attend(const struct run *r, const double *qkv, int first, int at, int head, double *out)
{
    double p[8192], sum = 0, highest = -INFINITY;
    size_t wide = 3 * (size_t)r->width, shift = (size_t)(head * r->size);
    const double *q = qkv + (size_t)(first + at) * wide + shift;
    for (int j = 0; j <= at; j++) {
        const double *k = qkv + (size_t)(first + j) * wide + (size_t)r->width + shift;
        p[j] = 0;
        for (int s = 0; s < r->size; s++)
            p[j] += q[s] * k[s] / sqrt(r->size);
        highest = p[j] > highest ? p[j] : highest;
    }
    for (int j = 0; j <= at; j++)
        sum += p[j] = exp(p[j] - highest);
    for (int s = 0; s < r->size; s++)
        out[s] = 0;
    for (int j = 0; j <= at; j++) {
        const double *v = qkv + (size_t)(first + j) * wide + 2 * (size_t)r->width + shift;
        for (int s = 0; s < r->size; s++)
            out[s] += p[j] / sum * v[s];
    }
}

static double *attention(const struct run *r, const double *qkv)
{
    double *y = room(r, r->width);
    for (int i = 0; i < r->rows; i++)
        for (int h = 0; h < r->heads; h++)
            attend(r, qkv, i - i % r->context, i % r->context, h,
                   y + (size_t)i * (size_t)r->width + (size_t)(h * r->size));
    return y;
}

/* x += y, which is freed */
static void add(const struct run *r, double *x, double *y)
{
    for (size_t i = 0; i < (size_t)r->rows * (size_t)r->width; i++)
        x[i] += y[i];
    free(y);
}

static void layer(const struct run *r, const struct layer *l, double *x)
{
    double *normal = normalise(r, x, l->norm1_g, l->norm1_b);
    double *qkv = linear(r, normal, l->qkv_w, l->qkv_b, r->width, 3 * r->width);
    double *attended = attention(r, qkv);
    add(r, x, linear(r, attended, l->attention_w, l->attention_b, r->width, r->width));
    free(normal);
    free(qkv);
    free(attended);
    normal = normalise(r, x, l->norm2_g, l->norm2_b);
    double *up = linear(r, normal, l->up_w, l->up_b, r->width, 4 * r->width);
    for (size_t i = 0; i < 4 * (size_t)r->rows * (size_t)r->width; i++)
        up[i] =
            up[i] / 2 * (1 + tanh(0.7978845608028654 * (up[i] + 0.044715 * up[i] * up[i] * up[i])));
    add(r, x, linear(r, up, l->down_w, l->down_b, 4 * r->width, r->width));
    free(normal);
    free(up);
}

static double mean_loss(const struct run *r, const double *logits, const int32_t *targets)
{
    double loss = 0;
    int vocab = r->m->config->vocab;
    for (int i = 0; i < r->rows; i++) {
        const double *row = logits + (size_t)i * (size_t)r->m->stride;
        double sum = 0;
        for (int v = 0; v < vocab; v++)
            sum += exp(row[v]);
        loss += (log(sum) - row[targets[i]]) / r->rows;
    }
    return loss;
}

double gpt_reference_loss(const struct model *m, const double *w, const int32_t *batch)
{
    const struct config *c = m->config;
    const struct run r = {m, w, m->tokens, c->width, c->context, c->heads, c->width / c->heads};
    const int32_t *tokens = batch + data_offset(m->tokens, DATA_TOKENS);
    double *x = room(&r, r.width);
    for (int i = 0; i < r.rows; i++)
        for (int k = 0; k < r.width; k++)
            x[i * r.width + k] = tensor(&r, m->wte)[tokens[i] * r.width + k] +
                                 tensor(&r, m->wpe)[i % r.context * r.width + k];
    for (int i = 0; i < c->layers; i++)
        layer(&r, &m->layers[i], x);
    double *normal = normalise(&r, x, m->norm_g, m->norm_b);
    double *logits = linear(&r, normal, m->head, -1, r.width, m->stride);
    double loss = mean_loss(&r, logits, batch + data_offset(m->tokens, DATA_TARGETS));
    free(x);
    free(normal);
    free(logits);
    return loss;
}
