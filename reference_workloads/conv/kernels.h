/* The trainer's own CUDA kernels: what cuDNN and cuBLAS do not offer, or not well. Each function
 * launches one kernel on `stream`; shapes stand in the comments.
 *
 * T is the working type of activations and weights (enum dtype); sums are always made in float.
 * Counts of activations are multiples of 8 (every layer has a multiple of 8 channels), so these
 * kernels move 16 bytes per thread.
 */
#ifndef CONV_KERNELS_H
#define CONV_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dtype { DTYPE_F32, DTYPE_F16, DTYPE_BF16 };

/* On the device: gradients carry `scale`, so that fp16 does not lose the small ones. 1 for others.
 */
struct loss_scale {
    float scale;
    int found_inf;  /* this step's gradients overflowed: the step is left out */
    int good_steps; /* since the scale changed */
};

/* set-up: n values, no host memory touched */
void kernel_init_normal(cudaStream_t stream, float *w, size_t n, float deviation, unsigned seed);
void kernel_fill(cudaStream_t stream, float *w, size_t n, float value);
void kernel_init_scale(cudaStream_t stream, struct loss_scale *s, float scale);

/* pixels (n, image, image, 3) bytes or floats -> x T, (n, image, image, 3) or (n, 3, image, image);
 * bytes are normalised here. */
void kernel_ingest(cudaStream_t stream, enum dtype t, int nhwc, int float_pixels,
                   const void *pixels, void *x, int n, int image);

/* pointwise, in place */
void kernel_relu_forward(cudaStream_t stream, enum dtype t, void *y, size_t n);
void kernel_relu_backward(cudaStream_t stream, enum dtype t, void *dy, const void *y, size_t n);
void kernel_add(cudaStream_t stream, enum dtype t, void *y, const void *other, size_t n);
void kernel_add_relu(cudaStream_t stream, enum dtype t, void *y, const void *other, size_t n);

/* logits (b, k) float + bias (k) against labels (b): losses (b), and dlogits (b, k) T, which carry
 * the loss scale and 1/b. */
void kernel_softmax_loss(cudaStream_t stream, enum dtype t, const float *logits, const float *bias,
                         const int32_t *labels, float *losses, void *dlogits, int b, int k,
                         const struct loss_scale *s);
/* dbias (k) = sum over b of dlogits (b, k), added to what is there if `accumulate` */
void kernel_bias_gradient(cudaStream_t stream, enum dtype t, const void *dlogits, float *dbias,
                          int b, int k, int accumulate);

/* SGD with momentum over n parameters; `working` is the T copy of the weights, NULL if w is it. */
struct sgd {
    float rate, momentum, decay;
    const struct loss_scale *scale;
};
void kernel_sgd_fused(cudaStream_t stream, enum dtype t, const struct sgd *o, float *w, float *m,
                      const void *g, void *working, size_t n);
/* the same in the five passes of a framework without fusion; d (n) float is scratch */
void kernel_sgd_unscale(cudaStream_t stream, enum dtype t, const struct sgd *o, const float *w,
                        const void *g, float *d, size_t n); /* d = g / scale + decay w */
void kernel_sgd_decay_momentum(cudaStream_t stream, const struct sgd *o, float *m, size_t n);
void kernel_sgd_add_gradient(cudaStream_t stream, const struct sgd *o, float *m, const float *d,
                             size_t n);
void kernel_sgd_update(cudaStream_t stream, const struct sgd *o, float *w, const float *m,
                       size_t n);
void kernel_sgd_cast(cudaStream_t stream, enum dtype t, const float *w, void *working, size_t n);

/* loss scaling (fp16): looks for infinities and NaNs, then halves or doubles the scale */
void kernel_check_finite(cudaStream_t stream, enum dtype t, const void *g, struct loss_scale *s,
                         size_t n);
void kernel_update_scale(cudaStream_t stream, struct loss_scale *s);

/* sets *found when one is NaN */
void kernel_check_nan(cudaStream_t stream, enum dtype t, const void *g, int *found, size_t n);

/* fallback.cu: what cuDNN may decline. Shapes are those of the smaller tensor, y. */
struct shape {
    int n, c, h, w, nhwc;
};
struct norm_values { /* (c) each */
    const float *gamma, *beta;
    float *saved_mean, *saved_inverse, *running_mean, *running_variance;
    float epsilon, share; /* share of this batch in the running statistics */
};
/* sums (2, c) is scratch */
void kernel_norm_forward(cudaStream_t stream, enum dtype t, const struct shape *s,
                         const struct norm_values *v, const void *x, void *y, float *sums);
/* by the running statistics, which stay as they are */
void kernel_norm_inference(cudaStream_t stream, enum dtype t, const struct shape *s,
                           const struct norm_values *v, const void *x, void *y);
void kernel_norm_backward(cudaStream_t stream, enum dtype t, const struct shape *s,
                          const struct norm_values *v, const void *x, const void *dy, void *dx,
                          float *sums, float *dgamma, float *dbeta, int accumulate);
/* 3x3, stride 2, padding 1: x (n, c, 2h, 2w), y (n, c, h, w) */
void kernel_pool_max_forward(cudaStream_t stream, enum dtype t, const struct shape *s,
                             const void *x, void *y);
void kernel_pool_max_backward(cudaStream_t stream, enum dtype t, const struct shape *s,
                              const void *x, const void *dy, void *dx);
/* x (n, c, h, w), y (n, c) */
void kernel_pool_mean_forward(cudaStream_t stream, enum dtype t, const struct shape *s,
                              const void *x, void *y);
void kernel_pool_mean_backward(cudaStream_t stream, enum dtype t, const struct shape *s,
                               const void *dy, void *dx);

#ifdef __cplusplus
}
#endif

#endif
