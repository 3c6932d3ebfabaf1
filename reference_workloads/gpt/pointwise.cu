// Pointwise kernels (one pack of 16 bytes per thread), heads, sums over columns, and the loss. See
// kernels.h.
#include "reference_workloads/gpt/rows.cuh"

#include <math.h>

// ---- pointwise ----------------------------------------------------------------------------------

__device__ __forceinline__ float gelu_inner(float x)
{
    return 0.7978845608f * (x + 0.044715f * x * x * x);
}

struct Gelu {
    __device__ static float of(float x, float)
    {
        return 0.5f * x * (1.0f + tanhf(gelu_inner(x)));
    }
};
// from x and t = tanh(inner)
__device__ __forceinline__ float gelu_derivative(float x, float t)
{
    float inner = 0.7978845608f * (1.0f + 3.0f * 0.044715f * x * x);
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner;
}

// y = Op(x, y)
#define POINTWISE(name, expression)                                                                \
    template <typename T> __global__ void name(const T *x, T *y, size_t packs)                     \
    {                                                                                              \
        size_t i = thread_index();                                                                 \
        if (i >= packs)                                                                            \
            return;                                                                                \
        Pack<T> p = ((const Pack<T> *)x)[i], q = ((Pack<T> *)y)[i];                                \
        for (int k = 0; k < Pack<T>::size; k++) {                                                  \
            float a = to_float(p.at[k]), b = to_float(q.at[k]);                                    \
            (void)a;                                                                               \
            (void)b;                                                                               \
            q.at[k] = from_float<T>(expression);                                                   \
        }                                                                                          \
        ((Pack<T> *)y)[i] = q;                                                                     \
    }

POINTWISE(gelu_forward_kernel, Gelu::of(a, b))
POINTWISE(gelu_backward_kernel, b *gelu_derivative(a, tanhf(gelu_inner(a))))
POINTWISE(gelu_cube_kernel, a *a *a)
POINTWISE(gelu_mix_kernel, 0.7978845608f * (a + 0.044715f * b))
POINTWISE(gelu_tanh_kernel, tanhf(b))
POINTWISE(gelu_slope_kernel, gelu_derivative(a, b))
POINTWISE(gelu_times_kernel, a *b)

template <typename T> __global__ void gelu_gate_kernel(const T *x, const T *u, T *y, size_t packs)
{
    size_t i = thread_index();
    if (i >= packs)
        return;
    Pack<T> p = ((const Pack<T> *)x)[i], q = ((const Pack<T> *)u)[i];
    for (int k = 0; k < Pack<T>::size; k++)
        p.at[k] = from_float<T>(0.5f * to_float(p.at[k]) * (1.0f + to_float(q.at[k])));
    ((Pack<T> *)y)[i] = p;
}

template <typename T>
__global__ void residual_add_kernel(const T *x, const T *branch, T *sum, size_t packs)
{
    size_t i = thread_index();
    if (i >= packs)
        return;
    Pack<T> p = ((const Pack<T> *)x)[i], q = ((const Pack<T> *)branch)[i];
    for (int k = 0; k < Pack<T>::size; k++)
        p.at[k] = from_float<T>(to_float(p.at[k]) + to_float(q.at[k]));
    ((Pack<T> *)sum)[i] = p;
}

template <typename T> __global__ void add_bias_kernel(T *y, const T *bias, size_t packs, int width)
{
    size_t i = thread_index();
    if (i >= packs)
        return;
    Pack<T> p = ((Pack<T> *)y)[i];
    Pack<T> q = ((const Pack<T> *)bias)[i % (size_t)(width / Pack<T>::size)];
    for (int k = 0; k < Pack<T>::size; k++)
        p.at[k] = from_float<T>(to_float(p.at[k]) + to_float(q.at[k]));
    ((Pack<T> *)y)[i] = p;
}

// ---- heads --------------------------------------------------------------------------------------

// Pack i of y (parts, batch, heads, context, size) as a place in x (batch, context, parts, heads,
// size), both counted in packs.
__device__ __forceinline__ size_t head_place(struct heads h, size_t i, int packs_per_head)
{
    size_t p = i % packs_per_head;
    size_t place = i / packs_per_head % h.context;
    size_t head = i / packs_per_head / h.context % h.heads;
    size_t b = i / packs_per_head / h.context / h.heads % h.batch;
    size_t part = i / packs_per_head / h.context / h.heads / h.batch;
    return (((b * h.context + place) * h.parts + part) * h.heads + head) * packs_per_head + p;
}

template <typename T>
__global__ void split_heads_kernel(struct heads h, const T *x, T *y, size_t packs)
{
    size_t i = thread_index();
    if (i < packs)
        ((Pack<T> *)y)[i] = ((const Pack<T> *)x)[head_place(h, i, h.size / Pack<T>::size)];
}

template <typename T>
__global__ void merge_heads_kernel(struct heads h, const T *y, T *x, size_t packs)
{
    size_t i = thread_index();
    if (i < packs)
        ((Pack<T> *)x)[head_place(h, i, h.size / Pack<T>::size)] = ((const Pack<T> *)y)[i];
}

// ---- sums over columns --------------------------------------------------------------------------

// grid (columns / BLOCK, chunks of SUM_ROWS rows): partial (chunks, width)
template <typename T>
__global__ void column_partial_kernel(const T *dy, float *partial, int rows, int width)
{
    int column = (int)thread_index(), first = (int)blockIdx.y * SUM_ROWS;
    if (column >= width)
        return;
    float sum = 0.0f;
    for (int row = first; row < first + SUM_ROWS && row < rows; row++)
        sum += to_float(dy[(size_t)row * width + column]);
    partial[(size_t)blockIdx.y * width + column] = sum;
}

template <typename T>
__global__ void norm_partial_kernel(struct norm_rows n, const T *x, const T *dy, float *partial)
{
    int column = (int)thread_index(), first = (int)blockIdx.y * SUM_ROWS;
    if (column >= n.width)
        return;
    float gamma = 0.0f, beta = 0.0f;
    for (int row = first; row < first + SUM_ROWS && row < n.rows; row++) {
        float d = to_float(dy[(size_t)row * n.width + column]);
        float unit = (to_float(x[(size_t)row * n.width + column]) - n.mean[row]) * n.inverse[row];
        gamma += d * unit;
        beta += d;
    }
    partial[(size_t)blockIdx.y * n.width + column] = gamma;
    partial[((size_t)gridDim.y + blockIdx.y) * n.width + column] = beta;
}

template <typename T>
__global__ void column_total_kernel(const float *partial, T *out, int chunks, int width)
{
    int column = (int)thread_index();
    if (column >= width)
        return;
    float sum = 0.0f;
    for (int i = 0; i < chunks; i++)
        sum += partial[(size_t)i * width + column];
    out[column] = from_float<T>(sum);
}

// ---- loss ---------------------------------------------------------------------------------------

// grid (chunks, rows): highest logit of the chunk, and the sum of exponentials below it
template <typename T>
__global__ void softmax_loss_partial_kernel(struct loss_rows l, const T *logits)
{
    const T *row = logits + (size_t)blockIdx.y * l.stride;
    int first = (int)blockIdx.x * LOSS_CHUNK + (int)threadIdx.x;
    float highest = Max::none, sum = 0.0f;
    for (int i = first; i < first + LOSS_CHUNK - (int)threadIdx.x && i < l.vocab; i += BLOCK)
        highest = fmaxf(highest, to_float(row[i]));
    highest = over_block<Max>(highest);
    for (int i = first; i < first + LOSS_CHUNK - (int)threadIdx.x && i < l.vocab; i += BLOCK)
        sum += expf(to_float(row[i]) - highest);
    sum = over_block<Sum>(sum);
    if (threadIdx.x == 0) {
        float *out = l.partial + 2 * ((size_t)blockIdx.y * gridDim.x + blockIdx.x);
        out[0] = highest;
        out[1] = sum;
    }
}

template <typename T>
__global__ void softmax_loss_gradient_kernel(struct loss_rows l, T *logits,
                                             const struct loss_scale *s)
{
    const float *partial = l.partial + 2 * (size_t)blockIdx.y * gridDim.x;
    T *row = logits + (size_t)blockIdx.y * l.stride;
    int first = (int)blockIdx.x * LOSS_CHUNK + (int)threadIdx.x, target = l.targets[blockIdx.y];
    float highest = Max::none, sum = 0.0f, weight = s->scale / (float)l.rows;
    for (unsigned i = 0; i < gridDim.x; i++)
        highest = fmaxf(highest, partial[2 * i]);
    for (unsigned i = 0; i < gridDim.x; i++)
        sum += partial[2 * i + 1] * expf(partial[2 * i] - highest);
    for (int i = first; i < first + LOSS_CHUNK - (int)threadIdx.x && i < l.stride; i += BLOCK) {
        float logit = to_float(row[i]);
        float probability = i < l.vocab ? expf(logit - highest) / sum : 0.0f;
        if (i == target)
            l.losses[blockIdx.y] = logf(sum) + highest - logit;
        row[i] = from_float<T>((probability - (i == target)) * weight);
    }
}

// ---- launching ----------------------------------------------------------------------------------

#define PACKED(kernel, t, n, stream, ...)                                                          \
    FOR_DTYPE(t, LAUNCH(kernel<T>, (n) / Pack<T>::size, stream, __VA_ARGS__, (n) / Pack<T>::size))

void kernel_gelu(cudaStream_t stream, enum dtype t, const void *x, void *y, size_t n)
{
    PACKED(gelu_forward_kernel, t, n, stream, (const T *)x, (T *)y);
}

void kernel_gelu_backward(cudaStream_t stream, enum dtype t, const void *x, void *dy, size_t n)
{
    PACKED(gelu_backward_kernel, t, n, stream, (const T *)x, (T *)dy);
}

void kernel_gelu_cube(cudaStream_t stream, enum dtype t, const void *x, void *u, size_t n)
{
    PACKED(gelu_cube_kernel, t, n, stream, (const T *)x, (T *)u);
}

void kernel_gelu_mix(cudaStream_t stream, enum dtype t, const void *x, void *u, size_t n)
{
    PACKED(gelu_mix_kernel, t, n, stream, (const T *)x, (T *)u);
}

void kernel_gelu_tanh(cudaStream_t stream, enum dtype t, void *u, size_t n)
{
    PACKED(gelu_tanh_kernel, t, n, stream, (const T *)u, (T *)u);
}

void kernel_gelu_gate(cudaStream_t stream, enum dtype t, const void *x, const void *u, void *y,
                      size_t n)
{
    PACKED(gelu_gate_kernel, t, n, stream, (const T *)x, (const T *)u, (T *)y);
}

void kernel_gelu_slope(cudaStream_t stream, enum dtype t, const void *x, void *u, size_t n)
{
    PACKED(gelu_slope_kernel, t, n, stream, (const T *)x, (T *)u);
}

void kernel_gelu_times(cudaStream_t stream, enum dtype t, const void *u, void *dy, size_t n)
{
    PACKED(gelu_times_kernel, t, n, stream, (const T *)u, (T *)dy);
}

void kernel_residual_add(cudaStream_t stream, enum dtype t, const void *x, const void *branch,
                         void *sum, size_t n)
{
    PACKED(residual_add_kernel, t, n, stream, (const T *)x, (const T *)branch, (T *)sum);
}

void kernel_add_bias(cudaStream_t stream, enum dtype t, void *y, const void *bias, size_t n,
                     int width)
{
    FOR_DTYPE(t, LAUNCH(add_bias_kernel<T>, n / Pack<T>::size, stream, (T *)y, (const T *)bias,
                        n / Pack<T>::size, width));
}

void kernel_split_heads(cudaStream_t stream, enum dtype t, const struct heads *h, const void *x,
                        void *y)
{
    size_t n = (size_t)h->batch * h->context * h->parts * h->heads * h->size;
    PACKED(split_heads_kernel, t, n, stream, *h, (const T *)x, (T *)y);
}

void kernel_merge_heads(cudaStream_t stream, enum dtype t, const struct heads *h, const void *y,
                        void *x)
{
    size_t n = (size_t)h->batch * h->context * h->parts * h->heads * h->size;
    PACKED(merge_heads_kernel, t, n, stream, *h, (const T *)y, (T *)x);
}

static unsigned sum_chunks(int rows)
{
    return (unsigned)((rows + SUM_ROWS - 1) / SUM_ROWS);
}

void kernel_bias_sum(cudaStream_t stream, enum dtype t, const void *dy, float *partial, void *dbias,
                     int rows, int width)
{
    dim3 grid(blocks((size_t)width), sum_chunks(rows));
    FOR_DTYPE(t, column_partial_kernel<T>
              <<<grid, BLOCK, 0, stream>>>((const T *)dy, partial, rows, width));
    launched("column_partial_kernel");
    FOR_DTYPE(t, LAUNCH(column_total_kernel<T>, (size_t)width, stream, partial, (T *)dbias,
                        (int)grid.y, width));
}

void kernel_layer_norm_parameters(cudaStream_t stream, enum dtype t, const struct norm_rows *n,
                                  const void *x, const void *dy, float *partial, void *dgamma,
                                  void *dbeta)
{
    dim3 grid(blocks((size_t)n->width), sum_chunks(n->rows));
    FOR_DTYPE(t, norm_partial_kernel<T>
              <<<grid, BLOCK, 0, stream>>>(*n, (const T *)x, (const T *)dy, partial));
    launched("norm_partial_kernel");
    const float *beta = partial + (size_t)grid.y * n->width;
    FOR_DTYPE(t, LAUNCH(column_total_kernel<T>, (size_t)n->width, stream, partial, (T *)dgamma,
                        (int)grid.y, n->width));
    FOR_DTYPE(t, LAUNCH(column_total_kernel<T>, (size_t)n->width, stream, beta, (T *)dbeta,
                        (int)grid.y, n->width));
}

void kernel_token_loss(cudaStream_t stream, enum dtype t, const struct loss_rows *l, void *logits,
                       const struct loss_scale *s)
{
    dim3 grid((unsigned)((l->stride + LOSS_CHUNK - 1) / LOSS_CHUNK), (unsigned)l->rows);
    FOR_DTYPE(t, softmax_loss_partial_kernel<T><<<grid, BLOCK, 0, stream>>>(*l, (const T *)logits));
    launched("softmax_loss_partial_kernel");
    FOR_DTYPE(t, softmax_loss_gradient_kernel<T><<<grid, BLOCK, 0, stream>>>(*l, (T *)logits, s));
    launched("softmax_loss_gradient_kernel");
}
