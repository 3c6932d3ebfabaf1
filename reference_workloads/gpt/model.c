/* Builds the GPT of model.h: tensors, then the arena, then initial values. */
#include "reference_workloads/gpt/model.h"

#include "reference_workloads/common/clock.h"

#include <math.h>
#include <stdlib.h>

size_t model_type_bytes(const struct model *m)
{
    return m->type == DTYPE_F32 ? 4 : 2;
}

void model_host_overhead(const struct model *m)
{
    clock_spin_us(m->config->host_overhead_us);
}

/* ---- tensors ---- */

static int add_tensor(struct model *m, size_t count, float deviation, float value)
{
    m->tensors[m->tensor_count] = (struct tensor){m->count, count, deviation, value};
    m->count += (count + 63) / 64 * 64;
    m->parameters += count;
    return m->tensor_count++;
}

static void add_matrices(struct model *m)
{
    const struct config *c = m->config;
    size_t width = (size_t)c->width;
    float narrow = 0.02f / sqrtf(2.0f * (float)c->layers); /* what adds to the residual stream */
    m->wte = add_tensor(m, (size_t)m->stride * width, 0.02f, 0);
    m->wpe = add_tensor(m, (size_t)c->context * width, 0.02f, 0);
    for (int i = 0; i < c->layers; i++) {
        struct layer *l = &m->layers[i];
        l->qkv_w = add_tensor(m, 3 * width * width, 0.02f, 0);
        l->attention_w = add_tensor(m, width * width, narrow, 0);
        l->up_w = add_tensor(m, 4 * width * width, 0.02f, 0);
        l->down_w = add_tensor(m, 4 * width * width, narrow, 0);
    }
    m->head = add_tensor(m, (size_t)m->stride * width, 0.02f, 0);
    m->decayed = m->count;
}

static void add_vectors(struct model *m)
{
    size_t width = (size_t)m->config->width;
    for (int i = 0; i < m->config->layers; i++) {
        struct layer *l = &m->layers[i];
        l->norm1_g = add_tensor(m, width, 0, 1);
        l->norm1_b = add_tensor(m, width, 0, 0);
        l->qkv_b = add_tensor(m, 3 * width, 0, 0);
        l->attention_b = add_tensor(m, width, 0, 0);
        l->norm2_g = add_tensor(m, width, 0, 1);
        l->norm2_b = add_tensor(m, width, 0, 0);
        l->up_b = add_tensor(m, 4 * width, 0, 0);
        l->down_b = add_tensor(m, width, 0, 0);
    }
    m->norm_g = add_tensor(m, width, 0, 1);
    m->norm_b = add_tensor(m, width, 0, 0);
}

/* ---- memory: pointers ask for room, one cudaMalloc serves them all ---- */

enum { MAX_ASKED = 16 * MAX_LAYERS + 64, ALIGNMENT = 256 };

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

static void plan_parameters(struct model *m, struct arena_plan *plan)
{
    size_t bytes = model_type_bytes(m);
    ask(plan, &m->master, m->count * sizeof(float));
    ask(plan, &m->moment1, m->count * sizeof(float));
    ask(plan, &m->moment2, m->count * sizeof(float));
    ask(plan, &m->gradient, m->count * bytes);
    if (m->type != DTYPE_F32)
        ask(plan, &m->working, m->count * bytes);
    if (m->config->optimizer != OPTIMIZER_FUSED)
        ask(plan, &m->scratch, m->count * sizeof(float));
}

static size_t row_bytes(const struct model *m)
{
    return (size_t)m->tokens * (size_t)m->config->width * model_type_bytes(m);
}

static size_t probability_bytes(const struct model *m)
{
    return (size_t)m->tokens * (size_t)m->config->heads * (size_t)m->config->context *
           model_type_bytes(m);
}

/* What checkpointing shares between layers. */
static void plan_inside(struct model *m, struct activations *a, struct arena_plan *plan)
{
    size_t row = row_bytes(m), floats = (size_t)m->tokens * sizeof(float);
    ask(plan, &a->mean1, floats);
    ask(plan, &a->inverse1, floats);
    ask(plan, &a->mean2, floats);
    ask(plan, &a->inverse2, floats);
    ask(plan, &a->normal1, row);
    ask(plan, &a->heads, 3 * row);
    ask(plan, &a->probability, probability_bytes(m));
    ask(plan, &a->attended, row);
    ask(plan, &a->middle, row);
    ask(plan, &a->normal2, row);
    if (m->config->alloc_per_step)
        return; /* layers.c allocates these */
    ask(plan, &a->up, 4 * row);
    ask(plan, &a->gelu, 4 * row);
}

static void plan_activations(struct model *m, struct arena_plan *plan)
{
    size_t row = row_bytes(m), floats = (size_t)m->tokens * sizeof(float);
    for (int i = 0; i < m->config->layers; i++) {
        ask(plan, &m->at[i].input, row);
        if (i == 0 || !m->config->checkpoint)
            plan_inside(m, &m->at[i], plan);
    }
    ask(plan, &m->end.input, row);
    ask(plan, &m->end.normal1, row);
    ask(plan, &m->end.mean1, floats);
    ask(plan, &m->end.inverse1, floats);
    ask(plan, &m->qkv, 3 * row);
    ask(plan, &m->branch, row);
    ask(plan, &m->logits, (size_t)m->tokens * (size_t)m->stride * model_type_bytes(m));
    ask(plan, &m->losses, floats);
    ask(plan, &m->d, row);
    ask(plan, &m->dnormal, row);
    ask(plan, &m->dup, 4 * row);
    ask(plan, &m->dheads, 3 * row);
    ask(plan, &m->dprobability, probability_bytes(m));
    ask(plan, &m->dattended, row);
    if (!m->config->fuse_pointwise)
        ask(plan, &m->spare, 4 * row);
}

/* Room for the sums that need most: a bias of 4 width, a normalisation's two, the loss, the norm.
 */
static size_t partial_floats(const struct model *m)
{
    size_t rows = (size_t)m->tokens, width = (size_t)m->config->width;
    size_t columns = (rows + SUM_ROWS - 1) / SUM_ROWS * 4 * width;
    size_t loss = rows * (((size_t)m->stride + LOSS_CHUNK - 1) / LOSS_CHUNK) * 2;
    size_t norm = m->count / NORM_CHUNK + MAX_TENSORS;
    size_t most = columns > loss ? columns : loss;
    return most > norm ? most : norm;
}

static void share_activations(struct model *m)
{
    for (int i = 1; i < m->config->layers && m->config->checkpoint; i++) {
        void *input = m->at[i].input;
        m->at[i] = m->at[0];
        m->at[i].input = input;
    }
}

/* ---- open and close ---- */

static void initialise(struct model *m)
{
    size_t gradient_floats = m->count * model_type_bytes(m) / sizeof(float);
    kernel_fill(m->stream, m->master, m->count, 0);
    kernel_fill(m->stream, m->moment1, m->count, 0);
    kernel_fill(m->stream, m->moment2, m->count, 0);
    kernel_fill(m->stream, m->gradient, gradient_floats, 0);
    for (int i = 0; i < m->tensor_count; i++) {
        const struct tensor *t = &m->tensors[i];
        if (t->deviation > 0)
            kernel_init_normal(m->stream, m->master + t->offset, t->count, t->deviation,
                               (unsigned)(m->config->seed * 1000 + i));
        else if (t->value != 0)
            kernel_fill(m->stream, m->master + t->offset, t->count, t->value);
    }
    const struct adamw_state all = {.w = m->master, .working = m->working, .n = m->count};
    if (m->working)
        kernel_adamw_cast(m->stream, m->type, &all);
    kernel_init_scale(m->stream, m->scale, m->config->precision == PRECISION_FP16 ? 1024.0f : 1.0f);
    kernel_init_plan(m->stream, m->plan);
}

void model_open(struct model *m, const struct config *c, size_t staged_bytes)
{
    enum { WORKSPACE = 32 << 20 };
    *m = (struct model){.config = c,
                        .tokens = c->batch * c->context,
                        .stride = c->pad_vocab ? (c->vocab + 127) / 128 * 128 : c->vocab,
                        .workspace_bytes = WORKSPACE};
    m->type = c->precision == PRECISION_FP16   ? DTYPE_F16
              : c->precision == PRECISION_BF16 ? DTYPE_BF16
                                               : DTYPE_F32;
    cudaCheck(cudaStreamCreate(&m->stream));
    cublasCheck(cublasLtCreate(&m->blas));
    add_matrices(m);
    add_vectors(m);

    struct arena_plan *plan = check_alloc(sizeof *plan);
    plan_parameters(m, plan);
    plan_activations(m, plan);
    ask(plan, &m->partial, partial_floats(m) * sizeof(float));
    ask(plan, &m->scale, sizeof *m->scale);
    ask(plan, &m->plan, sizeof *m->plan);
    ask(plan, &m->staged[0], staged_bytes);
    ask(plan, &m->staged[1], staged_bytes);
    ask(plan, &m->workspace, m->workspace_bytes);
    m->arena = serve(plan);
    m->arena_bytes = plan->bytes;
    m->layer_bytes = 4 * row_bytes(m);
    free(plan);
    share_activations(m);
    initialise(m);
}

void model_close(struct model *m)
{
    model_forget_products(m);
    cublasCheck(cublasLtDestroy(m->blas));
    cudaCheck(cudaFree(m->arena));
    cudaCheck(cudaStreamDestroy(m->stream));
}

void *model_weight(const struct model *m, int tensor)
{
    size_t offset = m->tensors[tensor].offset;
    return m->working ? (char *)m->working + offset * model_type_bytes(m)
                      : (char *)(m->master + offset);
}

void *model_gradient(const struct model *m, int tensor)
{
    return (char *)m->gradient + m->tensors[tensor].offset * model_type_bytes(m);
}
