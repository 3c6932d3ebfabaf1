// Kernels over rows: embeddings, layer normalisation, the softmax of attention. See kernels.h.
#include "reference_workloads/gpt/rows.cuh"

// ---- embeddings ---------------------------------------------------------------------------------

template <typename T>
__global__ void embed_kernel(const int32_t *tokens, const T *wte, const T *wpe, T *x, int context,
                             int width)
{
    size_t row = blockIdx.x, token = (size_t)tokens[row], place = row % (size_t)context;
    for (int k = 0; k < ROW_VALUES; k++) {
        int i = row_place(k);
        x[row * width + i] =
            from_float<T>(to_float(wte[token * width + i]) + to_float(wpe[place * width + i]));
    }
}

template <typename T>
__global__ void embed_backward_kernel(struct token_groups g, const T *dx, T *dwte, int width)
{
    if ((int)blockIdx.x >= *g.count)
        return;
    int from = g.starts[blockIdx.x], to = g.starts[blockIdx.x + 1];
    T *row = dwte + (size_t)g.tokens[g.order[from]] * width;
    for (int k = 0; k < ROW_VALUES; k++) {
        int i = row_place(k);
        float sum = to_float(row[i]);
        for (int at = from; at < to; at++)
            sum += to_float(dx[(size_t)g.order[at] * width + i]);
        row[i] = from_float<T>(sum);
    }
}

template <typename T>
__global__ void place_backward_kernel(const T *dx, T *dwpe, int batch, int context, int width)
{
    for (int k = 0; k < ROW_VALUES; k++) {
        size_t i = (size_t)blockIdx.x * width + row_place(k);
        float sum = 0.0f;
        for (int b = 0; b < batch; b++)
            sum += to_float(dx[(size_t)b * context * width + i]);
        dwpe[i] = from_float<T>(sum);
    }
}

// ---- layer normalisation ------------------------------------------------------------------------

template <typename T>
__device__ __forceinline__ void normalise(const float *x, const struct norm_rows &n, T *y)
{
    size_t row = blockIdx.x;
    float sum = 0.0f, squares = 0.0f;
    for (int k = 0; k < ROW_VALUES; k++)
        sum += x[k];
    float mean = over_block<Sum>(sum) / (float)n.width;
    for (int k = 0; k < ROW_VALUES; k++)
        squares += (x[k] - mean) * (x[k] - mean);
    float inverse = rsqrtf(over_block<Sum>(squares) / (float)n.width + 1e-5f);
    for (int k = 0; k < ROW_VALUES; k++) {
        int i = row_place(k);
        float gamma = to_float(((const T *)n.gamma)[i]), beta = to_float(((const T *)n.beta)[i]);
        y[row * n.width + i] = from_float<T>((x[k] - mean) * inverse * gamma + beta);
    }
    if (threadIdx.x == 0) {
        n.mean[row] = mean;
        n.inverse[row] = inverse;
    }
}

template <typename T> __global__ void layer_norm_kernel(struct norm_rows n, const T *x, T *y)
{
    float values[ROW_VALUES];
    for (int k = 0; k < ROW_VALUES; k++)
        values[k] = to_float(x[(size_t)blockIdx.x * n.width + row_place(k)]);
    normalise(values, n, y);
}

template <typename T>
__global__ void add_layer_norm_kernel(struct norm_rows n, const T *x, const T *branch, T *sum, T *y)
{
    float values[ROW_VALUES];
    for (int k = 0; k < ROW_VALUES; k++) {
        size_t i = (size_t)blockIdx.x * n.width + row_place(k);
        T added = from_float<T>(to_float(x[i]) + to_float(branch[i]));
        sum[i] = added;
        values[k] = to_float(added); // as the backward pass will read it
    }
    normalise(values, n, y);
}

template <typename T>
__global__ void layer_norm_backward_kernel(struct norm_rows n, const T *x, const T *dy, T *dx,
                                           int accumulate)
{
    size_t row = blockIdx.x, first = row * n.width;
    float scaled[ROW_VALUES], unit[ROW_VALUES], sum = 0.0f, along = 0.0f;
    float mean = n.mean[row], inverse = n.inverse[row];
    for (int k = 0; k < ROW_VALUES; k++) {
        int i = row_place(k);
        scaled[k] = to_float(dy[first + i]) * to_float(((const T *)n.gamma)[i]);
        unit[k] = (to_float(x[first + i]) - mean) * inverse;
        sum += scaled[k];
        along += scaled[k] * unit[k];
    }
    sum = over_block<Sum>(sum) / (float)n.width;
    along = over_block<Sum>(along) / (float)n.width;
    for (int k = 0; k < ROW_VALUES; k++) {
        size_t i = first + row_place(k);
        float before = accumulate ? to_float(dx[i]) : 0.0f;
        dx[i] = from_float<T>(before + (scaled[k] - sum - unit[k] * along) * inverse);
    }
}

// ---- the softmax of attention -------------------------------------------------------------------

template <typename T> __global__ void causal_softmax_kernel(T *s, int context)
{
    int last = (int)(blockIdx.x % (unsigned)context);
    T *row = s + (size_t)blockIdx.x * context;
    float values[ROW_VALUES], highest = Max::none, sum = 0.0f;
    for (int k = 0; k < ROW_VALUES; k++) {
        int i = row_place(k);
        values[k] = i <= last ? to_float(row[i]) : Max::none;
        highest = fmaxf(highest, values[k]);
    }
    highest = over_block<Max>(highest);
    for (int k = 0; k < ROW_VALUES; k++) {
        values[k] = row_place(k) <= last ? expf(values[k] - highest) : 0.0f;
        sum += values[k];
    }
    sum = over_block<Sum>(sum);
    for (int k = 0; k < ROW_VALUES; k++)
        row[row_place(k)] = from_float<T>(values[k] / sum);
}

// p is 0 behind the row's own place, and so is the gradient
template <typename T> __global__ void causal_softmax_backward_kernel(const T *p, T *dp, int context)
{
    size_t first = (size_t)blockIdx.x * context;
    float share[ROW_VALUES], slope[ROW_VALUES], along = 0.0f;
    for (int k = 0; k < ROW_VALUES; k++) {
        size_t i = first + row_place(k);
        share[k] = to_float(p[i]);
        slope[k] = share[k] > 0.0f ? to_float(dp[i]) : 0.0f;
        along += share[k] * slope[k];
    }
    along = over_block<Sum>(along);
    for (int k = 0; k < ROW_VALUES; k++)
        dp[first + row_place(k)] = from_float<T>(share[k] * (slope[k] - along));
}

// ---- launching ----------------------------------------------------------------------------------

void kernel_embed(cudaStream_t stream, enum dtype t, const int32_t *tokens, const void *wte,
                  const void *wpe, void *x, int rows, int context, int width)
{
    FOR_DTYPE(t, LAUNCH_ROWS(embed_kernel<T>, rows, width, stream, tokens, (const T *)wte,
                             (const T *)wpe, (T *)x, context, width));
}

void kernel_embed_backward(cudaStream_t stream, enum dtype t, const struct token_groups *g,
                           const void *dx, void *dwte, int rows, int width)
{
    FOR_DTYPE(t, LAUNCH_ROWS(embed_backward_kernel<T>, rows, width, stream, *g, (const T *)dx,
                             (T *)dwte, width));
}

void kernel_place_backward(cudaStream_t stream, enum dtype t, const void *dx, void *dwpe, int batch,
                           int context, int width)
{
    FOR_DTYPE(t, LAUNCH_ROWS(place_backward_kernel<T>, context, width, stream, (const T *)dx,
                             (T *)dwpe, batch, context, width));
}

void kernel_layer_norm(cudaStream_t stream, enum dtype t, const struct norm_rows *n, const void *x,
                       void *y)
{
    FOR_DTYPE(
        t, LAUNCH_ROWS(layer_norm_kernel<T>, n->rows, n->width, stream, *n, (const T *)x, (T *)y));
}

void kernel_add_layer_norm(cudaStream_t stream, enum dtype t, const struct norm_rows *n,
                           const void *x, const void *branch, void *sum, void *y)
{
    FOR_DTYPE(t, LAUNCH_ROWS(add_layer_norm_kernel<T>, n->rows, n->width, stream, *n, (const T *)x,
                             (const T *)branch, (T *)sum, (T *)y));
}

void kernel_layer_norm_backward(cudaStream_t stream, enum dtype t, const struct norm_rows *n,
                                const void *x, const void *dy, void *dx, int accumulate)
{
    FOR_DTYPE(t, LAUNCH_ROWS(layer_norm_backward_kernel<T>, n->rows, n->width, stream, *n,
                             (const T *)x, (const T *)dy, (T *)dx, accumulate));
}

void kernel_causal_softmax(cudaStream_t stream, enum dtype t, void *s, int rows, int context)
{
    FOR_DTYPE(t, LAUNCH_ROWS(causal_softmax_kernel<T>, rows, context, stream, (T *)s, context));
}

void kernel_causal_softmax_backward(cudaStream_t stream, enum dtype t, const void *p, void *dp,
                                    int rows, int context)
{
    FOR_DTYPE(t, LAUNCH_ROWS(causal_softmax_backward_kernel<T>, rows, context, stream, (const T *)p,
                             (T *)dp, context));
}
