/* Builds the ResNet of model.h: layers, then the arena, then descriptors and initial values. */
#include "reference_workloads/conv/model.h"

#include "reference_workloads/common/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the arena: pointers ask for room, one cudaMalloc serves them all ---- */

enum { MAX_ASKED = 8 * MAX_UNITS + 64, ALIGNMENT = 256 };

struct arena_plan {
    struct asked {
        void **pointer;
        size_t offset;
    } at[MAX_ASKED];
    int count;
    size_t bytes;
};

static void ask(struct arena_plan *plan, void *pointer_to_pointer, size_t bytes)
{
    if (plan->count == MAX_ASKED)
        die(1, "more than %d buffers in the model", MAX_ASKED);
    plan->at[plan->count++] = (struct asked){pointer_to_pointer, plan->bytes};
    plan->bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void *serve(const struct arena_plan *plan)
{
    char *base;
    cudaCheck(cudaMalloc((void **)&base, plan->bytes));
    for (int i = 0; i < plan->count; i++)
        *plan->at[i].pointer = base + plan->at[i].offset;
    return base;
}

/* ---- layers ---- */

static int add_tensor(struct model *m, enum group_id group, size_t count, float deviation,
                      float value)
{
    struct group *g = &m->groups[group];
    m->tensors[m->tensor_count] = (struct tensor){group, g->count, count, deviation, value};
    g->count += (count + 63) / 64 * 64;
    m->parameters += count;
    return m->tensor_count++;
}

static struct unit *add_unit(struct model *m, const char *name, int c, int h, int k, int size,
                             int stride, int relu)
{
    struct unit *u = &m->units[m->unit_count++];
    snprintf(u->name, sizeof u->name, "%s", name);
    u->c = c;
    u->h = u->w = h;
    u->k = k;
    u->size = size;
    u->stride = stride;
    u->pad = size / 2;
    u->p = u->q = (h + 2 * u->pad - size) / stride + 1;
    u->relu = relu;
    size_t weights = (size_t)k * (size_t)c * (size_t)size * (size_t)size;
    u->weight = add_tensor(m, GROUP_WEIGHTS, weights, sqrtf(2.0f / (float)(k * size * size)), 0);
    u->bias = m->config->conv_bias ? add_tensor(m, GROUP_WEIGHTS, (size_t)k, 0, 0) : -1;
    u->gamma = add_tensor(m, GROUP_SCALARS, (size_t)k, 0, 1);
    u->beta = add_tensor(m, GROUP_SCALARS, (size_t)k, 0, 0);
    return u;
}

/* One block: (n, c, h, h) -> (n, width * expansion, h / stride, h / stride). */
static struct block *add_block(struct model *m, const char *name, int c, int h, int width,
                               int stride, int bottleneck)
{
    struct block *b = &m->blocks[m->block_count++];
    int out = bottleneck ? 4 * width : width;
    char text[4][40];
    for (int i = 0; i < 3; i++)
        snprintf(text[i], sizeof text[i], "%s.conv%d", name, i + 1);
    snprintf(text[3], sizeof text[3], "%s.shortcut", name);
    if (bottleneck) {
        b->unit[0] = add_unit(m, text[0], c, h, width, 1, 1, 1);
        b->unit[1] = add_unit(m, text[1], width, h, width, 3, stride, 1);
        b->unit[2] = add_unit(m, text[2], width, b->unit[1]->p, out, 1, 1, 0);
        b->units = 3;
    } else {
        b->unit[0] = add_unit(m, text[0], c, h, width, 3, stride, 1);
        b->unit[1] = add_unit(m, text[1], width, b->unit[0]->p, out, 3, 1, 0);
        b->units = 2;
    }
    /* a block starts as its shortcut alone: deep networks train more steadily */
    m->tensors[b->unit[b->units - 1]->gamma].value = 0;
    if (c != out || stride != 1)
        b->shortcut = add_unit(m, text[3], c, h, out, 1, stride, 0);
    return b;
}

static void add_layers(struct model *m)
{
    static const struct shape {
        int bottleneck, blocks[4];
    } shapes[] = {
        {0, {2, 2, 2, 2}},  {0, {3, 4, 6, 3}},  {1, {3, 4, 6, 3}},
        {1, {3, 4, 23, 3}}, {1, {3, 8, 36, 3}},
    };
    const struct shape *s = &shapes[m->config->depth];
    add_unit(m, "conv1", 3, m->config->image, 64, 7, 2, 1);
    int c = 64, h = m->config->image / 4;
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < s->blocks[stage]; i++) {
            char name[24];
            snprintf(name, sizeof name, "conv%d_%d", stage + 2, i + 1);
            struct block *b =
                add_block(m, name, c, h, 64 << stage, i == 0 && stage > 0 ? 2 : 1, s->bottleneck);
            c = b->unit[b->units - 1]->k;
            h = b->unit[b->units - 1]->p;
        }
    }
    m->features = c;
    m->fc_weight = add_tensor(m, GROUP_WEIGHTS, (size_t)m->config->classes * (size_t)c, 0.01f, 0);
    m->fc_bias = add_tensor(m, GROUP_SCALARS, (size_t)m->config->classes, 0, 0);
}

/* ---- memory ---- */

size_t dtype_bytes(enum dtype t)
{
    return t == DTYPE_F32 ? 4 : 2;
}

static size_t input_count(const struct unit *u, int n)
{
    return (size_t)n * (size_t)u->c * (size_t)u->h * (size_t)u->w;
}

static size_t output_count(const struct unit *u, int n)
{
    return (size_t)n * (size_t)u->k * (size_t)u->p * (size_t)u->q;
}

static void plan_groups(struct model *m, struct arena_plan *plan)
{
    size_t largest = 0;
    m->groups[GROUP_WEIGHTS].type = m->type;
    m->groups[GROUP_SCALARS].type = DTYPE_F32;
    for (int i = 0; i < GROUP_COUNT; i++) {
        struct group *g = &m->groups[i];
        ask(plan, &g->master, g->count * sizeof(float));
        ask(plan, &g->momentum, g->count * sizeof(float));
        ask(plan, &g->gradient, g->count * dtype_bytes(g->type));
        if (g->type != DTYPE_F32)
            ask(plan, &g->working, g->count * dtype_bytes(g->type));
        largest = g->count > largest ? g->count : largest;
    }
    if (m->config->optimizer != OPTIMIZER_FUSED)
        ask(plan, &m->scratch, largest * sizeof(float));
}

static void plan_activations(struct model *m, struct arena_plan *plan)
{
    size_t bytes = dtype_bytes(m->type), largest = 0;
    for (int i = 0; i < m->unit_count; i++) {
        struct unit *u = &m->units[i];
        size_t count = output_count(u, m->n);
        ask(plan, &u->conv_out, count * bytes);
        ask(plan, &u->out, count * bytes);
        ask(plan, &u->saved_mean, (size_t)u->k * sizeof(float));
        ask(plan, &u->saved_inverse, (size_t)u->k * sizeof(float));
        ask(plan, &u->running_mean, (size_t)u->k * sizeof(float));
        ask(plan, &u->running_variance, (size_t)u->k * sizeof(float));
        ask(plan, &u->reserve, u->reserve_bytes);
        largest = count > largest ? count : largest;
    }
    for (int i = 0; i < 3; i++)
        ask(plan, &m->grad[i], largest * bytes);
    size_t n = (size_t)m->n, classes = (size_t)m->config->classes;
    ask(plan, &m->norm_sums, 2 * (size_t)m->features * sizeof(float));
    ask(plan, &m->norm_workspace, m->norm_workspace_bytes);
    ask(plan, &m->input, input_count(&m->units[0], m->n) * bytes);
    ask(plan, &m->pooled, output_count(&m->units[0], m->n) / 4 * bytes);
    ask(plan, &m->feature, n * (size_t)m->features * bytes);
    ask(plan, &m->logits, n * classes * sizeof(float));
    ask(plan, &m->dlogits, n * classes * bytes);
    ask(plan, &m->losses, (size_t)m->config->batch * sizeof(float));
    ask(plan, &m->eval_losses, (size_t)m->config->batch * sizeof(float));
}

/* ---- descriptors ---- */

static cudnnTensorDescriptor_t tensor_desc(const struct model *m, int c, int h, int w)
{
    cudnnTensorDescriptor_t d;
    cudnnCheck(cudnnCreateTensorDescriptor(&d));
    cudnnCheck(cudnnSetTensor4dDescriptor(d, m->format, m->cudnn_type, m->n, c, h, w));
    return d;
}

static void describe_unit(struct model *m, struct unit *u)
{
    u->x_desc = tensor_desc(m, u->c, u->h, u->w);
    u->y_desc = tensor_desc(m, u->k, u->p, u->q);
    cudnnCheck(cudnnCreateTensorDescriptor(&u->norm_desc));
    cudnnCheck(cudnnDeriveBNTensorDescriptor(u->norm_desc, u->y_desc, m->norm_mode));
    cudnnCheck(cudnnCreateTensorDescriptor(&u->bias_desc));
    cudnnCheck(cudnnSetTensor4dDescriptor(u->bias_desc, m->format, m->cudnn_type, 1, u->k, 1, 1));
    cudnnCheck(cudnnCreateFilterDescriptor(&u->w_desc));
    cudnnCheck(cudnnSetFilter4dDescriptor(u->w_desc, m->cudnn_type, m->format, u->k, u->c, u->size,
                                          u->size));
    for (int p = 0; p < PASS_COUNT; p++) {
        cudnnCheck(cudnnCreateConvolutionDescriptor(&u->conv[p]));
        cudnnCheck(cudnnSetConvolution2dDescriptor(u->conv[p], u->pad, u->pad, u->stride, u->stride,
                                                   1, 1, CUDNN_CROSS_CORRELATION,
                                                   CUDNN_DATA_FLOAT));
    }
}

static void describe_pools(struct model *m)
{
    const struct unit *stem = &m->units[0];
    const struct block *last = &m->blocks[m->block_count - 1];
    const struct unit *end = last->unit[last->units - 1];
    m->stem_desc = tensor_desc(m, stem->k, stem->p, stem->q);
    m->pooled_desc = tensor_desc(m, stem->k, stem->p / 2, stem->q / 2);
    m->last_desc = tensor_desc(m, end->k, end->p, end->q);
    m->feature_desc = tensor_desc(m, end->k, 1, 1);
    cudnnCheck(cudnnCreatePoolingDescriptor(&m->stem_pool));
    cudnnCheck(cudnnSetPooling2dDescriptor(m->stem_pool, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN,
                                           3, 3, 1, 1, 2, 2));
    cudnnCheck(cudnnCreatePoolingDescriptor(&m->last_pool));
    cudnnCheck(cudnnSetPooling2dDescriptor(m->last_pool,
                                           CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING,
                                           CUDNN_NOT_PROPAGATE_NAN, end->p, end->q, 0, 0, 1, 1));
}

/* ---- values ---- */

/* Every unit reads another one's output: the stem the input, the first block the pooled stem. */
static void connect(struct model *m)
{
    m->units[0].x = m->input;
    void *x = m->pooled;
    for (int i = 0; i < m->block_count; i++) {
        struct block *b = &m->blocks[i];
        if (b->shortcut)
            b->shortcut->x = x;
        for (int j = 0; j < b->units; j++) {
            b->unit[j]->x = x;
            x = b->unit[j]->out;
        }
    }
}

static void initialise(struct model *m)
{
    for (int i = 0; i < GROUP_COUNT; i++) {
        struct group *g = &m->groups[i];
        kernel_fill(m->stream, g->master, g->count, 0);
        kernel_fill(m->stream, g->momentum, g->count, 0);
        kernel_fill(m->stream, g->gradient, g->count * dtype_bytes(g->type) / sizeof(float), 0);
    }
    for (int i = 0; i < m->tensor_count; i++) {
        const struct tensor *t = &m->tensors[i];
        if (t->deviation > 0)
            kernel_init_normal(m->stream, model_master(m, i), t->count, t->deviation,
                               (unsigned)(m->config->seed * 1000 + i));
        else if (t->value != 0)
            kernel_fill(m->stream, model_master(m, i), t->count, t->value);
    }
    for (int i = 0; i < GROUP_COUNT; i++)
        if (m->groups[i].working)
            kernel_sgd_cast(m->stream, m->groups[i].type, m->groups[i].master, m->groups[i].working,
                            m->groups[i].count);
    for (int i = 0; i < m->unit_count; i++) {
        kernel_fill(m->stream, m->units[i].running_mean, (size_t)m->units[i].k, 0);
        kernel_fill(m->stream, m->units[i].running_variance, (size_t)m->units[i].k, 1);
    }
    kernel_init_scale(m->stream, m->scale, m->config->precision == PRECISION_FP16 ? 1024.0f : 1.0f);
}

/* ---- open and close ---- */

static void choose_types(struct model *m)
{
    int precision = m->config->precision, nhwc = m->config->channels_last;
    m->type = precision == PRECISION_FP16   ? DTYPE_F16
              : precision == PRECISION_BF16 ? DTYPE_BF16
                                            : DTYPE_F32;
    m->cudnn_type = m->type == DTYPE_F16    ? CUDNN_DATA_HALF
                    : m->type == DTYPE_BF16 ? CUDNN_DATA_BFLOAT16
                                            : CUDNN_DATA_FLOAT;
    m->format = nhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    m->norm_mode = nhwc ? CUDNN_BATCHNORM_SPATIAL_PERSISTENT : CUDNN_BATCHNORM_SPATIAL;
}

void model_open(struct model *m, const struct config *c, size_t slot_bytes, size_t labels_offset)
{
    enum { BLAS_WORKSPACE = 32 << 20 };
    *m = (struct model){.config = c,
                        .n = c->batch / c->accumulation,
                        .labels_offset = labels_offset,
                        .own_norm = c->own_layers,
                        .own_pool = c->own_layers};
    choose_types(m);
    cudaCheck(cudaStreamCreate(&m->stream));
    cudnnCheck(cudnnCreate(&m->cudnn));
    cudnnCheck(cudnnSetStream(m->cudnn, m->stream));
    cublasCheck(cublasCreate(&m->cublas));
    cublasCheck(cublasSetStream(m->cublas, m->stream));

    add_layers(m);
    for (int i = 0; i < m->unit_count; i++)
        describe_unit(m, &m->units[i]);
    describe_pools(m);
    norm_sizes(m);
    struct arena_plan *plan = check_alloc(sizeof *plan);
    plan_groups(m, plan);
    plan_activations(m, plan);
    m->workspace_bytes = (size_t)c->workspace_mb << 20;
    ask(plan, &m->workspace, m->workspace_bytes);
    ask(plan, &m->blas_workspace, BLAS_WORKSPACE);
    ask(plan, &m->scale, sizeof *m->scale);
    ask(plan, &m->staged[0], slot_bytes);
    ask(plan, &m->staged[1], slot_bytes);
    m->arena = serve(plan);
    m->arena_bytes = plan->bytes;
    free(plan);

    cublasCheck(cublasSetWorkspace(m->cublas, m->blas_workspace, BLAS_WORKSPACE));
    connect(m);
    model_choose_algorithms(m);
    initialise(m); /* last: measuring algorithms writes into their outputs */
}

void model_close(struct model *m)
{
    for (int i = 0; i < m->unit_count; i++) {
        struct unit *u = &m->units[i];
        cudnnCheck(cudnnDestroyTensorDescriptor(u->x_desc));
        cudnnCheck(cudnnDestroyTensorDescriptor(u->y_desc));
        cudnnCheck(cudnnDestroyTensorDescriptor(u->norm_desc));
        cudnnCheck(cudnnDestroyTensorDescriptor(u->bias_desc));
        cudnnCheck(cudnnDestroyFilterDescriptor(u->w_desc));
        for (int p = 0; p < PASS_COUNT; p++)
            cudnnCheck(cudnnDestroyConvolutionDescriptor(u->conv[p]));
    }
    cudnnTensorDescriptor_t rest[] = {m->stem_desc, m->pooled_desc, m->last_desc, m->feature_desc};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        cudnnCheck(cudnnDestroyTensorDescriptor(rest[i]));
    cudnnCheck(cudnnDestroyPoolingDescriptor(m->stem_pool));
    cudnnCheck(cudnnDestroyPoolingDescriptor(m->last_pool));
    cublasCheck(cublasDestroy(m->cublas));
    cudnnCheck(cudnnDestroy(m->cudnn));
    cudaCheck(cudaFree(m->arena));
    cudaCheck(cudaStreamDestroy(m->stream));
}

static void *at_offset(void *base, size_t elements, enum dtype type)
{
    return (char *)base + elements * dtype_bytes(type);
}

float *model_master(const struct model *m, int tensor)
{
    const struct tensor *t = &m->tensors[tensor];
    return m->groups[t->group].master + t->offset;
}

void *model_weight(const struct model *m, int tensor)
{
    const struct tensor *t = &m->tensors[tensor];
    const struct group *g = &m->groups[t->group];
    return g->working ? at_offset(g->working, t->offset, g->type) : g->master + t->offset;
}

void *model_gradient(const struct model *m, int tensor)
{
    const struct tensor *t = &m->tensors[tensor];
    const struct group *g = &m->groups[t->group];
    return at_offset(g->gradient, t->offset, g->type);
}

void model_host_overhead(const struct model *m)
{
    clock_spin_us(m->config->host_overhead_us);
}
