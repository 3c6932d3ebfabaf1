/* train_gpt's own CUDA kernels: what is not a matrix product. Each function launches one kernel on
 * `stream` (the column sums: two); shapes stand in the comments, rows are tokens.
 *
 * T is the working type (enum dtype) of activations, weights and gradients; sums are made in float.
 * A row of `width` is one block of width / 8 threads, 8 values each: widths and contexts are
 * multiples of 256, up to 8192. Nothing here allocates or waits.
 */
#ifndef GPT_KERNELS_H
#define GPT_KERNELS_H

#include "reference_workloads/conv/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ROW_VALUES = 8,    /* per thread, in kernels over rows */
    SUM_ROWS = 64,     /* per thread, in sums over columns */
    LOSS_CHUNK = 2048, /* logits per block */
    NORM_CHUNK = 2048  /* gradients per block, in the norm of all */
};

/* ---- embeddings ---- */

/* x (rows, width) = wte[token] + wpe[place] */
void kernel_embed(cudaStream_t stream, enum dtype t, const int32_t *tokens, const void *wte,
                  const void *wpe, void *x, int rows, int context, int width);
/* Tokens grouped by the host, so that no two threads add to the same place: group g holds the rows
 * order[starts[g] .. starts[g + 1]) that have token `order`'s first. Added to dwte. */
struct token_groups {
    const int32_t *tokens, *order, *starts, *count;
};
void kernel_embed_backward(cudaStream_t stream, enum dtype t, const struct token_groups *g,
                           const void *dx, void *dwte, int rows, int width);
/* dwpe (context, width) = sum over the batch of dx (batch, context, width) */
void kernel_place_backward(cudaStream_t stream, enum dtype t, const void *dx, void *dwpe, int batch,
                           int context, int width);

/* ---- layer normalisation ---- */

struct norm_rows {
    const void *gamma, *beta; /* (width) T */
    float *mean, *inverse;    /* (rows), for the backward pass */
    int rows, width;
};
void kernel_layer_norm(cudaStream_t stream, enum dtype t, const struct norm_rows *n, const void *x,
                       void *y);
/* sum = x + branch, y = norm(sum): the addition costs no pass of its own */
void kernel_add_layer_norm(cudaStream_t stream, enum dtype t, const struct norm_rows *n,
                           const void *x, const void *branch, void *sum, void *y);
/* dx = (accumulate ? dx : 0) + gradient through the normalisation of x */
void kernel_layer_norm_backward(cudaStream_t stream, enum dtype t, const struct norm_rows *n,
                                const void *x, const void *dy, void *dx, int accumulate);
/* partial (2, ceil(rows / SUM_ROWS), width) is scratch */
void kernel_layer_norm_parameters(cudaStream_t stream, enum dtype t, const struct norm_rows *n,
                                  const void *x, const void *dy, float *partial, void *dgamma,
                                  void *dbeta);

/* ---- pointwise ---- */

void kernel_residual_add(cudaStream_t stream, enum dtype t, const void *x, const void *branch,
                         void *sum, size_t n);
void kernel_add_bias(cudaStream_t stream, enum dtype t, void *y, const void *bias, size_t n,
                     int width);
/* dbias (width) = sum over rows of dy; partial (ceil(rows / SUM_ROWS), width) is scratch */
void kernel_bias_sum(cudaStream_t stream, enum dtype t, const void *dy, float *partial, void *dbias,
                     int rows, int width);
/* GELU by tanh: y = x (1 + tanh(a (x + b x^3))) / 2; dy becomes the gradient of x */
void kernel_gelu(cudaStream_t stream, enum dtype t, const void *x, void *y, size_t n);
void kernel_gelu_backward(cudaStream_t stream, enum dtype t, const void *x, void *dy, size_t n);
/* the same in the passes of a framework without fusion; u (n) T is scratch */
void kernel_gelu_cube(cudaStream_t stream, enum dtype t, const void *x, void *u, size_t n);
void kernel_gelu_mix(cudaStream_t stream, enum dtype t, const void *x, void *u, size_t n);
void kernel_gelu_tanh(cudaStream_t stream, enum dtype t, void *u, size_t n);
void kernel_gelu_gate(cudaStream_t stream, enum dtype t, const void *x, const void *u, void *y,
                      size_t n);
void kernel_gelu_slope(cudaStream_t stream, enum dtype t, const void *x, void *u, size_t n);
void kernel_gelu_times(cudaStream_t stream, enum dtype t, const void *u, void *dy, size_t n);

/* ---- attention ---- */

/* x (batch, context, parts, heads, size) <-> y (parts, batch, heads, context, size) */
struct heads {
    int batch, context, parts, heads, size;
};
void kernel_split_heads(cudaStream_t stream, enum dtype t, const struct heads *h, const void *x,
                        void *y);
void kernel_merge_heads(cudaStream_t stream, enum dtype t, const struct heads *h, const void *y,
                        void *x);
/* s (rows, context), in place: row r is place r % context, which sees the places up to its own */
void kernel_causal_softmax(cudaStream_t stream, enum dtype t, void *s, int rows, int context);
void kernel_causal_softmax_backward(cudaStream_t stream, enum dtype t, const void *p, void *dp,
                                    int rows, int context);

/* ---- loss ---- */

struct loss_rows {
    const int32_t *targets;  /* (rows) */
    float *losses;           /* (rows) */
    float *partial;          /* (rows, ceil(vocab / LOSS_CHUNK), 2): scratch */
    int rows, vocab, stride; /* logits (rows, stride); those behind vocab do not count */
};
/* logits become their gradients, which carry the loss scale and 1/rows */
void kernel_token_loss(cudaStream_t stream, enum dtype t, const struct loss_rows *l, void *logits,
                       const struct loss_scale *s);

/* ---- optimizer ---- */

/* On the device: what this update does to all parameters. */
struct update_plan {
    float norm;               /* of all gradients, unscaled; 0 unless it was asked for */
    float multiply;           /* gradients are multiplied by this: 1 / loss scale, and clipping */
    float correct1, correct2; /* of Adam's moments in their first steps */
    int step;                 /* updates made */
    int skip;                 /* gradients overflowed: nothing changes */
};
struct adamw {
    float rate, beta1, beta2, epsilon, decay;
    size_t decayed; /* parameters before this index decay */
    const struct update_plan *plan;
};
struct adamw_state { /* pointers to the first of `n` parameters, `offset` of which lie before */
    float *w, *m, *v;
    void *gradient, *working; /* T; working NULL: w is what the layers read */
    float *d;                 /* scratch of the passes */
    size_t offset, n;
};
void kernel_init_plan(cudaStream_t stream, struct update_plan *p);
/* Sums of squares of n gradients, one float per NORM_CHUNK; then what all of them come to. */
void kernel_gradient_squares(cudaStream_t stream, enum dtype t, const void *gradient,
                             float *partial, size_t n);
void kernel_gradient_norm(cudaStream_t stream, const float *partial, size_t n,
                          struct update_plan *p, const struct loss_scale *s);
/* limit 0: no clipping */
void kernel_plan_update(cudaStream_t stream, struct update_plan *p, const struct loss_scale *s,
                        const struct adamw *o, float limit);
void kernel_scale_gradient(cudaStream_t stream, enum dtype t, void *gradient, float by, size_t n);
/* by = limit / norm where the norm is above the limit; the norm is read on the device */
void kernel_clip_gradient(cudaStream_t stream, enum dtype t, void *gradient,
                          const struct update_plan *p, float limit, size_t n);
void kernel_adamw_fused(cudaStream_t stream, enum dtype t, const struct adamw *o,
                        const struct adamw_state *s);
/* the same in the passes of a framework without fusion */
void kernel_adamw_unscale(cudaStream_t stream, enum dtype t, const struct adamw *o,
                          const struct adamw_state *s);
void kernel_adamw_first(cudaStream_t stream, const struct adamw *o, const struct adamw_state *s);
void kernel_adamw_second(cudaStream_t stream, const struct adamw *o, const struct adamw_state *s);
void kernel_adamw_root(cudaStream_t stream, const struct adamw *o, const struct adamw_state *s);
void kernel_adamw_step(cudaStream_t stream, const struct adamw *o, const struct adamw_state *s);
void kernel_adamw_cast(cudaStream_t stream, enum dtype t, const struct adamw_state *s);

#ifdef __cplusplus
}
#endif

#endif
