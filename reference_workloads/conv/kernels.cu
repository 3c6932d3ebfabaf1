// See kernels.h. Plain kernels: one element, or one pack of 16 bytes, per thread, and coalesced.
// Only the loss needs more than one thread per answer: a warp per row.
#include "reference_workloads/conv/kernels.h"

#include "reference_workloads/conv/kernels.cuh"

__device__ __forceinline__ uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// ---- set-up -------------------------------------------------------------------------------------

__global__ void init_normal_kernel(float *w, size_t n, float deviation, unsigned seed)
{
    size_t i = thread_index();
    if (i >= n)
        return;
    uint64_t r = mix(((uint64_t)seed << 40) + i);
    float u = ((float)(r >> 40) + 1.0f) / 16777217.0f; // (0, 1]
    float v = (float)(r & 0xffffff) / 16777216.0f;
    w[i] = deviation * sqrtf(-2.0f * logf(u)) * cospif(2.0f * v); // Box-Muller
}

__global__ void fill_kernel(float *w, size_t n, float value)
{
    size_t i = thread_index();
    if (i < n)
        w[i] = value;
}

__global__ void init_scale_kernel(struct loss_scale *s, float scale)
{
    s->scale = scale;
    s->found_inf = 0;
    s->good_steps = 0;
}

// ---- input --------------------------------------------------------------------------------------

__device__ __forceinline__ float normalised(float v, int)
{
    return v;
}
__device__ __forceinline__ float normalised(unsigned char v, int channel)
{
    const float mean[3] = {123.675f, 116.28f, 103.53f};
    const float deviation[3] = {58.395f, 57.12f, 57.375f};
    return ((float)v - mean[channel]) / deviation[channel];
}

// one thread per pixel: (pixels, 3) P -> x T
template <typename T, typename P>
__global__ void ingest_kernel(const P *in, T *x, size_t pixels, size_t plane, int nhwc)
{
    size_t i = thread_index();
    if (i >= pixels)
        return;
    size_t picture = i / plane, place = i % plane;
    for (int c = 0; c < 3; c++) {
        size_t to = nhwc ? 3 * i + c : (picture * 3 + c) * plane + place;
        x[to] = from_float<T>(normalised(in[3 * i + c], c));
    }
}

// ---- pointwise ----------------------------------------------------------------------------------

template <typename T> __global__ void relu_forward_kernel(T *y, size_t packs)
{
    size_t i = thread_index();
    if (i >= packs)
        return;
    Pack<T> p = ((Pack<T> *)y)[i];
    for (int k = 0; k < Pack<T>::size; k++)
        p.at[k] = from_float<T>(fmaxf(to_float(p.at[k]), 0.0f));
    ((Pack<T> *)y)[i] = p;
}

template <typename T> __global__ void relu_backward_kernel(T *dy, const T *y, size_t packs)
{
    size_t i = thread_index();
    if (i >= packs)
        return;
    Pack<T> d = ((Pack<T> *)dy)[i], p = ((const Pack<T> *)y)[i];
    for (int k = 0; k < Pack<T>::size; k++)
        if (!(to_float(p.at[k]) > 0.0f))
            d.at[k] = from_float<T>(0.0f);
    ((Pack<T> *)dy)[i] = d;
}

template <typename T> __global__ void add_kernel(T *y, const T *other, size_t packs)
{
    size_t i = thread_index();
    if (i >= packs)
        return;
    Pack<T> p = ((Pack<T> *)y)[i], q = ((const Pack<T> *)other)[i];
    for (int k = 0; k < Pack<T>::size; k++)
        p.at[k] = from_float<T>(to_float(p.at[k]) + to_float(q.at[k]));
    ((Pack<T> *)y)[i] = p;
}

template <typename T> __global__ void add_relu_kernel(T *y, const T *other, size_t packs)
{
    size_t i = thread_index();
    if (i >= packs)
        return;
    Pack<T> p = ((Pack<T> *)y)[i], q = ((const Pack<T> *)other)[i];
    for (int k = 0; k < Pack<T>::size; k++)
        p.at[k] = from_float<T>(fmaxf(to_float(p.at[k]) + to_float(q.at[k]), 0.0f));
    ((Pack<T> *)y)[i] = p;
}

// ---- loss ---------------------------------------------------------------------------------------

__device__ __forceinline__ float warp_max(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, step));
    return v;
}
__device__ __forceinline__ float warp_sum(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

// one block of one warp per row
template <typename T>
__global__ void softmax_loss_kernel(const float *logits, const float *bias, const int32_t *labels,
                                    float *losses, T *dlogits, int b, int k,
                                    const struct loss_scale *s)
{
    int row = blockIdx.x, lane = threadIdx.x, label = labels[row];
    const float *in = logits + (size_t)row * k;
    float highest = -INFINITY, sum = 0.0f;
    for (int i = lane; i < k; i += 32)
        highest = fmaxf(highest, in[i] + bias[i]);
    highest = warp_max(highest);
    for (int i = lane; i < k; i += 32)
        sum += expf(in[i] + bias[i] - highest);
    sum = warp_sum(sum);
    float weight = s->scale / (float)b;
    for (int i = lane; i < k; i += 32) {
        float probability = expf(in[i] + bias[i] - highest) / sum;
        dlogits[(size_t)row * k + i] = from_float<T>((probability - (i == label)) * weight);
    }
    if (lane == 0)
        losses[row] = logf(sum) + highest - in[label] - bias[label];
}

template <typename T>
__global__ void bias_gradient_kernel(const T *dlogits, float *dbias, int b, int k, int accumulate)
{
    int i = (int)thread_index();
    if (i >= k)
        return;
    float sum = accumulate ? dbias[i] : 0.0f;
    for (int row = 0; row < b; row++)
        sum += to_float(dlogits[(size_t)row * k + i]);
    dbias[i] = sum;
}

// ---- optimizer ----------------------------------------------------------------------------------

// A step with infinite gradients changes nothing.
template <typename T>
__global__ void sgd_fused_kernel(struct sgd o, float *w, float *m, const T *g, T *working, size_t n)
{
    size_t i = thread_index();
    if (i >= n || o.scale->found_inf)
        return;
    float d = to_float(g[i]) / o.scale->scale + o.decay * w[i];
    float v = o.momentum * m[i] + d;
    float next = w[i] - o.rate * v;
    m[i] = v;
    w[i] = next;
    if (working)
        working[i] = from_float<T>(next);
}

template <typename T>
__global__ void sgd_unscale_kernel(struct sgd o, const float *w, const T *g, float *d, size_t n)
{
    size_t i = thread_index();
    if (i < n)
        d[i] = to_float(g[i]) / o.scale->scale + o.decay * w[i];
}

__global__ void sgd_decay_momentum_kernel(struct sgd o, float *m, size_t n)
{
    size_t i = thread_index();
    if (i < n && !o.scale->found_inf)
        m[i] *= o.momentum;
}

__global__ void sgd_add_gradient_kernel(struct sgd o, float *m, const float *d, size_t n)
{
    size_t i = thread_index();
    if (i < n && !o.scale->found_inf)
        m[i] += d[i];
}

__global__ void sgd_update_kernel(struct sgd o, float *w, const float *m, size_t n)
{
    size_t i = thread_index();
    if (i < n && !o.scale->found_inf)
        w[i] -= o.rate * m[i];
}

template <typename T> __global__ void sgd_cast_kernel(const float *w, T *working, size_t n)
{
    size_t i = thread_index();
    if (i < n)
        working[i] = from_float<T>(w[i]);
}

template <typename T>
__global__ void check_finite_kernel(const T *g, struct loss_scale *s, size_t n)
{
    size_t i = thread_index();
    if (i < n && !isfinite(to_float(g[i])))
        s->found_inf = 1; // every writer writes the same
}

template <typename T> __global__ void check_nan_kernel(const T *g, int *found, size_t n)
{
    size_t i = thread_index();
    if (i < n && isnan(to_float(g[i])))
        *found = 1; // every writer writes the same
}

__global__ void update_scale_kernel(struct loss_scale *s)
{
    if (s->found_inf) {
        s->scale = fmaxf(s->scale * 0.5f, 1.0f);
        s->good_steps = 0;
    } else if (++s->good_steps == 1000) {
        s->scale *= 2.0f;
        s->good_steps = 0;
    }
    s->found_inf = 0;
}

// ---- launching ----------------------------------------------------------------------------------

void kernel_init_normal(cudaStream_t stream, float *w, size_t n, float deviation, unsigned seed)
{
    LAUNCH(init_normal_kernel, n, stream, w, n, deviation, seed);
}

void kernel_fill(cudaStream_t stream, float *w, size_t n, float value)
{
    LAUNCH(fill_kernel, n, stream, w, n, value);
}

void kernel_init_scale(cudaStream_t stream, struct loss_scale *s, float scale)
{
    init_scale_kernel<<<1, 1, 0, stream>>>(s, scale);
    launched("init_scale_kernel");
}

void kernel_ingest(cudaStream_t stream, enum dtype t, int nhwc, int float_pixels,
                   const void *pixels, void *x, int n, int image)
{
    size_t plane = (size_t)image * image, all = plane * n;
    if (float_pixels)
        FOR_DTYPE(t, LAUNCH((ingest_kernel<T, float>), all, stream, (const float *)pixels, (T *)x,
                            all, plane, nhwc));
    else
        FOR_DTYPE(t, LAUNCH((ingest_kernel<T, unsigned char>), all, stream,
                            (const unsigned char *)pixels, (T *)x, all, plane, nhwc));
}

void kernel_relu_forward(cudaStream_t stream, enum dtype t, void *y, size_t n)
{
    FOR_DTYPE(t,
              LAUNCH(relu_forward_kernel<T>, n / Pack<T>::size, stream, (T *)y, n / Pack<T>::size));
}

void kernel_relu_backward(cudaStream_t stream, enum dtype t, void *dy, const void *y, size_t n)
{
    FOR_DTYPE(t, LAUNCH(relu_backward_kernel<T>, n / Pack<T>::size, stream, (T *)dy, (const T *)y,
                        n / Pack<T>::size));
}

void kernel_add(cudaStream_t stream, enum dtype t, void *y, const void *other, size_t n)
{
    FOR_DTYPE(t, LAUNCH(add_kernel<T>, n / Pack<T>::size, stream, (T *)y, (const T *)other,
                        n / Pack<T>::size));
}

void kernel_add_relu(cudaStream_t stream, enum dtype t, void *y, const void *other, size_t n)
{
    FOR_DTYPE(t, LAUNCH(add_relu_kernel<T>, n / Pack<T>::size, stream, (T *)y, (const T *)other,
                        n / Pack<T>::size));
}

void kernel_softmax_loss(cudaStream_t stream, enum dtype t, const float *logits, const float *bias,
                         const int32_t *labels, float *losses, void *dlogits, int b, int k,
                         const struct loss_scale *s)
{
    FOR_DTYPE(t, softmax_loss_kernel<T>
              <<<b, 32, 0, stream>>>(logits, bias, labels, losses, (T *)dlogits, b, k, s));
    launched("softmax_loss_kernel");
}

void kernel_bias_gradient(cudaStream_t stream, enum dtype t, const void *dlogits, float *dbias,
                          int b, int k, int accumulate)
{
    FOR_DTYPE(t, LAUNCH(bias_gradient_kernel<T>, (size_t)k, stream, (const T *)dlogits, dbias, b, k,
                        accumulate));
}

void kernel_sgd_fused(cudaStream_t stream, enum dtype t, const struct sgd *o, float *w, float *m,
                      const void *g, void *working, size_t n)
{
    FOR_DTYPE(t, LAUNCH(sgd_fused_kernel<T>, n, stream, *o, w, m, (const T *)g, (T *)working, n));
}

void kernel_sgd_unscale(cudaStream_t stream, enum dtype t, const struct sgd *o, const float *w,
                        const void *g, float *d, size_t n)
{
    FOR_DTYPE(t, LAUNCH(sgd_unscale_kernel<T>, n, stream, *o, w, (const T *)g, d, n));
}

void kernel_sgd_decay_momentum(cudaStream_t stream, const struct sgd *o, float *m, size_t n)
{
    LAUNCH(sgd_decay_momentum_kernel, n, stream, *o, m, n);
}

void kernel_sgd_add_gradient(cudaStream_t stream, const struct sgd *o, float *m, const float *d,
                             size_t n)
{
    LAUNCH(sgd_add_gradient_kernel, n, stream, *o, m, d, n);
}

void kernel_sgd_update(cudaStream_t stream, const struct sgd *o, float *w, const float *m, size_t n)
{
    LAUNCH(sgd_update_kernel, n, stream, *o, w, m, n);
}

void kernel_sgd_cast(cudaStream_t stream, enum dtype t, const float *w, void *working, size_t n)
{
    FOR_DTYPE(t, LAUNCH(sgd_cast_kernel<T>, n, stream, w, (T *)working, n));
}

void kernel_check_finite(cudaStream_t stream, enum dtype t, const void *g, struct loss_scale *s,
                         size_t n)
{
    FOR_DTYPE(t, LAUNCH(check_finite_kernel<T>, n, stream, (const T *)g, s, n));
}

void kernel_check_nan(cudaStream_t stream, enum dtype t, const void *g, int *found, size_t n)
{
    FOR_DTYPE(t, LAUNCH(check_nan_kernel<T>, n, stream, (const T *)g, found, n));
}

void kernel_update_scale(cudaStream_t stream, struct loss_scale *s)
{
    update_scale_kernel<<<1, 1, 0, stream>>>(s);
    launched("update_scale_kernel");
}
