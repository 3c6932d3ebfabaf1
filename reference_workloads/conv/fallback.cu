// Normalisation and pooling without cuDNN, for types and layouts that it declines. Written to be
// right and short, not fast: sums are made with atomics, everything else is one thread per element.
// `rows` = n h w; element (row, channel) lies at at(row, channel).
#include "reference_workloads/conv/kernels.h"

#include "reference_workloads/conv/kernels.cuh"

struct place {
    size_t rows, plane; // plane = h w
    int channels, nhwc;
};

static __device__ __forceinline__ size_t at(const struct place &p, size_t row, int channel)
{
    if (p.nhwc)
        return row * p.channels + channel;
    return (row / p.plane * p.channels + channel) * p.plane + row % p.plane;
}

// ---- batch normalisation ------------------------------------------------------------------------

// Blocks of 32 channels x 8 rows; blockIdx.y strides over the rows. sums (2, channels) start at 0.
template <typename T> __global__ void norm_sums_kernel(struct place p, const T *x, float *sums)
{
    int channel = blockIdx.x * 32 + threadIdx.x % 32;
    if (channel >= p.channels)
        return;
    float sum = 0.0f, squares = 0.0f;
    for (size_t r = blockIdx.y * 8 + threadIdx.x / 32; r < p.rows; r += 8 * gridDim.y) {
        float v = to_float(x[at(p, r, channel)]);
        sum += v;
        squares += v * v;
    }
    atomicAdd(&sums[channel], sum);
    atomicAdd(&sums[p.channels + channel], squares);
}

template <typename T>
__global__ void norm_apply_kernel(struct place p, struct norm_values v, const T *x, T *y,
                                  const float *sums)
{
    size_t i = thread_index(), row = i / p.channels;
    int channel = (int)(i % p.channels);
    if (row >= p.rows)
        return;
    float mean = sums[channel] / p.rows;
    float variance = fmaxf(sums[p.channels + channel] / p.rows - mean * mean, 0.0f);
    float inverse = rsqrtf(variance + v.epsilon);
    size_t k = at(p, row, channel);
    y[k] = from_float<T>((to_float(x[k]) - mean) * inverse * v.gamma[channel] + v.beta[channel]);
    if (row == 0) {
        float unbiased = variance * p.rows / fmaxf((float)p.rows - 1.0f, 1.0f);
        v.saved_mean[channel] = mean;
        v.saved_inverse[channel] = inverse;
        v.running_mean[channel] += v.share * (mean - v.running_mean[channel]);
        v.running_variance[channel] += v.share * (unbiased - v.running_variance[channel]);
    }
}

template <typename T>
__global__ void norm_inference_kernel(struct place p, struct norm_values v, const T *x, T *y)
{
    size_t i = thread_index(), row = i / p.channels;
    int channel = (int)(i % p.channels);
    if (row >= p.rows)
        return;
    size_t k = at(p, row, channel);
    float inverse = rsqrtf(v.running_variance[channel] + v.epsilon);
    float normal = (to_float(x[k]) - v.running_mean[channel]) * inverse;
    y[k] = from_float<T>(normal * v.gamma[channel] + v.beta[channel]);
}

// sums (2, channels): of dy, and of dy times the normalised x
template <typename T>
__global__ void norm_backward_sums_kernel(struct place p, struct norm_values v, const T *x,
                                          const T *dy, float *sums)
{
    int channel = blockIdx.x * 32 + threadIdx.x % 32;
    if (channel >= p.channels)
        return;
    float sum = 0.0f, products = 0.0f;
    float mean = v.saved_mean[channel], inverse = v.saved_inverse[channel];
    for (size_t r = blockIdx.y * 8 + threadIdx.x / 32; r < p.rows; r += 8 * gridDim.y) {
        size_t k = at(p, r, channel);
        float d = to_float(dy[k]);
        sum += d;
        products += d * (to_float(x[k]) - mean) * inverse;
    }
    atomicAdd(&sums[channel], sum);
    atomicAdd(&sums[p.channels + channel], products);
}

template <typename T>
__global__ void norm_backward_apply_kernel(struct place p, struct norm_values v, const T *x,
                                           const T *dy, T *dx, const float *sums, float *dgamma,
                                           float *dbeta, int accumulate)
{
    size_t i = thread_index(), row = i / p.channels;
    int channel = (int)(i % p.channels);
    if (row >= p.rows)
        return;
    size_t k = at(p, row, channel);
    float inverse = v.saved_inverse[channel];
    float normalised = (to_float(x[k]) - v.saved_mean[channel]) * inverse;
    float sum = sums[channel], products = sums[p.channels + channel];
    float d = to_float(dy[k]) - sum / p.rows - normalised * products / p.rows;
    dx[k] = from_float<T>(v.gamma[channel] * inverse * d);
    if (row == 0) {
        dgamma[channel] = products + (accumulate ? dgamma[channel] : 0.0f);
        dbeta[channel] = sum + (accumulate ? dbeta[channel] : 0.0f);
    }
}

// ---- pooling ------------------------------------------------------------------------------------

// Maximum of 3x3 with stride 2 and padding 1: x (n, c, 2h, 2w) -> y (n, c, h, w)
static __device__ __forceinline__ struct place grow(const struct place &p)
{
    struct place twice = {p.rows * 4, p.plane * 4, p.channels, p.nhwc};
    return twice;
}

// The row in x of the window's first largest value, and that value.
template <typename T>
static __device__ size_t largest(const struct place &p, const struct place &in, int width,
                                 const T *x, size_t row, int channel, float *value)
{
    int height = (int)(p.plane / width);
    size_t picture = row / p.plane;
    int top = 2 * (int)(row % p.plane / width) - 1, left = 2 * (int)(row % width) - 1;
    size_t found = 0;
    *value = -INFINITY;
    for (int h = top; h < top + 3; h++) {
        for (int w = left; w < left + 3; w++) {
            if (h < 0 || w < 0 || h >= 2 * height || w >= 2 * width)
                continue;
            size_t r = picture * in.plane + (size_t)h * 2 * width + w;
            float v = to_float(x[at(in, r, channel)]);
            if (v > *value) {
                *value = v;
                found = r;
            }
        }
    }
    return found;
}

template <typename T>
__global__ void pool_max_forward_kernel(struct place p, int width, const T *x, T *y)
{
    size_t i = thread_index(), row = i / p.channels;
    int channel = (int)(i % p.channels);
    float value;
    if (row >= p.rows)
        return;
    largest(p, grow(p), width, x, row, channel, &value);
    y[at(p, row, channel)] = from_float<T>(value);
}

// One thread per element of x looks at the up to four windows that hold it.
template <typename T>
__global__ void pool_max_backward_kernel(struct place p, int width, const T *x, const T *dy, T *dx)
{
    struct place in = grow(p);
    size_t i = thread_index(), row = i / p.channels;
    int channel = (int)(i % p.channels), height = (int)(p.plane / width);
    if (row >= in.rows)
        return;
    size_t picture = row / in.plane;
    int h = (int)(row % in.plane / (2 * width)), w = (int)(row % (2 * width));
    float sum = 0.0f, value;
    for (int y = h / 2; y <= (h + 1) / 2 && y < height; y++) {
        for (int z = w / 2; z <= (w + 1) / 2 && z < width; z++) {
            size_t window = picture * p.plane + (size_t)y * width + z;
            if (largest(p, in, width, x, window, channel, &value) == row)
                sum += to_float(dy[at(p, window, channel)]);
        }
    }
    dx[at(in, row, channel)] = from_float<T>(sum);
}

// Mean over the plane: x (n, c, h, w) -> y (n, c)
template <typename T> __global__ void pool_mean_forward_kernel(struct place p, const T *x, T *y)
{
    size_t i = thread_index(), picture = i / p.channels;
    int channel = (int)(i % p.channels);
    if (picture * p.plane >= p.rows)
        return;
    float sum = 0.0f;
    for (size_t k = 0; k < p.plane; k++)
        sum += to_float(x[at(p, picture * p.plane + k, channel)]);
    y[i] = from_float<T>(sum / p.plane);
}

template <typename T> __global__ void pool_mean_backward_kernel(struct place p, const T *dy, T *dx)
{
    size_t i = thread_index(), row = i / p.channels;
    int channel = (int)(i % p.channels);
    if (row < p.rows)
        dx[at(p, row, channel)] =
            from_float<T>(to_float(dy[row / p.plane * p.channels + channel]) / p.plane);
}

// ---- launching ----------------------------------------------------------------------------------

static struct place place_of(const struct shape *s)
{
    struct place p = {(size_t)s->n * s->h * s->w, (size_t)s->h * s->w, s->c, s->nhwc};
    return p;
}

static size_t elements(const struct shape *s)
{
    return (size_t)s->n * s->h * s->w * s->c;
}

// one block per 32 channels and, up to 64 of them, per 512 rows
static dim3 sum_grid(const struct place &p)
{
    size_t rows = (p.rows + 511) / 512;
    return dim3((unsigned)(p.channels + 31) / 32, (unsigned)(rows < 64 ? rows : 64));
}

void kernel_norm_forward(cudaStream_t stream, enum dtype t, const struct shape *s,
                         const struct norm_values *v, const void *x, void *y, float *sums)
{
    struct place p = place_of(s);
    kernel_fill(stream, sums, 2 * (size_t)s->c, 0.0f);
    FOR_DTYPE(t, norm_sums_kernel<T><<<sum_grid(p), BLOCK, 0, stream>>>(p, (const T *)x, sums));
    launched("norm_sums_kernel");
    FOR_DTYPE(t,
              LAUNCH(norm_apply_kernel<T>, elements(s), stream, p, *v, (const T *)x, (T *)y, sums));
}

void kernel_norm_inference(cudaStream_t stream, enum dtype t, const struct shape *s,
                           const struct norm_values *v, const void *x, void *y)
{
    FOR_DTYPE(t, LAUNCH(norm_inference_kernel<T>, elements(s), stream, place_of(s), *v,
                        (const T *)x, (T *)y));
}

void kernel_norm_backward(cudaStream_t stream, enum dtype t, const struct shape *s,
                          const struct norm_values *v, const void *x, const void *dy, void *dx,
                          float *sums, float *dgamma, float *dbeta, int accumulate)
{
    struct place p = place_of(s);
    kernel_fill(stream, sums, 2 * (size_t)s->c, 0.0f);
    FOR_DTYPE(t, norm_backward_sums_kernel<T>
              <<<sum_grid(p), BLOCK, 0, stream>>>(p, *v, (const T *)x, (const T *)dy, sums));
    launched("norm_backward_sums_kernel");
    FOR_DTYPE(t, LAUNCH(norm_backward_apply_kernel<T>, elements(s), stream, p, *v, (const T *)x,
                        (const T *)dy, (T *)dx, sums, dgamma, dbeta, accumulate));
}

void kernel_pool_max_forward(cudaStream_t stream, enum dtype t, const struct shape *s,
                             const void *x, void *y)
{
    FOR_DTYPE(t, LAUNCH(pool_max_forward_kernel<T>, elements(s), stream, place_of(s), s->w,
                        (const T *)x, (T *)y));
}

void kernel_pool_max_backward(cudaStream_t stream, enum dtype t, const struct shape *s,
                              const void *x, const void *dy, void *dx)
{
    FOR_DTYPE(t, LAUNCH(pool_max_backward_kernel<T>, 4 * elements(s), stream, place_of(s), s->w,
                        (const T *)x, (const T *)dy, (T *)dx));
}

void kernel_pool_mean_forward(cudaStream_t stream, enum dtype t, const struct shape *s,
                              const void *x, void *y)
{
    FOR_DTYPE(t, LAUNCH(pool_mean_forward_kernel<T>, (size_t)s->n * s->c, stream, place_of(s),
                        (const T *)x, (T *)y));
}

void kernel_pool_mean_backward(cudaStream_t stream, enum dtype t, const struct shape *s,
                               const void *dy, void *dx)
{
    FOR_DTYPE(t, LAUNCH(pool_mean_backward_kernel<T>, elements(s), stream, place_of(s),
                        (const T *)dy, (T *)dx));
}
