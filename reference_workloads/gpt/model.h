/* A small GPT: what its layers are, and where everything lies.
 *
 * Pre-normalised transformer: embeddings, `layers` times (normalise, attention, add; normalise, MLP
 * with GELU, add), normalise, a matrix to the vocabulary. Attention is computed with its matrix of
 * probabilities in memory, by batched products and a softmax kernel.
 *
 * All device memory is one arena, one cudaMalloc. Activations of every layer are kept for the
 * backward pass; with checkpointing only each layer's input is, and one set of the rest is shared.
 * Parameters are one vector: matrices first, which decay, then the rest; each at a multiple of 64.
 *
 * In words shapes are row-major; N = batch * context tokens.
 */
#ifndef GPT_MODEL_H
#define GPT_MODEL_H

#include "reference_workloads/common/check.h"
#include "reference_workloads/gpt/config.h"
#include "reference_workloads/gpt/kernels.h"

#include <cublasLt.h>

enum { MAX_LAYERS = 96, MAX_TENSORS = 12 * MAX_LAYERS + 8, MAX_PRODUCTS = 64 };

struct tensor {
    size_t offset, count; /* elements */
    float deviation;      /* of the initial values; 0: all are `value` */
    float value;
};

struct layer { /* indices of tensors; weights are (out, in) */
    int qkv_w, attention_w, up_w, down_w;
    int norm1_g, norm1_b, qkv_b, attention_b, norm2_g, norm2_b, up_b, down_b;
};

struct activations {                            /* of one layer, T unless said otherwise */
    void *input;                                /* (N, width): what enters the layer */
    float *mean1, *inverse1, *mean2, *inverse2; /* (N) */
    void *normal1;                              /* (N, width) */
    void *heads;       /* (3, batch, heads, context, size): queries, keys, values */
    void *probability; /* (batch, heads, context, context) */
    void *attended;    /* (N, width) */
    void *middle;      /* (N, width): after the first addition */
    void *normal2;     /* (N, width) */
    void *up;          /* (N, 4 width): before the GELU */
    void *gelu;        /* (N, 4 width) */
};

struct product { /* a matrix product as cuBLASLt wants it; made once per shape (products.c) */
    struct product_shape {
        int transpose_a, transpose_b, m, n, k, lda, ldb, ldc, batch, bias;
        long long stride_a, stride_b, stride_c;
    } shape;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algorithm;
};

struct model {
    const struct config *config;
    enum dtype type;
    cublasLtHandle_t blas;
    cudaStream_t stream;
    int tokens, stride; /* N; vocabulary, padded */

    struct tensor tensors[MAX_TENSORS];
    int tensor_count;
    size_t count, decayed, parameters; /* elements with padding; of matrices; without padding */
    int wte, wpe, head, norm_g, norm_b;
    struct layer layers[MAX_LAYERS];
    float *master, *moment1, *moment2; /* (count) */
    void *gradient, *working;          /* (count) T; working NULL when that is master */

    struct activations at[MAX_LAYERS], end; /* end: input, normal1, mean1, inverse1 */
    void *qkv;                              /* (N, 3 width): scratch, both ways */
    void *branch;                /* (N, width): what is to be added to the residual stream */
    void *logits;                /* (N, stride), then their gradients */
    float *losses;               /* (N) */
    void *d, *dnormal, *dup;     /* (N, width), (N, width), (N, 4 width) */
    void *dheads, *dprobability; /* (3, batch, heads, context, size), as in activations */
    void *dattended;             /* (batch, heads, context, size) */
    void *spare;                 /* (N, 4 width): of the unfused GELU */
    float *partial;              /* sums: columns, loss, norm */
    float *scratch;              /* (count): the unfused optimizer's */
    struct loss_scale *scale;
    struct update_plan *plan;
    int32_t *staged[2]; /* batches as data.c makes them */
    void *workspace;
    size_t workspace_bytes;
    struct product products[MAX_PRODUCTS];
    int product_count;

    void *arena;
    size_t arena_bytes, layer_bytes;
};

void model_open(struct model *m, const struct config *c, size_t staged_bytes);
void model_close(struct model *m);

/* products.c: c (m, n) = alpha op(a) op(b) (+ bias (m)), column-major as cuBLAS counts */
struct product_operands {
    const void *a, *b;
    void *c;
    const void *bias; /* NULL: none */
    float alpha;
};
void model_product(struct model *m, const struct product_shape *s,
                   const struct product_operands *o);
void model_forget_products(struct model *m);

/* layers.c: one step's work on m->stream, on the batch in staged[which]. */
void model_forward(struct model *m, int which);
void model_backward(struct model *m, int which);

/* optimizer.c */
void model_clip(struct model *m);
void model_update(struct model *m);

/* to be called before every operation: burns host_overhead_us */
void model_host_overhead(const struct model *m);

size_t model_type_bytes(const struct model *m);
void *model_weight(const struct model *m, int tensor); /* what the layers read */
void *model_gradient(const struct model *m, int tensor);

#endif
